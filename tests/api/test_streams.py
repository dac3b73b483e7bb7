"""``POST /v1/streams-assignments``, and its bodies at ``/v1/group-assignments``."""

from __future__ import annotations

import random
import re

import pytest

from service.api.streams import EXAMPLE
from service.core.budget import Budget
from service.decisions.streams.answer import answer
from service.decisions.streams.question import StreamsQuestion

PATH = "/v1/streams-assignments"


def test_a_body_of_streams_is_answered_at_group_assignments_too(client):
    for headers in ({}, {"Accept": "text/csv"}):
        one, other = (client.post(path, json=EXAMPLE, headers=headers) for path in ("/v1/group-assignments", PATH))
        assert one.status_code == 200
        assert one.data == other.data


def member(i, **more):
    return {"member_id": f"m{i}", "process_id": f"p{i}", **more}


def body_of(*members, **more):
    return {"subtopologies": [{"subtopology_id": "0", "tasks_count": 4, "stateful": True}], "members": list(members), **more}


def tasks(*ids):
    return [{"subtopology_id": "0", "task_ids": list(ids)}]


def new_client(i, **more):
    lags = [{"subtopology_id": "0", "task_id": task, "lag": 100_000} for task in range(4)]
    return {"process_id": f"00000000-0000-0000-0000-{i:012}", "lags": lags, **more}


TWICE = [{"subtopology_id": "0", "task_id": task, "lag": 0} for task in (0, 1, 2, 2)]


def classic_of(*clients, **more):
    return {k: v for k, v in body_of(**more).items() if k != "members"} | {"member_protocol": "classic", "clients": list(clients)}


def test_a_task_of_a_classic_group_waits_where_its_state_is(client):
    lags = [{"subtopology_id": "0", "task_id": task, "lag": -2} for task in range(4)]
    clients = (new_client(1, active_tasks=tasks(0, 1, 2, 3), lags=lags), new_client(2))
    answer = client.post(PATH, json=classic_of(*clients, max_warmup_replicas=1)).json
    assert answer["probing_rebalance"] is True
    assert [len(each["active_tasks"]) for each in answer["assignments"]] == [1, 0]
    assert answer["assignments"][0]["active_tasks"] == tasks(0, 1, 2, 3)
    assert answer["assignments"][1]["standby_tasks"] == tasks(1)  # a warm-up
    assert client.post(PATH, json=classic_of(*clients, acceptable_recovery_lag=2**63 - 1)).json["probing_rebalance"] is False


def test_tasks_are_counted_by_what_becomes_of_them(client):
    members = (member(1, active_tasks=tasks(0, 1, 2)), member(2, standby_tasks=tasks(2)))
    answer = client.post(PATH, json=body_of(*members, num_standby_replicas=1)).json
    assert answer["movement"] == {"retained": 2, "promoted": 1, "moved": 0, "added": 1, "retained_standbys": 1}
    assert "warnings" not in answer


def test_standby_tasks_that_no_process_can_take_are_listed(client):
    answer = client.post(PATH, json=body_of(member(1), member(2), num_standby_replicas=2)).json
    assert [each["missing"] for each in answer["missing_standby_tasks"]] == [1] * 4
    assert answer["warnings"][0].startswith("4 standby tasks are missing")


def test_offsets_play_a_part_since_4_4(client):
    """Both had task 0 as a standby task; the second one has restored more of it."""
    standby = [
        {"standby_tasks": tasks(0), "task_offsets": [{"subtopology_id": "0", "task_id": 0, "offset": i}]} for i in range(2)
    ]
    members = [member(i, **fields) for i, fields in enumerate(standby)]
    owners = {}
    for release in ("4.3.1", "4.4.0"):
        answer = client.post(PATH, json=body_of(*members, kafka_version=release)).json
        (owners[release],) = (i for i, each in enumerate(answer["assignments"]) if 0 in each["active_tasks"][0]["task_ids"])
    assert owners == {"4.3.1": 0, "4.4.0": 1}


