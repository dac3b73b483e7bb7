"""Which default partitioner a client's producers have had since which release, and how many keys a change of it moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from service.core.partitioners import PARTITIONERS
from service.core.releases import reaches
from service.decisions.budget import Budget
from service.decisions.partitions import PartitionsQuestion, answer

if TYPE_CHECKING:
    from service.descriptions.model import Description

DEFAULTS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "java": (("0.8", "java-0.8"), ("0.9", "java-2.3"), ("2.4", "java:sticky"), ("3.3", "java:adaptive")),
    "kafkajs": (("1.0", "kafkajs:legacy"), ("2.0", "kafkajs")),
    "librdkafka": (("0.8", "librdkafka:consistent_random"),),
    "sarama": (("1.0", "sarama"),),
    "franz-go": (("0.1", "franz-go"),),
    "kafka-python": (("1.0", "kafka-python"),),
    "aiokafka": (("0.1", "aiokafka"),),
    "kafka-go": (("0.1", "kafka-go:round-robin"),),
}
"""Client → (first release, partitioner), oldest first. Java's since 2.4: KIP-480; since 3.3: KIP-794."""

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


def default_partitioner(client: str, release: str | None) -> str:
    """The default of a client's release; None: of the newest."""
    history = DEFAULTS[client]
    reached = [name for first, name in history if release is None or reaches(release, first)]
    return reached[-1] if reached else history[0][1]


def key_changes(
    description: Description, client: str, release: str | None, new_client: str, new_release: str | None
) -> Iterator[KeyChange]:
    """For each topic but Kafka's own, if producers change to another client or release whose default partitioner is another."""
    if client not in DEFAULTS or new_client not in DEFAULTS:
        return
    names = [default_partitioner(client, release), default_partitioner(new_client, new_release)]
    if names[0] == names[1]:
        return
    rules = [PARTITIONERS[name].null.rule for name in names]
    null_keys = f"{rules[0]} → {rules[1]}" if rules[0] != rules[1] else "as before"
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
