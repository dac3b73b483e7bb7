"""What the leaders of Kafka Connect's groups assign: connectors and tasks → workers, by the protocol that a group has chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from service.core.budget import check_time
from service.core.jvm.ordering import capacity_for_set, in_hash_order, iteration_order
from service.core.kafka_versions import LATEST
from service.core.model import utf16
from service.core.registry import Implementation, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from service.core.model import Int32s


# Connect's incremental cooperative protocol (KIP-415), ``compatible`` and ``sessioned``: workers keep what is not revoked.
#
# A rebalance goes in these steps:
#
# 1. What was assigned before, what workers run and what is configured part the connectors and tasks into ``WorkSets``.
# 2. What is deleted or runs twice is revoked.
# 3. What is lost waits for its worker to come back, up to ``scheduled.rebalance.max.delay.ms``. When the delay is over, workers
#    that have had nothing since get it in turn. It is assigned like what is new if no worker has left.
# 4. Unless it waits, the leader revokes what workers have above an even share. If it did so in the rebalance before, it waits
#    first, longer each time.
# 5. What is new goes to the workers with the least.
#
# Example: w1 runs tasks 0 to 3 and w2 joins. Step 4 revokes tasks 0 and 1 of w1; w1 stops them and all join again. The tasks
# are new to the leader then, and step 5 gives them to w2.
#
# Source: org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor.performTaskAssignment (4.3.1).

# A rebalance of a group of Connect workers, and what its leader remembers between rebalances.

# Connectors and tasks as integers, and the orders in which Kafka Connect keeps them.
#
# A connector is the position of its name among all names of a question, in Java's order of strings. A task is
# ``connector << TASK_BITS | task id``. So integers sort as ``String`` and ``ConnectorTaskId`` do.

TASK_BITS: Final = 31
TASK_ID: Final = (1 << TASK_BITS) - 1

Items: TypeAlias = dict[int, None]
"""A java.util.LinkedHashSet of connectors or of tasks."""


def connector_of(task: int) -> int:
    """The connector of a task."""
    return task >> TASK_BITS


@dataclass(frozen=True, eq=False)
class Work:
    """Connectors and tasks: WorkerCoordinator.ConnectorsAndTasks."""

    connectors: Items = field(default_factory=dict)
    tasks: Items = field(default_factory=dict)

    @classmethod
    def of(cls, connectors: Iterable[int], tasks: Iterable[int]) -> Work:
        """These connectors and tasks, each once, in this order."""
        return cls(dict.fromkeys(connectors), dict.fromkeys(tasks))

    @property
    def kinds(self) -> tuple[Items, Items]:
        """Both, for what is done to either alike."""
        return self.connectors, self.tasks

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)

    @classmethod
    def union(cls, works: Iterable[Work]) -> Work:
        """What any of these has, in the order in which it is first there."""
        union = cls()
        for work in works:
            union.add(work)
        return union

    def copy(self) -> Work:
        """A copy to change."""
        return Work(dict(self.connectors), dict(self.tasks))

    def add(self, other: Work) -> None:
        """Add what is not here yet, after the rest."""
        self.connectors.update(other.connectors)
        self.tasks.update(other.tasks)

    def remove(self, other: Work) -> None:
        """Remove what is here."""
        for mine, theirs in zip(self.kinds, other.kinds, strict=True):
            for item in theirs:
                mine.pop(item, None)

    def without(self, *others: Work) -> Work:
        """What none of the others has, in the same order."""
        connectors, tasks = self.kinds
        for other in others:
            connectors = {item: None for item in connectors if item not in other.connectors}
            tasks = {item: None for item in tasks if item not in other.tasks}
        return Work(connectors, tasks)

    def within(self, other: Work) -> Work:
        """What the other has, too, in the same order."""
        connectors = {item: None for item in self.connectors if item in other.connectors}
        return Work(connectors, {item: None for item in self.tasks if item in other.tasks})

    def ascending(self) -> Work:
        """The same in ascending order."""
        return Work.of(sorted(self.connectors), sorted(self.tasks))


def serialized(work: Work, hashes: Int32s) -> Work:
    """The order in which a worker's assignment is read from its bytes.

    hashes : int32[connectors], String.hashCode() of the name of each

    A message lists tasks by connector: first the worker's connectors in the order of a HashSet, then others as their tasks come.
    Source: ConnectProtocol.Assignment.asMap, ExtendedAssignment.toStruct and fromStruct.
    """
    names = list(work.connectors)
    if names:
        ranks = np.array(names, np.int32)
        names = ranks[iteration_order(hashes[ranks], capacity=capacity_for_set(len(names)), ranks=ranks)].tolist()
    by_connector: dict[int, list[int]] = {name: [] for name in names}
    for task in work.tasks:
        by_connector.setdefault(connector_of(task), []).append(task)
    return Work.of(names, (task for tasks in by_connector.values() for task in tasks))


@dataclass(frozen=True)
class Round:
    """What the leader knows when it assigns.

    now_ms : its clock, at least 0
    generation_id : that it is to assign
    completed_generation_id : the last one for which it received its own assignment; -1: none
    configured : the connectors and tasks that exist, ascending
    workers : member_id → what the worker says that it runs, in the order of its bytes; workers in JoinGroup order, at least one
    """

    now_ms: int
    generation_id: int
    completed_generation_id: int
    configured: Work
    workers: Mapping[str, Work]


@dataclass(frozen=True)
class LeaderState:
    """What a leader's IncrementalCooperativeAssignor remembers; the defaults are those of a new leader.

    previous_assignment : all that it has assigned and not revoked, and what was lost and waits
    previous_revocation : what it has revoked last
    revoked_in_previous : did it revoke to balance loads, and were loads not balanced yet since then?
    successive_revoking_rebalances : how often in a row it wanted to
    scheduled_rebalance_ms : on its clock, when the delay ends; 0: there is none
    delay_ms : of the last rebalance
    candidates : member ids of workers without work, which are to take over what was lost after the delay, in order
    previous_generation_id, previous_members : of its last assignment
    """

    previous_assignment: Work = field(default_factory=Work)
    previous_revocation: Work = field(default_factory=Work)
    revoked_in_previous: bool = False
    successive_revoking_rebalances: int = 0
    scheduled_rebalance_ms: int = 0
    delay_ms: int = 0
    candidates: tuple[str, ...] = ()
    previous_generation_id: int = -1
    previous_members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class WorkSets:
    """How the connectors and tasks of a round were classified, each ascending.

    deleted : assigned before, configured no more; created : configured, and neither assigned before nor run
    lost : assigned before and configured, but no worker runs it; duplicated : more than one worker runs it
    """

    deleted: Work = field(default_factory=Work)
    created: Work = field(default_factory=Work)
    lost: Work = field(default_factory=Work)
    duplicated: Work = field(default_factory=Work)


@dataclass(frozen=True)
class Reassignment:
    """The leader's answer, by member id.

    assigned : what a worker is to start (of an eager group: all that it is to run); revoked : what it is to stop
    delay_ms : after which all are to join again; 0: they need not
    decision : why it waits, revokes or does not, in a sentence
    """

    assigned: Mapping[str, Work]
    revoked: Mapping[str, Work]
    delay_ms: int
    sets: WorkSets
    decision: str


@dataclass(frozen=True)
class ConnectAssignor(Strategy):
    """A protocol of Connect's workers.

    run : ``(round, what the leader remembers, scheduled.rebalance.max.delay.ms)`` → (answer, what it remembers then)
    is_cooperative : do workers keep what they run until it is revoked?
    setting : what selects it in the worker's configuration
    is_default : is it what a worker uses if nothing is configured?
    """

    run: Callable[[Round, LeaderState, int], tuple[Reassignment, LeaderState]]
    is_cooperative: bool = True
    setting: str = ""
    is_default: bool = False


BACKOFF_MULTIPLIER: Final = 40
"""Of the delay between rebalances in a row that revoke, in milliseconds from 1."""


Loads: TypeAlias = dict[str, Work]
"""Worker → what it is to run, changed in place; in the order of the HashMap made of the HashMap of their metadata."""


def assign(group: Round, state: LeaderState, max_delay_ms: int) -> tuple[Reassignment, LeaderState]:
    """See the module. max_delay_ms : ``scheduled.rebalance.max.delay.ms``"""
    sets = _sets(group, _previous_assignment(group, state))
    check_time()
    loads = {member: group.workers[member].copy() for member in in_hash_order(in_hash_order(list(group.workers)))}
    present = {member: work.without(sets.deleted) for member, work in loads.items()}
    to_stop = Work.of((*sets.deleted.connectors, *sets.duplicated.connectors), (*sets.deleted.tasks, *sets.duplicated.tasks))
    revoked = {member: work.within(to_stop) for member, work in loads.items()}
    _revoke(loads, revoked)
    check_time()
    memory, returned, waits = _handle_lost(group, state, sets.lost, loads, max_delay_ms)
    memory, surplus, decision = _balance(group, memory, loads, max_delay_ms)
    _revoke(loads, surplus)
    for member, work in surplus.items():
        revoked[member].add(work)
    check_time()
    to_assign = sets.created.copy()
    to_assign.add(returned)
    for kind, items in enumerate(to_assign.kinds):  # to the worker with the least of the kind, in the order of member ids
        workers = sorted(loads, key=lambda member: (len(loads[member].kinds[kind]), utf16(member)))
        _level([loads[member].kinds[kind] for member in workers], items)
    assigned = {member: work.without(present[member]) for member, work in loads.items()}
    answer = Reassignment(assigned, revoked, memory.delay_ms, sets, " ".join(filter(None, (waits, decision))))
    return answer, _remembered(group, memory, loads, revoked, sets.lost)


def _previous_assignment(group: Round, state: LeaderState) -> Work:
    """What the leader takes for assigned: nothing if it missed a generation; what workers run if a revocation had no effect."""
    known = state.previous_generation_id == group.completed_generation_id
    active = Work.union(group.workers.values())
    if state.previous_revocation.within(active):
        return active
    return state.previous_assignment if known else Work()


def _sets(group: Round, previous: Work) -> WorkSets:
    active = Work.union(group.workers.values())
    seen, twice = Work(), Work()
    for work in group.workers.values():
        twice.add(work.within(seen))
        seen.add(work)
    deleted = previous.without(group.configured).ascending()
    return WorkSets(
        deleted=deleted,
        created=group.configured.without(previous, active),
        lost=previous.without(active, deleted).ascending(),
        duplicated=twice.ascending(),
    )


def _revoke(loads: Loads, revoked: Mapping[str, Work]) -> None:
    for member, work in revoked.items():
        loads[member].remove(work)


# ---- step 3 ----------------------------------------------------------------------------------------------------------


def _handle_lost(group: Round, state: LeaderState, lost: Work, loads: Loads, max_delay_ms: int) -> tuple[LeaderState, Work, str]:
    """What the leader remembers now, which of what is lost is to be assigned as if it were new, and why.

    Gives what is lost to the candidates if the delay is over.
    """
    if not lost and not state.revoked_in_previous:
        return _without_delay(state), Work(), ""
    scheduled = state.scheduled_rebalance_ms
    if scheduled <= 0 and loads.keys() >= state.previous_members:
        return state, lost, "No worker has left, so that what is lost is assigned again." if lost else ""
    if max_delay_ms == 0:
        return state, lost, "There is no delay, so that what is lost is assigned again." if lost else ""
    if 0 < scheduled <= group.now_ms:
        candidates = [loads[member] for member in state.candidates if member in loads]
        if candidates:
            for kind, items in enumerate(lost.kinds):
                for worker, item in zip(cycle(candidates), items, strict=False):
                    worker.kinds[kind][item] = None
        told = "The delay is over." if not candidates else f"The delay is over: {len(candidates)} candidates get what is lost."
        return replace(_without_delay(state), revoked_in_previous=False), Work() if candidates else lost, told
    delay = min(scheduled - group.now_ms, max_delay_ms) if group.now_ms < scheduled else max_delay_ms
    without_work = in_hash_order([member for member, work in loads.items() if not work])  # a HashSet
    candidates_now = dict.fromkeys((*state.candidates, *without_work))
    waiting = replace(state, candidates=tuple(candidates_now), delay_ms=delay, scheduled_rebalance_ms=group.now_ms + delay)
    return waiting, Work(), f"What is lost waits {delay} ms for its worker to return."


def _without_delay(state: LeaderState) -> LeaderState:
    return replace(state, candidates=(), scheduled_rebalance_ms=0, delay_ms=0)


# ---- step 4 ----------------------------------------------------------------------------------------------------------


def _balance(group: Round, state: LeaderState, loads: Loads, max_delay_ms: int) -> tuple[LeaderState, dict[str, Work], str]:
    """What the leader remembers now, what it revokes from each worker to balance loads, and why."""
    if state.delay_ms != 0:
        return replace(state, revoked_in_previous=False), {}, "Nothing is revoked to balance loads before the delay is over."
    surplus = _surplus(group.configured, loads)
    if not surplus:
        if not state.revoked_in_previous:
            return state, {}, "Nothing is revoked: no worker has more than an even share."
        return replace(state, revoked_in_previous=False, successive_revoking_rebalances=0), {}, "Loads are balanced now."
    if not state.revoked_in_previous:
        return replace(state, revoked_in_previous=True), surplus, "What workers have above an even share is revoked."
    successive = state.successive_revoking_rebalances + 1
    delay = backoff(successive, max_delay_ms)
    again = replace(state, successive_revoking_rebalances=successive, delay_ms=delay)
    if delay == 0:
        return again, surplus, "What workers have above an even share is revoked again, as there is no delay."
    told = f"Loads are not balanced, but the previous rebalance revoked, too: the next one may in {delay} ms."
    return replace(again, scheduled_rebalance_ms=group.now_ms + delay), {}, told


def backoff(attempts: int, max_delay_ms: int) -> int:
    """ExponentialBackoff.backoff without jitter, in milliseconds, from 1."""
    if max_delay_ms <= 1:
        return max_delay_ms
    exponent = min(attempts, math.log(max_delay_ms) / math.log(BACKOFF_MULTIPLIER))
    return min(int(math.pow(BACKOFF_MULTIPLIER, exponent)), max_delay_ms)


def _surplus(configured: Work, loads: Loads) -> dict[str, Work]:
    """What each worker has above an even share of the connectors, and of the tasks: the first of each."""
    surplus: dict[str, Work] = {}
    if not any(loads.values()) or not configured:
        return surplus
    for kind, items in enumerate(configured.kinds):
        for member, count in _above(len(items), {member: len(work.kinds[kind]) for member, work in loads.items()}):
            revoked = surplus.setdefault(member, Work()).kinds[kind]
            revoked.update(dict.fromkeys(list(loads[member].kinds[kind])[:count]))
    return surplus


def _above(total: int, sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    """(worker, how many it has above its share); the first ones that have more than the least share may have one more."""
    least, extras = divmod(total, len(sizes))
    of_size = list(sizes.values()).count
    if of_size(least + 1) == extras and of_size(least) + extras == len(sizes):
        return []
    above = []
    for member, size in sizes.items():
        if size <= least:
            continue
        share = least + (extras > 0)
        extras -= extras > 0
        if size > share:
            above.append((member, size - share))
    return above


# ---- step 5 ----------------------------------------------------------------------------------------------------------


def _level(workers: Sequence[Items], items: Items) -> None:
    """Deal to workers, the least loaded first: rounds over those that have no more than the first."""
    left = iter(items)
    among = 1
    while True:
        first = len(workers[0])
        while among < len(workers) and len(workers[among]) <= first:
            among += 1
        for worker in workers[:among]:
            item = next(left, None)
            if item is None:
                return
            worker[item] = None


def _remembered(group: Round, state: LeaderState, loads: Loads, revoked: Mapping[str, Work], lost: Work) -> LeaderState:
    assigned, revocation = Work.union(loads.values()), Work.union(revoked.values())
    assigned.remove(revocation)
    assigned.add(lost)
    return replace(
        state,
        previous_assignment=assigned,
        previous_revocation=revocation,
        previous_generation_id=group.generation_id,
        previous_members=frozenset(group.workers),
    )


# Connect's eager protocol: workers stop all they run, and get all in turn.
#
# Source: org.apache.kafka.connect.runtime.distributed.EagerAssignor (4.3.1).


def assign_eagerly(group: Round, state: LeaderState, max_delay_ms: int) -> tuple[Reassignment, LeaderState]:  # noqa: ARG001
    """Deal the connectors, then the tasks, to the workers in the order of their member ids. The leader remembers nothing."""
    assigned = {member: Work() for member in group.workers}
    turn = cycle(sorted(group.workers, key=utf16))
    for connector in group.configured.connectors:
        assigned[next(turn)].connectors[connector] = None
    for task in group.configured.tasks:
        assigned[next(turn)].tasks[task] = None
    decision = "Workers stop all that they run, and get the connectors and then the tasks in turn."
    return Reassignment(assigned, {member: Work() for member in group.workers}, 0, WorkSets(), decision), state


_DISTRIBUTED: Final = "org.apache.kafka.connect.runtime.distributed"
_INCREMENTAL: Final = Implementation("connect", LATEST, f"{_DISTRIBUTED}.IncrementalCooperativeAssignor")

PROTOCOLS: Final = (
    ConnectAssignor(
        name="sessioned",
        run=assign,
        summary="Workers keep what they run; the leader revokes what is above an even share, and waits for workers that left.",
        implementation=_INCREMENTAL,
        forms={"4.3.1": {}},
        setting="connect.protocol=sessioned",
        is_default=True,
    ),
    ConnectAssignor(
        name="compatible",
        run=assign,
        summary="As sessioned, without session keys for the REST interface.",
        implementation=_INCREMENTAL,
        forms={"4.3.1": {}},
        setting="connect.protocol=compatible",
    ),
    ConnectAssignor(
        name="eager",
        run=assign_eagerly,
        summary="Workers stop everything in each rebalance, and get connectors and tasks in turn.",
        implementation=Implementation("connect", LATEST, f"{_DISTRIBUTED}.EagerAssignor"),
        forms={"4.3.1": {}},
        is_cooperative=False,
        setting="connect.protocol=eager",
    ),
)
"""The protocols, the default first."""
