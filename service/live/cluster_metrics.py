"""A snapshot as Prometheus metrics, with a bounded number of series.

Topics, groups and members are named by labels. Only the ``max_topics`` topics with the most bytes, the ``max_groups`` groups with
the most members, and ``max_members`` members of these have series of their own; ``partition_allocator_cluster_dropped`` counts
the others. Brokers are few.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError
from service.decisions.groups.answer import answer
from service.decisions.groups.question import of_rows
from service.decisions.member_counts.answer import Need, fewest_members
from service.descriptions.bodies import group_assignment, lags_of, with_lag
from service.descriptions.leaders import leader_of
from service.descriptions.model import Description, partitions_in
from service.live.verification import check_groups
from service.wire.connect_protocol import CONNECT

Numbers = Sequence[float | None]

GAUGES: Final = {
    "partition_allocator_cluster_broker_replicas": ("Replicas on a broker.", ("broker",)),
    "partition_allocator_cluster_broker_leaders": ("Partitions that a broker leads.", ("broker",)),
    "partition_allocator_cluster_broker_bytes": ("Bytes of a broker's replicas.", ("broker",)),
    "partition_allocator_cluster_broker_used_ratio": ("Used share of a broker's disks.", ("broker",)),
    "partition_allocator_cluster_broker_out_of_sync_replicas": ("Replicas of a broker that are not in sync.", ("broker",)),
    "partition_allocator_cluster_under_replicated_partitions": ("Partitions of which a replica is not in sync.", ()),
    "partition_allocator_cluster_offline_partitions": ("Partitions without a leader.", ()),
    "partition_allocator_cluster_topic_skew_ratio": (
        "Skew (maximum ÷ mean) of a topic: of records, bytes and rates over partitions, of replicas and leaders over brokers.",
        ("topic", "measure"),
    ),
    "partition_allocator_cluster_topic_hottest_key_ratio": (
        "Share of the hottest key among a topic's sampled records.",
        ("topic",),
    ),
    "partition_allocator_cluster_topic_key_skew_ratio": (
        "Skew of a topic's sampled records with a key over its partitions.",
        ("topic",),
    ),
    "partition_allocator_cluster_group_members": ("Members of a group.", ("group",)),
    "partition_allocator_cluster_group_lag": ("Records that a group has not committed yet.", ("group",)),
    "partition_allocator_cluster_group_skew_ratio": (
        "Skew of partitions and of lag over a group's members, of connectors and of tasks over Connect's workers.",
        ("group", "measure"),
    ),
    "partition_allocator_cluster_group_next_moves": ("Partitions that the group's next rebalance would move.", ("group",)),
    "partition_allocator_cluster_group_recommended_members": (
        "Fewest members that process the lag in time; without --consumption-rate, with which none has more partitions than now.",
        ("group",),
    ),
    "partition_allocator_cluster_group_differs": ("1 if a group is not assigned as Kafka would, else 0.", ("group",)),
    "partition_allocator_cluster_group_leader_known": (
        "1 if the library that leads, and so assigns, a classic group is known; 0 if client is an assumption.",
        ("group", "client"),
    ),
    "partition_allocator_cluster_member_partitions": ("Partitions of a member.", ("group", "member")),
    "partition_allocator_cluster_member_lag": (
        "Records of a member's partitions that its group has not committed.",
        ("group", "member"),
    ),
    "partition_allocator_cluster_member_records_per_second": (
        "Records that are written to a member's partitions.",
        ("group", "member"),
    ),
    "partition_allocator_cluster_dropped": ("Topics, groups and members without series of their own.", ("kind",)),
    "partition_allocator_cluster_not_known": ("Fields that the cluster did not report; the log has the reasons.", ()),
}
"""Every gauge of a snapshot: its help and its labels."""

TopicPartition = tuple[str, int]
Samples = dict[tuple[str, tuple[str, ...]], float]
"""(name of the gauge, label values) → value"""


@dataclass(frozen=True)
class Bounds:
    """Which topics, and how many topics, groups and members have series of their own. topic_names : none of them means all"""

    max_topics: int
    max_groups: int
    max_members: int
    topic_names: Sequence[str] = ()


def measure(snapshot: Json, previous: Json | None, seconds: float, bounds: Bounds, need: Need | None = None) -> Samples:
    """The samples of a snapshot.

    previous : the one before, taken ``seconds`` earlier, for rates
    need : what members must do, for the number that a group needs
    """
    samples: Samples = {}
    _measure_brokers(snapshot, samples)
    topics = [topic for topic in snapshot["topics"] if not bounds.topic_names or topic["topic_name"] in bounds.topic_names]
    topics.sort(key=lambda topic: (-sum(size or 0 for size in topic.get("partition_bytes", ())), topic["topic_name"]))
    older = {} if previous is None else {topic["topic_name"]: topic for topic in previous["topics"]}
    broker_ids = [broker["broker_id"] for broker in snapshot["brokers"] if not broker.get("fenced")]
    for topic in topics[: bounds.max_topics]:
        for name, numbers in _of_topic(topic, older.get(topic["topic_name"], {}), seconds, broker_ids):
            samples["partition_allocator_cluster_topic_skew_ratio", (topic["topic_name"], name)] = skew(numbers)
    groups = sorted(
        (group for group in snapshot["groups"] if "members" in group or "committed_offsets" in group),
        key=lambda group: (-len(group.get("members", ())), group["group_id"]),
    )
    _measure_groups(snapshot, groups[: bounds.max_groups], samples, need)
    readers = [group for group in groups[: bounds.max_groups] if group["group_protocol"] != CONNECT]
    _measure_members(snapshot, readers, _rates(snapshot, older, seconds), samples, bounds.max_members)
    members_count = sum(len(group.get("members", ())) for group in groups if group["group_protocol"] != CONNECT)
    counts = {"topic": len(topics), "group": len(groups), "member": members_count}
    limits = {"topic": bounds.max_topics, "group": bounds.max_groups, "member": bounds.max_members}
    for kind, count in counts.items():
        samples["partition_allocator_cluster_dropped", (kind,)] = max(0, count - limits[kind])
    samples["partition_allocator_cluster_not_known", ()] = len(snapshot["not_known"])
    return samples


def measure_keys(topic: Json, sample: Sequence[tuple[bytes, int]], samples: Samples) -> None:
    """Add what a sample of a topic's keys shows."""
    if not sample:
        return
    keys = Counter(key for key, _ in sample)
    partitions = Counter(partition for _, partition in sample)
    name = (topic["topic_name"],)
    samples["partition_allocator_cluster_topic_hottest_key_ratio", name] = max(keys.values()) / len(sample)
    samples["partition_allocator_cluster_topic_key_skew_ratio", name] = skew(
        [partitions[i] for i in range(topic["partitions_count"])]
    )


