"""POST /v1/group-assignments."""

from __future__ import annotations

import copy
import json
import resource
import statistics

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marshmallow import ValidationError, fields

from service.api import group_schemas as schema
from service.app import create_app
from service.config import Settings
from service.core.budget import OutOfTime, limited
from service.core.kafka_versions import LATEST
from service.decisions.groups.answer import answer
from service.decisions.groups.question import of_rows
from service.http.json import arrays
from service.http.lists import Array
from service.strategies import GROUP_PROTOCOLS
from tests.support import golden
from tests.support.forked import ended, forked
from tests.support.groups import as_rows, bodies
from tests.support.time_limits import OVER

URL = "/v1/group-assignments"
NAMED = {"X-Request-ID": "test"}  # so that two problems of one kind are the same bytes
TWO_BY_THREE = {
    "topics": [{"topic_name": "orders", "partitions_count": 3}],
    "members": [{"member_id": "c2"}, {"member_id": "c1"}],
}
CLASSIC = [f"groups/classic-{name}{part}" for name in ("range", "roundrobin") for part in ("", "-sequences", "-large")]


@golden.each(*CLASSIC)
def test_answers_as_kafka_was_recorded_to(client, case):
    answer = client.post(URL, data=json.dumps(case["request"]), content_type="application/json")
    assert answer.status_code == 200, answer.data
    assert orjson.loads(answer.data)["assignments"] == case["expected"]["assignments"]


@pytest.mark.parametrize("case", [c for c in golden.lines("groups/errors") if c["request"]["assignor"] == "roundrobin"])
def test_a_failure_of_kafkas_assignor_has_its_cause_and_a_remedy(client, case):
    answer = client.post(URL, json=case["request"])
    assert answer.status_code == 422
    assert answer.json["type"].endswith(":kafka-assignor-fails")
    assert {name: answer.json[name] for name in ("exception", "message")} == case["expected"]["error"]
    assert "/members is empty" in answer.json["detail"]
    assert "name at least one member" in answer.json["detail"]


def test_assigns_by_classic_range_unless_told_otherwise(client):
    assert client.post(URL, json=TWO_BY_THREE).json == {
        "kafka_version": LATEST,
        "implementation": {"client": "java", "release": LATEST, "symbol": "org.apache.kafka.clients.consumer.RangeAssignor"},
        "group_protocol": "classic",
        "assignor": "range",
        "conclusion": "range gives 2 members 1 to 2 partitions each.",
        "assignments": [
            {"member_id": "c2", "partitions": [{"topic_name": "orders", "partition_ids": [2]}]},
            {"member_id": "c1", "partitions": [{"topic_name": "orders", "partition_ids": [0, 1]}]},
        ],
        "unassigned": [],
        "member_load": {"counts": [1, 2], "min": 1, "max": 2, "mean": 1.5, "skew": 2 / 1.5},
        "movement": {"retained": 0, "moved": 0, "added": 3, "revoked": 0, "fewest_possible_moves": 0},
    }


def test_a_group_without_members_leaves_everything_unassigned_under_range(client):
    answer = client.post(URL, json={**TWO_BY_THREE, "members": []}).json
    assert answer["assignments"] == []
    assert answer["unassigned"] == [{"topic_name": "orders", "partition_ids": [0, 1, 2]}]
    assert answer["member_load"]["skew"] == 1.0


def test_names_the_partitions_without_subscribers_and_ignores_topics_that_do_not_exist(client):
    body = {
        "topics": [{"topic_name": "b", "partitions_count": 2}, {"topic_name": "a", "partitions_count": 1}],
        "members": [{"member_id": "m", "topic_names": ["a", "gone"]}, {"member_id": "n", "topic_names": []}],
    }
    answer = client.post(URL, json=body).json
    assert answer["assignments"] == [
        {"member_id": "m", "partitions": [{"topic_name": "a", "partition_ids": [0]}]},
        {"member_id": "n", "partitions": []},
    ]
    assert answer["unassigned"] == [{"topic_name": "b", "partition_ids": [0, 1]}]


