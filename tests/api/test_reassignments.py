"""``POST /v1/reassignments`` over HTTP."""

from __future__ import annotations

import io
from collections import Counter

import pyarrow as pa
import pytest

PATH = "/v1/reassignments"


def question(**changes):
    return {
        "brokers": [
            {"broker_id": 0, "rack_id": "a"},
            {"broker_id": 1, "rack_id": "b"},
            {"broker_id": 2, "rack_id": "b"},
            {"broker_id": 7, "rack_id": "b", "draining": True},
        ],
        "topics": [
            {
                "topic_name": "orders",
                "placements": [
                    {"partition_id": 0, "replicas": [7, 0]},
                    {"partition_id": 1, "replicas": [0, 7]},
                    {"partition_id": 2, "replicas": [0, 1]},
                ],
                "partition_bytes": [1_000_000, 2_000_000, 50],
            }
        ],
        **changes,
    }


def brokers(count, **first):
    return [{"broker_id": i, "rack_id": "abc"[i % 3], **(first if i == 0 else {})} for i in range(count)]


def topic(rows, **more):
    return {"topic_name": "t", "placements": [{"partition_id": i, "replicas": row} for i, row in enumerate(rows)], **more}


def replicas_of(answer, name="reassignment"):
    return {(row["topic"], row["partition"]): row["replicas"] for row in answer[name]["partitions"]}


def test_a_plan_has_a_proof_reasons_batches_and_a_way_back(client):
    limits = {"moves_per_broker": 1, "throttle_bytes_per_second": 50_000_000, "duration_seconds": 10}
    response = client.post(PATH, json=question(limits=limits))
    answer = response.json
    assert answer["moves"] == {"replicas": 2, "bytes": 3_000_000, "leaders": 1, "elections": 1, "lower_bound": 2, "gap": 0.0}
    assert replicas_of(answer, "rollback") == {("orders", 0): [7, 0], ("orders", 1): [0, 7]}
    assert all(7 not in row for row in replicas_of(answer).values())
    assert [(r["from"], r["reason"]) for r in answer["reasons"]] == [
        (7, "drains broker 7"), (7, "drains broker 7"),
    ]  # fmt: skip
    assert [(batch["moves"], batch["bytes"], batch["duration_seconds"]) for batch in answer["batches"]] == [
        (1, 2_000_000, 2.05), (1, 1_000_000, 2.025),
    ]  # fmt: skip
    assert answer["throttle_needed_bytes_per_second"] == 625_000, "for 3 MB at 80% of it, in the 6 s that are left of 10"
    assert answer["pace"] == {"throttle_bytes_per_second": 50_000_000, "throttle_utilization": 0.8, "batch_seconds": 2.0}
    assert answer["duration_seconds"] == 2.05 + 2.025
    assert answer["traffic"] == {
        "broker_ids": [0, 1, 2, 7],
        "bytes_in": [0, 2_000_000, 1_000_000, 0],
        "bytes_out": [2_000_000, 0, 0, 1_000_000],
    }
    assert answer["before"]["broker_load"]["replicas"]["counts"] == [3, 1, 0, 2]
    assert answer["after"]["broker_load"]["leaders"]["counts"] == [2, 0, 1, 0], "those of other partitions stay"
    balanced = client.post(PATH, json=question(leaders="balance", limits=limits)).json
    assert balanced["after"]["broker_load"]["leaders"]["counts"] == [1, 1, 1, 0]
    assert answer["after"]["rack_load"]["bytes"]["totals"] == [3_000_050.0, 3_000_050.0]
    assert response.headers["ETag"] == f'"{answer["plan_id"]}"'


def test_the_same_question_gets_the_same_bytes_and_another_one_another_id(client):
    first, second = (client.post(PATH, json=question()) for _ in range(2))
    assert first.data == second.data
    assert client.post(PATH, json=question(objective="even")).json["plan_id"] != first.json["plan_id"]


def test_kafkas_own_json_is_a_placement(client):
    rows = [
        {"topic": "orders", "partition": i, "replicas": row, "log_dirs": ["any", "any"]}
        for i, row in enumerate([[7, 0], [0, 7], [0, 1]])
    ]
    body = question(reassignment={"version": 1, "partitions": rows})
    del body["topics"]
    answer = client.post(PATH, json=body).json
    assert replicas_of(answer) == replicas_of(client.post(PATH, json=question()).json)
    assert answer["moves"]["bytes"] is None


def test_a_second_plan_from_the_result_changes_nothing(client):
    body = question(objective="even")
    end = replicas_of(client.post(PATH, json=body).json)
    for placement in body["topics"][0]["placements"]:
        placement["replicas"] = end.get(("orders", placement["partition_id"]), placement["replicas"])
    answer = client.post(PATH, json=body).json
    assert answer["moves"]["replicas"] == answer["moves"]["leaders"] == 0
    assert answer["batches"] == answer["reasons"] == answer["reassignment"]["partitions"] == []