def racks_of(*, racks="ba", strategy="min_traffic", topics=None, **more):
    """Tasks 0 and 1 read partitions of rack a, tasks 2 and 3 of rack b."""
    clients = [new_client(i, rack_id=rack) for i, rack in enumerate(racks)]
    subtopology = {"subtopology_id": "0", "tasks_count": 4, "source_topic_names": ["t"], **more.pop("subtopology", {})}
    topics = [{"topic_name": "t", "partition_racks": topics or [["a"], ["a"], ["b"], ["b"]]}]
    fields = {"rack_aware_assignment_strategy": strategy, "topics": topics, "subtopologies": [subtopology], **more}
    return {"member_protocol": "classic", "clients": clients, **fields}


@pytest.mark.parametrize("assignor", ["high-availability", "sticky"])
@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_tasks_go_to_the_racks_of_their_partitions(client, assignor, strategy):
    answer = client.post(PATH, json=racks_of(assignor=assignor, strategy=strategy)).json
    assert [each["active_tasks"] for each in answer["assignments"]] == [tasks(2, 3), tasks(0, 1)]
    traffic = {"active_partitions": 4, "active_cross_rack": 0, "standby_partitions": 0, "standby_cross_rack": 0}
    assert answer["rack_traffic"] == traffic
    assert "rack_traffic" not in client.post(PATH, json=racks_of(assignor=assignor, strategy="none")).json


@pytest.mark.parametrize(
    ("body", "warning"),
    [
        (racks_of(racks=["a", None]), "the client 00000000-0000-0000-0000-000000000001 has none"),
        (racks_of(topics=[["a"], ["a"], ["b"], []]), "partition 3 of t has no replica"),
        (racks_of(topics=[["a"], ["a", ""], ["b"], ["b"]]), "partition 1 of t has a replica without a rack"),
        (racks_of(assignor="fallback-prior"), "fallback-prior does not take racks into account"),
    ],
)
def test_where_racks_are_not_known_the_leader_assigns_without_them(client, body, warning):
    answer = client.post(PATH, json=body).json
    assert warning in answer["warnings"][-1]
    assert "rack_traffic" not in answer
    assert answer["assignments"] == client.post(PATH, json={**body, "rack_aware_assignment_strategy": "none"}).json["assignments"]


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (racks_of(strategy="all"), ["/rack_aware_assignment_strategy"]),
        (body_of(member(1), rack_aware_assignment_strategy="min_traffic"), ["/rack_aware_assignment_strategy"]),
        (racks_of(topics=[["a"]] * 5), ["/subtopologies/0/tasks_count"]),
        (racks_of(subtopology={"source_topic_names": []}), ["/subtopologies/0/source_topic_names"]),
        (racks_of(subtopology={"source_topic_names": ["u"]}), ["/subtopologies/0/source_topic_names"]),
        (racks_of(subtopology={"stateful": True}, num_standby_replicas=1), ["/subtopologies/0/changelog_topic_names"]),
        (racks_of(rack_aware_assignment_non_overlap_cost=2**31 - 1), ["/rack_aware_assignment_non_overlap_cost"]),
        (racks_of(rack_aware_assignment_traffic_cost=-(2**31)), ["/rack_aware_assignment_traffic_cost"]),
        (body_of(), ["/members"]),
        (classic_of(), ["/clients"]),
        (classic_of(new_client(1)) | {"members": []}, ["/members"]),
        (classic_of(new_client(1), new_client(1)), ["/clients/1/process_id"]),
        (classic_of(new_client(1, process_id="P1")), ["/clients/0/process_id"]),
        (classic_of(new_client(1, lags=[])), ["/clients/0/lags"]),
        (
            classic_of(new_client(1, lags=[{"subtopology_id": "0", "task_id": i, "lag": 0} for i in (0, 1, 2, 2)])),
            ["/clients/0/lags"],
        ),
        (classic_of(new_client(1), kafka_version="4.3.0"), ["/kafka_version"]),
        (
            classic_of(new_client(1, lags=[]), subtopologies=[{"subtopology_id": "a", "tasks_count": 1}]),
            ["/subtopologies/0/subtopology_id"],
        ),
        (body_of(member(1), member(1)), ["/members/1/member_id"]),
        (body_of(member(1), assignor="uniform", group_protocol="streams"), ["/assignor"]),
        (body_of(member(1), kafka_version="4.2.0"), ["/kafka_version"]),
        (body_of(member(1), num_standby_replicas=101), ["/num_standby_replicas"]),
        ({**body_of(member(1)), "subtopologies": [{"subtopology_id": "0", "tasks_count": 2**31 - 1}]}, ["/subtopologies"]),
        (body_of(member(1), group_protocol="connect"), ["/group_protocol"]),
    ],
)
def test_what_is_wrong_is_named(client, body, pointers):
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == pointers