def skew(numbers: Iterable[float | None]) -> float:
    """Maximum ÷ mean; 1 if there is nothing."""
    known = [number for number in numbers if number is not None]
    total = sum(known)
    return max(known) * len(known) / total if total else 1.0


def _measure_brokers(snapshot: Json, samples: Samples) -> None:
    replicas, leaders, sizes, out_of_sync = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    under_replicated = offline = 0
    for topic in snapshot["topics"]:
        partition_bytes = topic.get("partition_bytes", [0] * topic["partitions_count"])
        for placement, size in zip(topic["placements"], partition_bytes, strict=True):
            leaders[placement["leader"]] += 1
            behind = set(placement["replicas"]).difference(placement["in_sync_replicas"])
            out_of_sync.update(behind)
            under_replicated += bool(behind)
            offline += placement["leader"] is None
            for broker_id in placement["replicas"]:
                replicas[broker_id] += 1
                sizes[broker_id] += size or 0
    for broker in snapshot["brokers"]:
        broker_id, label = broker["broker_id"], (str(broker["broker_id"]),)
        samples["partition_allocator_cluster_broker_replicas", label] = replicas[broker_id]
        samples["partition_allocator_cluster_broker_leaders", label] = leaders[broker_id]
        samples["partition_allocator_cluster_broker_bytes", label] = sizes[broker_id]
        samples["partition_allocator_cluster_broker_out_of_sync_replicas", label] = out_of_sync[broker_id]
        if broker.get("capacity_bytes"):
            samples["partition_allocator_cluster_broker_used_ratio", label] = broker["used_bytes"] / broker["capacity_bytes"]
    samples["partition_allocator_cluster_under_replicated_partitions", ()] = under_replicated
    samples["partition_allocator_cluster_offline_partitions", ()] = offline


