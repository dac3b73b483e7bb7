"""The question: a group of Streams, its tasks and topics, and the racks of both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from service.clients.streams.classic.clients import ClientsGroup, StreamsSettings
from service.clients.streams.classic.racks import STRATEGIES, RackCosts
from service.clients.streams.model import StreamsTopology
from service.core.errors import InvalidQuestion
from service.core.model import Int32s
from service.core.printable import counted
from service.decisions.rows import duplicates_in_rows

Row = Mapping[str, Any]


@dataclass(frozen=True)
class StreamsQuestion:
    """A group of Streams.

    subtopologies : rows (see ``api.streams``), each well-formed, at least one
    members : of the streams protocol, likewise; clients : of the classic protocol. One of them
    member_protocol : streams (the broker assigns) or classic (the group leader does); default: streams
    assignor, kafka_version : default: that of the protocol, and its newest release
    num_standby_replicas : of the group
    max_warmup_replicas, acceptable_recovery_lag, rack_aware_assignment_* : settings of the leader of a classic group
    topics : rows with the racks of partitions, for ``rack_aware_assignment_strategy``
    group_id : what the group is called in metrics
    """

    subtopologies: Sequence[Row]
    members: Sequence[Row] | None = None
    clients: Sequence[Row] | None = None
    member_protocol: str | None = None
    assignor: str | None = None
    kafka_version: str | None = None
    num_standby_replicas: int = 0
    max_warmup_replicas: int = StreamsSettings.max_warmup_replicas
    acceptable_recovery_lag: int = StreamsSettings.acceptable_recovery_lag
    rack_aware_assignment_tags: Sequence[str] = ()
    rack_aware_assignment_strategy: str | None = None
    rack_aware_assignment_traffic_cost: int | None = None
    rack_aware_assignment_non_overlap_cost: int | None = None
    topics: Sequence[Row] = ()
    group_id: str | None = None

    protocol: ClassVar[str] = "streams"

    @property
    def is_classic(self) -> bool:
        """Does the group leader assign?"""
        return self.member_protocol == "classic"

    @property
    def holders(self) -> tuple[str, str, Sequence[Row]]:
        """Of the rows that get tasks: their field, the field of their names, and the rows."""
        if self.is_classic:
            return "clients", "process_id", self.clients or ()
        return "members", "member_id", self.members or ()


NO_STRATEGY: Final = "none"
SOURCES, CHANGELOGS = KINDS = ("source_topic_names", "changelog_topic_names")
"""The topics of a subtopology: those that active tasks read, and those that standby tasks do."""

MOST_COST: Final = 2**31 - 1
"""Most that a task may cost: a Java int."""
LARGEST_DEFAULT: Final = 10
"""The most that an assignor takes for a cost that is not given."""

EDGE_BYTES: Final = 240
"""Memory for each pair of a task and a client, in the network of tasks and clients. Measured: 231."""
RACK_BYTES: Final = 4
"""Memory for each pair of a partition and a rack; there are no more racks of clients than clients."""


def has_strategy(question: StreamsQuestion) -> bool:
    """Is the group to take racks into account?"""
    return question.rack_aware_assignment_strategy not in (None, NO_STRATEGY)


def why_disabled(question: StreamsQuestion) -> str | None:
    """Why the leader does not take racks into account though it has a strategy; None: it does.

    Source: RackAwareTaskAssignor.canEnableRackAwareAssignor, FallbackPriorTaskAssignor.
    """
    if question.assignor == "fallback-prior":
        return "fallback-prior does not take racks into account."
    for row in question.clients or ():
        if row.get("rack_id") is None:
            return f"Racks are not taken into account: the client {row['process_id']} has none."
    read = {name for row in question.subtopologies for kind in _kinds(question) for name in _topics(row, kind)}
    for row in question.topics:
        if row["topic_name"] in read:
            for i, racks in enumerate(row["partition_racks"]):
                if not racks or not all(racks):
                    of = "no replica" if not racks else "a replica without a rack"
                    return f"Racks are not taken into account: partition {i} of {row['topic_name']} has {of}."
    return None


def read_costs(question: StreamsQuestion, topology: StreamsTopology, numbers: Sequence[int]) -> RackCosts:
    """What tasks cost. numbers : of the clients, in the order of the question"""
    racks: dict[str, int] = {}
    rack_of = np.empty(len(numbers), np.int32)
    for number, row in zip(numbers, question.clients or (), strict=True):
        rack_of[number] = racks.setdefault(row["rack_id"], len(racks))
    rows = {task: row for row, task in enumerate(topology.tasks())}
    missing = {row["topic_name"]: _missing(row["partition_racks"], racks) for row in question.topics}
    by_id = {row["subtopology_id"]: row for row in question.subtopologies}
    misses = {kind: np.zeros((len(rows), len(racks)), np.int32) for kind in KINDS}
    for kind in _kinds(question):
        start = 0
        for name, count in zip(topology.subtopology_ids, topology.tasks_counts, strict=True):
            for topic in _topics(by_id[name], kind):
                of_topic = missing[topic][:count]
                misses[kind][start : start + len(of_topic)] += of_topic
            start += count
    costs = question.rack_aware_assignment_traffic_cost, question.rack_aware_assignment_non_overlap_cost
    strategy = question.rack_aware_assignment_strategy or NO_STRATEGY
    return RackCosts(strategy, *costs, rack_of, rows, misses[SOURCES], misses[CHANGELOGS])


def traffic_of(question: StreamsQuestion, group: ClientsGroup, costs: RackCosts) -> dict[str, int]:
    """Partitions that the assigned tasks read, and those among them without a replica in the rack of the client."""
    traffic: dict[str, int] = {}
    for role, kind, misses in (("active", SOURCES, costs.sources), ("standby", CHANGELOGS, costs.changelogs)):
        tasks = [(client, getattr(client, role)) for client in group.clients if kind in _kinds(question)]
        counts = _partitions(question, group.topology, kind)
        read = sum(int(counts[[costs.rows[task] for task in of_client]].sum()) for _, of_client in tasks)
        remote = sum(costs.remote(client, of_client, misses) for client, of_client in tasks)
        traffic |= {f"{role}_partitions": read, f"{role}_cross_rack": remote}
    return traffic


def _partitions(question: StreamsQuestion, topology: StreamsTopology, kind: str) -> Int32s:
    """int32[tasks], how many partitions each task reads."""
    counts = {row["topic_name"]: len(row["partition_racks"]) for row in question.topics}
    by_id = {row["subtopology_id"]: row for row in question.subtopologies}
    read = [np.zeros(0, np.int32)]
    for name, count in zip(topology.subtopology_ids, topology.tasks_counts, strict=True):
        of_one = np.zeros(count, np.int32)
        for topic in _topics(by_id[name], kind):
            of_one[: counts.get(topic, 0)] += 1
        read.append(of_one)
    return np.concatenate(read)


def _missing(partition_racks: Sequence[Sequence[str]], racks: Mapping[str, int]) -> Int32s:
    """int32[partitions × racks], 1 where a partition has no replica in a client's rack."""
    missing = np.ones((len(partition_racks), len(racks)), np.int32)
    for i, names in enumerate(partition_racks):
        missing[i, [racks[name] for name in names if name in racks]] = 0
    return missing