class Looked(list):
    """A list that counts how often it is gone through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_subtopologies_are_not_gone_through_for_each_client():
    """Bodies of 3 MB took minutes, in which nothing looked at the clock."""
    rows = Looked({"subtopology_id": str(i), "tasks_count": 1, "stateful": False} for i in range(3))
    clients = [{"process_id": f"00000000-0000-0000-0000-{i:012}", "threads_count": 1} for i in range(50)]
    answer(StreamsQuestion(subtopologies=rows, member_protocol="classic", clients=clients), Budget())
    assert rows.times < len(clients)


def of(rows, name):
    """The members of each task, by (subtopology_id, task_id)."""
    found = {}
    for row in rows:
        for part in row.get(name) or ():
            for task in part["task_ids"]:
                found.setdefault((part["subtopology_id"], task), set()).add(row["member_id"])
    return found


def test_the_conclusion_counts_active_tasks_and_those_that_move(client):
    said = set()
    for seed in range(200):
        draw = random.Random(seed)
        sizes = [draw.randint(1, 4) for _ in range(draw.randint(1, 3))]
        every = [(str(i), task) for i, size in enumerate(sizes) for task in range(size + draw.choice([0, 0, 1]))]
        subtopologies = [{"subtopology_id": str(i), "tasks_count": size, "stateful": True} for i, size in enumerate(sizes)]
        members = [{"member_id": f"m{i}", "process_id": f"p{draw.randint(0, 2)}"} for i in range(draw.randint(1, 4))]
        for task in every if draw.random() < 0.8 else ():
            for name in draw.sample(["active_tasks", "standby_tasks"], draw.choice([0, 1, 1, 2])):
                rows = draw.choice(members).setdefault(name, [])
                rows.append({"subtopology_id": task[0], "task_ids": [task[1]]})
        answer = client.post(
            PATH, json={"subtopologies": subtopologies, "members": members, "num_standby_replicas": draw.choice([0, 1, 2])}
        ).json
        if "conclusion" not in answer:
            continue  # a member that has a task twice
        text, counts = answer["conclusion"], answer["member_load"]["active_tasks"]["counts"]
        numbers = [int(number) for number in re.findall(r"\d+", text.split(";")[0])]
        assert numbers == [len(members), *sorted({min(counts), max(counts)})], (seed, text)
        before, now = of(members, "active_tasks"), of(answer["assignments"], "active_tasks")
        warm, exist = of(members, "standby_tasks"), {(str(i), task) for i, size in enumerate(sizes) for task in range(size)}
        moved = {task for task in before.keys() & exist if not now[task] & before[task]}
        found = re.search(r"(\d+) of (\d+) tasks? that members had moves?(?:, (\d+) of them to)?", text)
        had = (before.keys() | warm.keys()) & exist
        kept = had - before.keys()
        if found:
            promoted = {task for task in had if task not in before or task in moved if now[task] & warm.get(task, set())}
            assert int(found[3] or 0) == len(promoted), (seed, text)
            assert len(moved) <= int(found[1]) <= len(moved | kept), (seed, text)
            assert len(before.keys() & exist) <= int(found[2]) <= len(had), (seed, text)
        else:
            assert not before.keys() & exist, (seed, text)
        missing = sum(row["missing"] for row in answer["missing_standby_tasks"])
        told = re.search(r"(\d+) standby tasks? (?:is|are) missing", " ".join(answer.get("warnings", ())))
        assert int(told[1] if told else 0) == missing, seed
        said |= {found is not None, told is not None, "moves" in text}
    assert said == {True, False}