def test_the_table_of_moves(client):
    text = client.post(PATH, json=question(), headers={"Accept": "text/csv"}).text
    assert text.splitlines()[0] == '"topic_name","partition_id","from","to","reason","batch"'
    assert '"orders",1,7,' in text
    stream = client.post(PATH, json=question(), headers={"Accept": "application/vnd.apache.arrow.stream"}).data
    assert pa.ipc.open_stream(io.BytesIO(stream)).read_all().num_rows == 2


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        (
            {"brokers": brokers(4, fenced=True), "topics": [topic([[0, 1, 2], [1, 2, 3]])], "racks": "spread"},
            {"broker 0 is fenced"},
        ),
        ({"brokers": brokers(4)[1:], "topics": [topic([[0, 1, 2]])], "racks": "none"}, {"broker 0 is not in brokers"}),
        (
            {"brokers": [*brokers(3), {"broker_id": 9, "rack_id": "a", "replaces": 0}], "topics": [topic([[0, 1], [0, 2]])]},
            {"replaces broker 0", "leader"},
        ),
        ({"brokers": brokers(6), "topics": [topic([[0, 3, 1]])], "leaders": "keep"}, {"rack rule"}),
        ({"brokers": brokers(3), "topics": [topic([[0], [1]])], "replication_factor": 2}, {"replication factor"}),
        ({"brokers": brokers(3), "topics": [topic([[0, 1, 2], [1, 2, 0]], replication_factor=2)]}, {"replication factor"}),
        ({"brokers": brokers(2), "topics": [topic([[0], [0]])], "objective": "even"}, {"evens out broker 1"}),
        ({"brokers": brokers(3, max_replicas=1), "topics": [topic([[0], [0]])]}, {"limits of broker 0"}),
        ({"brokers": brokers(2), "topics": [topic([[0, 1], [0, 1]])], "leaders": "only"}, {"leader"}),
        ({"brokers": brokers(2), "topics": [topic([[0, 1], [0, 1]])], "leaders": "keep"}, set()),
        ({"brokers": brokers(3, demoted=True), "topics": [topic([[0, 1], [1, 0]])], "leaders": "demote"}, {"demotes broker 0"}),
        ({"brokers": brokers(4, draining=True), "topics": [topic([[0]])], "excluded_topics": ["t"]}, set()),
        (
            {"brokers": brokers(2, capacity_bytes=10), "topics": [topic([[0], [0]], partition_bytes=[8, 8])]},
            {"limits of broker 0"},
        ),
        (
            {
                "brokers": brokers(2),
                "topics": [topic([[0], [0], [0]], partition_bytes=[8, 3, 5])],
                "balance": "bytes",
                "objective": "even",
            },
            {"evens out broker 1"},
        ),
    ],
)
def test_every_move_has_its_reason(client, body, reasons):
    answer = client.post(PATH, json=body)
    assert answer.status_code == 200, answer.json
    assert {move["reason"] for move in answer.json["reasons"]} == reasons


def test_bytes_are_balanced(client):
    body = {
        "brokers": brokers(2),
        "topics": [topic([[0], [0], [0]], partition_bytes=[8, 3, 5])],
        "balance": "bytes",
        "objective": "even",
    }
    assert client.post(PATH, json=body).json["after"]["broker_load"]["bytes"]["totals"] == [8.0, 8.0]


