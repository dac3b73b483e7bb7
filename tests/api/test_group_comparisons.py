"""``compare``: a group under several assignors at once; ``zone_traffic``: what crosses zones."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given

from service.api import group_schemas as schema
from service.app import create_app
from service.config import Settings
from tests.support.groups import bodies, flat

URL = "/v1/group-assignments"
OWNED = [{"topic_name": "t", "partition_ids": [0, 1, 2, 3, 4, 5]}]
BODY = {
    "topics": [{"topic_name": "t", "partitions_count": 6, "partition_weights": [6, 1, 1, 1, 1, 2]}],
    "members": [{"member_id": "a", "owned_partitions": OWNED, "generation_id": 1}, {"member_id": "b"}],
}
EVERY = [
    {"assignor": "range"},
    {"assignor": "cooperative-sticky"},
    {"client": "librdkafka", "assignor": "roundrobin"},
    {"client": "franz-go"},
    {"group_protocol": "consumer", "assignor": "uniform"},
    {"group_protocol": "share"},
    {"assignor": "balanced"},
]


def test_assignors_of_every_protocol_and_client_stand_beside_the_one_asked_for(client):
    answer = client.post(URL, json={**BODY, "assignor": "balanced", "compare": EVERY}).json
    for row, compared in zip(EVERY, answer["comparisons"], strict=True):
        alone = client.post(URL, json={**BODY, **row}).json
        settled = alone.get("follow_up", alone)
        assert compared["assignor"] == alone["assignor"]
        assert compared["implementation"] == alone["implementation"]
        assert compared["member_load"] == settled["member_load"]
        weights = BODY["topics"][0]["partition_weights"]
        totals = [sum(weights[i] for _, i in parts) for parts in flat(settled["assignments"]).values()]
        assert compared["weighted_member_load"]["totals"] == totals
        kept = {("t", i) for i in range(6)} & set(flat(settled["assignments"])["a"])
        assert compared["movement"]["retained"] == len(kept)
        load, asked = max(totals), answer["weighted_member_load"]["max"]
        moves = compared["movement"]["moved"] - answer["movement"]["moved"]
        assert compared["costs"] == {"largest_load": pytest.approx(load / asked - 1), "moves": moves, "local_share": None}


def test_an_assignor_that_fails_spoils_no_other(client):
    body = {"topics": BODY["topics"], "members": [], "compare": [{"assignor": "roundrobin"}]}
    alone = client.post(URL, json={**body, "assignor": "roundrobin", "compare": None})
    assert alone.status_code == 422
    (failed,) = client.post(URL, json=body).json["comparisons"]
    assert failed["error"] == alone.json["detail"]
    assert "member_load" not in failed


@pytest.mark.parametrize(
    ("row", "pointer"),
    [
        ({"assignor": "uniform"}, "/compare/1/assignor"),
        ({"group_protocol": "nope"}, "/compare/1/group_protocol"),
        ({"client": "nope"}, "/compare/1/client"),
        ({"kafka_version": "1.0"}, "/compare/1/kafka_version"),
        ({"balance_racks": True}, "/compare/1/balance_racks"),
        ({"assignors": "range"}, "/compare/1/assignors"),
    ],
)
def test_what_cannot_be_compared_is_pointed_at(client, row, pointer):
    answer = client.post(URL, json={**BODY, "compare": [{}, row]})
    assert answer.status_code == 422
    assert [each["pointer"] for each in answer.json["errors"]] == [pointer]


def test_each_comparison_counts_against_the_limits():
    client = create_app(Settings(max_assignment_cells=30)).test_client()
    assert client.post(URL, json={**BODY, "compare": [{}]}).status_code == 200
    refused = client.post(URL, json={**BODY, "compare": [{}, {}]})
    assert "MAX_ASSIGNMENT_CELLS" in refused.json["detail"]
    assert client.post(URL, json={**BODY, "compare": [{}] * 21}).status_code == 422


def test_a_large_body_is_compared_as_a_small_one(client, monkeypatch):
    text = orjson.dumps({**BODY, "compare": EVERY, "price_per_gb": 1})
    small = client.post(URL, data=text, content_type="application/json").data
    monkeypatch.setattr(schema, "LARGE", 0)
    assert schema.read_body(text)["topics"].type == schema.TOPIC
    assert client.post(URL, data=text, content_type="application/json").data == small


def test_assignors_that_are_too_many_are_not_made(client, monkeypatch):
    """Each that is read in bulk has all its fields as Python objects, which took a third more than is reserved."""
    text = orjson.dumps({**BODY, "compare": [{}] * 21})
    monkeypatch.setattr(schema, "LARGE", 0)
    assert schema.read_body(text)["compare"][0] == {}
    assert client.post(URL, data=text, content_type="application/json").json["errors"] == [
        {"pointer": "/compare", "detail": "Longer than maximum length 20."}
    ]


def test_lag_is_a_weight_and_no_rate(client):
    lag = {"committed_offsets": [0, 10, None, -1, 9], "log_end_offsets": [30, 20, 5, 7, None]}
    topic = {"topic_name": "t", "partitions_count": 5, "lag": lag, "partition_racks": [["a"]] * 5}
    members = [{"member_id": "a", "capacity": 3, "rack_id": "a"}, {"member_id": "b", "rack_id": "b"}]
    body = {"assignor": "balanced", "topics": [topic], "members": members, "price_per_gb": 1}
    answer = client.post(URL, json=body).json
    assert answer["weighted_member_load"]["totals"] == [30, 10]
    assert answer["warnings"][:-1] == [
        "1 member has no capacity, which counts as 1.",
        "The lag of 3 of 5 partitions is not known, for want of an offset; loads leave it out.",
        "These partitions are shared out by their number, beside the load of the others.",
    ]
    assert answer["zone_traffic"] == {"local_share": 0.75, "cross_zone_bytes_per_second": None, "cost_per_month": None}
    assert client.post(URL, data=orjson.dumps(body) + b" " * schema.LARGE, content_type="application/json").json == answer


@pytest.mark.parametrize("size", [0, schema.LARGE], ids=["small", "read by Arrow"])
@pytest.mark.parametrize(
    ("topic", "pointer"),
    [
        ({"lag": {"committed_offsets": [1], "log_end_offsets": [1, 2]}}, "/topics/0/lag/committed_offsets"),
        ({"lag": {"committed_offsets": [1, 2], "log_end_offsets": [1, -2]}}, "/topics/0/lag/log_end_offsets/1"),
        ({"lag": {"committed_offsets": [1, 2]}}, "/topics/0/lag/log_end_offsets"),
        ({"lag": {"committed_offsets": [1, 2], "log_end_offsets": None}}, "/topics/0/lag/log_end_offsets"),
    ],
)
def test_a_wrong_lag_is_pointed_at(client, size, topic, pointer):
    lag = {"committed_offsets": [1], "log_end_offsets": [1]}
    topics = [{"topic_name": "t", "partitions_count": 2, **topic}, {"topic_name": "u", "partitions_count": 1, "lag": lag}]
    text = orjson.dumps({"topics": topics, "members": []}) + b" " * size
    assert [each["pointer"] for each in client.post(URL, data=text, content_type="application/json").json["errors"]] == [pointer]


def test_lag_and_capacity_that_cannot_matter_are_refused(client):
    lag = {"committed_offsets": [1], "log_end_offsets": [1]}
    topic = {"topic_name": "t", "partitions_count": 1, "lag": lag}
    body = {"topics": [topic], "members": [{"member_id": "m", "capacity": 2}]}
    pointers = [each["pointer"] for each in client.post("/v1/group-rebalances", json=body).json["errors"]]
    assert pointers == ["/topics/0/lag", "/members/0/capacity"]
    body["topics"][0]["partition_weights"] = [1]
    assert [each["pointer"] for each in client.post(URL, json=body).json["errors"]] == ["/topics/0/lag"]
    body["members"][0]["capacity"] = 0
    assert [each["pointer"] for each in client.post(URL, json=body).json["errors"]] == ["/members/0/capacity"]


def test_balanced_for_a_share_group_is_refused_with_the_reason(client):
    detail = client.post(URL, json={**BODY, "group_protocol": "share", "assignor": "balanced"}).json["errors"][0]["detail"]
    assert "it needs group_protocol: classic or consumer. Members of a share group take" in detail


RACKED = {
    "topics": [
        {
            "topic_name": "t",
            "partitions_count": 3,
            "partition_racks": [["a", "b"], ["b"], []],
            "partition_weights": [3e6, 1e6, 9e6],
        }
    ],
    "members": [{"member_id": "m", "rack_id": "a"}],
}


def test_what_crosses_zones_has_a_price(client):
    traffic = client.post(URL, json={**RACKED, "price_per_gb": 0.02}).json["zone_traffic"]
    cost = pytest.approx(1e6 * 730 * 3600 / 1e9 * 0.02)
    assert traffic == {"local_share": 0.75, "cross_zone_bytes_per_second": 1e6, "cost_per_month": cost}
    assert client.post(URL, json=RACKED).json["zone_traffic"]["cost_per_month"] is None
    unweighted = {**RACKED, "topics": [{**RACKED["topics"][0], "partition_weights": None}], "price_per_gb": 1}
    assert client.post(URL, json=unweighted).json["zone_traffic"] == {
        "local_share": 0.5,
        "cross_zone_bytes_per_second": None,
        "cost_per_month": None,
    }
    assert "zone_traffic" not in client.post(URL, json={**RACKED, "members": [{"member_id": "m"}]}).json
    assert client.post(URL, json={**RACKED, "price_per_gb": -1}).json["errors"][0]["pointer"] == "/price_per_gb"


@given(body=bodies(min_members=1, racks=True, sound=True))
def test_zone_traffic_is_counted_partition_by_partition(app, body):
    answer = app.test_client().post(URL, json={**body, "group_protocol": "share"}).json
    racks = {t["topic_name"]: t.get("partition_racks") or [[]] * t["partitions_count"] for t in body["topics"]}
    weights = {t["topic_name"]: t.get("partition_weights") or [1] * t["partitions_count"] for t in body["topics"]}
    given_to = flat(answer["assignments"])
    readers: dict[tuple[str, int], list[str | None]] = {}
    for member in body["members"]:
        for partition in given_to[member["member_id"]]:
            readers.setdefault(partition, []).append(member.get("rack_id"))
    pairs = [  # weight, share, near
        (weights[name][i] / len(some), 1 / len(some), rack in racks[name][i])
        for (name, i), some in readers.items()
        for rack in some
        if rack and any(racks[name][i])
    ]
    if not any(rack for rows in racks.values() for row in rows for rack in row) or not any(
        m.get("rack_id") for m in body["members"]
    ):
        assert "zone_traffic" not in answer
        return
    traffic = answer["zone_traffic"]
    by = 0 if sum(weight for weight, _, _ in pairs) else 1
    total = sum(pair[by] for pair in pairs)
    share = sum(pair[by] for pair in pairs if pair[2]) / total if pairs else None
    assert traffic["local_share"] == (None if share is None else pytest.approx(share))
    if any("partition_weights" in topic for topic in body["topics"]):
        assert traffic["cross_zone_bytes_per_second"] == pytest.approx(sum(pair[0] for pair in pairs if not pair[2]))


def test_placements_and_plans_have_zone_traffic_too(client):
    brokers = [{"broker_id": i, "rack_id": "ab"[i % 2]} for i in range(4)]
    placed = {"placer": "modulo", "partitions_count": 4, "replication_factor": 2, "brokers": brokers}
    answer = client.post("/v1/replica-placements", json={**placed, "bytes_per_second": 4e6, "price_per_gb": 0.01}).json
    cost = pytest.approx(4e6 * 730 * 3600 / 1e9 * 0.01)  # every follower is on the other rack, and every reader beside one
    assert answer["zone_traffic"] == {"local_share": 1.0, "cross_zone_bytes_per_second": 4e6, "cost_per_month": cost}
    without = client.post("/v1/replica-placements", json={**placed, "brokers": [{"broker_id": i} for i in range(4)]}).json
    assert "zone_traffic" not in without
    topic = {"topic_name": "t", "placements": [{"partition_id": 0, "replicas": [0, 2]}], "partition_bytes_per_second": [1e6]}
    body = {"brokers": brokers, "topics": [topic], "price_per_gb": 1}
    plan = client.post("/v1/reassignments", json=body).json
    assert plan["before"]["zone_traffic"]["local_share"] == 0.5
    assert plan["before"]["zone_traffic"]["cross_zone_bytes_per_second"] == 5e5
    assert plan["after"]["zone_traffic"] == {
        "local_share": 1.0,
        "cross_zone_bytes_per_second": 1e6,
        "cost_per_month": pytest.approx(2628),
    }
    unpriced = client.post("/v1/reassignments", json={**body, "price_per_gb": None}).json
    assert unpriced["after"]["zone_traffic"]["cost_per_month"] is None
    assert unpriced["plan_id"] != plan["plan_id"]
