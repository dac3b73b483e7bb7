"""The broker's sticky task assignor (KIP-1071).

Active tasks, in these steps, where a member takes no more than an even share of the active tasks:

1. Each goes to the member that had it.
2. Else to one that had it as a standby task: of these, one on a less loaded process.
3. The rest go by subtopology to the least loaded process, there to the least loaded member.

Standby tasks of stateful subtopologies then go to the previous active member, to previous standby members, and to the least
loaded processes, but never to a process that has the task already. Here the share is one of all tasks.

The load of a process is its number of tasks ÷ its members. Of equal loads, java.util.PriorityQueue and HashMap decide.

Source: org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor and ProcessState (4.3.1, 4.4.0). 4.4.0 looks for a
previous standby member among all that do not have the task, where 4.3.1 gives up if the first one has it. It also takes into
account the offsets that members report.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from service.clients.streams.model import TASK_BITS, TASK_ID, StreamsAssignment, StreamsGroup
from service.core.budget import looking
from service.core.jvm.ordering import in_hash_order
from service.core.jvm.priority_queue import PriorityQueue

TIMED: Final = 1_000
"""Tasks between two looks at the clock."""


class _Share:
    """How many tasks a member may have: an even share, less what members with a full share have taken."""

    def __init__(self, tasks: int, members: int) -> None:
        self.tasks, self.members = tasks, members

    @property
    def most(self) -> int:
        """For one more member."""
        return -(-self.tasks // self.members) if self.members else 0

    def taken(self, count: int) -> None:
        """Set a member's number of tasks."""
        if count == self.most:
            self.members -= 1
            self.tasks -= count


@dataclass(eq=False)
class _Process:
    """A process. counts : member → its tasks, in the order of a HashMap"""

    counts: dict[int, int] = field(default_factory=dict)
    tasks: set[int] = field(default_factory=set)
    tasks_count: int = 0
    queue: PriorityQueue[int] | None = None

    @property
    def load(self) -> float:
        """Tasks ÷ members."""
        return self.tasks_count / len(self.counts)


@dataclass(frozen=True)
class _Release:
    """What differs between releases.

    computes : do processes come into their map by ``computeIfAbsent``?
    previous : task → the members that had it as a standby task, the preferred ones first
    find : one of these for a task, or (of standby tasks) None if none can take it
    """

    computes: bool
    previous: "Callable[[_Run], dict[int, list[int]]]"
    find: "Callable[[_Run, list[int], int | None], int | None]"


class _Run:
    """A group while it is assigned. order : its members in the order of their HashMap"""

    def __init__(self, group: StreamsGroup, release: _Release) -> None:
        self.group, self.release = group, release
        self.members = group.members
        self.order = self._in_hash_order(range(len(group.members)))
        self.processes = self._processes()
        self.process_of = [self.processes[member.process_id] for member in group.members]
        self.had = {task: member for member in self.order for task in group.members[member].active}
        self.active: list[list[int]] = [[] for _ in group.members]
        self.standby: list[list[int]] = [[] for _ in group.members]
        topology = group.topology
        active = sum(topology.tasks_counts)
        stateful = sum(count for count, with_state in zip(topology.tasks_counts, topology.stateful, strict=True) if with_state)
        self.of_active = _Share(active, len(group.members))
        self.of_all = _Share(active + stateful * group.standby_replicas, len(group.members))
        self.previous = release.previous(self)

    def find(self, task: int, *, is_active: bool) -> int | None:
        """A member that had a task as a standby task, and can take it if it has room."""
        return self.release.find(self, self.previous.get(task, []), None if is_active else task)

    def _processes(self) -> dict[str, _Process]:
        """By process_id, in the order of their HashMap, each with its members in the order of its own."""
        members: dict[str, list[int]] = {}
        for member in self.order:
            members.setdefault(self.members[member].process_id, []).append(member)
        calls = [self.members[member].process_id for member in self.order]
        names = in_hash_order(calls, capacity=len(self.members), compute=self.release.computes)
        return {name: _Process(dict.fromkeys(self._in_hash_order(members[name]), 0)) for name in names}

    def _in_hash_order(self, members: Iterable[int]) -> list[int]:
        positions = {self.members[member].member_id: member for member in members}
        return [positions[name] for name in in_hash_order(list(positions))]

    def give(self, member: int, task: int, *, is_active: bool) -> None:
        """To this member. The queue of its process is made anew when it is next needed."""
        self._add(member, task, is_active=is_active)
        self.process_of[member].queue = None

    def give_least(self, process: _Process, task: int, *, is_active: bool) -> None:
        """To the least loaded member of a process."""
        if process.queue is None:
            process.queue = PriorityQueue(process.counts.__getitem__)
            for member in process.counts:
                process.queue.add(member)
        member = process.queue.poll()
        self._add(member, task, is_active=is_active)
        process.queue.add(member)

    def _add(self, member: int, task: int, *, is_active: bool) -> None:
        process = self.process_of[member]
        process.tasks_count += 1
        process.tasks.add(task)
        (self.active if is_active else self.standby)[member].append(task)
        process.counts[member] += 1
        if is_active:
            self.of_active.taken(process.counts[member])
        self.of_all.taken(process.counts[member])

    def has_room(self, member: int, share: _Share) -> bool:
        """Has the member less than its share?"""
        return self.process_of[member].counts[member] < share.most

    def by_load(self) -> PriorityQueue[_Process]:
        """The processes, the least loaded first."""
        queue: PriorityQueue[_Process] = PriorityQueue(lambda process: process.load)
        for process in self.processes.values():
            queue.add(process)
        return queue


