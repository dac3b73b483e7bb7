"""Do Kafka Connect's workers run what their leader would have them run?

============================= ===========================================================================================
eager                         exact: what the leader assigns is a function of the workers and of what is configured
compatible, sessioned         exact, if the last rebalance can be computed from what the workers sent (``replay``).
                              Otherwise the leader's memory decided, which no broker knows: then each connector and task
                              runs once, and loads are even
============================= ===========================================================================================

The group does not tell what is configured: that is taken to be what runs, and tasks with smaller ids than those. An incremental
group whose rebalance cannot be computed is unchecked while there is a delay, or something was revoked, which is assigned in the
rebalance that follows at once; so it is with a gap, for a new leader does not know of connectors and tasks that were deleted
meanwhile, and lets them run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from service.clients.connect import TASK_BITS, Work, connector_of
from service.core.documents import Json
from service.core.printable import counted
from service.decisions.budget import Budget
from service.decisions.connect import ConnectAnswer, ConnectQuestion, answer
from service.decisions.groups.answer import MAX_DIFFERENCES
from service.live.connect.replay import is_computed
from service.live.findings import Finding
from service.wire.connect_groups import connect_request
from service.wire.connect_protocol import NO_ERROR

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
        for item in _items(work):
            owners.setdefault(item, []).append(member_id)
    return owners


def _items(work: Json) -> Iterator[tuple[str, int | None]]:
    yield from ((name, None) for name in work["connectors"])
    yield from ((part["connector_name"], task) for part in work["tasks"] for task in part["task_ids"])
