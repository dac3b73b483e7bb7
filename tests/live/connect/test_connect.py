"""Groups of Kafka Connect in snapshots: what Connect's own workers sent and got, as a coordinator describes it."""

from __future__ import annotations

import base64
import json
import struct
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from service.api.connect import FORM
from service.cli import main
from service.conformance.connect import connect_group
from service.core.budget import Budget
from service.live.cluster_metrics import Bounds, measure
from service.live.errors import NotKnown
from service.live.groups import workers_of
from service.live.verification import check_groups
from tests.support.task_groups import connect_workers
from tests.support.wire_encoding import blob, classic_key, text

Json = dict[str, Any]


def snapshot_of(assignor: str, assignments: list[Json]) -> Json:
    """A snapshot with one group, whose members sent and got these bytes."""
    protocol = "default" if assignor == "eager" else assignor
    members = [
        SimpleNamespace(
            member_id=row["member_id"],
            client_id="connect-1",
            client_host="/127.0.0.1",
            **{f"member_{kind}": base64.b64decode(row[f"{kind}_base64"]) for kind in ("metadata", "assignment")},
        )
        for row in assignments
    ]
    described = workers_of(SimpleNamespace(group_id="etl", protocol_data=protocol, members=members), NotKnown())
    group = {"group_id": "etl", "group_protocol": "connect", "group_state": "Stable", "assignor": assignor, **described}
    return {"snapshot_version": 1, "brokers": [], "topics": [], "groups": [group], "not_known": []}


def work(row: Json) -> set[tuple[str, int | None]]:
    """Connectors, without a task, and tasks."""
    tasks = {(part["connector_name"], task) for part in row["tasks"] for task in part["task_ids"]}
    return tasks | {(name, None) for name in row["connectors"]}


@pytest.mark.parametrize("seed", range(25))
def test_a_snapshot_has_what_workers_run_and_it_is_as_connect_assigns(seed: int) -> None:
    """In every rebalance. One is unchecked only if work was lost, or the leader is new and may not know what was deleted."""
    body = connect_group(Random(f"live-{seed}"))
    rounds = connect_workers().ask(body)["rounds"]
    played = FORM.decide(FORM.question(body), Budget())
    for i, row in enumerate(rounds):
        snapshot = snapshot_of(body["assignor"], row["assignments"])
        (group,) = snapshot["groups"]
        held = {worker["member_id"]: work(worker) for worker in FORM.document(played)["workers"]}
        if i == len(rounds) - 1:
            assert {worker["member_id"]: work(worker) for worker in group["members"]} == held
        finding = next(check_groups(snapshot, ()))
        first = row["assignments"][0]
        told = [
            part for each in row["assignments"] for part in (*each.get("revoked_connectors", ()), *each.get("revoked_tasks", ()))
        ]
        this, leader = played.rounds[i], played.rounds[i - 1].leader_id if i else None
        if (i and this.leader_id != leader) or this.answer.sets.lost:
            assert finding.verdict == "alike" or first.get("delay_ms") or told, (i, finding)
        else:
            assert (finding.verdict, finding.reason[:25]) == ("alike", "as its leader computed it"), (i, finding)


def rounds(assignor: str) -> list[Json]:
    """Three workers, two connectors; a rebalance in which nothing moves."""
    workers = [{"member_id": f"w{i}"} for i in range(3)]
    connectors = [{"connector_name": "jdbc", "tasks_count": 5}, {"connector_name": "s3", "tasks_count": 2}]
    round_ = {"leader_id": "w0", "connectors": connectors, "workers": workers}
    body = {"assignor": assignor, "scheduled_rebalance_max_delay_ms": 300_000, "rounds": [{"at_ms": 0, **round_}]}
    return connect_workers().ask(body)["rounds"][0]["assignments"]


@pytest.mark.parametrize("assignor", ["eager", "sessioned"])
def test_what_was_tampered_with_differs(assignor: str) -> None:
    snapshot = snapshot_of(assignor, rounds(assignor))
    (group,) = snapshot["groups"]
    assert next(check_groups(snapshot, ())).verdict == "alike"
    worker = next(worker for worker in group["members"] if worker["tasks"])
    assert next(check_groups(snapshot, ())).reason.startswith("as its leader computed it")
    taken = worker["tasks"][0]["task_ids"].pop()
    finding = next(check_groups(snapshot, ("etl",)))
    assert (finding.verdict, finding.by) == ("differs" if assignor == "eager" else "not_checked", assignor)
    if assignor == "eager":
        return  # the deal goes on without the task, so that others move
    name = worker["tasks"][0]["connector_name"]
    assert finding.reason.startswith("1 connector or task runs nowhere, though others of the same connectors do")
    other = next(each for each in group["members"] if each is not worker)
    for each in (worker, other):
        each["tasks"].append({"connector_name": name, "task_ids": [taken]})
    finding = next(check_groups(snapshot, ()))
    assert finding.reason == "1 connector or task runs more than once"
    assert finding.differences[0]["member_ids"] == sorted((worker["member_id"], other["member_id"]))


