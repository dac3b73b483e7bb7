"""The groups of some records of ``__consumer_offsets``."""

from __future__ import annotations

import base64
import struct

from service.core.budget import limited
from service.wire.offsets_topic import read_offsets_topic
from tests.support.time_limits import Looks
from tests.support.wire_encoding import (
    classic_key,
    classic_value,
    commit_key,
    commit_value,
    compact,
    consumer_group,
    regular_expression,
    share_group,
    streams_group,
    text,
    varint,
)
from tests.wire.test_offset_commits import as_keys

T = "uxT2hl6X6HiUYlFlNWKCZQ"
U = "rF37m2aYBi9oD5W9cXt1Fg"


def read(records, names=None):
    keys, values = as_keys([key for key, _ in records]), as_keys([value for _, value in records])
    return read_offsets_topic(keys, values, names or {})


def target(record_type, group, member, partitions):
    rows = [
        base64.urlsafe_b64decode(topic + "==") + varint(len(ids) + 1) + struct.pack(f">{len(ids)}i", *ids) + b"\x00"
        for topic, ids in partitions.items()
    ]
    return struct.pack(">h", record_type) + text(group) + text(member), b"\0\0" + varint(len(rows) + 1) + b"".join(rows) + b"\0"


def epoch(record_type, group, number):
    return struct.pack(">h", record_type) + text(group), struct.pack(">hi", 0, number) + b"\x00"


def test_a_consumer_group_is_its_members_target_and_epochs():
    records = [
        *consumer_group("g", {"b": (["t"], {T: [0, 1]}), "a": (["t", "u"], {U: [4]})}),
        target(7, "g", "a", {T: [0], U: [4]}),
        target(7, "g", "b", {T: [1]}),
        epoch(6, "g", 7),
    ]
    topic = read(records, {T: "t", U: "u"})
    (group,) = topic.groups
    assert topic.unreadable == []
    assert group["group"] == {
        "group_protocol": "consumer",
        "group_id": "g",
        "assignor": "uniform",
        "members": [
            {
                "member_id": "a",
                "generation_id": 7,
                "topic_names": ["t", "u"],
                "owned_partitions": [{"topic_name": "t", "partition_ids": [0]}, {"topic_name": "u", "partition_ids": [4]}],
            },
            {
                "member_id": "b",
                "generation_id": 7,
                "topic_names": ["t"],
                "owned_partitions": [{"topic_name": "t", "partition_ids": [1]}],
            },
        ],
    }
    assert (group["group_epoch"], group["assignment_epoch"]) == (7, 7)
    assert group["members"][1] == {
        "member_id": "b",
        "client_id": "client-b",
        "client_host": "/10.0.0.1",
        "member_epoch": 7,
        "previous_member_epoch": 6,
        "member_state": "STABLE",
        "assigned_partitions": [{"topic_name": "t", "partition_ids": [0, 1]}],
    }


def test_a_tombstone_deletes_and_the_last_record_counts():
    members = consumer_group("g", {"a": (["t"], {}), "b": (["t"], {})})
    gone = [(key, None) for key, _ in members if key.endswith(text("a"))]
    topic = read([*members, epoch(3, "g", 8), *gone, target(7, "g", "b", {T: [1]}), target(7, "g", "b", {T: [2]})], {T: "t"})
    (group,) = topic.groups
    assert topic.tombstones == len(gone) == 2
    assert group["group_epoch"] == 8
    (member,) = group["group"]["members"]
    assert (member["member_id"], member["owned_partitions"][0]["partition_ids"]) == ("b", [2])
    assert read([*members, *((key, None) for key, _ in members)]).groups == []


