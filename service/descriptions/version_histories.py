"""What releases of brokers and clients do: which placer and partitioner they have, and the steps by which a group upgrades."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from service.core.assignors import Assignor
from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.core.model import Cluster
from service.core.partitioners import PARTITIONERS
from service.core.registry import reaches
from service.decisions.partitions import PartitionsQuestion, answer
from service.decisions.placements.answer import BROKER, PLACEMENT, read_cluster, read_placement
from service.descriptions.bodies import brokers
from service.descriptions.model import Description
from service.planner.assignor_changes import counterpart, restarts
from service.planner.placement_audits import audit, verdict
from service.strategies import PLACERS, Placer

CONSUMER_SINCE: Final = {"java": "4.0", "librdkafka": "2.12", "franz-go": "1.22"}
"""The first releases of clients whose consumers have the consumer protocol (KIP-848) for production. The newest releases of the
other clients that are compared send no ConsumerGroupHeartbeat.
"""
CONSUMER_SETTINGS: Final = {"franz-go": "kgo.ServerSideBalancer()"}
"""What makes a client's member one of the consumer protocol, where that is not Java's setting."""
JAVAS_CONSUMER_SETTING: Final = (
    "group.protocol=consumer and without partition.assignment.strategy, session.timeout.ms and heartbeat.interval.ms, which the "
    "broker has then"
)
BRACKETS: Final = (
    ("kgo.Balancers(", ")"),
    ("kafka.GroupBalancer{", "}"),
    ("=[", "]"),
    (": [", "]"),
    ("=", ""),
    (": ", ""),
)
"""What stands around the assignors in the setting of a client, the first that it has."""
REMOTE: Final = "partition.assignment.strategy=partitionallocator.clients.RemoteAssignor"
"""The setting of ``balanced``, which is no client's own."""


def steps_of(old: Assignor, new: Assignor, clients: list[str], protocol: str, old_protocol: str) -> Iterator[str]:
    """How the members get from one assignor to the other, as their libraries accept it. clients : the leader's, and others'"""
    if protocol != old_protocol:
        yield from _steps_to_consumer(clients, old)
        return
    if protocol != "classic":
        yield "Upgrade the brokers one by one. The coordinator assigns by its own release, at the group's next rebalance."
        return
    others = () if old.protocol_name == new.protocol_name else clients[1:]
    try:
        lists = [restarts(old, new), *(restarts(counterpart(each, old), counterpart(each, new)) for each in others)]
    except InvalidQuestion as refusal:
        yield f"Rolling restarts are refused. {refusal.detail}"
        yield f"Stop all members, configure {_settings_to_start_with(new, others)}, and start them: nothing is read meanwhile."
        return
    count = max(map(len, lists))
    of = f" of {clients[0]}" if len(clients) > 1 and not others else ""
    for i in range(count):
        settings = _settings([each[i] for each in lists if i < len(each)], clients[0])
        yield f"Restart the members{of} one by one with {settings}{' as it is' if old.name == new.name else ''}."
        if i < count - 1:
            yield "Wait until all members have joined: until then the group uses the old assignor."
    if old.protocol_name == new.protocol_name:
        yield "The group is assigned by whichever member leads, so by the old library until its leader has been restarted."


def _settings(lists: list[tuple[Assignor, ...]], client: str) -> str:
    """What members are restarted with; each client is named unless it is this one alone. lists : of each client"""
    named = {_client_name(each[0]): setting_of(each) for each in lists}
    if list(named) == [client]:
        return named[client]
    return ", or ".join(f"{name} and {setting}" for name, setting in named.items())


def _settings_to_start_with(new: Assignor, others: Sequence[str]) -> str:
    """What the members that were stopped are configured with. others : clients in the group besides those of this assignor"""
    lists, lacking = [new.listed], []
    for client in others:
        try:
            lists.append(counterpart(client, new).listed)
        except InvalidQuestion:
            lacking.append(client)
    instead = f" (in place of {' and '.join(lacking)}, which cannot)" if lacking else ""
    return _settings(lists, _client_name(new)) + instead


def _client_name(assignor: Assignor) -> str:
    return assignor.name.rpartition(":")[0] or "java"