@pytest.mark.parametrize(
    ("body", "rules", "remedy"),
    [
        (
            {"brokers": brokers(2), "topics": [topic([[0, 1]])], "replication_factor": 3},
            ["replication_factor"],
            "Add 1 usable broker on new racks.",
        ),
        (
            {"brokers": brokers(3, draining=True), "topics": [topic([[0, 1, 2]])]},
            ["replication_factor", "draining"],
            "Keep the draining brokers.",
        ),
        (
            {
                "brokers": [
                    {"broker_id": i, "rack_id": "r2" if i == 2 else "r1", **({"max_replicas": 1} if i == 2 else {})}
                    for i in range(4)
                ],
                "topics": [topic([[0, 1, 3], [0, 1, 3]])],
            },
            ["replication_factor", "max_replicas", "racks"],
            'Set racks = "none".',
        ),
        (
            {
                "brokers": [{"broker_id": i, "capacity_bytes": 10} for i in range(2)],
                "topics": [topic([[0], [1], [0]], partition_bytes=[8, 8, 8])],
            },
            ["replication_factor", "capacity_bytes"],
            "Add room for 60% more bytes on each broker that has capacity_bytes.",
        ),
    ],
)
def test_what_cannot_be_names_the_clash_and_what_would_mend_it(client, body, rules, remedy):
    answer = client.post(PATH, json=body)
    assert (answer.status_code, answer.json["type"].rpartition(":")[2]) == (422, "infeasible")
    assert [each["rule"] for each in answer.json["clash"]] == rules
    assert remedy in answer.json["remedies"]


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"objective": "best"}, "/objective", "Must be one of"),
        ({"racks": "loose"}, "/racks", "Must be one of"),
        ({"brokers": [*brokers(3), {"broker_id": 1}]}, "/brokers/3/broker_id", "Duplicate broker_id 1."),
        ({"topics": [topic([[0, 0]])]}, "/topics/0/placements/0/replicas/1", "Duplicate broker 0."),
        ({"topics": [topic([[]])]}, "/topics/0/placements/0/replicas", "Length must be between"),
        ({"topics": [topic([[0]]), topic([[1]])]}, "/topics/1/topic_name", "Duplicate topic_name 't'."),
        (
            {"topics": [{"topic_name": "t", "placements": [{"partition_id": 1, "replicas": [0]}] * 2}]},
            "/topics/0/placements/1/partition_id",
            "Duplicate partition_id 1.",
        ),
        (
            {"topics": [topic([[0]], partition_bytes=[1, 2])]},
            "/topics/0/partition_bytes",
            "Must have one number for each of the 1 placements.",
        ),
        (
            {"topics": [topic([[0]])], "balance": "bytes"},
            "/balance",
            "The topics' partition_bytes are required for balance = bytes",
        ),
        (
            {"topics": [topic([[0]])], "limits": {"bytes_in_flight": 9}},
            "/limits/bytes_in_flight",
            "The topics' partition_bytes are required",
        ),
        ({"excluded_topics": ["x"]}, "/excluded_topics/0", "Unknown topic 'x'."),
        ({"excluded_topics": ["orders", "x*"]}, "/excluded_topics/1", "No topic matches 'x*'."),
        ({"included_topics": ["order?s"]}, "/included_topics/0", "No topic matches 'order?s'."),
        ({"destinations": [0, 9]}, "/destinations/1", "Unknown broker 9."),
        (
            {"infer_replaces": True, "leaders": "only"},
            "/infer_replaces",
            "Not allowed together with leaders = only, which moves no",
        ),
        ({"min_topic_leaders": [{"topics": "x*"}]}, "/min_topic_leaders/0/topics", "No topic matches 'x*'."),
        ({"min_topic_leaders": [{"topics": "*", "broker_ids": [9]}]}, "/min_topic_leaders/0/broker_ids/0", "Unknown broker 9."),
        ({"broker_sets": [{"topics": "x*", "broker_ids": [0]}]}, "/broker_sets/0/topics", "No topic matches 'x*'."),
        ({"broker_sets": [{"topics": "*", "broker_ids": [0, 9]}]}, "/broker_sets/0/broker_ids/1", "Unknown broker 9."),
        ({"brokers": [{"broker_id": 0, "replaces": 1, "cordoned": True}]}, "/brokers/0/replaces", "A broker that replaces"),
        ({"included_topics": []}, "/included_topics", "Shorter than minimum length 1."),
        ({"limits": {"bytes_in_flight": 9}}, "/limits/bytes_in_flight", "Must be at least 2000000"),
        ({"brokers": [{"broker_id": 0, "replaces": 5}]}, "/brokers/0/replaces", "Unknown broker 5."),
        ({"brokers": [{"broker_id": 0, "weight": 0}]}, "/brokers/0/weight", "Must be"),
        ({"reassignment": {"version": 1, "partitions": []}}, "/reassignment", "Not allowed together with topics."),
        ({"topics": None}, "/topics", "Field may not be null."),
    ],
)
def test_what_is_wrong_is_named_with_its_place(client, changes, pointer, detail):
    answer = client.post(PATH, json=question(**changes))
    assert answer.status_code == 422
    errors = {error["pointer"]: error["detail"] for error in answer.json["errors"]}
    assert pointer in errors
    assert errors[pointer].startswith(detail)


def test_a_fault_in_kafkas_json_is_named_there(client):
    rows = [
        {"topic": "b", "partition": 0, "replicas": [0]},
        {"topic": "a", "partition": 3, "replicas": [1]},
        {"topic": "b", "partition": 0, "replicas": [1]},
    ]
    answer = client.post(PATH, json={"brokers": brokers(3), "reassignment": {"version": 1, "partitions": rows}})
    assert answer.json["errors"] == [{"pointer": "/reassignment/partitions/2/partition", "detail": "Duplicate partition_id 0."}]


def exchange(room):
    """The rack rule makes brokers 1 and 3 exchange a replica; broker 4 is to have little, and has this much room."""
    some = [{"broker_id": i, "rack_id": "aabbb"[i], "max_replicas": 1} for i in range(4)]
    some.append({"broker_id": 4, "rack_id": "b", "max_replicas": room, "weight": 0.5})
    return {"objective": "even", "brokers": some, "topics": [topic([[0, 1], [2, 3]], partition_bytes=[10, 20])]}


def test_a_detour_is_in_reasons_batches_and_table(client):
    answer = client.post(PATH, json=exchange(1)).json
    assert answer["moves"] == {"replicas": 3, "bytes": 40, "leaders": 0, "elections": 0, "lower_bound": 2, "gap": 0.5}
    moves = [(r["partition_id"], r["from"], r["to"], r["reason"]) for r in answer["reasons"]]
    assert moves == [(0, 1, 4, "rack rule"), (0, 4, 3, "broker 3 was full before"), (1, 3, 1, "rack rule")]
    steps = [[(row["partition"], row["replicas"]) for row in batch["reassignment"]["partitions"]] for batch in answer["batches"]]
    assert steps == [[(0, [0, 4])], [(1, [2, 1])], [(0, [0, 3])]]
    assert replicas_of(answer["batches"][2], "rollback") == {("t", 0): [0, 4]}
    assert answer["traffic"]["bytes_in"] == [0, 20, 0, 10, 10]
    table = client.post(PATH, json=exchange(1), headers={"Accept": "text/csv"}).text.splitlines()
    assert [row.rpartition(",")[2] for row in table[1:]] == ["1", "3", "2"]


