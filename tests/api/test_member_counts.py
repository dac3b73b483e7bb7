"""``POST /v1/member-count-plans``."""

from __future__ import annotations

import csv
import io

import pytest

from service.app import create_app
from service.config import Settings
from service.decisions.member_counts import question
from service.decisions.member_counts.answer import DRAWN
from service.planner.member_ids import IdDraw

PATH = "/v1/member-count-plans"
LAGS = [90_000, 40_000, 30_000, 30_000, 20_000, 10_000]


def orders(partitions: int, **more):
    return {"topic_name": "orders", "partitions_count": partitions, **more}


def members(count: int):
    return [{"member_id": f"c{i}"} for i in range(1, count + 1)]


def ask(client, **body):
    response = client.post(PATH, json=body)
    assert response.status_code == 200, response.text
    return response.json


def owning(client, topics, assignor, protocol, count):
    """Members with what the assignor gives them, as members of a stable group."""
    body = {"topics": topics, "members": members(count), "assignor": assignor, "group_protocol": protocol}
    assignments = client.post("/v1/group-assignments", json=body).json["assignments"]
    return [{"member_id": each["member_id"], "generation_id": 1, "owned_partitions": each["partitions"]} for each in assignments]


def test_of_24_partitions_9_10_and_11_members_are_no_better_than_8(client):
    answer = ask(client, topics=[orders(24)], members=members(4), assignor="range")
    assert answer["worth_using"] == answer["balanced"]["worth_using"] == [1, 2, 3, 4, 5, 6, 8, 12, 24]
    assert [plan["worst_load"] for plan in answer["plans"][7:12]] == [3, 3, 3, 3, 2]
    assert answer["current"]["worst_load"] == 6
    assert answer["current_members_count"] == 4
    assert answer["recommended"] is None
    assert answer["policies"] == []


@pytest.mark.parametrize(
    ("assignor", "protocol"),
    [
        ("range", "classic"),
        ("cooperative-sticky", "classic"),
        ("librdkafka:cooperative-sticky", "classic"),
        ("uniform", "consumer"),
    ],
)
def test_a_plan_is_what_the_other_endpoints_answer(client, assignor, protocol):
    topics = [orders(7, partition_weights=[5, 1, 1, 2, 3, 1, 4]), {**orders(3, partition_weights=[1, 1, 9]), "topic_name": "t"}]
    now = owning(client, topics, assignor, protocol, 3)
    group = {"topics": topics, "assignor": assignor, "group_protocol": protocol}
    answer = ask(client, **group, members=now, members_counts=[2, 3, 5], timing={"poll_interval_ms": 500})
    for plan in answer["plans"]:
        count = plan["members_count"]
        drawn = IdDraw().further(["c1", "c2", "c3"], count - 3, protocol) if count > 3 else []
        further = [{"member_id": name} for name in drawn]
        assigned = client.post("/v1/group-assignments", json={**group, "members": [*now[:count], *further]}).json
        assigned = assigned.get("follow_up") or assigned
        assert plan["most_partitions"] == assigned["member_load"]["max"]
        assert plan["idle_members"] == assigned["member_load"]["counts"].count(0)
        joins = [{"at_ms": 60_000, "type": "member_joins", "member": member} for member in further]
        leaves = [{"at_ms": 60_000, "type": "member_leaves", "member_id": each["member_id"]} for each in now[count:][::-1]]
        happens = {"events": joins + leaves, "timing": {"poll_interval_ms": 500}, "detail": "assignments"}
        simulated = client.post("/v1/group-rebalances", json={**group, "members": now, **happens}).json
        assert plan["idle_partition_ms"] == simulated["totals"]["idle_partition_ms"]
        assert plan["longest_idle_ms"] == simulated["totals"]["longest_idle_ms"]
        if simulated["rebalances"]:
            assert plan["worst_load"] == max(_weights(topics, simulated["rebalances"][-1]["assignments"]))
    assert [plan["moved"] for plan in answer["plans"]][1] == 0
    assert answer["warnings"] == [DRAWN]