def setting_of(assignors: tuple[Assignor, ...]) -> str:
    """The configuration that has these assignors, the first of them preferred."""
    settings = [each.setting or REMOTE for each in assignors]
    left, right = next(pair for pair in BRACKETS if pair[0] in settings[0])
    values = [setting.partition(left)[2].removesuffix(right) for setting in settings]
    return f"{settings[0].partition(left)[0]}{left}{(',' if left == '=' else ', ').join(values)}{right}"


def _steps_to_consumer(clients: list[str], old: Assignor) -> Iterator[str]:
    """Clients : the leader's, and others of the group"""
    settings = {}
    for client in clients:
        since = CONSUMER_SINCE.get(client)
        if since is None:
            known = [f"{name} since {release}" for name, release in CONSUMER_SINCE.items()]
            release = f" {old.implementation.release}" if old.implementation and old.implementation.client == client else ""
            lacking = f"{client}{release} does not have the consumer protocol"
            yield f"{lacking}: wait for a release that has it, or change to a client that has it, as {', '.join(known)}."
        else:
            of = "" if len(clients) == 1 else f" of {client}"
            yield f"Upgrade the members{of} to {client} {since} or later, and the brokers to 4.0 or later."
        settings[CONSUMER_SETTINGS.get(client, JAVAS_CONSUMER_SETTING)] = client
    yield "Leave group.consumer.migration.policy of the brokers at bidirectional, so that members of both protocols can mix."
    named = [each if len(settings) == 1 else f"{client} and {each}" for each, client in settings.items()]
    yield f"Restart the members one by one with {', or '.join(named)}. The first of them converts the group."


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


KRAFT_SINCE: Final = "3.3"
"""The first release whose KRaft is for production (KIP-833): brokers of earlier ones have ZooKeeper."""

KRAFT_ONLY_SINCE: Final = "4.0"
"""The first release without ZooKeeper."""


@dataclass(frozen=True)
class PlacementChange:
    """What two placers make of a topic.

    before, after : the placers
    possible_before, possible_after : could it have placed the topic this way, at once or with partitions added later?
    verdict : on the second placer, a sentence
    """

    topic_name: str
    before: str
    after: str
    possible_before: bool
    possible_after: bool
    verdict: str


def placement_changes(description: Description, brokers_of: Sequence[tuple[str, bool]]) -> Iterator[PlacementChange]:
    """For each topic of which all replicas are known, if the placers are not the same.

    brokers_of : before and after, their release of Kafka, and have they ZooKeeper, though they could do without?

    Brokers with ZooKeeper place by AdminUtils, by racks if brokers have any; KRaft's controller by striped. A topic stays where
    it is through an upgrade. What changes is where new topics and added partitions go, so a topic that the new placer could not
    have placed so would look otherwise if it were created anew.
    """
    rows = brokers(description) if description.brokers else []
    former = "rack-aware" if any(row.get("rack_id") for row in rows) else "rack-unaware"
    names = [former if zookeeper or not reaches(release, KRAFT_SINCE) else "striped" for release, zookeeper in brokers_of]
    if not rows or names[0] == names[1]:
        return
    cluster = read_cluster(pa.array(rows, BROKER))
    placers = [PLACERS[name].at(release) for name, (release, _) in zip(names, brokers_of, strict=True)]
    for topic in description.topics:
        change = _change(topic, cluster, placers)
        if change is not None:
            yield change


def _change(topic: Json, cluster: Cluster, placers: list[Placer]) -> PlacementChange | None:
    placements = sorted(topic.get("placements") or (), key=lambda row: row["partition_id"])
    if not placements or [row["partition_id"] for row in placements] != list(range(len(placements))):
        return None
    rows = [{"partition_id": row["partition_id"], "replicas": row["replicas"]} for row in placements]
    _, placement = read_placement(pa.array(rows, PLACEMENT), cluster)
    found = [audit(placer, cluster, placement, 0, ()) for placer in placers]
    possible = [each.broken_rule is None or bool(each.other_history) for each in found]
    before, after = (placer.name for placer in placers)
    return PlacementChange(
        topic["topic_name"], before, after, possible[0], possible[1], verdict(after, found[1], racks_known=bool(cluster.rack_ids))
    )