def test_full_brokers_that_exchange_replicas_are_named(client):
    response = client.post(PATH, json=exchange(0))
    assert response.status_code == 422
    assert response.json["type"].endswith("infeasible")
    assert response.json["detail"].startswith("Brokers 1, 3 are full and cannot exchange replicas")
    assert [clash["rule"] for clash in response.json["clash"]] == ["max_replicas"]
    assert response.json["remedies"] == ["Raise max_replicas by 1 on broker 1."]


def test_leaders_only_leaves_the_replication_factor(client):
    answer = client.post(PATH, json=question(leaders="only", replication_factor=3))
    assert [error["pointer"] for error in answer.json["errors"]] == ["/leaders"]
    assert client.post(PATH, json=question(leaders="only", replication_factor=2)).status_code == 200


@pytest.mark.parametrize("balance", ["replicas", "bytes"])
@pytest.mark.parametrize("objective", ["fewest-moves", "even"])
@pytest.mark.parametrize("leaders", ["balance", "keep", "only"])
@pytest.mark.parametrize("per_topic", [False, True])
def test_nothing_is_planned_for_nothing(client, objective, leaders, balance, per_topic):
    for racks in ("strict", "spread", "none"):
        for some_brokers, rows in (([], []), (brokers(2), []), ([], [[0]]), (brokers(2, fenced=True), [[0]])):
            topics = [topic(rows, partition_bytes=[0] * len(rows))] if rows or some_brokers else []
            body = {"brokers": some_brokers, "topics": topics, "racks": racks, "objective": objective, "leaders": leaders}
            answer = client.post(PATH, json={**body, "balance": balance, "per_topic": per_topic and balance == "replicas"})
            assert answer.status_code in ((200,) if not rows or leaders == "only" else (422,)), answer.json


def test_the_parts_of_a_snapshot_can_be_posted_as_they_are(client):
    body = question()
    body["brokers"][0] |= {"fenced": False, "capacity_bytes": 10_000_000, "used_bytes": 3_000_050}
    body["topics"][0] |= {
        "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
        "partitions_count": 3,
        "internal": False,
        "log_end_offsets": [1, 2, 3],
    }
    for placement in body["topics"][0]["placements"]:
        placement["in_sync_replicas"] = placement["replicas"]
    assert client.post(PATH, json=body).json["moves"] == client.post(PATH, json=question()).json["moves"]


def test_metrics_count_plans_and_what_they_move(client):
    client.post(PATH, json=question())
    text = client.get("/metrics").text
    assert 'partition_allocator_skew_ratio_count{decision="reassignment",strategy="fewest-moves"}' in text


CROWDED = {
    "brokers": [{"broker_id": i} for i in range(3)],
    "topics": [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [0]} for i in range(9)]}],
}


def test_the_frontier_goes_from_no_copy_to_the_evenest(client):
    body = client.post("/v1/reassignments?frontier=true", json={**CROWDED, "max_moves": 2}).json
    assert [(point["copies"], point["spread"], point["proven"]) for point in body["frontier"]] == [
        (0, 9.0, True), (1, 8.0, True), (2, 6.0, True), (3, 5.0, True), (4, 3.0, True), (5, 2.0, True), (6, 0.0, True)
    ]  # fmt: skip
    assert (body["objective"], body["moves"]["replicas"], body["goals"]["evenness"]["gap"]) == ("even", 2, 0)
    assert body["conclusion"] == "Changes the placement with 2 copies, the evenest load with at most 2 copies."
    assert "frontier" not in client.post("/v1/reassignments", json=CROWDED).json
    table = client.post("/v1/reassignments?frontier=true", json=CROWDED, headers={"Accept": "text/csv"}).data.decode()
    assert table.splitlines()[:2] == ['"copies","bytes","spread","stddev","proven"', "0,,9,4.242640687119285,true"]


def test_the_fewest_copies_within_a_tolerance(client):
    body = client.post("/v1/reassignments", json={**CROWDED, "tolerance": 0.4}).json
    assert (body["moves"]["replicas"], body["moves"]["gap"], body["outside_tolerance"]) == (4, 0, [])
    fewest = "the fewest possible to bring every broker within 40% of the mean, rounded outwards to whole replicas (1 to 5 each)"
    assert (body["conclusion"], body["complete"]) == (f"Changes the placement with 4 copies, {fewest}.", True)
    only = {**CROWDED, "tolerance": 0, "excluded_topics": ["t"]}
    body = client.post("/v1/reassignments", json=only).json
    assert (body["outside_tolerance"], body["complete"]) == ([0, 1, 2], False)
    assert body["warnings"][0].startswith("Brokers 0, 1, 2 stay outside the tolerance")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"tolerance": 0.1, "max_moves": 3}, "/tolerance"),
        ({"objective": "fewest-moves", "max_moves": 3}, "/max_moves"),
        ({"leaders": "only", "tolerance": 0.1}, "/tolerance"),
        ({"max_bytes": 3}, "/max_bytes"),
    ],
)
def test_limits_of_copies_that_have_no_meaning(client, fields, pointer):
    answer = client.post("/v1/reassignments", json={**CROWDED, **fields})
    assert (answer.status_code, [each["pointer"] for each in answer.json["errors"]]) == (422, [pointer])


