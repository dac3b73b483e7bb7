"""What was captured can be asked about: it is a request as it stands."""

from __future__ import annotations

import base64
import struct

import pytest

from service.wire.consumer_protocol import MemberSubscription, as_seen_by, read_subscription_leniently
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable
from service.wire.members import group_request
from tests.support.golden import lines
from tests.support.wire_encoding import blob, classic_key, classic_value, text

OWNED = (("t", (0, 1)),)
STICKY = base64.b64decode("AAAAAQABdQAAAAEAAAAFAAAAEQ==")  # u: 5, in generation 17
COOPERATIVE = base64.b64decode("AAAABw==")  # generation 7


def subscription(user_data, generation=None):
    return MemberSubscription(3, ("t", "u"), OWNED, generation, None, user_data)


def test_the_sticky_assignor_believes_the_user_data_alone():
    assert as_seen_by("sticky", subscription(STICKY, 4)) == ((("u", (5,)),), 17)
    assert as_seen_by("sticky", subscription(None, 4)) == ((), None)
    assert as_seen_by("sticky", subscription(b"junk", 4)) == ((), -1)


def test_the_cooperative_sticky_assignor_takes_the_generation_from_there_if_it_must():
    assert as_seen_by("cooperative-sticky", subscription(COOPERATIVE)) == (OWNED, 7)
    assert as_seen_by("cooperative-sticky", subscription(COOPERATIVE, 4)) == (OWNED, 4)
    assert as_seen_by("range", subscription(COOPERATIVE)) == (OWNED, None)


def test_every_group_whose_members_can_be_read_can_be_assigned(client):
    groups = 0
    for case in lines("offsets/group-metadata"):
        body = {"kind": "group_record", **case["input"]}
        group = client.post("/v1/decodings", json=body).json["group"]
        if group is None:
            continue
        names = {name for member in group["members"] for name in member["topic_names"]}
        topics = [{"topic_name": name, "partitions_count": 3} for name in names]
        answer = client.post("/v1/group-assignments", json={**group, "assignor": "range", "topics": topics})
        assert answer.status_code == 200 or not group["members"], (case["id"], answer.text)
        groups += bool(group["members"])
    assert groups


def test_a_member_owns_what_the_group_has_given_it():
    name = b"\x00\x01t"
    wants = b"\x00\x00\x00\x00\x00\x01" + name + b"\xff\xff\xff\xff"
    given = b"\x00\x00\x00\x00\x00\x01" + name + b"\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x02\xff\xff\xff\xff"
    member = b"\x00\x01m\xff\xff\x00\x01c\x00\x01h" + b"\x00\x00\x00\x01" * 2
    member += len(wants).to_bytes(4, "big") + wants + len(given).to_bytes(4, "big") + given
    value = b"\x00\x03\x00\x08consumer\x00\x00\x00\x09\x00\x05range\x00\x01m" + bytes(8) + b"\x00\x00\x00\x01" + member
    assert group_request(read_group_record(b"\x00\x02\x00\x01g", value)).document == {
        "group_protocol": "classic",
        "group_id": "g",
        "assignor": "range",
        "members": [
            {
                "member_id": "m",
                "generation_id": 9,
                "topic_names": ["t"],
                "owned_partitions": [{"topic_name": "t", "partition_ids": [4, 2]}],
            }
        ],
    }


KAFKA_GO = b"\x00\x01" + b"\x00\x00\x00\x01\x00\x01t" + b"\xff\xff\xff\xff"  # version 1 without owned partitions


def test_a_subscription_as_kafka_go_writes_it_is_read_with_a_warning():
    subscription, fault = read_subscription_leniently(KAFKA_GO)
    assert (subscription.version, subscription.topic_names, subscription.owned) == (1, ("t",), ())
    assert fault.startswith(
        "The subscription has version 1 but ends as one of version 0. Java's clients refuse it: Buffer underflow"
    )
    for wrong in (KAFKA_GO + b"\0", KAFKA_GO[:-1], b"\xff\xff" + KAFKA_GO[2:], b"\0"):
        with pytest.raises(Unreadable):
            read_subscription_leniently(wrong)


def test_a_group_of_kafka_go_is_a_request_with_a_warning():
    value = classic_value({"m": {"t": [0]}}, 1)
    own = struct.pack(">hi", 1, 1) + text("t") + b"\xff\xff\xff\xff" + struct.pack(">i", 0)
    assert value.count(own) == 1
    document, warnings = group_request(read_group_record(classic_key("g"), value.replace(blob(own), blob(KAFKA_GO))))
    assert document["members"][0]["owned_partitions"] == [{"topic_name": "t", "partition_ids": [0]}]
    (warning,) = warnings
    assert warning.startswith("Member 'm': The subscription has version 1")
    unreadable = group_request(read_group_record(classic_key("g"), value.replace(blob(own), blob(b"\0"))))
    assert unreadable.document is None
    assert unreadable.warnings