def _weights(topics, assignments):
    weights = {topic["topic_name"]: topic["partition_weights"] for topic in topics}
    for each in assignments:
        parts = each["partitions"]
        yield sum(weights[part["topic_name"]][i] for part in parts for i in part["partition_ids"])


def test_each_plan_tells_what_crosses_zones_as_its_assignment_does(client):
    """Members of now are on racks a and b; further ones take turns on them. A lag is no rate."""
    racks = [["a"], ["a", "b"], ["b"], ["c"], ["a"], ["b"]]
    topics = [orders(6, partition_racks=racks, partition_weights=LAGS)]
    several = [{**member, "rack_id": "ab"[i % 2]} for i, member in enumerate([*members(2), {"member_id": "c2-1"}])]
    body = {"topics": topics, "assignor": "range", "price_per_gb": 0.02}
    answer = ask(client, **body, members=several[:2], members_counts=[2, 3])
    for each in (answer, answer["balanced"]):
        for plan, count in zip(each["plans"], (2, 3), strict=True):
            asked = {**body, "assignor": each["assignor"], "members": several[:count]}
            assert plan["zone_traffic"] == client.post("/v1/group-assignments", json=asked).json["zone_traffic"]
            assert plan["zone_traffic"]["cost_per_month"] > 0
    assert answer["current"]["zone_traffic"] == answer["plans"][0]["zone_traffic"]
    response = client.post(PATH, json={**body, "members": several[:2], "members_counts": [2]}, headers={"Accept": "text/csv"})
    (row, *_) = csv.DictReader(io.StringIO(response.text))
    assert {name: float(row[name]) for name in plan["zone_traffic"]} == answer["plans"][0]["zone_traffic"]
    of_lag = ask(client, **body, members=several[:2], members_counts=[2], consumption_rate=1)["plans"][0]["zone_traffic"]
    assert of_lag == {**dict.fromkeys(of_lag), "local_share": answer["plans"][0]["zone_traffic"]["local_share"]}
    assert "zone_traffic" not in ask(client, topics=[orders(6)], members=several)["current"]


def test_the_smallest_number_within_the_limits(client):
    answer = ask(
        client,
        topics=[orders(6, partition_weights=LAGS)],
        members=members(2),
        consumption_rate=2_000,
        limits={"max_lag_seconds": 60, "max_load": 100_000},
    )
    assert [plan["drain_seconds"] for plan in answer["balanced"]["plans"]] == [110, 55, 45, 45, 45, 45]
    assert answer["balanced"]["recommended"] == 3
    assert answer["balanced"]["plans"][1]["meets"] == {"max_load": False, "max_lag_seconds": True}
    assert all(plan["bound"] <= plan["worst_load"] for plan in answer["balanced"]["plans"])
    assert answer["balanced"]["worth_using"] == [1, 2, 3]
    assert answer["recommended"] == next(plan["members_count"] for plan in answer["plans"] if all(plan["meets"].values()))


def test_a_group_that_uses_balanced_is_planned_once(client):
    answer = ask(client, topics=[orders(6, partition_weights=LAGS)], members=members(2), assignor="balanced")
    assert answer["plans"] == answer["balanced"]["plans"]
    assert answer["worth_using"] == [1, 2, 3]


def test_a_limit_that_no_number_keeps_says_why(client):
    body = {"topics": [orders(6, partition_weights=LAGS)], "members": members(2), "consumption_rate": 2_000}
    answer = ask(client, **body, limits={"max_lag_seconds": 44})
    assert answer["recommended"] is None
    assert answer["out_of_reach"] == {
        "max_lag_seconds": "The heaviest partition alone has 45 s of lag, and only one member can read it."
    }
    answer = ask(client, **body, limits={"max_load": 91_000}, members_counts=[2])
    assert answer["balanced"]["out_of_reach"] == {"max_load": "The least that was found is a load of 110,000, with 2 members."}


def test_what_keda_would_choose(client):
    topics = [orders(10, partition_weights=[8, 0, 0, 0, 0, 0, 0, 0, 0, 0])]
    answer = ask(client, topics=topics, members=members(1), keda={"lag_threshold": 1}, standstill=False)
    chosen = {each["option"]: (each["total_lag"], each["replicas"], each["worst_load"]) for each in answer["policies"]}
    assert chosen == {
        None: (8, 8, 8),
        "limitToPartitionsWithLag": (1, 1, 8),
        "ensureEvenDistributionOfPartitions": (10, 10, 8),
        "allowIdleConsumers": (8, 8, 8),
    }


