"""Fields of request bodies: how many faults they report, how long names may be, when they give up."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from marshmallow import Schema, ValidationError, fields, validate

from service.api import form_of
from service.api.connect import ConnectAssignmentSchema
from service.api.group_schemas import GroupAssignmentSchema
from service.app import create_app
from service.config import Settings
from service.core.budget import Budget, OutOfTime, limited
from service.core.errors import MAX_ERRORS
from service.decisions.families import FAMILIES
from service.http.fields import Int, Name, TopicName
from service.http.keys import KeyList
from service.http.lists import CHECKED_ELEMENTS, CHECKED_ROWS, FEW, ODD_BYTES, Array, FlatRows

GROUPS, PLACEMENTS, KEYLESS = "/v1/group-assignments", "/v1/replica-placements", "/v1/keyless-distributions"


@pytest.mark.parametrize("path", [family.path for family in FAMILIES])
def test_every_list_of_a_request_stops_at_a_limit_of_faults(path):
    schemas = [form_of(path).schema]
    for schema in schemas:  # and those within it, which are added to the end
        for name, field in schema.fields.items():
            while isinstance(field, fields.List):
                assert isinstance(field, Array | KeyList), name
                field = field.inner  # noqa: PLW2901
            if isinstance(field, fields.Nested):
                schemas.append(field.schema)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (GROUPS, b'{"topics": [], "members": [%s]}'),
        (GROUPS, b'{"topics": [], "members": [{"member_id": "a", "owned_partitions": [%s]}]}'),
        (GROUPS, b'{"topics": [{"topic_name": "a", "partitions_count": 1, "partition_racks": [%s]}], "members": []}'),
        (PLACEMENTS, b'{"topics": [%s]}'),
        (PLACEMENTS, b'{"brokers": [], "partitions_count": 1, "replication_factor": 1, "partition_0_replicas": [%s]}'),
        (KEYLESS, b'{"partitions": [%s]}'),
        ("/v1/partition-count-plans", b'{"keys": [], "partitions_counts": [%s]}'),
    ],
)
@pytest.mark.parametrize("element", [b"{}", b'""', b"[{},{}]"])
def test_at_most_100_faults_are_reported(client, path, body, element):
    answer = client.post(path, data=body % b",".join([element] * 20_000), content_type="application/json")
    assert answer.status_code == 422
    assert 0 < len(answer.json["errors"]) <= 100
    assert len(answer.data) < 20_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PLACEMENTS, b'{"brokers": [], "operations": [%s]}'),
        ("/v1/log-dir-plans", b'{"topics": [], "brokers": [%s]}'),
        ("/v1/connect-assignments", b'{"rounds": [%s]}'),
        ("/v1/reassignments", b'{"brokers": [], "topics": [%s]}'),
    ],
)
def test_lists_of_lists_stop_at_a_limit_of_faults_in_all(client, path, body):
    """Faults are kept until all are known, whose memory is not reserved."""
    unknown = b"{%s}" % b",".join(b'"x%d": 1' % i for i in range(60))
    row = b'{"topics": [%s], "log_dirs": [%s], "connectors": [%s], "placements": [%s]}' % ((b",".join([unknown] * 50),) * 4)
    answer = client.post(path, data=body % b",".join([row] * 50), content_type="application/json")
    assert answer.status_code == 422
    assert len(answer.json["errors"]) == MAX_ERRORS
    assert int(re.search(r"\(and (\d+) more\)", answer.json["detail"])[1]) < 3 * MAX_ERRORS


def test_validation_stops_when_the_time_is_over():
    app = create_app(replace(Settings(), max_request_seconds=1e-9))
    answer = app.test_client().post(KEYLESS, json={"partitions": [{"partition_id": i} for i in range(2_000)]})
    assert (answer.status_code, "ALLOCATOR_MAX_REQUEST_SECONDS" in answer.json["detail"]) == (503, True)


LONG, TOPIC = "ß" * 512, "t" * 249
"""The longest names: 1,024 bytes, and 249 characters."""

SUBSCRIPTION = "AAEAAAABAAV0b3BpY/////8AAAAA"


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        (GROUPS, {"topics": [], "members": [{"member_id": LONG}]}, "/members/0/member_id"),
        (GROUPS, {"topics": [], "members": [{"member_id": "a", "instance_id": LONG}]}, "/members/0/instance_id"),
        (GROUPS, {"topics": [], "members": [{"member_id": "a", "rack_id": LONG}]}, "/members/0/rack_id"),
        (GROUPS, {"topics": [], "members": [], "group_id": LONG}, "/group_id"),
        (
            GROUPS,
            {"topics": [{"topic_name": "a", "partitions_count": 1, "partition_racks": [[LONG]]}], "members": []},
            "/topics/0/partition_racks/0/0",
        ),
        (GROUPS, {"topics": [{"topic_name": TOPIC, "partitions_count": 1}], "members": []}, "/topics/0/topic_name"),
        (
            PLACEMENTS,
            {"partitions_count": 1, "replication_factor": 1, "brokers": [{"broker_id": 0, "rack_id": LONG}]},
            "/brokers/0/rack_id",
        ),
        (
            PLACEMENTS,
            {"topic_name": TOPIC, "partitions_count": 1, "replication_factor": 1, "brokers": [{"broker_id": 0}]},
            "/topic_name",
        ),
        (KEYLESS, {"partitions_count": 1, "brokers": [{"broker_id": 0, "rack_id": LONG}]}, "/brokers/0/rack_id"),
        (KEYLESS, {"partitions_count": 1, "topic_name": TOPIC}, "/topic_name"),
        ("/v1/coordinators", {"group_id": LONG}, "/group_id"),
        ("/v1/coordinators", {"transactional_id": LONG}, "/transactional_id"),
        ("/v1/co-partitionings", {"topics": [{"topic_name": TOPIC, "partitions_count": 1}, {"partitions_count": 1}]},
         "/topics/0/topic_name"),
        ("/v1/decodings", {"kind": "subscription", "bytes_base64": SUBSCRIPTION, "member_id": LONG}, "/member_id"),
    ],
)  # fmt: skip
def test_names_have_a_longest_length(client, path, body, pointer):
    def lengthen(value):
        if isinstance(value, dict):
            return {name: lengthen(each) for name, each in value.items()}
        if isinstance(value, list):
            return [lengthen(each) for each in value]
        return value + "x" if value in (LONG, TOPIC) else value

    assert client.post(path, json=body).status_code == 200
    refused = client.post(path, json=lengthen(body))
    assert refused.status_code == 422
    assert refused.json["errors"][0]["pointer"] == pointer
    assert re.search("Longer|Length", refused.json["errors"][0]["detail"])


class Row(Schema):
    """A row."""

    name = Name(required=True)
    lag = Int(minimum=-3, required=True)


class Rows(Schema):
    """The same rows, read in both ways."""

    flat = FlatRows(fields.Nested(Row))
    plain = Array(fields.Nested(Row))


WITHOUT = {"name": "a"}
ODD = [
    *({"name": "a", "lag": lag} for lag in (True, 1.0, "1", 2**31, -4, None, [])),
    *({"name": name, "lag": 0} for name in ("", 5, None, "\ud800", "a" * 10_000, [], {})),
    *(WITHOUT, WITHOUT | {"lag": 0, "other": 1}, WITHOUT | {"other": 1}, 5, None, []),
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_many_rows_are_refused_as_one_by_one(odd):
    rows = [{"name": "a", "lag": i} for i in range(2 * FEW)]
    assert Rows().load({"flat": rows}) == {"flat": rows}
    rows[FEW] = odd
    assert Rows().validate({"flat": rows})["flat"] == Rows().validate({"plain": rows})["plain"]


NAMES = [Name(""), Name("", empty=True), TopicName(""), Name("", rule=validate.Regexp("a+$"))]
INNER = [*NAMES, Int(""), Int("", minimum=0)]
ELEMENTS = ["", "b", "é" * 500, "é" * 600, *("a" * n for n in (249, 250, 1_024, 1_025)), "\ud800", -1, 2**31, True, 1.0, None, []]


def read(field, value):
    """The value, or what is wrong."""
    try:
        return field.deserialize(value)
    except ValidationError as error:
        return error.messages


@pytest.mark.parametrize("inner", INNER, ids=range(len(INNER)))
@pytest.mark.parametrize("odd", ELEMENTS, ids=range(len(ELEMENTS)))
def test_long_lists_are_read_as_short_ones(inner, odd, monkeypatch):
    """4,000,000 names, read one by one, took 20 s."""
    plain = 1 if isinstance(inner, Int) else "a"
    many = [plain] * (2 * CHECKED_ELEMENTS - 2)
    short = read(Array(inner), [odd, plain])
    assert read(Array(inner), [*many, odd, plain]) == ([*many, *short] if isinstance(short, list) else {len(many): short[0]})
    monkeypatch.setattr(Name, "_deserialize", None)
    monkeypatch.setattr(Int, "deserialize", None)
    if not isinstance(inner, Name) or inner.lengths:
        assert read(Array(inner), many) == many


def test_short_lists_of_objects_look_at_the_time_too():
    """A body of a thousand lists of 999 workers took half a minute without a look at the clock."""
    body = {"rounds": [{"workers": [{"member_id": "a"}] * CHECKED_ROWS}]}
    with limited(Budget(seconds=0)), pytest.raises(OutOfTime):
        ConnectAssignmentSchema().load(body)


def test_a_row_that_is_read_by_itself_reserves_its_memory():
    """Floats hold no such weight exactly, so that Arrow leaves these rows to the schema."""
    sizes: list[int] = []
    topics = [{"topic_name": str(i), "partitions_count": 1, "partition_weights": [2**53 + 1]} for i in range(9)]
    with limited(Budget(reserve=sizes.append)):
        GroupAssignmentSchema().load({"topics": topics, "members": []})
    assert sizes == [ODD_BYTES] * 9
