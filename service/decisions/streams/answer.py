"""A group of Kafka Streams → which member, or client, runs which tasks."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import numpy as np

from service.clients.streams import BROKERS
from service.clients.streams.classic import LEADERS
from service.clients.streams.classic.client import Client
from service.clients.streams.classic.clients import ClientsGroup, LeadersAssignor, StreamsSettings
from service.clients.streams.model import (
    TASK_BITS,
    TASK_ID,
    StreamsAssignment,
    StreamsAssignor,
    StreamsGroup,
    StreamsMember,
    StreamsTopology,
)
from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.measures import spread
from service.core.model import Int64s, java_order
from service.core.printable import counted
from service.core.registry import released
from service.decisions.rows import duplicates_in_rows, faults_of, longest_text, raise_all
from service.decisions.streams.question import (
    EDGE_BYTES,
    RACK_BYTES,
    Row,
    StreamsQuestion,
    has_strategy,
    rack_faults,
    read_costs,
    traffic_of,
    why_disabled,
)

NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")
PROCESS_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

TASK_BYTES: Final = 900
"""Most memory for each active and standby task, for each that a member had, and for each member, beside the names that the answer
has for it. Measured: 650."""

PAIR_BYTES: Final = 0.5
"""Most memory for each pair of a task and a client, a bit in each of three sets."""


@dataclass(frozen=True)
class TaskMovement:
    """What becomes of active tasks, and which standby tasks stay.

    retained : stay with their member; promoted : go to a member that had them as a standby task; moved : go to another member
    added : no member had them; retained_standbys : standby tasks of a member that had them, active or as a standby task
    """

    retained: int
    promoted: int
    moved: int
    added: int
    retained_standbys: int


@dataclass(frozen=True)
class StreamsAnswer:
    """The group, assigned.

    group : clients of a classic group are its members
    probing_rebalance : of a classic group: does another rebalance follow, since tasks wait for their state?
    rack_traffic : see ``traffic_of``; None where racks are not taken into account
    """

    question: StreamsQuestion
    assignor: StreamsAssignor | LeadersAssignor
    kafka_version: str
    group: StreamsGroup
    assignment: StreamsAssignment
    movement: TaskMovement
    probing_rebalance: bool | None = None
    rack_traffic: dict[str, int] | None = None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        loads = np.array([len(tasks) for tasks in self.assignment.active], np.int64)
        items = {"partitions": int(loads.sum()), "members": len(loads)}
        moved = self.movement.moved + self.movement.promoted
        return Figures(f"streams-{self.assignor.name}", items, spread(loads).skew, self.question.group_id, moved)

    @property
    def conclusion(self) -> str:
        """How many tasks members get, and what becomes of those that they had."""
        counts, movement = [len(tasks) for tasks in self.assignment.active], self.movement
        who, most = counted(len(counts), "client" if self.question.is_classic else "member"), counted(max(counts), "active task")
        many = most if min(counts) == max(counts) else f"{min(counts):,} to {most}"
        parts = [f"{self.assignor.name} gives {who} {many}{' each' * (len(counts) > 1)}"]
        if had := movement.retained + movement.promoted + movement.moved:
            warm = f", {movement.promoted:,} of them to a member with a standby task" * bool(movement.promoted)
            moved = movement.promoted + movement.moved
            parts.append(f"{moved:,} of {counted(had, 'task')} that members had {'moves' if moved == 1 else 'move'}{warm}")
        if self.probing_rebalance:
            parts.append("another rebalance follows, since tasks wait for their state elsewhere")
        return f"{'; '.join(parts)}."

    @property
    def warnings(self) -> list[str]:
        """What a reader of the answer must know."""
        missing = sum(self.assignment.missing_standbys.values())
        tasks = counted(missing, "standby task is missing", "standby tasks are missing")
        told = [f"{tasks}: a process has each task once, so that more processes are needed."]
        disabled = why_disabled(self.question) if has_strategy(self.question) else None
        return told[: missing > 0] + ([disabled] if disabled else [])


def answer(question: StreamsQuestion, budget: Budget) -> StreamsAnswer:
    """Assign the group. Raises InvalidQuestion (all faults at once), and what the budget raises."""
    raise_all(_faults(question))
    assignor, version = _strategy(question)
    _reserve(question, budget)
    group = read_group(question)
    if isinstance(assignor, LeadersAssignor):
        clients = read_clients(question)
        probing = assignor.run(clients)
        assignment = _assigned_to(clients)
        traffic = traffic_of(question, clients, clients.racks) if clients.racks else None
        return StreamsAnswer(question, assignor, version, group, assignment, _movement(group, assignment), probing, traffic)
    assignment = assignor.run(group)
    return StreamsAnswer(question, assignor, version, group, assignment, _movement(group, assignment))


def read_group(question: StreamsQuestion) -> StreamsGroup:
    """The group of a question; tasks that members had and that do not exist are left out."""
    topology, counts = _topology(question)
    _, name, rows = question.holders
    members = tuple(
        StreamsMember(
            member[name],
            member["process_id"],
            tuple(_tasks(member.get("active_tasks"), counts)),
            tuple(_tasks(member.get("standby_tasks"), counts)),
            {
                counts[each["subtopology_id"]][0] << TASK_BITS | each["task_id"]: each["offset"]
                for each in member.get("task_offsets") or ()
                if each["task_id"] < counts.get(each["subtopology_id"], (0, 0))[1]
            },
        )
        for member in rows
    )
    return StreamsGroup(topology, members, question.num_standby_replicas)


def read_clients(question: StreamsQuestion) -> ClientsGroup:
    """The group of a question whose leader assigns."""
    topology, counts = _topology(question)
    rows = question.clients or ()
    ids = [UUID(row["process_id"]).int for row in rows]
    numbers = {process: number for number, process in enumerate(sorted(ids, key=_halves))}
    clients = tuple(
        Client(
            numbers[process],
            _hash_code(process),
            row["threads_count"],
            row.get("client_tags") or {},
            sorted(set(_tasks(row.get("active_tasks"), counts))),
            sorted(set(_tasks(row.get("standby_tasks"), counts))),
        )
        for process, row in zip(ids, rows, strict=True)
    )
    settings = StreamsSettings(
        question.num_standby_replicas,
        question.max_warmup_replicas,
        question.acceptable_recovery_lag,
        question.rack_aware_assignment_tags,
    )
    in_order, racks = [client.number for client in clients], None
    if has_strategy(question) and why_disabled(question) is None:
        racks = read_costs(question, topology, in_order)
    lags = _lags(question, topology, in_order)
    return ClientsGroup(topology, tuple(map(int, topology.subtopology_ids)), clients, settings, lags, racks)


def _lags_decide(question: StreamsQuestion) -> bool:
    return question.assignor in (None, LEADERS[0].name)


def _lags(question: StreamsQuestion, topology: StreamsTopology, numbers: Sequence[int]) -> Int64s:
    """int64[stateful tasks × clients], as of ClientsGroup; of no tasks where lags do not decide. numbers : of the clients"""
    stateful = topology.tasks(stateful=True) if _lags_decide(question) else []
    places = {(topology.subtopology_ids[task >> TASK_BITS], task & TASK_ID): place for place, task in enumerate(stateful)}
    lags = np.zeros((len(stateful), len(numbers)), np.int64)
    for number, row in zip(numbers, question.clients or (), strict=True):
        for each in row.get("lags") or () if places else ():
            place = places.get((each["subtopology_id"], each["task_id"]))
            if place is not None:
                lags[place, number] = each["lag"]
    return lags


def _halves(process: int) -> tuple[int, int]:
    """UUID.compareTo compares two signed longs."""
    high, low = process >> 64, process & (1 << 64) - 1
    return high - (high >> 63 << 64), low - (low >> 63 << 64)


def _hash_code(process: int) -> int:
    """UUID.hashCode."""
    both = (process >> 64) ^ (process & (1 << 64) - 1)
    code = ((both >> 32) ^ both) & (1 << 32) - 1
    return code - (code >> 31 << 32)


def _topology(question: StreamsQuestion) -> tuple[StreamsTopology, dict[str, tuple[int, int]]]:
    """The topology, and of each subtopology its place there and its tasks."""
    rows = question.subtopologies
    names = [row["subtopology_id"] for row in rows]
    order = sorted(range(len(rows)), key=lambda i: int(names[i])) if question.is_classic else java_order(names).tolist()
    rows = [rows[i] for i in order]
    ids = tuple(row["subtopology_id"] for row in rows)
    topology = StreamsTopology(ids, tuple(row["tasks_count"] for row in rows), tuple(row["stateful"] for row in rows))
    return topology, {name: (i, count) for i, (name, count) in enumerate(zip(ids, topology.tasks_counts, strict=True))}


def _assigned_to(group: ClientsGroup) -> StreamsAssignment:
    """What the clients of a group were assigned."""
    copies = Counter(task for client in group.clients for task in client.standby)
    missing = {task: group.settings.standby_replicas - copies[task] for task in group.topology.tasks(stateful=True)}
    return StreamsAssignment(
        [sorted(client.active) for client in group.clients],
        [sorted(client.standby) for client in group.clients],
        {task: count for task, count in missing.items() if count > 0},
    )


def _tasks(rows: Sequence[Row] | None, counts: Mapping[str, tuple[int, int]]) -> Iterator[int]:
    for row in rows or ():
        subtopology, count = counts.get(row["subtopology_id"], (0, 0))
        yield from (subtopology << TASK_BITS | i for i in row["task_ids"] if i < count)


def rows_of(topology: StreamsTopology, tasks: Sequence[int]) -> list[dict[str, Any]]:
    """``[{"subtopology_id", "task_ids"}]`` of tasks, ascending."""
    by_subtopology: dict[int, list[int]] = {}
    for task in sorted(tasks):
        by_subtopology.setdefault(task >> TASK_BITS, []).append(task & TASK_ID)
    return [{"subtopology_id": topology.subtopology_ids[i], "task_ids": ids} for i, ids in by_subtopology.items()]


def _strategy(question: StreamsQuestion) -> tuple[StreamsAssignor | LeadersAssignor, str]:
    """The assignor and the release. Raises UnknownStrategy, and InvalidQuestion for a release that was not compared."""
    if question.is_classic:
        return released(LEADERS, question.assignor, question.kafka_version)
    return released(BROKERS, question.assignor, question.kafka_version)


def _reserve(question: StreamsQuestion, budget: Budget) -> None:
    replicas = question.num_standby_replicas
    _, name, holders = question.holders
    tasks = sum(row["tasks_count"] * (1 + (replicas if row["stateful"] else 0)) for row in question.subtopologies)
    had = sum(
        len(row["task_ids"]) for member in holders for kind in ("active_tasks", "standby_tasks") for row in member.get(kind) or ()
    )
    had += sum(len(member.get(kind) or ()) for member in holders for kind in ("task_offsets", "lags"))
    budget.check("max_partitions", tasks, "active and standby tasks", "subtopologies")
    names = longest_text(row["subtopology_id"] for row in question.subtopologies) + longest_text(row[name] for row in holders)
    pairs = sum(row["tasks_count"] for row in question.subtopologies) * len(holders)
    size = (TASK_BYTES + names) * (tasks + had + len(holders))
    budget.reserve(size + (int(PAIR_BYTES * pairs) if question.is_classic else 0))
    if has_strategy(question):
        partitions = sum(len(row["partition_racks"]) for row in question.topics)
        budget.reserve(EDGE_BYTES * pairs + RACK_BYTES * partitions * len(holders))


def _movement(group: StreamsGroup, assignment: StreamsAssignment) -> TaskMovement:
    had = {task for member in group.members for task in member.active}
    retained = promoted = moved = standbys = 0
    for member, active, standby in zip(group.members, assignment.active, assignment.standby, strict=True):
        mine, copies = set(member.active), set(member.standby)
        stay = mine.intersection(active)
        warm = copies.intersection(active) - stay
        retained += len(stay)
        promoted += len(warm)
        moved += len(had.intersection(active) - stay - warm)
        standbys += len((mine | copies).intersection(standby))
    total = sum(len(active) for active in assignment.active)
    return TaskMovement(retained, promoted, moved, total - retained - promoted - moved, standbys)


def _faults(question: StreamsQuestion) -> Iterator[InvalidQuestion]:
    yield from faults_of(lambda: _strategy(question))
    field, name, holders = question.holders
    other = "members" if question.is_classic else "clients"
    if getattr(question, other) is not None:
        yield InvalidQuestion(f"A group of the {question.member_protocol or 'streams'} protocol has {field} instead.", other)
    if not holders:
        yield InvalidQuestion("At least one is required.", field)
    yield from duplicates_in_rows(question.subtopologies, "subtopology_id", "subtopologies")
    yield from duplicates_in_rows(holders, name, field)
    yield from rack_faults(question)
    if question.is_classic:
        yield from _classic_faults(question)


def _classic_faults(question: StreamsQuestion) -> Iterator[InvalidQuestion]:
    """Subtopologies are numbers there, and clients' ids UUIDs; with high-availability the lags decide."""
    counts = {row["subtopology_id"]: row["tasks_count"] for row in question.subtopologies}
    stateful = [row["subtopology_id"] for row in question.subtopologies if row["stateful"] and row["tasks_count"]]
    for i, row in enumerate(question.subtopologies):
        if not NUMBER.fullmatch(row["subtopology_id"]):
            yield InvalidQuestion("Must be a number, as in the ids of tasks (0 in 0_1).", "subtopologies", i, "subtopology_id")
    for i, row in enumerate(question.clients or ()):
        if not PROCESS_ID.fullmatch(row["process_id"]):
            yield InvalidQuestion("Must be a UUID in lower case.", "clients", i, "process_id")
        if _lags_decide(question):
            tasks = {(each["subtopology_id"], each["task_id"]) for each in row.get("lags") or ()}
            known = Counter(name for name, task in tasks if task < counts.get(name, 0))
            for name in stateful:
                if known[name] < counts[name]:
                    detail = f"There must be the lag of every task of subtopology {name}, which has state."
                    yield InvalidQuestion(detail, "clients", i, "lags")