def test_a_throttle_that_misses_the_time_is_raised(client):
    limits = {"moves_per_broker": 1, "throttle_bytes_per_second": 100, "duration_seconds": 10, "order": "smallest-first"}
    answer = client.post(PATH, json=question(limits=limits)).json
    assert answer["throttle_bytes_per_second"] == answer["throttle_needed_bytes_per_second"] == 625_000
    assert [batch["bytes"] for batch in answer["batches"]] == [1_000_000, 2_000_000]
    assert answer["duration_seconds"] == pytest.approx(10)
    takes, needs = (effect for effect in answer["effects"] if "throttle" in effect)
    assert takes.startswith("Takes at least 10 s in 2 batches at a throttle of 625,000 bytes/s")
    assert needs == "To take no longer than asked needs a throttle of at least 625,000 bytes/s."
    limits["throttle_bytes_per_second"] = 700_000
    answer = client.post(PATH, json=with_rates(limits=limits)).json
    takes, _ = (effect for effect in answer["effects"] if "throttle" in effect)
    assert takes.startswith("Takes about 9 s in 2 batches at a throttle of 700,000 bytes/s")


def test_min_insync_replicas_are_kept(client):
    topics = question()["topics"]
    topics[0]["placements"][0]["in_sync_replicas"] = [7]
    body = question(topics=topics, replication_factor=1, min_insync_replicas=1)
    answer = client.post(PATH, json=body)
    assert (answer.status_code, answer.json["type"].rpartition(":")[2]) == (422, "infeasible")
    assert answer.json["clash"][0]["rule"] == "min_insync_replicas"
    topics[0]["min_insync_replicas"] = 2
    assert client.post(PATH, json={**body, "replication_factor": 3}).status_code == 200


def test_only_topics_that_patterns_include_change_and_the_others_still_count(client):
    """Broker 3 is to be emptied of orders.*, apart from orders.old; what it keeps and what broker 0 has is load all the same."""
    names = ["orders.new", "orders.old", "payments", "ordersxnew"]
    placed = [{**topic([[3], [0]]), "topic_name": name} for name in names]
    body = {"brokers": [*brokers(3), {"broker_id": 3, "draining": True}], "topics": placed, "racks": "none"}
    answer = client.post(PATH, json=body | {"included_topics": ["orders.*"], "excluded_topics": ["*.old"]}).json
    assert {name for name, _ in replicas_of(answer)} == {"orders.new"}
    assert answer["after"]["broker_load"]["replicas"]["counts"] == [4, 1, 0, 3]
    named = client.post(PATH, json=body | {"excluded_topics": names[1:]}).json
    assert named == answer


def test_a_demoted_broker_is_last_and_leads_only_what_no_other_broker_can(client):
    body = {"brokers": brokers(3, demoted=True), "topics": [topic([[0, 1, 2], [1, 0, 2], [0], [2, 1]])], "leaders": "demote"}
    answer = client.post(PATH, json=body).json
    assert replicas_of(answer) == {("t", 0): [1, 2, 0], ("t", 1): [1, 2, 0]}
    assert answer["preferred_leader_elections"] == {"partitions": [{"topic": "t", "partition": 0}]}
    assert (answer["moves"]["replicas"], answer["moves"]["leaders"], len(answer["batches"])) == (0, 1, 1)
    assert "Broker 0 stays the preferred leader of 1 partition afterwards, 2 now: t-2" in answer["conclusion"]
    stays = "Broker 0 stays the preferred leader of 1 partition afterwards, 2 now: t-2 (no other replica may lead)."
    assert answer["conclusion"].startswith(stays)
    assert not answer["complete"]


def test_brokers_that_receive_nothing_keep_what_they_have(client):
    """Broker 2 is cordoned; broker 3 is to be emptied. A destination is the only broker that may get anything."""
    body = {
        "brokers": [*brokers(2), {"broker_id": 2, "cordoned": True}, {"broker_id": 3, "draining": True}],
        "topics": [topic([[3], [3], [3], [2], [0]])],
        "racks": "none",
    }
    after = [client.post(PATH, json=body | more).json["after"]["broker_load"] for more in ({}, {"destinations": [0]})]
    assert [load["replicas"]["counts"] for load in after] == [[2, 2, 1, 0], [4, 0, 1, 0]]
    answer = client.post(PATH, json=body | {"destinations": [2]})
    assert (answer.status_code, answer.json["type"].rsplit(":", 1)[-1]) == (422, "infeasible")
    assert {"draining", "cordoned", "destinations"} & {each["rule"] for each in answer.json["clash"]}
    assert "Let the cordoned brokers receive replicas." in answer.json["remedies"]


@pytest.mark.parametrize(("sizes", "copied", "bound"), [([50, 40, 10], 40, 40), ([50, 38, 2], 38, 38), ([85, 2, 3, 10], 85, 5)])
def test_of_a_broker_above_the_threshold_no_less_than_its_excess_leaves(client, sizes, copied, bound):
    """Broker 0 has all but the last, broker 1 that; 85 of 100 may be used. The smallest replica that suffices leaves; several
    smaller ones might do with fewer bytes, which the bound allows for.
    """
    rows = [{"partition_id": i, "replicas": [int(i == len(sizes) - 1)]} for i in range(len(sizes))]
    body = {
        "brokers": [{**each, "capacity_bytes": 100} for each in brokers(3)],
        "topics": [{"topic_name": "t", "placements": rows, "partition_bytes": sizes}],
        "racks": "none", "balance": "bytes", "leaders": "keep", "disk_threshold": 0.85,
    }  # fmt: skip
    copies = client.post("/v1/reassignments", json=body).json["goals"]["copies"]
    assert (copies["value"], copies["lower_bound"]) == (copied, bound)