def test_counts_what_moves_from_owned_partitions(client):
    body = copy.deepcopy(TWO_BY_THREE)
    body["members"][0]["owned_partitions"] = [
        {"topic_name": "orders", "partition_ids": [1, 2, 99]},
        {"topic_name": "gone", "partition_ids": [0]},
    ]
    assert client.post(URL, json=body).json["movement"] == {
        "retained": 1,
        "moved": 1,
        "added": 1,
        "revoked": 3,
        "fewest_possible_moves": 0,  # the other member keeps what it has, if it is the one with more
    }


def test_null_is_absent(client):
    members = [
        dict.fromkeys(("instance_id", "rack_id", "topic_names", "generation_id", "owned_partitions")) | member
        for member in TWO_BY_THREE["members"]
    ]
    topics = [{"topic_id": None, "partition_racks": None} | topic for topic in TWO_BY_THREE["topics"]]
    body = {"topics": topics, "members": members, "group_id": None}
    assert client.post(URL, json=body).data == client.post(URL, json=TWO_BY_THREE).data


def changed(**at):
    """TWO_BY_THREE with other members of the body, of its topic, or of its first member."""
    body = copy.deepcopy(TWO_BY_THREE)
    body["topics"][0].update(at.pop("topic", {}))
    body["members"][0].update(at.pop("member", {}))
    return {**body, **at}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"members": []}, "/topics"),
        ({"topics": []}, "/members"),
        (changed(topics={}), "/topics"),
        (changed(partitions=3), "/partitions"),
        (changed(assignor="rang"), "/assignor"),
        (changed(group_protocol="classical"), "/group_protocol"),
        (changed(kafka_version="2.4.0"), "/kafka_version"),
        (changed(topic={"partitions_count": 0}), "/topics/0/partitions_count"),
        (changed(topic={"partitions_count": 2.0}), "/topics/0/partitions_count"),
        (changed(topic={"partitions_count": True}), "/topics/0/partitions_count"),
        (changed(topic={"partitions_count": "2"}), "/topics/0/partitions_count"),
        (changed(topic={"partitions_count": 2**31}), "/topics/0/partitions_count"),
        (changed(topic={"topic_name": ""}), "/topics/0/topic_name"),
        (changed(topic={"topic_name": None}), "/topics/0/topic_name"),
        (changed(topic={"topic_name": "t" * 250}), "/topics/0/topic_name"),
        (changed(topic={"topic_id": 1}), "/topics/0/topic_id"),
        (changed(topic={"topic_id": "orders"}), "/topics/0/topic_id"),
        (changed(topic={"topic_id": "A" * 22 + "\n"}), "/topics/0/topic_id"),
        (changed(topic={"partition_racks": [["a"], ["b"]]}), "/topics/0/partition_racks"),
        (changed(topic={"partition_racks": [["a"], None, []]}), "/topics/0/partition_racks/1"),
        (changed(topic={"partition_racks": [["a"], [None], []]}), "/topics/0/partition_racks/1/0"),
        (changed(topics=TWO_BY_THREE["topics"] * 2), "/topics/1/topic_name"),
        (
            changed(topics=[{"topic_name": name, "topic_id": "A" * 22, "partitions_count": 1} for name in "ab"]),
            "/topics/1/topic_id",
        ),
        (changed(member={"member_id": "c1"}), "/members/1/member_id"),
        (changed(members=[{"member_id": i, "instance_id": "i"} for i in "abc"]), "/members/1/instance_id"),
        (changed(member={"instance_id": ""}), "/members/0/instance_id"),
        (changed(member={"rack": "a"}), "/members/0/rack"),
        (changed(member={"topic_names": ["orders", "x", "orders"]}), "/members/0/topic_names/2"),
        (changed(member={"topic_names": ["x", "x"]}), "/members/0/topic_names/1"),
        (changed(member={"topic_names": "orders"}), "/members/0/topic_names"),
        (changed(member={"generation_id": -2}), "/members/0/generation_id"),
        (changed(member={"member_id": "\ud800"}), "/members/0/member_id"),
        (
            changed(member={"owned_partitions": [{"topic_name": "orders", "partition_ids": [0, -1]}]}),
            "/members/0/owned_partitions/0/partition_ids/1",
        ),
        (changed(member={"owned_partitions": [{"topic_name": "orders"}]}), "/members/0/owned_partitions/0/partition_ids"),
        (
            changed(member={"owned_partitions": [{"topic_name": "o", "partition_ids": [], "x": 1}]}),
            "/members/0/owned_partitions/0/x",
        ),
    ],
)
def test_points_at_what_is_wrong(client, body, pointer):
    answer = client.post(URL, data=json.dumps(body), content_type="application/json")
    assert answer.status_code == 422, answer.data
    assert pointer in [error["pointer"] for error in answer.json["errors"]]