def test_a_commit_or_the_caller_names_a_topic_id():
    members = [*consumer_group("g", {"a": (["t", "u"], {})}), target(7, "g", "a", {T: [0], U: [1]})]
    (group,) = read([*members, (commit_key("g", "t", 0), commit_value(5, 1, topic_id=T))]).groups
    assert group["group"]["members"][0]["owned_partitions"] == [{"topic_name": "t", "partition_ids": [0]}]
    assert group["committed_offsets"] == [{"topic_name": "t", "partition_ids": [0], "offsets": [5]}]
    (warning,) = group["warnings"]
    assert U in warning
    (group,) = read(members, {T: "t", U: "u"}).groups
    assert group["warnings"] == []


def test_a_regular_expression_counts_with_the_topics_that_it_matches():
    records = consumer_group("g", {"a": ([], {})})
    key, value = records[1]
    records[1] = (
        key,
        value.replace(b"\x01" + compact(None) + struct.pack(">i", 1), b"\x01" + compact("t.*") + struct.pack(">i", 1)),
    )
    assert records[1][1] != value
    (group,) = read([*records, regular_expression("g", "t.*", ["t1", "t2"])]).groups
    assert group["group"]["members"][0]["topic_names"] == ["t1", "t2"]


def reserved(records):
    """The bytes that reading the records reserves."""
    keys, values = (as_keys(part) for part in zip(*records, strict=True))
    sizes = []
    with limited(Looks(lambda: None, sizes.append)):
        read_offsets_topic(keys, values, {})
    return sum(sizes)


def test_what_the_answer_says_again_and_again_is_reserved():
    """An expression that many members have, and a topic id in many assignments: a record has the names once."""
    group = consumer_group("g", {f"m{i}": ([], {}) for i in range(200)})
    lacks, matches = (compact(expression) + struct.pack(">i", 1) for expression in (None, ".*"))
    matching = [(key, value.replace(lacks, matches)) for key, value in group]
    expression = regular_expression("g", ".*", [f"t{i}" for i in range(1_000)])
    assert reserved([*matching, expression]) - reserved([*group, expression]) > 200 * 1_000 * len('"t123",')

    assigned = [*group, *(target(7, "g", f"m{i}", {T: [0]}) for i in range(200))]
    named, short = ((commit_key("g", name, 0), commit_value(1, 1, topic_id=T)) for name in ("\1" * 2_000, "t"))
    assert reserved([*assigned, named]) - reserved([*assigned, short]) >= 200 * 1_999 * len("\\u0001")


def test_groups_of_all_protocols():
    records = [
        (classic_key("classic"), classic_value({"m": {"t": [0, 2]}}, 1, generation=5)),
        *share_group("share", {"m": ["t"]}),
        target(13, "share", "m", {T: [0, 1]}),
        *streams_group("streams", ["m"], ["t"], []),
        (commit_key("lone", "t", 1), commit_value(3, 1)),
        (commit_key("lone", "t", 0), commit_value(4, 1)),
        (commit_key("lone", "u", 0), commit_value(4, 1)),
        (commit_key("lone", "u", 0), None),
        (classic_key("connect"), classic_value({}, 1, protocol_type="connect")),
        (b"\x00\x09", b""),
    ]
    topic = read(records, {T: "t"})
    groups = {group["group_id"]: group for group in topic.groups}
    assert {name: group["group_protocol"] for name, group in groups.items()} == {
        "classic": "classic",
        "connect": "classic",
        "lone": None,
        "share": "share",
        "streams": "streams",
    }
    assert [(row, error.message) for row, error in topic.unreadable] == [(len(records) - 1, "Found an unknown record type 9")]
    assert groups["classic"]["group"]["members"][0]["generation_id"] == 5
    assert groups["connect"]["group"] is groups["streams"]["group"] is groups["lone"]["group"] is None
    assert groups["lone"]["committed_offsets"] == [{"topic_name": "t", "partition_ids": [0, 1], "offsets": [4, 3]}]
    assert groups["share"]["group"]["assignor"] == "simple"
    assert groups["share"]["group"]["members"][0]["owned_partitions"] == [{"topic_name": "t", "partition_ids": [0, 1]}]
