"""A group of Kafka Streams → which member runs which tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from service.core.assignors.streams import BROKERS
from service.core.assignors.streams.model import TASK_BITS, TASK_ID, StreamsAssignment, StreamsGroup, StreamsMember, Topology
from service.core.errors import InvalidQuestion, UnknownStrategy, faults_of, raise_all
from service.core.jvm.sorting import java_order
from service.core.kafka_versions import LATEST
from service.core.measures import spread
from service.decisions.figures import Figures

if TYPE_CHECKING:
    from service.core.assignors.streams.model import StreamsAssignor
    from service.decisions.budget import Budget

Row = Mapping[str, Any]

TASK_BYTES: Final = 900
"""Most memory for each active and standby task, for each that a member had, and for each member. Measured: 650."""


@dataclass(frozen=True)
class StreamsQuestion:
    """A group of the streams protocol.

    subtopologies, members : rows (see ``api.streams.schema``), each well-formed, at least one
    assignor, kafka_version : default: sticky, and the newest release
    num_standby_replicas : of the group
    group_id : what the group is called in metrics
    """

    subtopologies: Sequence[Row]
    members: Sequence[Row]
    assignor: str | None = None
    kafka_version: str | None = None
    num_standby_replicas: int = 0
    group_id: str | None = None

    protocol: ClassVar[str] = "streams"

    @property
    def version(self) -> str:
        """The release of Kafka."""
        return self.kafka_version or LATEST


@dataclass(frozen=True)
class Movement:
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
    """The group, assigned."""

    question: StreamsQuestion
    assignor: StreamsAssignor
    group: StreamsGroup
    assignment: StreamsAssignment
    movement: Movement

    @property
    def figures(self) -> Figures:
        """See Figures."""
        loads = np.array([len(tasks) for tasks in self.assignment.active], np.int64)
        items = {"partitions": int(loads.sum()), "members": len(loads)}
        moved = self.movement.moved + self.movement.promoted
        return Figures(f"streams-{self.assignor.name}", items, spread(loads).skew, self.question.group_id, moved)

    @property
    def warnings(self) -> list[str]:
        """What a reader of the answer must know."""
        missing = sum(self.assignment.missing_standbys.values())
        if not missing:
            return []
        return [f"{missing} standby tasks are missing: a process has each task once, so that more processes are needed."]


def answer(question: StreamsQuestion, budget: Budget) -> StreamsAnswer:
    """Assign the group. Raises InvalidQuestion (all faults at once), and what the budget raises."""
    raise_all(_faults(question))
    assignor = _strategy(question)
    _reserve(question, budget)
    group = read_group(question)
    assignment = assignor.run(group, budget.check_time)
    return StreamsAnswer(question, assignor, group, assignment, _movement(group, assignment))


def read_group(question: StreamsQuestion) -> StreamsGroup:
    """The group of a question; tasks that members had and that do not exist are left out."""
    rows = question.subtopologies
    rows = [rows[i] for i in java_order([row["subtopology_id"] for row in rows]).tolist()]
    ids = tuple(row["subtopology_id"] for row in rows)
    topology = Topology(ids, tuple(row["tasks_count"] for row in rows), tuple(row["stateful"] for row in rows))
    counts = {name: (i, count) for i, (name, count) in enumerate(zip(ids, topology.tasks_counts, strict=True))}
    members = tuple(
        StreamsMember(
            member["member_id"],
            member["process_id"],
            tuple(_tasks(member.get("active_tasks"), counts)),
            tuple(_tasks(member.get("standby_tasks"), counts)),
            {
                counts[each["subtopology_id"]][0] << TASK_BITS | each["task_id"]: each["offset"]
                for each in member.get("task_offsets") or ()
                if each["task_id"] < counts.get(each["subtopology_id"], (0, 0))[1]
            },
        )
        for member in question.members
    )
    return StreamsGroup(topology, members, question.num_standby_replicas)


def _tasks(rows: Sequence[Row] | None, counts: Mapping[str, tuple[int, int]]) -> Iterator[int]:
    for row in rows or ():
        subtopology, count = counts.get(row["subtopology_id"], (0, 0))
        yield from (subtopology << TASK_BITS | i for i in row["task_ids"] if i < count)


def rows_of(topology: Topology, tasks: Sequence[int]) -> list[dict[str, Any]]:
    """``[{"subtopology_id", "task_ids"}]`` of tasks, ascending."""
    by_subtopology: dict[int, list[int]] = {}
    for task in sorted(tasks):
        by_subtopology.setdefault(task >> TASK_BITS, []).append(task & TASK_ID)
    return [{"subtopology_id": topology.subtopology_ids[i], "task_ids": ids} for i, ids in by_subtopology.items()]


def _strategy(question: StreamsQuestion) -> StreamsAssignor:
    """The assignor, as the release has it. Raises UnknownStrategy, and InvalidQuestion for a release that was not compared."""
    by_name = {each.name: each for each in BROKERS}
    name = question.assignor or BROKERS[0].name
    if name not in by_name:
        raise UnknownStrategy("assignor", name, tuple(by_name))
    return by_name[name].at(question.version)


def _reserve(question: StreamsQuestion, budget: Budget) -> None:
    replicas = question.num_standby_replicas
    tasks = sum(row["tasks_count"] * (1 + (replicas if row["stateful"] else 0)) for row in question.subtopologies)
    had = sum(
        len(row["task_ids"])
        for member in question.members
        for kind in ("active_tasks", "standby_tasks")
        for row in member.get(kind) or ()
    )
    had += sum(len(member.get("task_offsets") or ()) for member in question.members)
    budget.check("max_partitions", tasks, "active and standby tasks", "subtopologies")
    budget.reserve(TASK_BYTES * (tasks + had + len(question.members)))


def _movement(group: StreamsGroup, assignment: StreamsAssignment) -> Movement:
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
    return Movement(retained, promoted, moved, total - retained - promoted - moved, standbys)


def _faults(question: StreamsQuestion) -> Iterator[InvalidQuestion]:
    yield from faults_of(lambda: _strategy(question))
    for rows, name in (("subtopologies", "subtopology_id"), ("members", "member_id")):
        seen: set[str] = set()
        for i, row in enumerate(getattr(question, rows)):
            if row[name] in seen:
                yield InvalidQuestion(f"Duplicate: {row[name]!r}.", rows, i, name)
            seen.add(row[name])