@pytest.mark.parametrize("field", ["assignor", "group_protocol", "kafka_version"])
def test_an_unknown_name_is_answered_with_the_known_ones(client, field):
    known = {"assignor": "GET /v1/assignors lists all", "group_protocol": "classic", "kafka_version": LATEST}[field]
    assert known in client.post(URL, json={**TWO_BY_THREE, field: "x"}).json["errors"][0]["detail"]


def test_an_unknown_assignor_is_answered_with_a_similar_one(client):
    detail = client.post(URL, json={**TWO_BY_THREE, "assignor": "kafka-python:stiky"}).json["errors"][0]["detail"]
    assert "kafka-python:sticky" in detail


JUNK = st.sampled_from([None, True, 0, 1.0, -1, -2, 2**31, 2**70, "", "1", "t", "\ud800", [], [None], ["t"], [1], {}, {"x": 1}])


@st.composite
def damaged(draw):
    """A list of topics or of members, well-formed but for one value somewhere that may be anything."""
    which = draw(st.sampled_from(["topics", "members"]))
    rows = draw(bodies())[which]
    place = rows
    while isinstance(place, dict | list) and place:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or draw(st.integers(0, 3)) == 0:
            if isinstance(place, dict) and draw(st.booleans()):
                place[draw(st.sampled_from([key, "x"]))] = draw(JUNK)
            elif draw(st.booleans()):
                place[key] = draw(JUNK)
            else:
                del place[key]
            break
        place = place[key]
    return which, rows


@settings(max_examples=100)
@given(damaged())
def test_bodies_read_in_bulk_and_by_the_schema_are_accepted_alike(case):
    which, rows = case
    in_bulk = {"topics": schema.topics_field(), "members": schema.members_field()}[which]
    by_schema = fields.List(fields.Nested({"topics": schema.TopicSchema, "members": schema.MemberSchema}[which]))
    refusal = None
    try:
        expected = by_schema.deserialize(copy.deepcopy(rows))
    except ValidationError as error:
        refusal = error.messages
    if refusal is None:
        expected = [{name: value for name, value in row.items() if value is not None} for row in expected]
        assert as_rows(in_bulk.deserialize(rows)) == expected
    else:
        with pytest.raises(ValidationError) as also:
            in_bulk.deserialize(rows)
        assert also.value.messages == refusal


def test_one_fault_in_a_long_list_is_found_without_judging_it_all(monkeypatch):
    judged = []
    judge = Array._deserialize
    monkeypatch.setattr(Array, "_deserialize", lambda self, value, *a, **k: judged.append(value) or judge(self, value, *a, **k))
    rows = [{"member_id": str(i)} for i in range(1_000)]
    rows[700] = {"member_id": 700}
    with pytest.raises(ValidationError) as refusal:
        schema.members_field().deserialize(rows)
    assert refusal.value.messages == {700: {"member_id": ["Not a valid string."]}}
    assert judged == [[{"member_id": 700}]]


def test_a_well_formed_body_never_meets_the_slow_schema(monkeypatch):
    monkeypatch.delattr(Array, "_deserialize")
    rows = [{"member_id": "m", "rack_id": "", "generation_id": -1, "topic_names": [], "owned_partitions": []}, {"member_id": "n"}]
    assert len(schema.members_field().deserialize(rows)) == 2
    racked = {"topic_name": "t", "partitions_count": 2, "partition_racks": [["a", ""], []]}
    assert len(schema.topics_field().deserialize([racked])) == 1