def _ranked(run: _Run) -> dict[int, list[int]]:
    """Those that have a standby task, then others that report an offset; of each, the highest offset first."""
    candidates: dict[int, list[tuple[bool, int, int]]] = {}
    for member in run.order:
        each = run.members[member]
        standby = set(each.standby)
        for task in each.standby:
            candidates.setdefault(task, []).append((False, -each.offsets.get(task, 0), member))
        for task, offset in each.offsets.items():
            if task not in standby:
                candidates.setdefault(task, []).append((True, -offset, member))
    return {
        task: [member for *_, member in sorted(of_task, key=lambda candidate: candidate[:2])]
        for task, of_task in candidates.items()
    }


def _in_order(run: _Run) -> dict[int, list[int]]:
    previous: dict[int, list[int]] = {}
    for member in run.order:
        for task in run.members[member].standby:
            previous.setdefault(task, []).append(member)
    return previous


def _least_loaded(run: _Run, members: list[int], standby_task: int | None) -> int | None:
    """Of members who had a standby task, one that has less than those before it; None: all have the task."""
    best, least = None, (0.0, 0)
    for member in members:
        process = run.process_of[member]
        if standby_task is not None and standby_task in process.tasks:
            continue
        load, count = process.load, process.counts[member]
        if best is None or (load < least[0] and count < least[1]):
            best, least = member, (load, count)
    return best


def _least_loaded_until_4_3(run: _Run, members: list[int], standby_task: int | None) -> int | None:
    """Likewise, but None if the process of the first one has the task."""
    if not members:
        return None
    best, first = members[0], run.process_of[members[0]]
    least = (first.load, first.counts[best])
    for member in members[1:]:
        process = run.process_of[member]
        load, count = process.load, process.counts[member]
        if load < least[0] and (standby_task is None or standby_task not in process.tasks) and count < least[1]:
            best, least = member, (load, count)
    return best if standby_task is None or standby_task not in first.tasks else None


SINCE_4_4: Final = _Release(computes=True, previous=_ranked, find=_least_loaded)
UNTIL_4_3: Final = _Release(computes=False, previous=_in_order, find=_least_loaded_until_4_3)


def assign(group: StreamsGroup, release: _Release = SINCE_4_4) -> StreamsAssignment:
    """See the module. release : SINCE_4_4 or UNTIL_4_3"""
    run = _Run(group, release)
    _assign_active(run)
    missing = _assign_standby(run) if group.standby_replicas else {}
    return StreamsAssignment(run.active, run.standby, missing)


def _by_id(task: int) -> tuple[int, int]:
    """For an order by task id, then by subtopology."""
    return task & TASK_ID, task >> TASK_BITS


def _assign_active(run: _Run) -> None:
    rest = []
    for task in looking(sorted(run.group.topology.tasks(), key=_by_id), TIMED):
        member = run.had.get(task)
        if member is not None and run.has_room(member, run.of_active):
            run.give(member, task, is_active=True)
        else:
            rest.append(task)
    left = []
    for task in looking(rest, TIMED):
        member = run.find(task, is_active=True)
        if member is not None and run.has_room(member, run.of_active):
            run.give(member, task, is_active=True)
        else:
            left.append(task)
    queue = run.by_load()
    for task in looking(sorted(left), TIMED):
        process = queue.poll()
        run.give_least(process, task, is_active=True)
        queue.add(process)


def _assign_standby(run: _Run) -> dict[int, int]:
    """Returns how many standby tasks of each task are missing."""
    replicas = run.group.standby_replicas
    left: dict[int, int] = {}
    for task in looking(sorted(run.group.topology.tasks(stateful=True), key=_by_id, reverse=True), TIMED):
        for given in range(replicas):
            member = _previous_owner(run, task)
            if member is None:
                left[task] = replicas - given
                break
            run.give(member, task, is_active=False)
    queue = run.by_load()
    missing: dict[int, int] = {}
    for task in looking(sorted(left, reverse=True), TIMED):
        for given in range(left[task]):
            if not _give_standby(run, queue, task):
                missing[task] = left[task] - given
                break
    return missing


def _previous_owner(run: _Run, task: int) -> int | None:
    """The member that was active, or one that had it as a standby task, if it can take it and has room."""
    member = run.had.get(task)
    if member is not None and task not in run.process_of[member].tasks and run.has_room(member, run.of_all):
        return member
    member = run.find(task, is_active=False)
    return member if member is not None and run.has_room(member, run.of_all) else None


def _give_standby(run: _Run, queue: PriorityQueue[_Process], task: int) -> bool:
    """To the least loaded process that does not have the task; is there one?"""
    passed: list[_Process] = []
    given = False
    while queue and not given:
        passed.append(queue.poll())
        given = task not in passed[-1].tasks
    if given:
        run.give_least(passed[-1], task, is_active=False)
    for process in reversed(passed):
        queue.add(process)
    return given
