"""Groups of Kafka Connect."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import Any, Final

from service.clients.connect import TASK_BITS, LeaderState, Round, Work, assign, connector_of
from service.core.budget import Budget
from service.core.documents import Json
from service.core.jvm.ordering import in_hash_order
from service.core.printable import counted
from service.decisions.connect import ConnectAnswer, ConnectorNames, ConnectQuestion, answer
from service.decisions.groups.answer import MAX_DIFFERENCES
from service.live.findings import Finding
from service.wire.connect_protocol import NO_ERROR, connect_request

# The last rebalance of an incremental Connect group, computed again from what its workers sent and got.
#
# A group tells what each worker ran when it joined, what it was told to start and to stop, and the delay. It does not tell what
# is configured and what the leader remembered. They are put together so that they explain what was told:
#
# ============================= ===========================================================================================
# started                       was configured, and neither assigned before nor run; or waited for a worker, and the delay was
# over stopped                       ran twice, or was deleted: a whole connector, or its last tasks; or was above an even share
# a delay                       something is lost that the leader does not name, or it revoked in the rebalance before, too
# ============================= ===========================================================================================
#
# What was deleted of the connectors and tasks that were stopped is tried out. The rebalance is as a leader computes it if one
# of these explanations gives each worker what it was told.

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


# Do Kafka Connect's workers run what their leader would have them run?
#
# ============================= ===========================================================================================
# eager                         exact: what the leader assigns is a function of the workers and of what is configured
# compatible, sessioned         exact, if the last rebalance can be computed from what the workers sent (``replay``).
#                               Otherwise the leader's memory decided, which no broker knows: then each connector and task
#                               runs once, and loads are even
# ============================= ===========================================================================================
#
# The group does not tell what is configured: that is taken to be what runs, and tasks with smaller ids than those. An
# incremental group whose rebalance cannot be computed is unchecked while there is a delay, or something was revoked, which is
# assigned in the rebalance that follows at once; so it is with a gap, for a new leader does not know of connectors and tasks
# that were deleted meanwhile, and lets them run.

Owners = dict[tuple[str, int | None], list[str]]
"""(connector, task; None: the connector itself) → the workers that run it"""

EAGER: Final = "eager"


def check_connect_group(group: Json) -> Finding:
    """A group with members. Raises AllocatorError if it cannot be assigned."""
    name, by, workers = group["group_id"], group.get("assignor", ""), group["members"]
    reason = _why_not_checked(workers)
    if reason is not None:
        return Finding("group", name, by, "not_checked", reason)
    if by != EAGER:
        waits = _waits(workers)
        if all("before" in worker for worker in workers) and is_computed(workers):
            return Finding("group", name, by, "alike", f"as its leader computed it. {waits}".rstrip(" ."))
        if waits:
            return Finding("group", name, by, "not_checked", waits)
    now = _owners({worker["member_id"]: worker for worker in workers})
    expected = _expected(connect_request(name, by, workers))
    differences = [
        {"connector_name": item[0], "task_id": item[1], "member_ids": sorted(had), "expected_member_ids": sorted(has)}
        for item in sorted(now.keys() | expected.keys(), key=lambda item: (item[0], -1 if item[1] is None else item[1]))
        if sorted(had := now.get(item, [])) != sorted(has := expected.get(item, []))
    ]
    if not differences:
        reason = (
            "as its leader computed it"
            if by == EAGER
            else "each connector and task runs once, and loads are even; which worker runs which depended on the leader's memory"
        )
        return Finding("group", name, by, "alike", reason)
    missing, twice = len(expected.keys() - now.keys()), sum(len(owners) > 1 for owners in now.values())
    if by != EAGER and missing and not twice:
        items = counted(missing, "connector or task runs", "connectors and tasks run")
        left = "they are lost, or the rest is left of what was deleted while the leader changed"
        return Finding("group", name, by, "not_checked", f"{items} nowhere, though others of the same connectors do: {left}.")
    reason = "not as the leader would assign what runs" if by == EAGER else "loads are not even"
    if twice and by != EAGER:
        reason = f"{counted(twice, 'connector or task runs', 'connectors and tasks run')} more than once"
    return Finding("group", name, by, "differs", reason, len(differences), differences[:MAX_DIFFERENCES])


def _why_not_checked(workers: Sequence[Json]) -> str | None:
    assignments = [worker["assignment"] for worker in workers if "assignment" in worker]
    if len(assignments) < len(workers):
        return f"{counted(len(workers) - len(assignments), 'worker has', 'workers have')} no assignment."
    if any(part["error"] != NO_ERROR for part in assignments):
        return "The leader did not know the newest configuration, and assigned nothing; the workers join again."
    return None


def _waits(workers: Sequence[Json]) -> str:
    """What the leader assigns only later; empty: nothing."""
    assignments = [worker["assignment"] for worker in workers]
    revoked = sum(
        len(part["revoked_connectors"]) + sum(len(row["task_ids"]) for row in part["revoked_tasks"]) for part in assignments
    )
    if revoked:
        items = counted(revoked, "connector or task", "connectors and tasks")
        return f"The leader has revoked {items}, and assigns what is configured of them in the next rebalance."
    delay = max(part["delay_ms"] for part in assignments)
    return f"A delay of {delay} ms is under way, after which the leader assigns what is lost or uneven." if delay else ""


def _expected(body: Json) -> Owners:
    """Who runs what after the rebalances that follow."""
    (row,) = body["rounds"]
    question = ConnectQuestion([row], body.get("assignor"), leader_id=body.get("leader_id"), follow_ups=True)
    result = answer(question, Budget())
    return _owners({member: _described(result, work) for member, work in result.rounds[-1].held.items()})


def _described(result: ConnectAnswer, work: Work) -> Json:
    names = result.names.connectors
    tasks = [{"connector_name": names[connector_of(task)], "task_ids": [task & ((1 << TASK_BITS) - 1)]} for task in work.tasks]
    return {"connectors": [names[connector] for connector in work.connectors], "tasks": tasks}


def _owners(workers: Mapping[str, Json]) -> Owners:
    owners: Owners = {}
    for member_id, work in workers.items():
        tasks = ((part["connector_name"], task) for part in work["tasks"] for task in part["task_ids"])
        for item in (*((name, None) for name in work["connectors"]), *tasks):
            owners.setdefault(item, []).append(member_id)
    return owners