@given(bodies(min_members=1))
def test_tables_hold_what_the_json_holds(app, body):
    client = app.test_client()
    rows = [
        (part["topic_name"], i, one["member_id"])
        for one in client.post(URL, json=body).json["assignments"]
        for part in one["partitions"]
        for i in part["partition_ids"]
    ]
    arrow = client.post(URL, json=body, headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert arrow.mimetype == "application/vnd.apache.arrow.stream"
    table = pa.ipc.open_stream(arrow.data).read_all()
    assert pa.types.is_dictionary(table.schema.field("topic_name").type)
    assert pa.types.is_dictionary(table.schema.field("member_id").type)
    assert table.schema.field("partition_id").type == pa.int32()
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    csv = client.post(URL, json=body, headers={"Accept": "text/csv"}).text.splitlines()
    assert csv == ['"topic_name","partition_id","member_id"', *(f'"{t}",{i},"{m}"' for t, i, m in rows)]


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"max_partitions": 2}, "ALLOCATOR_MAX_PARTITIONS"),
        ({"max_assignment_cells": 5}, "ALLOCATOR_MAX_ASSIGNMENT_CELLS"),
        ({"max_subscriptions": 1}, "ALLOCATOR_MAX_SUBSCRIPTIONS"),
    ],
)
def test_a_group_over_a_limit_is_refused_by_the_limits_name(limits, named):
    refused = create_app(Settings(**limits)).test_client().post(URL, json=TWO_BY_THREE)
    assert refused.status_code == 422
    assert refused.json["type"].endswith(":limit-exceeded")
    assert named in refused.json["detail"]
    exact = {name: value + 1 for name, value in limits.items()}
    assert create_app(Settings(**exact)).test_client().post(URL, json=TWO_BY_THREE).status_code == 200


def test_a_small_body_that_asks_for_everything_is_refused_at_once(client):
    topics = [{"topic_name": str(i), "partitions_count": 2**31 - 1} for i in range(5)]
    assert client.post(URL, json={"topics": topics, "members": []}).json["type"].endswith(":limit-exceeded")


def test_explains_when_asked(client):
    assert "explanation" not in client.post(f"{URL}?explain=false", json=TWO_BY_THREE).json
    told = client.post(f"{URL}?explain=true", json=TWO_BY_THREE).json["explanation"]["co_partitioned"][0]
    assert (told["quota"], told["subscribers_with_one_more"]) == (1, 1)
    circle = client.post(f"{URL}?explain=true", json={**TWO_BY_THREE, "assignor": "roundrobin"}).json["explanation"]["circle"]
    assert [one["member_id"] for one in circle] == ["c1", "c2"]
    assert client.post(f"{URL}?explain=yes", json=TWO_BY_THREE).status_code == 422


def test_the_group_id_labels_the_skew_metric(client):
    client.post(URL, json={**TWO_BY_THREE, "group_id": "billing"})
    assert 'partition_allocator_subject_skew_ratio{decision="assignment",subject="billing"} 1.333' in client.get("/metrics").text


def test_names_are_escaped_as_json(client):
    body = {"topics": [{"topic_name": 'a"\\\n', "partitions_count": 1}], "members": [{"member_id": "\U0001f418\x00"}]}
    answer = client.post(URL, json=body).json
    assert answer["assignments"] == [
        {"member_id": "\U0001f418\x00", "partitions": [{"topic_name": 'a"\\\n', "partition_ids": [0]}]}
    ]


OWNED = [
    {"member_id": f"c{i}", "generation_id": 3, "owned_partitions": [{"topic_name": "orders", "partition_ids": ids}]}
    for i, ids in enumerate(([0, 1, 2], [3, 4, 5], []))
]
ORDERS = [{"topic_name": "orders", "partitions_count": 6}]


def test_a_cooperative_group_has_a_follow_up_rebalance(client):
    """What its owners have to revoke first is in nobody's assignment; once all is settled there is nothing to follow."""
    body = {"assignor": "cooperative-sticky", "topics": ORDERS, "members": OWNED}
    first = client.post("/v1/group-assignments", json=body).json
    assert first["follow_up_rebalance"] is True
    assert first["unassigned"] == [{"topic_name": "orders", "partition_ids": [2, 5]}]
    settled = [
        {"member_id": one["member_id"], "generation_id": 4, "owned_partitions": one["partitions"]} for one in first["assignments"]
    ]
    second = client.post("/v1/group-assignments", json={**body, "members": settled}).json
    assert second["follow_up_rebalance"] is False
    assert second["unassigned"] == []