@pytest.mark.parametrize(("committed", "end", "total"), [(0, 2**63 - 1, 2**63 - 1), (2**63 - 1, 0, -(2**63))])
def test_a_total_lag_beyond_64_bits_is_the_nearest_that_an_answer_can_hold(client, committed, end, total):
    lag = {"committed_offsets": [committed] * 3, "log_end_offsets": [end] * 3}
    answer = ask(client, topics=[{"topic_name": "t", "partitions_count": 3, "lag": lag}], members=members(1), standstill=False)
    assert {each["option"]: each["total_lag"] for each in answer["policies"]}["allowIdleConsumers"] == total


def test_with_threads_numbers_are_multiples_and_keda_counts_pods(client):
    topics = [orders(24, partition_weights=[10] * 24)]
    answer = ask(client, topics=topics, members=members(4), threads_per_pod=4, standstill=False)
    assert [(plan["members_count"], plan["pods"]) for plan in answer["plans"]] == [(4 * i, i) for i in range(1, 7)]
    assert {each["members_count"] for each in answer["policies"]} == {96}
    assert {each["idle_members"] for each in answer["policies"]} == {72}


def test_share_groups_have_no_balanced_and_share_partitions(client):
    topics = [orders(2, partition_weights=[10, 10])]
    answer = ask(client, topics=topics, members=members(1), group_protocol="share", members_counts=[1, 2, 4])
    assert [plan["worst_load"] for plan in answer["plans"]] == [20, 10, 5]
    assert answer["balanced"] is None
    assert answer["policies"] == []
    assert answer["worth_using"] == [1, 2, 4]


def test_a_group_that_owns_nothing_is_taken_as_its_assignor_would_have_it(client):
    answer = ask(client, topics=[orders(6)], members=members(2), assignor="cooperative-sticky", members_counts=[2, 3])
    assert [plan["moved"] for plan in answer["plans"]] == [0, 2]
    assert answer["plans"][1]["idle_partition_ms"] > 0
    assert answer["warnings"] == [
        "No member owns anything; moves are counted from what cooperative-sticky assigns to the 2 members.",
        DRAWN,
    ]


def test_an_unstable_group_has_no_standstill(client):
    claims = [{"topic_name": "orders", "partition_ids": [0]}]
    both = [{"member_id": name, "owned_partitions": claims} for name in "ab"]
    answer = ask(client, topics=[orders(2)], members=both)
    assert {plan["idle_partition_ms"] for plan in answer["plans"]} == {None}
    assert answer["warnings"][0].startswith("idle_partition_ms is not known, because the group is not stable")


def test_what_a_library_leaves_to_chance_still_counts(client):
    answer = ask(client, topics=[orders(7)], members=members(2), assignor="sarama:sticky", members_counts=[2, 3])
    assert [plan["worst_load"] for plan in answer["plans"]] == [4, 3]
    assert "leaves to chance" in answer["warnings"][-1]
    assert {plan["idle_partition_ms"] for plan in answer["plans"]} == {0, 6375}


def test_a_number_that_leaves_partitions_unread_is_not_recommended(client):
    topics = [orders(4), {**orders(2), "topic_name": "t"}]
    subscribed = [{"member_id": "a", "topic_names": ["orders"]}, {"member_id": "b", "topic_names": ["t"]}]
    answer = ask(client, topics=topics, members=subscribed, limits={"max_load": 4}, members_counts=[1, 2, 3])
    assert [plan["unread_partitions"] for plan in answer["plans"]] == [2, 0, 0]
    assert answer["plans"][0]["meets"] == {"max_load": True}
    assert answer["recommended"] == answer["balanced"]["recommended"] == 2
    assert answer["worth_using"] == [2]


def test_large_groups_are_planned_where_it_can_gain(client):
    answer = ask(client, topics=[orders(5_000)], members=members(3), standstill=False)
    counts = [plan["members_count"] for plan in answer["plans"]]
    assert len(counts) == 141
    assert counts == answer["worth_using"]