def test_each_broker_leads_as_many_partitions_of_a_topic_as_it_is_to(client):
    """Two of four brokers have everything, so the others need a copy each; two leaders each would need more partitions."""
    placed = [{"partition_id": i, "replicas": [i % 2, 1 - i % 2]} for i in range(4)]
    others = {"topic_name": "payments", "placements": [{"partition_id": 0, "replicas": [0, 1]}]}
    rule = {"topics": "ord*"}
    body = {"brokers": brokers(4), "topics": [{"topic_name": "orders", "placements": placed}, others], "racks": "none"}
    answer = client.post("/v1/reassignments", json=body | {"min_topic_leaders": [rule]}).json
    lists = [each["replicas"] for each in answer["reassignment"]["partitions"] if each["topic"] == "orders"]
    leads = {each["partition"]: each["replicas"][0] for each in answer["reassignment"]["partitions"] if each["topic"] == "orders"}
    led = Counter(leads.get(each["partition_id"], each["replicas"][0]) for each in placed)
    assert led == Counter(range(4))
    assert len(lists) <= 4
    assert answer["goals"]["copies"] == {"value": 2, "lower_bound": 2, "gap": 0.0}
    reasons = {each["reason"] for each in answer["reasons"] if each["to"] in (2, 3)}
    assert reasons - {"leader"} == {"leaders of the topic on broker 2", "leaders of the topic on broker 3"}
    several = client.post("/v1/reassignments?frontier=true", json=body | {"min_topic_leaders": [rule]}).json
    assert [(each["copies"], each["proven"]) for each in several["frontier"]][-1] == (4, True)
    loaded = client.post("/v1/reassignments", json=body | {"min_topic_leaders": [rule], "balance": ["replicas", "leaders"]}).json
    assert loaded["goals"]["copies"] == {"value": 2, "lower_bound": 2, "gap": 0.0}
    assert loaded["after"]["broker_load"]["leaders"]["counts"] == [2, 1, 1, 1]
    refused = client.post("/v1/reassignments", json=body | {"min_topic_leaders": [rule | {"leaders": 2}]}).json
    assert {each["rule"] for each in refused["clash"]} == {"replication_factor", "min_topic_leaders"}
    assert "The 4 brokers of topic 'orders' are to lead 8 of its 4 partitions" in refused["detail"]
    only = client.post("/v1/reassignments", json=body | {"min_topic_leaders": [rule], "leaders": "only"}).json
    assert 'Set leaders = "balance", which moves replicas.' in only["remedies"]
    full = client.post(
        "/v1/reassignments",
        json=body | {"min_topic_leaders": [rule], "brokers": [*brokers(4)[:3], {"broker_id": 3, "max_replicas": 0}]},
    ).json
    assert full["type"].endswith(":infeasible")
    draining = [{"broker_id": 0, "draining": True}, *brokers(4)[1:]]
    at = body | {"brokers": draining, "min_topic_leaders": [rule | {"broker_ids": [0]}]}
    (fault,) = client.post("/v1/reassignments", json=at).json["errors"]
    assert fault["pointer"] == "/min_topic_leaders/0/broker_ids/0"


@pytest.mark.parametrize(
    ("racks", "pairs", "doubts"),
    [  # of brokers 5 and 6, which are new; brokers 3 (with partners on racks a and b) and 4 (on b and c) are gone
        (("c", "a"), [(5, 3), (6, 4)], []),
        (
            ("c", "c"),
            [],
            ["No broker replaces broker 3: brokers 5, 6 could each do so.", "No broker replaces broker 4: each new broker is on"],
        ),
        (("c", "b"), [(5, 3)], ["No broker replaces broker 4: each new broker is on a rack that has another replica"]),
        (
            ("d", "b"),
            [],
            ["No broker replaces broker 3: broker 5 could also", "No broker replaces broker 4: broker 5 could also"],
        ),
    ],
)
def test_who_replaces_a_broker_that_is_gone_is_inferred_where_it_is_clear(client, racks, pairs, doubts):
    cluster = [{"broker_id": i, "rack_id": rack} for i, rack in zip((0, 1, 2, 5, 6), ("a", "b", "c", *racks), strict=True)]
    placed = [{"partition_id": i, "replicas": row} for i, row in enumerate([[3, 0, 1], [1, 2, 4], [0, 1, 2], [3, 1]])]
    body = {"brokers": cluster, "topics": [{"topic_name": "t", "placements": placed}], "infer_replaces": True}
    answer = client.post("/v1/reassignments", json=body).json
    assert [(each["broker_id"], each["replaces"]) for each in answer["inferred_replaces"]] == pairs
    told = [text for text in answer["warnings"] if text.startswith("No broker replaces")]
    assert [text.startswith(start) for text, start in zip(told, doubts, strict=True)] == [True] * len(doubts)
    moved = {(each["from"], each["to"]) for each in answer["reasons"] if each["from"] in (3, 4)}
    assert {(new, old) for new, old in pairs} <= {(to, source) for source, to in moved}
    for new, old in pairs:
        assert f"Broker {new} takes over from broker {old}." in answer["effects"]