def _of_topic(topic: Json, older: Json, seconds: float, broker_ids: Sequence[int]) -> Iterator[tuple[str, Numbers]]:
    """What a topic's skew is measured of."""
    ends, begins = topic.get("log_end_offsets"), topic.get("log_start_offsets")
    if ends and begins:
        yield "records", _differences(begins, ends, 1)
    if "partition_bytes" in topic:
        yield "bytes", topic["partition_bytes"]
    for name, field_name in (("records_per_second", "log_end_offsets"), ("bytes_per_second", "partition_bytes")):
        if topic.get(field_name) and older.get(field_name) and seconds:
            yield name, _differences(older[field_name], topic[field_name], seconds)
    for name in ("replicas", "leaders"):
        ids = [i for one in topic["placements"] for i in (one["replicas"] if name == "replicas" else [one["leader"]])]
        counts = Counter(ids)
        yield name, [counts[broker_id] for broker_id in broker_ids]


def _differences(before: Numbers, after: Numbers, seconds: float) -> Numbers:
    pairs = zip(before, after, strict=False)
    return [None if a is None or b is None or b < a else (b - a) / seconds for a, b in pairs]


def _measure_groups(snapshot: Json, groups: Sequence[Json], samples: Samples, need: Need | None) -> None:
    description = Description.of_snapshot(snapshot)
    for group in groups:
        label, lag = (group["group_id"],), _lag(group, description)
        if lag:
            samples["partition_allocator_cluster_group_lag", label] = sum(lag.values())
        if "members" in group:
            samples["partition_allocator_cluster_group_members", label] = len(group["members"])
        if not group.get("members"):
            continue
        leader = leader_of(group)
        if leader is not None:
            samples["partition_allocator_cluster_group_leader_known", (*label, leader.client)] = len(leader.candidates) == 1
        for name, loads in _loads(group, lag):
            samples["partition_allocator_cluster_group_skew_ratio", (*label, name)] = skew(loads)
        with suppress(AllocatorError):
            _decide(description, group["group_id"], need, samples)
    names = [group["group_id"] for group in groups if group.get("members")]
    for finding in check_groups(snapshot, names) if names else ():
        if finding.verdict != "not_checked":
            samples["partition_allocator_cluster_group_differs", (finding.name,)] = finding.verdict == "differs"


def _loads(group: Json, lag: Mapping[TopicPartition, float]) -> Iterator[tuple[str, Numbers]]:
    """What a group's skew is measured of, of each member."""
    if group["group_protocol"] == CONNECT:
        yield "connectors", [len(worker["connectors"]) for worker in group["members"]]
        yield "tasks", [sum(len(part["task_ids"]) for part in worker["tasks"]) for worker in group["members"]]
        return
    owned = [partitions_in(member["owned_partitions"]) for member in group["members"]]
    yield "partitions", [len(partitions) for partitions in owned]
    lags = [_lag_of(partitions, lag) for partitions in owned]
    if lag and None not in lags:
        yield "lag", lags


def _decide(description: Description, group_id: str, need: Need | None, samples: Samples) -> None:
    """What the group's next rebalance would move, and how many members it needs. Raises AllocatorError."""
    body = group_assignment(description, group_id)
    samples["partition_allocator_cluster_group_next_moves", (group_id,)] = answer(
        of_rows(**body), Budget()
    ).first.outcome.movement.moved
    if need is not None:
        body["topics"] = with_lag(body["topics"], description, group_id)
    fewest = fewest_members(of_rows(**body), need, Budget())
    if fewest is not None:
        samples["partition_allocator_cluster_group_recommended_members", (group_id,)] = fewest