def test_standstills_are_simulated_as_far_as_they_may_cost(client):
    answer = ask(client, topics=[orders(300)], members=members(30))
    known = [plan["members_count"] for plan in answer["plans"] if plan["idle_partition_ms"] is not None]
    assert known
    assert set(known) <= {*answer["worth_using"], 30}
    assert any("idle_partition_ms was simulated for" in sentence for sentence in answer["warnings"])


def test_members_whose_coming_is_not_simulated_are_not_made(client, monkeypatch):
    made, new_member = [], question.NewMember
    monkeypatch.setattr(question, "NewMember", lambda name, *more: made.append(name) or new_member(name, *more))
    answer = ask(client, topics=[orders(30)], members=members(3), members_counts=[3, 5, 20_000])
    assert [plan["idle_partition_ms"] is None for plan in answer["plans"]] == [False, False, True]
    assert len(set(made)) == 2


def test_a_group_without_members_is_planned(client):
    answer = ask(client, topics=[orders(4)], members=[])
    assert answer["current"] is None
    assert answer["worth_using"] == [1, 2, 4]
    assert {plan["moved"] for plan in answer["plans"]} == {0}


def test_the_table_has_a_row_for_each_assignor_and_number(client):
    body = {"topics": [orders(6, partition_weights=LAGS)], "members": members(2), "limits": {"max_load": 100_000}}
    response = client.post(PATH, json=body, headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [(row["assignor"], row["members_count"]) for row in rows] == [
        (name, str(i)) for name in ("range", "balanced") for i in range(1, 7)
    ]
    assert [row["members_count"] for row in rows if row["recommended"] == "true"] == [
        str(ask(client, **body)["recommended"]),
        "3",
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"topics": [orders(3)], "members": []},
        {"topics": [orders(3)], "members": members(2), "group_protocol": "share"},
        {
            "topics": [orders(2, partition_weights=[90, 40])],
            "members": [],
            "consumption_rate": 9,
            "limits": {"max_lag_seconds": 1},
        },
        {"topics": [orders(2, partition_weights=[0, 0])], "members": members(3), "keda": {}, "standstill": False},
    ],
    ids=["nobody yet", "share group", "a limit that none keeps", "nothing to do for KEDA"],
)
def test_an_answer_has_every_field_that_the_contract_requires(client, body):
    assert ask(client, **body)["plans"]  # the client compares it with the contract


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"group_protocol": "splits", "assignor": None}, ["/group_protocol"]),
        ({"members_counts": [2, 2]}, ["/members_counts/1"]),
        ({"members_counts": [0]}, ["/members_counts/0"]),
        ({"members_counts": []}, ["/members_counts"]),
        ({"limits": {"max_lag_seconds": 5}}, ["/limits/max_lag_seconds"]),
        ({"consumption_rate": 5}, ["/consumption_rate"]),
        ({"assignor": "x", "keda": {"min_replica_count": 101}}, ["/assignor", "/keda/min_replica_count"]),
        ({"timing": {"session_timeout_ms": 1}}, ["/timing/session_timeout_ms", "/timing/heartbeat_interval_ms"]),
        ({"timing": {"consumption_rate": 1}}, ["/timing/consumption_rate"]),
        ({"members": [*members(1), *members(1)]}, ["/members/1/member_id"]),
        ({"threads_per_pod": 0}, ["/threads_per_pod"]),
    ],
)
def test_faults_are_named_with_their_place(client, changes, pointers):
    response = client.post(PATH, json={"topics": [orders(3)], "members": members(1), **changes})
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == pointers


def test_too_much_work_is_refused_before_it_starts():
    client = create_app(Settings(max_member_plan_cells=1_000)).test_client()
    response = client.post(PATH, json={"topics": [orders(3)], "members": [], "members_counts": [100_000]})
    assert response.status_code == 422
    assert "ALLOCATOR_MAX_MEMBER_PLAN_CELLS" in response.json["detail"]
    assert [error["pointer"] for error in response.json["errors"]] == ["/members_counts"]