def test_only_the_cooperative_protocol_speaks_of_a_follow_up(client):
    body = {"assignor": "sticky", "topics": ORDERS, "members": OWNED}
    assert "follow_up_rebalance" not in client.post("/v1/group-assignments", json=body).json


@pytest.mark.parametrize(("protocol", "assignor"), [("classic", "range"), ("consumer", "uniform"), ("share", "simple")])
def test_each_protocol_has_its_default_assignor(client, protocol, assignor):
    body = {"group_protocol": protocol, "topics": ORDERS, "members": OWNED}
    assert client.post("/v1/group-assignments", json=body).json["assignor"] == assignor


def test_a_release_that_the_assignor_does_not_know_is_refused_with_those_it_knows(client):
    body = {"group_protocol": "share", "kafka_version": "4.0.0", "topics": ORDERS, "members": OWNED}
    response = client.post("/v1/group-assignments", json=body)
    assert response.status_code == 422
    assert response.json["errors"][0]["pointer"] == "/kafka_version"
    assert "4.2.0, 4.2.1, 4.3.0, 4.3.1" in response.json["detail"]


def test_an_older_release_answers_as_it_did(client):
    """KAFKA-18688: until 4.0.0 the first members in order got the extra partitions, whoever had them."""
    members = [
        {"member_id": f"m{i}", "owned_partitions": [{"topic_name": "orders", "partition_ids": ids}]}
        for i, ids in enumerate(([0], [1], [2, 3], [4, 5]))
    ]
    body = {"group_protocol": "consumer", "topics": ORDERS, "members": members}
    before = client.post("/v1/group-assignments", json={**body, "kafka_version": "4.0.0"}).json
    after = client.post("/v1/group-assignments", json=body).json
    assert (before["kafka_version"], after["kafka_version"]) == ("4.0.0", LATEST)
    assert before["assignments"] != after["assignments"]


@pytest.mark.parametrize("text", ["{}", "[]", "", '\ufeff{"topics": [], "members": []}', '{"topics": [], "members": []} {}', "{"])
def test_what_is_no_group_is_refused_alike_however_it_is_read(client, monkeypatch, text):
    by_schema = client.post(URL, data=text.encode(), content_type="application/json")
    monkeypatch.setattr(schema, "LARGE", 0)
    by_arrow = client.post(URL, data=text.encode(), content_type="application/json")
    assert (by_arrow.status_code, by_arrow.data) == (by_schema.status_code, by_schema.data)


ODD = st.sampled_from([None, True, 1.0, -1, 2**31, "", "x", "1", [], [1], {}, {"x": 1}])