def _rates(snapshot: Json, older: Mapping[str, Json], seconds: float) -> dict[str, Numbers]:
    """Records per second of each partition, by topic; without those that have not been seen before."""
    rates = {}
    for topic in snapshot["topics"]:
        before, after = older.get(topic["topic_name"], {}).get("log_end_offsets"), topic.get("log_end_offsets")
        if before and after and seconds:
            rates[topic["topic_name"]] = _differences(before, after, seconds)
    return rates


def _measure_members(
    snapshot: Json, groups: Sequence[Json], rates: Mapping[str, Numbers], samples: Samples, max_members: int
) -> None:
    """What each of the first members has to do; static members are named by their instance ids, which they keep."""
    description, left = Description.of_snapshot(snapshot), max_members
    for group in groups:
        members, lag = group.get("members", ())[:left], _lag(group, description)
        left -= len(members)
        for member in members:
            label = group["group_id"], member.get("instance_id") or member["member_id"]
            owned = partitions_in(member["owned_partitions"])
            samples["partition_allocator_cluster_member_partitions", label] = len(owned)
            if lag and (lag_of_member := _lag_of(owned, lag)) is not None:
                samples["partition_allocator_cluster_member_lag", label] = lag_of_member
            if rates:
                known = (rates[name][i] for name, i in owned if i < len(rates.get(name, ())))
                samples["partition_allocator_cluster_member_records_per_second", label] = sum(rate or 0 for rate in known)


def _lag_of(owned: Sequence[TopicPartition], lag: Mapping[TopicPartition, float]) -> float | None:
    """The lag of a member's partitions; None if the group has committed an offset of none of them."""
    known = [lag[partition] for partition in owned if partition in lag]
    return sum(known) if known or not owned else None


def _lag(group: Json, description: Description) -> dict[TopicPartition, float]:
    """Records behind the committed offset, by partition, where that is known."""
    return {partition: lag for partition, lag in lags_of(group, description).items() if lag is not None}


@dataclass(eq=False)
class ClusterCollector(Collector):
    """The newest samples, and how the attempts to take a snapshot go.

    samples : empty while the cluster is away, so that no stale figure looks fresh
    """

    samples: Samples = field(default_factory=dict)
    up: bool = False
    failures: int = 0
    taken_at: float = 0.0
    duration: float = 0.0
    _lock: Any = field(default_factory=Lock)

    def succeed(self, samples: Samples, taken_at: float, duration: float) -> None:
        """A snapshot has been measured. taken_at : seconds since 1970"""
        with self._lock:
            self.samples, self.up, self.taken_at, self.duration = samples, True, taken_at, duration

    def fail(self) -> None:
        """No snapshot could be taken."""
        with self._lock:
            self.samples, self.up = {}, False
            self.failures += 1

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        with self._lock:
            samples = self.samples
            yield GaugeMetricFamily(
                "partition_allocator_cluster_up", "1 if the latest snapshot of the cluster succeeded.", self.up
            )
            yield CounterMetricFamily("partition_allocator_cluster_snapshot_failures", "Snapshots that failed.", self.failures)
            if self.taken_at:
                text = "Time of the latest successful snapshot, in seconds since 1970."
                yield GaugeMetricFamily("partition_allocator_cluster_snapshot_timestamp_seconds", text, self.taken_at)
                text = "Duration of the latest successful snapshot."
                yield GaugeMetricFamily("partition_allocator_cluster_snapshot_duration_seconds", text, self.duration)
        for name, (text, labels) in GAUGES.items():
            family = GaugeMetricFamily(name, text, labels=labels)
            for (of, values), value in samples.items():
                if of == name:
                    family.add_metric(values, float(value))
            yield family
