"""Which default partitioner a client's producers have had since which release, and how many keys a change of it moves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from service.core.partitioners import PARTITIONERS
from service.core.registry import reaches
from service.decisions.budget import Budget
from service.decisions.partitions import PartitionsQuestion, answer
from service.descriptions.model import Description


class Default(NamedTuple):
    """What producers of a client do, from a release on, if nothing is configured.

    partitioner : by which they place keys; keyless : where records without a key go, a clause
    """

    since: str
    partitioner: str
    keyless: str


IN_TURN: Final = "each available partition in turn"
RANDOM: Final = "a random available partition each"
STICKY: Final = "one random partition until a batch is complete (KIP-480)"
BY_BYTES: Final = "one partition until 64 KiB were added, then another, likelier the shorter its queue (KIP-794)"

DEFAULTS: Final[dict[str, tuple[Default, ...]]] = {
    "java": (
        Default("0.8.2", "java-0.8", IN_TURN),
        Default("0.9", "java-2.3", IN_TURN),
        Default("2.4", "java", STICKY),
        Default("3.3", "java:adaptive", BY_BYTES.replace("64 KiB", "batch.size bytes")),
    ),
    "kafkajs": (Default("1.0", "kafkajs:legacy", IN_TURN), Default("2.0", "kafkajs", IN_TURN)),
    "librdkafka": (
        Default("0.8", "librdkafka:consistent_random", RANDOM),
        Default("1.6", "librdkafka:consistent_random", "one random partition for sticky.partitioning.linger.ms (KIP-480)"),
    ),
    "sarama": (Default("1.0", "sarama", RANDOM),),
    "franz-go": (Default("0.1", "franz-go", STICKY), Default("1.6", "franz-go", BY_BYTES)),
    "kafka-python": (Default("1.0", "kafka-python", RANDOM),),
    "aiokafka": (Default("0.1", "aiokafka", RANDOM),),
    "kafka-go": (Default("0.1", "kafka-go:round-robin", "as records with a key: each partition in turn"),),
}
"""By client, oldest first. docs/groups.md has the source of each."""

SAMPLED: Final = 10_000
"""Keys that stand for a topic's: ``key-0``, ``key-1`` …"""


@dataclass(frozen=True)
class KeyChange:
    """What becomes of a topic's keys.

    before, after : the default partitioners
    moved_share : of sampled keys, those that go to another partition; None if a partitioner does not look at keys
    null_keys : what becomes of records without a key
    """

    topic_name: str
    before: str
    after: str
    moved_share: float | None
    null_keys: str


def default_of(client: str, release: str | None) -> Default:
    """The default of a client's release; None: of the newest."""
    history = DEFAULTS[client]
    reached = [each for each in history if release is None or reaches(release, each.since)]
    return reached[-1] if reached else history[0]


def defaults(client: str, release: str | None, new_client: str, new_release: str | None) -> tuple[Default, Default] | None:
    """The defaults before and after producers change to another client or release; None where that of one is not known."""
    if client not in DEFAULTS or new_client not in DEFAULTS:
        return None
    return default_of(client, release), default_of(new_client, new_release)


def alike_for_keys(before: Default, after: Default) -> bool:
    """Do both hash keys, and put each on the same partition?"""
    first, second = (PARTITIONERS[each.partitioner] for each in (before, after))
    return first.hash is not None and (first.hash, first.sign, first.encoding) == (second.hash, second.sign, second.encoding)


def key_changes(description: Description, before: Default, after: Default) -> Iterator[KeyChange]:
    """For each topic but Kafka's own, if these defaults differ."""
    names = [before.partitioner, after.partitioner]
    if names[0] == names[1] and before.keyless == after.keyless:
        return
    null_keys = "as before" if before.keyless == after.keyless else f"{before.keyless} → {after.keyless}"
    shares: dict[int, float | None] = {}
    for topic in description.topics:
        count = topic.get("partitions_count")
        if count is None or topic.get("internal"):
            continue
        if count not in shares:
            shares[count] = _moved_share(names, count)
        yield KeyChange(topic["topic_name"], names[0], names[1], shares[count], null_keys)


def _moved_share(names: list[str], partitions_count: int) -> float | None:
    if any(PARTITIONERS[name].hash is None for name in names):
        return None
    keys = pa.chunked_array([pa.array([f"key-{i}" for i in range(SAMPLED)])])
    questions = (PartitionsQuestion(name, partitions_count=partitions_count, keys=keys) for name in names)
    before, after = (answer(question, Budget()).result.partitions for question in questions)
    return float(np.mean(before != after))