@given(bodies(), st.data())
def test_a_body_is_answered_alike_whether_arrow_or_the_schema_reads_it(app, body, data):
    """Anything may stand anywhere in it: where the two readers differed, one of them would be lenient."""
    if data.draw(st.booleans()):
        at = data.draw(st.sampled_from([body, *body["topics"], *body["members"]]))
        at[data.draw(st.sampled_from([*at, "group_protocol", "kafka_version", "topic_names", "generation_id", "unknown"]))] = (
            data.draw(ODD)
        )
    text = json.dumps(body).encode()
    answers = []
    for large, worth_it in ((len(text) + 1, 0), (0, len(text)), (0, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schema, "LARGE", large)
            patch.setattr(arrays, "WORTH_IT", worth_it)
            answers.append(app.test_client().post(URL, data=text, content_type="application/json", headers=NAMED).data)
    assert answers[0] == answers[1] == answers[2]


WEIGHED = {
    "topics": [
        {"topic_name": "t", "partitions_count": 3, "partition_weights": [5, 0.5, 0]},
        {"topic_name": "a", "partitions_count": 1, "partition_weights": [7]},
    ],
    "members": [{"member_id": "c1"}, {"member_id": "c2", "topic_names": ["t"]}, {"member_id": "c3", "topic_names": []}],
}


def test_partition_weights_say_what_load_each_member_gets(client):
    """Range gives c1 a-0, t-0 and t-1, c2 t-2; the assignment is that without weights, and a member with nothing counts."""
    plain = json.loads(json.dumps(WEIGHED))
    for topic in plain["topics"]:
        del topic["partition_weights"]
    answer = client.post("/v1/group-assignments?detail=full", json=WEIGHED).json
    load = answer.pop("weighted_member_load")
    assert answer == client.post("/v1/group-assignments?detail=full", json=plain).json
    assert load["totals"] == [12.5, 0, 0]
    assert (load["min"], load["max"], load["mean"], load["skew"]) == (0, 12.5, 12.5 / 3, 3)
    assert load["stddev"] == pytest.approx(statistics.pstdev([12.5, 0, 0]))


@pytest.mark.parametrize("size", [0, 2**20], ids=["small", "read by Arrow"])
@pytest.mark.parametrize(
    ("weights", "pointer", "detail"),
    [
        ([1, 2], "/topics/0/partition_weights", "Must have 3 entries, one for each partition, not 2."),
        ([1, 2, -1], "/topics/0/partition_weights/2", "Must be greater than or equal to 0 and less than or equal to 1e+100."),
        ([1, 2, 1e-101], "/topics/0/partition_weights/2", "Must be at least 1e-100."),
        ([1, 2, 1e101], "/topics/0/partition_weights/2", "Must be greater than or equal to 0 and less than or equal to 1e+100."),
        ([1, True, 1], "/topics/0/partition_weights/1", "Not a number."),
        ([1, None, 1], "/topics/0/partition_weights/1", "Field may not be null."),
        ([1, "2", 1], "/topics/0/partition_weights/1", "Not a number."),
        (None, "/topics/0/partition_weights", "Required, because another topic has partition_weights."),
    ],
)
def test_wrong_weights_are_named(client, size, weights, pointer, detail):
    """Whether the body is read in bulk or not."""
    wrong = json.loads(json.dumps(WEIGHED))
    wrong["topics"][0]["partition_weights"] = weights
    problem = client.post("/v1/group-assignments", data=json.dumps(wrong) + " " * size, content_type="application/json").json
    assert problem["errors"] == [{"pointer": pointer, "detail": detail}]


def test_a_large_body_with_weights_is_answered_as_a_small_one(client):
    """Arrow reads whole numbers and others as the schema does."""
    small = client.post("/v1/group-assignments", json=WEIGHED).json
    assert (
        client.post("/v1/group-assignments", data=json.dumps(WEIGHED) + " " * 2**20, content_type="application/json").json
        == small
    )


def answers_about_members_that_own(ids):
    """Of every assignor: protocol, assignor, what the other member subscribes to, the topic of the ids, status and message."""
    client, answers = create_app().test_client(), []
    for protocol, registry in GROUP_PROTOCOLS.items():
        for assignor in registry if protocol != "splits" else ():  # its readers own nothing
            for others, owned in ((["t", "u"], "t"), (["t"], "t"), (["t"], "gone"), (["u"], "gone")):
                members = [{"member_id": "a", "topic_names": ["t", "u"]}, {"member_id": "b", "topic_names": others}]
                members[0]["owned_partitions"] = [{"topic_name": owned, "partition_ids": ids}]
                topics = [{"topic_name": name, "partitions_count": 3} for name in "tu"]
                body = {"group_protocol": protocol, "assignor": assignor.name, "topics": topics, "members": members}
                answer = client.post(URL, json=body)
                answers.append((protocol, assignor.name, others, owned, answer.status_code, answer.json.get("message")))
    return answers


def check_ids_at_the_edge():
    few = answers_about_members_that_own([9, 8, 7])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many = answers_about_members_that_own([2147483647, 2147483646, 300000000])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert [answer[:5] for answer in few] == [answer[:5] for answer in many]
    assert all(answer[4] in (200, 422) for answer in many)
    assert all(answer[4] == 200 for answer in many if answer[3] == "gone" and answer[1] != "kafka-python:roundrobin")
    uniform = [answer[5] for answer in many if answer[:4] == ("consumer", "uniform", ["t"], "t")]
    assert uniform == ["Index 2147483647 out of bounds for length 3"]


def test_partition_ids_at_the_edge_of_int32_take_no_more_memory_than_small_ones():
    """In a process of its own, for an id that indexes an array ends it; the message is what the real class throws."""
    assert ended(forked(check_ids_at_the_edge)) == 0


def test_balanced_proves_its_answer(client):
    owned = [{"topic_name": "orders", "partition_ids": [0, 1, 2, 3]}]
    members = [{"member_id": "c2"}, {"member_id": "c1", "owned_partitions": owned}, {"member_id": "c3", "topic_names": []}]
    body = {"assignor": "balanced", "topics": [{"topic_name": "orders", "partitions_count": 4}], "members": members}
    for protocol in ("classic", "consumer"):
        answer = client.post(f"{URL}?detail=full", json={**body, "group_protocol": protocol}).json
        assert answer["member_load"]["counts"] == [2, 2, 0]
        assert answer["implementation"] == {"client": None, "release": None, "symbol": None}
        proven = {"coverage": 4, "load": 2, "evenness": 8, "moves": 2}
        assert list(answer["certificate"]) == list(proven)
        for name, value in proven.items():
            objective = answer["certificate"][name]
            assert (objective["value"], objective["bound"], objective["gap"]) == (value, value, 0)
            assert "All members" not in objective["method"]  # one reads nothing
        assert answer["movement"]["fewest_possible_moves"] == answer["movement"]["moved"] == 2
    assert "certificate" not in client.post(URL, json={**body, "assignor": "range"}).json


def test_balanced_ends_when_the_time_is_up():
    topics = [{"topic_name": name, "partitions_count": 4} for name in "tu"]
    members = [{"member_id": "m", "topic_names": ["t"]}, {"member_id": "n"}]
    with pytest.raises(OutOfTime), limited(OVER):
        answer(of_rows(topics, members, assignor="balanced"), OVER)


@pytest.mark.parametrize(("protocol", "assignor"), [("consumer", "uniform"), ("share", "simple")])
@pytest.mark.parametrize("other", [["t"], ["t", "u"]], ids=["alike", "different"])
def test_a_partition_that_a_member_lists_twice_is_explained_as_one(client, protocol, assignor, other):
    def explanation(*owned):
        names = [["t"], other]
        members = [
            {"member_id": str(i), "topic_names": names[i], "owned_partitions": [{"topic_name": "t", "partition_ids": ids}]}
            for i, ids in enumerate(owned)
        ]
        topics = [{"topic_name": "t", "partitions_count": 6}, {"topic_name": "u", "partitions_count": 2}]
        body = {"group_protocol": protocol, "assignor": assignor, "topics": topics, "members": members}
        return client.post(f"{URL}?explain=true", json=body).json["explanation"]

    assert explanation([0, 0, 1, 2], [3]) == explanation([0, 1, 2], [3])


def test_spark_divides_a_batch(client):
    lag = {"committed_offsets": [0, 5, 7], "log_end_offsets": [1000, 5, 30]}
    topics = [{"topic_name": "orders", "partitions_count": 3, "lag": lag}]
    body = {"group_protocol": "splits", "assignor": "spark:kafka-source", "min_partitions": 5, "topics": topics}
    body["members"] = [{"member_id": "x"}]
    answer = client.post(URL, json=body).json
    assert answer["ranges"] == [
        {
            "topic_name": "orders",
            "partition_ids": [0, 0, 0, 0, 2],
            "from_offsets": [0, 250, 500, 750, 7],
            "until_offsets": [250, 500, 750, 1000, 30],
        }
    ]
    assert answer["left_open"] == [{"topic_name": "orders", "partition_ids": [0, 2]}]
    table = client.post(URL, json={**body, "min_partitions": 2}, headers={"Accept": "text/csv"}).text
    assert table.splitlines()[1:] == ['"orders",0,0,1000,"x"', '"orders",2,7,30,"x"']

    def fault(**fields):
        problem = client.post(URL, json={**body, **fields}).json
        return problem["errors"][0] if "errors" in problem else problem

    assert fault(assignor="beam:kafka-io")["pointer"] == "/min_partitions"
    assert "topics[].lag" in fault(topics=[{"topic_name": "orders", "partitions_count": 3}])["detail"]
    lag["log_end_offsets"][2] = None
    assert fault() == {"pointer": "/topics/0/lag", "detail": "Spark needs both offsets of partition 2."}
    lag["log_end_offsets"][2] = 2**63 - 1
    assert "more than 1000000 tasks" in fault(max_records_per_partition=1)["detail"]