def test_what_cannot_be_judged_is_not_checked() -> None:
    assignments = rounds("sessioned")
    snapshot = snapshot_of("sessioned", assignments)
    workers = snapshot["groups"][0]["members"]
    workers[1]["assignment"]["error"] = 1
    assert "newest configuration" in next(check_groups(snapshot, ())).reason
    del workers[1]["assignment"]
    assert next(check_groups(snapshot, ())).reason == "1 worker has no assignment."
    snapshot = snapshot_of("sessioned", assignments)
    snapshot["groups"][0]["members"][0]["tasks"].append({"connector_name": "x", "task_ids": [2**31 - 1]})
    assert "2147483647 tasks run nowhere" in next(check_groups(snapshot, ())).reason
    assignments[1]["assignment_base64"] = "AAE="
    not_known = NotKnown()
    member = SimpleNamespace(member_id="w", client_id="", client_host="", member_metadata=b"\0", member_assignment=b"")
    assert workers_of(SimpleNamespace(group_id="etl", protocol_data="sessioned", members=[member]), not_known) == {}
    assert not_known.documents()[0]["names"] == ["etl"]


def test_commands_and_metrics(tmp_path: Any) -> None:
    snapshot = snapshot_of("sessioned", rounds("sessioned"))
    samples = measure(snapshot, None, 0.0, Bounds(0, 1, 10))
    assert samples["partition_allocator_cluster_group_members", ("etl",)] == 3
    assert samples["partition_allocator_cluster_group_skew_ratio", ("etl", "tasks")] == pytest.approx(3 / (7 / 3))
    assert samples["partition_allocator_cluster_group_differs", ("etl",)] == 0
    assert samples["partition_allocator_cluster_dropped", ("member",)] == 0
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(snapshot))
    result = CliRunner().invoke(main, ["verify", "--snapshot", str(file), "--output", "table"])
    assert result.exit_code == 0
    assert "1 of 1 is as Kafka would have it." in result.stdout
    result = CliRunner().invoke(main, ["assign", "--snapshot", str(file), "--group", "etl"])
    told = [each for each in json.loads(result.stdout)["rounds"][0]["assignments"] if each["connectors"] or each["tasks"]]
    assert (result.exit_code, told) == (0, [])
    assert "assumed to be those that run" in result.stderr
    snapshot["groups"][0]["members"][0]["tasks"][0]["task_ids"].append("1")
    file.write_text(json.dumps(snapshot))
    result = CliRunner().invoke(main, ["verify", "--snapshot", str(file)])
    assert result.exit_code == 2
    assert "groups/0/members/0/tasks/0/task_ids" in result.stderr


def test_the_record_of_a_group_is_a_request(client: Any) -> None:
    """GROUP_METADATA with the bytes of real workers; nothing would move in the next rebalance."""
    members = b""
    assignments = rounds("sessioned")
    for row in assignments:
        members += (
            text(row["member_id"]) + text(None) + text("connect-1") + text("/10.0.0.1") + struct.pack(">ii", 60_000, 45_000)
        )
        members += b"".join(blob(base64.b64decode(row[f"{kind}_base64"])) for kind in ("metadata", "assignment"))
    value = struct.pack(">h", 3) + text("connect") + struct.pack(">i", 1) + text("sessioned") + text("w0")
    value += struct.pack(">qi", 0, len(assignments)) + members
    record = {"key_base64": classic_key("etl"), "value_base64": value}
    capture = {"kind": "group_record", **{name: base64.b64encode(data).decode() for name, data in record.items()}}
    request = client.post("/v1/decodings", json=capture).json["group"]
    assert (request["assignor"], request["leader_id"]) == ("sessioned", "w0")
    answer = client.post("/v1/connect-assignments", json=request).json
    assert [each["tasks"] for each in answer["rounds"][0]["assignments"]] == [[], [], []]
    assert {each["member_id"]: work(each) for each in answer["workers"]} == {
        each["member_id"]: work(each) for each in snapshot_of("sessioned", assignments)["groups"][0]["members"]
    }


def test_what_was_given_to_another_worker_is_not_as_the_leader_computed_it() -> None:
    """Loads are still even, and all runs once."""
    snapshot = snapshot_of("sessioned", rounds("sessioned"))
    workers = snapshot["groups"][0]["members"]
    one, other = sorted(workers, key=lambda worker: -sum(len(row["task_ids"]) for row in worker["tasks"]))[:2]
    for name in ("connectors", "tasks"):
        one[name], other[name] = other[name], one[name]
        one["assignment"][name], other["assignment"][name] = other["assignment"][name], one["assignment"][name]
    finding = next(check_groups(snapshot, ()))
    assert (finding.verdict, "depended on the leader's memory" in finding.reason) == ("alike", True)
    one["assignment"]["delay_ms"] = 300_000
    assert next(check_groups(snapshot, ())).verdict == "not_checked"


def test_a_worker_that_is_not_told_to_stop_what_runs_twice_is_not_as_the_leader_computed_it() -> None:
    snapshot = snapshot_of("sessioned", rounds("sessioned"))
    for worker in snapshot["groups"][0]["members"]:
        worker["assignment"].update(connectors=[], tasks=[])
        worker["before"] = {"connectors": ["jdbc"], "tasks": []}
        worker.update(worker["before"])
    finding = next(check_groups(snapshot, ()))
    assert (finding.verdict, finding.reason) == ("differs", "1 connector or task runs more than once")
