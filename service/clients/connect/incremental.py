"""Connect's incremental cooperative protocol (KIP-415), ``compatible`` and ``sessioned``: workers keep what is not revoked.

A rebalance goes in these steps:

1. What was assigned before, what workers run and what is configured part the connectors and tasks into ``WorkSets``.
2. What is deleted or runs twice is revoked.
3. What is lost waits for its worker to come back, up to ``scheduled.rebalance.max.delay.ms``. When the delay is over, workers
   that have had nothing since get it in turn. It is assigned like what is new if no worker has left.
4. Unless it waits, the leader revokes what workers have above an even share. If it did so in the rebalance before, it waits
   first, longer each time.
5. What is new goes to the workers with the least.

Example: w1 runs tasks 0 to 3 and w2 joins. Step 4 revokes tasks 0 and 1 of w1; w1 stops them and all join again. The tasks are
new to the leader then, and step 5 gives them to w2.

Source: org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor.performTaskAssignment (4.3.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Final

from service.clients.connect.model import LeaderState, Reassignment, Round, WorkSets
from service.clients.connect.work import Items, Work
from service.core.clock import check_time
from service.core.jvm.names import in_hash_order
from service.core.jvm.sorting import utf16

BACKOFF_MULTIPLIER: Final = 40
"""Of the delay between rebalances in a row that revoke, in milliseconds from 1."""


@dataclass(frozen=True)
class WorkerLoad:
    """A worker and what it is to run; changed in place."""

    member_id: str
    work: Work


def assign(group: Round, state: LeaderState, max_delay_ms: int) -> tuple[Reassignment, LeaderState]:
    """See the module. max_delay_ms : ``scheduled.rebalance.max.delay.ms``"""
    sets = _sets(group, _previous_assignment(group, state))
    check_time()
    loads = _loads(group)
    present = {load.member_id: load.work.without(sets.deleted) for load in loads}
    to_stop = Work.of((*sets.deleted.connectors, *sets.duplicated.connectors), (*sets.deleted.tasks, *sets.duplicated.tasks))
    revoked = {load.member_id: load.work.within(to_stop) for load in loads}
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
    _deal(loads, to_assign)
    assigned = {load.member_id: load.work.without(present[load.member_id]) for load in loads}
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


def _loads(group: Round) -> list[WorkerLoad]:
    """The workers in the order of the HashMap that is made of the HashMap of their metadata."""
    members = in_hash_order(in_hash_order(list(group.workers)))
    return [WorkerLoad(member, group.workers[member].copy()) for member in members]


def _revoke(loads: Sequence[WorkerLoad], revoked: Mapping[str, Work]) -> None:
    for load in loads:
        if load.member_id in revoked:
            load.work.remove(revoked[load.member_id])


# ---- step 3 ----------------------------------------------------------------------------------------------------------


def _handle_lost(
    group: Round, state: LeaderState, lost: Work, loads: Sequence[WorkerLoad], max_delay_ms: int
) -> tuple[LeaderState, Work, str]:
    """What the leader remembers now, which of what is lost is to be assigned as if it were new, and why.

    Gives what is lost to the candidates if the delay is over.
    """
    if not lost and not state.revoked_in_previous:
        return _without_delay(state), Work(), ""
    scheduled, members = state.scheduled_rebalance_ms, {load.member_id: load for load in loads}
    if scheduled <= 0 and members.keys() >= state.previous_members:
        return state, lost, "No worker has left, so that what is lost is assigned again." if lost else ""
    if max_delay_ms == 0:
        return state, lost, "There is no delay, so that what is lost is assigned again." if lost else ""
    if 0 < scheduled <= group.now_ms:
        candidates = [members[member].work for member in state.candidates if member in members]
        if candidates:
            _deal_in_turn(candidates, lost)
        told = "The delay is over." if not candidates else f"The delay is over: {len(candidates)} candidates get what is lost."
        return replace(_without_delay(state), revoked_in_previous=False), Work() if candidates else lost, told
    delay = min(scheduled - group.now_ms, max_delay_ms) if group.now_ms < scheduled else max_delay_ms
    without_work = in_hash_order([load.member_id for load in loads if not load.work])  # a HashSet
    candidates_now = dict.fromkeys((*state.candidates, *without_work))
    waiting = replace(state, candidates=tuple(candidates_now), delay_ms=delay, scheduled_rebalance_ms=group.now_ms + delay)
    return waiting, Work(), f"What is lost waits {delay} ms for its worker to return."


def _without_delay(state: LeaderState) -> LeaderState:
    return replace(state, candidates=(), scheduled_rebalance_ms=0, delay_ms=0)


def _deal_in_turn(workers: Sequence[Work], lost: Work) -> None:
    for kind, items in enumerate(lost.kinds):
        for worker, item in zip(cycle(workers), items, strict=False):
            worker.kinds[kind][item] = None


# ---- step 4 ----------------------------------------------------------------------------------------------------------


def _balance(
    group: Round, state: LeaderState, loads: Sequence[WorkerLoad], max_delay_ms: int
) -> tuple[LeaderState, dict[str, Work], str]:
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


def _surplus(configured: Work, loads: Sequence[WorkerLoad]) -> dict[str, Work]:
    """What each worker has above an even share of the connectors, and of the tasks: the first of each."""
    surplus: dict[str, Work] = {}
    if not any(load.work for load in loads) or not configured:
        return surplus
    for kind, items in enumerate(configured.kinds):
        for load, count in _above(len(items), [len(load.work.kinds[kind]) for load in loads]):
            revoked = surplus.setdefault(loads[load].member_id, Work()).kinds[kind]
            revoked.update(dict.fromkeys(list(loads[load].work.kinds[kind])[:count]))
    return surplus


def _above(total: int, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """(worker, how many it has above its share); the first ones that have more than the least share may have one more."""
    least, extras = divmod(total, len(sizes))
    if sizes.count(least + 1) == extras and sizes.count(least) + extras == len(sizes):
        return []
    above = []
    for i, size in enumerate(sizes):
        if size <= least:
            continue
        share = least + (extras > 0)
        extras -= extras > 0
        if size > share:
            above.append((i, size - share))
    return above


# ---- step 5 ----------------------------------------------------------------------------------------------------------


def _deal(loads: Sequence[WorkerLoad], to_assign: Work) -> None:
    """Give each to the worker that has the least of its kind, in the order of member ids."""
    for kind, items in enumerate(to_assign.kinds):
        workers = sorted(loads, key=lambda load: (len(load.work.kinds[kind]), utf16(load.member_id)))
        _level([worker.work.kinds[kind] for worker in workers], items)


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


def _remembered(
    group: Round, state: LeaderState, loads: Sequence[WorkerLoad], revoked: Mapping[str, Work], lost: Work
) -> LeaderState:
    assigned, revocation = Work.union(load.work for load in loads), Work.union(revoked.values())
    assigned.remove(revocation)
    assigned.add(lost)
    return replace(
        state,
        previous_assignment=assigned,
        previous_revocation=revocation,
        previous_generation_id=group.generation_id,
        previous_members=frozenset(group.workers),
    )