def _kinds(question: StreamsQuestion) -> tuple[str, ...]:
    """The topics whose racks count: those of standby tasks only if there are any."""
    return KINDS if question.num_standby_replicas else (SOURCES,)


def _topics(row: Row, kind: str) -> list[str]:
    """The topics of a subtopology, each once; there are no changelogs without state."""
    return list(dict.fromkeys(row.get(kind) or ())) if kind == SOURCES or row["stateful"] else []


def rack_faults(question: StreamsQuestion) -> Iterator[InvalidQuestion]:
    """What is wrong with the racks of a question; its subtopologies have no two of one name."""
    field = "rack_aware_assignment_strategy"
    if not has_strategy(question):
        return
    if question.rack_aware_assignment_strategy not in STRATEGIES:
        known = ", ".join((NO_STRATEGY, *STRATEGIES))
        yield InvalidQuestion(f"Must be one of {known}.", field)
    if not question.is_classic:
        yield InvalidQuestion("Only leaders of classic groups have a strategy for racks.", field)
        return
    yield from _cost_faults(question)
    yield from duplicates_in_rows(question.topics, "topic_name", "topics")
    counts = {row["topic_name"]: len(row["partition_racks"]) for row in question.topics}
    for i, row in enumerate(question.subtopologies):
        for kind in _kinds(question) if row["stateful"] else (SOURCES,):
            yield from _topic_faults(row, kind, counts, i)


def _cost_faults(question: StreamsQuestion) -> Iterator[InvalidQuestion]:
    """Costs that Java's int does not hold. With some of them Graph.cancelNegativeCycles never ends."""
    names = ("rack_aware_assignment_traffic_cost", "rack_aware_assignment_non_overlap_cost")
    traffic, non_overlap = (LARGEST_DEFAULT if getattr(question, name) is None else getattr(question, name) for name in names)
    topics = max((len(_topics(row, kind)) for row in question.subtopologies for kind in _kinds(question)), default=0)
    cost = abs(traffic) * topics + abs(non_overlap)
    if cost > MOST_COST:
        detail = f"A task may cost {cost}, beyond Java's int ({MOST_COST}): the leader's search may then never end."
        yield InvalidQuestion(detail, names[abs(non_overlap) > MOST_COST // 2])


def _topic_faults(row: Row, kind: str, counts: Mapping[str, int], i: int) -> Iterator[InvalidQuestion]:
    names, tasks = _topics(row, kind), row["tasks_count"]
    unknown = [name for name in names if name not in counts]
    if not names:
        read = "standby tasks restore" if kind == CHANGELOGS else "tasks read"
        yield InvalidQuestion(f"Required with rack_aware_assignment_strategy: the topics that {read}.", "subtopologies", i, kind)
    elif unknown:
        yield InvalidQuestion(f"Unknown topic {unknown[0]!r}.", "subtopologies", i, kind)
    elif kind == SOURCES and max(counts[name] for name in names) != tasks:
        largest = counted(max(counts[name] for name in names), "partition")
        detail = f"There is a task for each partition of the largest topic, which has {largest}."
        yield InvalidQuestion(detail, "subtopologies", i, "tasks_count")
    elif kind == CHANGELOGS and min(counts[name] for name in names) < tasks:
        yield InvalidQuestion(f"A changelog has a partition for each of the {tasks} tasks.", "subtopologies", i, kind)