def test_a_replica_outside_the_broker_set_of_its_topic_leaves(client):
    """The first set that fits a topic holds, and a topic of none may be on all brokers."""
    named = [{**topic([[0], [1]]), "topic_name": name} for name in ("orders.a", "orders.b", "payments")]
    sets = [{"topics": "orders.a", "broker_ids": [2]}, {"topics": "orders.*", "broker_ids": [1, 2]}]
    body = {"brokers": brokers(3), "topics": named, "racks": "none", "broker_sets": sets}
    answer = client.post(PATH, json=body).json
    moves = [(move["topic_name"], move["from"], move["to"], move["reason"]) for move in answer["reasons"]]
    assert moves == [
        ("orders.a", 0, 2, "broker 0 is outside the broker set"),
        ("orders.a", 1, 2, "broker 1 is outside the broker set"),
        ("orders.b", 0, moves[2][2], "broker 0 is outside the broker set"),
    ]
    assert answer["moves"]["gap"] == 0
    refused = client.post(PATH, json=body | {"replication_factor": 2})
    assert (refused.status_code, refused.json["type"].rsplit(":", 1)[-1]) == (422, "infeasible")
    assert {each["rule"] for each in refused.json["clash"]} == {"replication_factor", "broker_sets"}
    assert "Remove broker_sets." in refused.json["remedies"]


def on_disks(*brokers, sizes=(30, 30, 30), **fields):
    """Three partitions on broker 0, and disks of 100 bytes with so much in use."""
    return {
        "brokers": [{"broker_id": i, "capacity_bytes": 100, "used_bytes": used} for i, used in enumerate(brokers)],
        "topics": [topic([[0]] * len(sizes), partition_bytes=list(sizes))],
        "racks": "none",
        "leaders": "keep",
        "balance": "bytes",
        **fields,
    }


def bytes_after(answer):
    assert answer.status_code == 200, answer.json
    return answer.json["moves"]["bytes"]


@pytest.mark.parametrize(
    ("threshold", "moved"),
    [(1, 0), (0.9, 0), (0.85, 30), (0.6, 30), (0.59, 60)],
)
def test_no_more_is_moved_than_brings_each_broker_below_the_disk_threshold(client, threshold, moved):
    answer = client.post(PATH, json=on_disks(90, 0, 0, disk_threshold=threshold))
    assert bytes_after(answer) == moved
    above = 90 - round(100 * threshold)
    bound = 30 if 0 < above <= 30 else max(above, 0)
    assert answer.json["moves"]["lower_bound"] == bound, "what is above has to leave, in replicas of 30"


def test_what_else_is_on_a_disk_leaves_less_room(client):
    """Broker 1 has 60 bytes of other files. Broker 0 has 5 beside its replicas; fewer in use than they have counts as none."""
    assert bytes_after(client.post(PATH, json=on_disks(95, 0, disk_threshold=0.9))) == 30
    assert bytes_after(client.post(PATH, json=on_disks(80, 0, disk_threshold=0.9))) == 0
    refused = client.post(PATH, json=on_disks(90, 60, disk_threshold=0.85))
    assert refused.status_code == 422
    assert refused.json["clash"][-1] == {"rule": "capacity_bytes", "detail": "The disks have room for 110 bytes."}
    assert bytes_after(client.post(PATH, json=on_disks(90, 60, 0, disk_threshold=0.85))) == 30


@pytest.mark.parametrize(
    ("threshold", "detail"), [(0, "Must be greater than 0"), (1.1, "less than or equal to 1"), ("1", "Not a number")]
)
def test_a_disk_threshold_is_a_share(client, threshold, detail):
    (fault,) = client.post(PATH, json=on_disks(90, 0, disk_threshold=threshold)).json["errors"]
    assert fault["pointer"] == "/disk_threshold"
    assert detail in fault["detail"]


def test_a_disk_threshold_needs_capacities(client):
    body = on_disks(90, 0, disk_threshold=0.8)
    (fault,) = client.post(PATH, json=body | {"brokers": [{"broker_id": 0}, {"broker_id": 1}]}).json["errors"]
    assert fault["pointer"] == "/disk_threshold"


def test_how_far_the_copies_may_be_from_the_fewest_bytes(client):
    """Broker 0 has 3, 4 and 5 bytes; it keeps 5 at most where all have as even a load as possible."""
    answer = client.post(PATH, json=on_disks(90, 0, 0, sizes=(3, 4, 5), objective="even")).json
    assert answer["goals"]["copies"] == {"value": 8, "lower_bound": 7, "gap": pytest.approx(1 / 7)}
    assert answer["conclusion"] == (
        "Changes the placement with 2 copies, at most 14.3% above the fewest bytes possible for as even a load."
    )


RATES = {"partition_bytes_per_second": [900.0, 30, 20], "partition_bytes_out_per_second": [100, 2000.0, 10]}


def with_rates(**changes):
    body = question(**changes)
    body["topics"][0].update(RATES)
    return body


