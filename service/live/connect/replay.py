"""The last rebalance of an incremental Connect group, computed again from what its workers sent and got.

A group tells what each worker ran when it joined, what it was told to start and to stop, and the delay. It does not tell what is
configured and what the leader remembered. They are put together so that they explain what was told:

============================= ===========================================================================================
started                       was configured, and neither assigned before nor run; or waited for a worker, and the delay was over
stopped                       ran twice, or was deleted: a whole connector, or its last tasks; or was above an even share
a delay                       something is lost that the leader does not name, or it revoked in the rebalance before, too
============================= ===========================================================================================

What was deleted of the connectors and tasks that were stopped is tried out. The rebalance is as a leader computes it if one of
these explanations gives each worker what it was told.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import Any, Final

from service.clients.connect import LeaderState, Round, Work, assign, connector_of
from service.core.documents import Json
from service.core.jvm.ordering import in_hash_order
from service.decisions.connect import ConnectorNames

NOW: Final = 1
"""Any time: only differences count."""

MOST_TRIED: Final = 64
MOST_ITEMS: Final = 1_000_000
"""Ways in which what was stopped may have been deleted that are tried, and the connectors and tasks of all of them together."""

LOST: Final = "\0lost"
"""Stands for the connectors and tasks that wait; no connector is called so."""


class _Rebalance:
    """What the workers of a group sent and got, as integers.

    before : what each ran when it joined; started, stopped : what it was told
    ran : what any ran when it joined; new : what none did, also what a worker got and was to stop in the same rebalance
    """

    def __init__(self, workers: Sequence[Json]) -> None:
        told = {worker["member_id"]: worker["assignment"] for worker in workers}
        rows = [*workers, *(worker["before"] for worker in workers), *told.values(), *map(_revoked, told.values())]
        connectors = {name for row in rows for name in row["connectors"]}
        self.names = ConnectorNames.of(connectors | {part["connector_name"] for row in rows for part in row["tasks"]} | {LOST})
        self.before = {worker["member_id"]: self.names.work(worker["before"]) for worker in workers}
        self.started = {member: self.names.work(each) for member, each in told.items()}
        self.stopped = {member: self.names.work(_revoked(each)) for member, each in told.items()}
        self.ran, self.new = Work.union(self.before.values()), Work.union(self.started.values())
        self.new.add(Work.union(self.stopped.values()).without(self.ran))
        self.delay_ms = workers[0]["assignment"]["delay_ms"]

    def is_run_by(self, workers: Sequence[Json]) -> bool:
        """Was each worker told one delay, and does it run what it ran, less what it was to stop, and what it was to start?"""
        for worker in workers:
            if worker["assignment"]["delay_ms"] != self.delay_ms:
                return False
            member = worker["member_id"]
            runs = self.before[member].without(self.stopped[member])
            runs.add(self.started[member])
            if not _same(runs, self.names.work(worker)):
                return False
        return True

    def is_computed(self, deleted: Work) -> bool:
        """Would a leader have told all this if so much was deleted?"""
        configured = self.ran.without(deleted)
        configured.add(self.new)
        lost = Work.of([self.names.indices[LOST]], []) if self.delay_ms else Work()
        configured.add(lost)
        known = self.ran.copy()
        known.add(lost)
        ends = NOW + self.delay_ms if self.delay_ms else 0
        if self._gives(configured, LeaderState(previous_assignment=known, scheduled_rebalance_ms=ends)):
            return True
        if self.delay_ms or not self.new:
            return False
        known.add(self.new)  # all of it may have waited for workers without work, and the delay is over
        candidates = tuple(in_hash_order([member for member, work in self.before.items() if not work]))
        return self._gives(configured, LeaderState(previous_assignment=known, scheduled_rebalance_ms=NOW, candidates=candidates))

    def _gives(self, configured: Work, state: LeaderState) -> bool:
        group = Round(NOW, 1, state.previous_generation_id, configured.ascending(), self.before)
        answer, _ = assign(group, state, max(self.delay_ms, 1))
        return answer.delay_ms == self.delay_ms and all(
            _same(answer.assigned[member], self.started[member]) and _same(answer.revoked[member], self.stopped[member])
            for member in self.before
        )

    def deletions(self) -> Iterator[Work]:
        """What may have been deleted of what was stopped: nothing, then all that can be, then everything in between."""
        left = Work.union(work.without(self.stopped[member]) for member, work in self.before.items())
        left.add(self.new)
        stopped = Work.union(self.stopped.values()).without(left).ascending()
        tasks, last_left = _by_connector(stopped), {name: max(ids, default=-1) for name, ids in _by_connector(left).items()}
        ways = []
        for name, stopped_tasks in tasks.items():
            last_ones = [task for task in stopped_tasks if task > last_left.get(name, -1)]
            cuts = [(name, last_ones, False, start) for start in range(len(last_ones), -1, -1)]
            whole = [] if name in last_left else [(name, last_ones, True, 0)]
            ways.append([*cuts, *whole])
        yield Work()
        for choice in chain([tuple(each[-1] for each in ways)], product(*ways)):
            connectors = [name for name, _, whole, _ in choice if whole and name in stopped.connectors]
            yield Work.of(connectors, [task for _, last_ones, _, start in choice for task in last_ones[start:]])


def is_computed(workers: Sequence[Json]) -> bool:
    """Is the last rebalance as a leader computes it? False also if what was deleted has too many explanations to try.

    workers : of an incremental group in a snapshot, each with ``before`` and ``assignment``, and running what follows of these
    """
    rebalance = _Rebalance(workers)
    items = [*rebalance.ran.tasks, *rebalance.new.tasks]
    if min(items, default=0) < 0 or not rebalance.is_run_by(workers):  # no task of Connect's has such an id
        return False
    tried = min(MOST_TRIED, 1 + MOST_ITEMS // (1 + len(items)))
    return any(rebalance.is_computed(deleted) for deleted in islice(rebalance.deletions(), tried))


def _by_connector(work: Work) -> dict[int, list[int]]:
    """Connector → its tasks; none for one that is there alone."""
    tasks: dict[int, list[int]] = {name: [] for name in work.connectors}
    for task in work.tasks:
        tasks.setdefault(connector_of(task), []).append(task)
    return tasks


def _revoked(told: Mapping[str, Any]) -> Json:
    return {"connectors": told["revoked_connectors"], "tasks": told["revoked_tasks"]}


def _same(one: Work, other: Work) -> bool:
    return one.connectors.keys() == other.connectors.keys() and one.tasks.keys() == other.tasks.keys()