@pytest.mark.parametrize("balance", [["replicas", "cpu"], {"bytes": 2, "bytes_out_per_second": 0.5, "leaders": 1}, "cpu"])
def test_several_resources_are_evened_out(client, balance):
    answer = client.post(PATH, json=with_rates(objective="even", balance=balance)).json
    names = [balance] if isinstance(balance, str) else list(balance)
    assert [each["resource"] for each in answer["goals"]["resources"]] == names
    assert answer["goals"]["evenness"]["value"] >= answer["goals"]["evenness"]["lower_bound"] > 0.9
    assert answer["goals"]["evenness"]["value"] < 20  # shares, not replicas or bytes
    for each in answer["goals"]["resources"]:
        load = answer["after"]["broker_load"][each["resource"]]
        totals = load.get("totals") or load["counts"]
        assert sum(total**2 for total in totals[:3]) == pytest.approx(each["value"])  # broker 7 is drained
        assert each["lower_bound"] <= each["value"]
        assert any(sentence.startswith(f"Of {each['resource']}, the fullest broker has") for sentence in answer["effects"])


def test_a_gap_above_a_bound_of_0_is_no_share(client):
    """Broker 0 leads all, so a copy is needed; how many come as near to a tolerance that nothing meets is not known."""
    body = with_rates(objective="even", balance="cpu")
    body["topics"][0]["placements"] = [{"partition_id": partition, "replicas": [0]} for partition in range(3)]
    assert client.post(PATH, json=body).json["goals"]["copies"] == {"value": 2, "lower_bound": 1, "gap": 1.0}
    answer = client.post(PATH, json=body | {"tolerance": 0.001}).json
    assert answer["outside_tolerance"]
    assert answer["goals"]["copies"] == {"value": 2, "lower_bound": 0, "gap": None}
    assert answer["moves"]["gap"] is None
    assert answer["conclusion"].endswith(" Changes the placement with 2 copies, not proven to be the fewest possible.")


def test_cpu_is_what_brokers_use(client):
    body = with_rates(balance="cpu")
    for broker, usage in zip(body["brokers"], (0.4, 0.1, 0.0, 0.3), strict=True):
        broker["cpu_usage"] = usage
    before = client.post(PATH, json=body).json["before"]["broker_load"]["cpu"]["totals"]
    # Broker 0 leads partitions 1 (30 in, 2,030 out) and 2 (20, 30), and follows 0; broker 7 leads 0 (900, 1,000), follows 1.
    leads = 0.7 * 50 + 0.15 * 2060
    first, other = 0.4 / (leads + 0.15 * 900), 0.3 / (0.7 * 900 + 0.15 * 1000 + 0.15 * 30)
    assert before[0] == pytest.approx(first * leads + other * 0.15 * 900)
    assert before[1] == pytest.approx(first * 0.15 * 20)


RESOURCE_NAMES = "replicas, bytes, leaders, bytes_per_second, leader_bytes_per_second, bytes_out_per_second, cpu"


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"balance": "disk"}, "/balance", f"Must be one of: {RESOURCE_NAMES}."),
        ({"balance": ["bytes", 3]}, "/balance/1", f"Must be one of: {RESOURCE_NAMES}."),
        ({"balance": ["bytes", [1]]}, "/balance/1", f"Must be one of: {RESOURCE_NAMES}."),
        ({"balance": []}, "/balance", "Must be a resource, a list of resources, or an object of their weights."),
        ({"balance": None}, "/balance", "Field may not be null."),
        ({"balance": ["bytes", "bytes"]}, "/balance/1", "Duplicate resource 'bytes'."),
        ({"balance": {"bytes": 0}}, "/balance/bytes", "Must be a number from 1e-100 to 1e+100."),
        ({"balance": {"bytes": True, "cpu": 1}}, "/balance/bytes", "Must be a number from 1e-100 to 1e+100."),
        ({"balance": ["leaders", "cpu"]}, "/balance", "The topics' partition_bytes_per_second are required for balance = cpu."),
        ({"balance": "leaders", "per_topic": True}, "/per_topic", "Not allowed together with other or several resources."),
    ],
)
def test_what_is_wrong_with_resources_is_named(client, changes, pointer, detail):
    response = client.post(PATH, json=question(**changes))
    assert response.status_code == 422
    assert {"pointer": pointer, "detail": detail} in response.json["errors"]


def test_no_frontier_of_several_resources(client):
    response = client.post(f"{PATH}?frontier=true", json=question(balance=["bytes", "leaders"]))
    assert (response.status_code, response.json["errors"][0]["pointer"]) == (422, "/balance")


def test_leaders_alone_even_out_what_they_cost(client):
    """Leaders of two partitions with much and two with little to send, all on broker 0: one of each goes."""
    rows = [[0, 1], [0, 1], [0, 1], [0, 1]]
    rates = {"partition_bytes_per_second": [100, 100, 1, 1]}
    body = {"brokers": brokers(2), "topics": [topic(rows, **rates)], "balance": "leader_bytes_per_second", "leaders": "only"}
    answer = client.post(PATH, json=body).json
    assert answer["moves"]["replicas"] == 0
    assert answer["after"]["broker_load"]["leader_bytes_per_second"]["totals"] == [101.0, 101.0]


@pytest.mark.parametrize("path", [PATH, "/v1/reassignments:lint"])
def test_too_many_brokers_are_refused_before_they_are_read(client, path):
    """What they replace was looked up in all of them, for each."""
    body = question(brokers=[{"broker_id": i, "replaces": i + 9_999} for i in range(4_000)])
    answer = client.post(path, json=body | ({} if path == PATH else {"reassignment": {"version": 1, "partitions": []}}))
    assert answer.json["errors"][0]["pointer"] == "/brokers"
    assert "brokers × brokers" in answer.json["detail"]
