"""Records of __consumer_offsets, as Kafka's formatters print them, describe classic groups."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.descriptions import UnreadableDescription, read_description
from service.descriptions.bodies import group_assignment
from tests.support.golden import CHOICE

PRINTED = (CHOICE / "descriptions" / "kafka-console-consumer-records.txt").read_text()
"""Two groups, each first without members, three offsets, and the consumer's last line; no line breaks, as 4.3.1 prints it."""


def record(of_type: int, key: dict[str, Any], value: dict[str, Any] | None, name: str = "type") -> str:
    told = None if value is None else {"version": 4, "data": value}
    return json.dumps({"key": {name: of_type, "data": key}, "value": told})


def metadata(**fields: Any) -> dict[str, Any]:
    return {"protocolType": "consumer", "generation": 3, "protocol": "range", "leader": None, "members": [], **fields}


def commit(partition: int, offset: int | None, name: str = "type") -> str:
    key = {"group": "g", "topic": "t", "partition": partition}
    return record(1, key, None if offset is None else {"offset": offset}, name)


def test_what_real_consumers_wrote() -> None:
    """Everything that a snapshot has of a group, with any white space between the records."""
    description = read_description(PRINTED)
    assert description == read_description(PRINTED.replace('}}}{"key"', '}}}\n\n{"key"'))
    assert description.notes == ()
    rd, py = description.groups
    assert (rd["assignor"], rd["generation_id"], rd["group_state"], rd["leader"][:13]) == ("range", 4, "Stable", "in-rd-range-1")
    assert [member["topic_names"] for member in rd["members"]] == [
        ["orders", "payments"],
        ["audit", "clicks", "orders", "payments"],
        ["audit", "clicks"],
    ]
    assert rd["members"][0]["owned_partitions"] == [
        {"topic_name": "orders", "partition_ids": [4, 5, 6]},
        {"topic_name": "payments", "partition_ids": [3, 4]},
    ]
    assert [member["instance_id"] for member in py["members"]] == [None, None, "in-py-cooperative-sticky-1"]
    assert py["committed_offsets"] == [{"topic_name": "payments", "partition_ids": [0, 1, 3], "offsets": [0, 0, 0]}]


def test_a_group_is_assigned_by_the_library_that_led_it() -> None:
    counts = {"audit": 1, "clicks": 12, "orders": 7, "payments": 5}
    topics = {"topics": [{"topic_name": name, "partitions_count": count} for name, count in counts.items()]}
    description = read_description(PRINTED + json.dumps(topics))
    body = group_assignment(description, "py-cooperative-sticky")
    assert (body["client"], body["assignor"], len(body["members"])) == ("kafka-python", "cooperative-sticky", 3)
    assert {topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]} == counts


@pytest.mark.parametrize("name", ["type", "version"])
def test_the_newest_record_counts(name: str) -> None:
    """Of each key; without a value it removes what was there. Kafka 3.9 has the type as version."""
    text = commit(0, 5, name) + commit(1, 7, name) + commit(0, 9, name) + commit(1, None, name)
    text += record(2, {"group": "g"}, metadata(), name) + record(2, {"group": "gone"}, metadata(), name)
    text += record(1, {"group": "left", "topic": "t", "partition": 0}, {"offset": 1}, name)
    text += record(1, {"group": "left", "topic": "t", "partition": 0}, None, name)
    text += record(2, {"group": "gone"}, None, name) + record(5, {"groupId": "new", "memberId": "m"}, {}, name)
    description = read_description(text)
    (group,) = description.groups
    assert group["committed_offsets"] == [{"topic_name": "t", "partition_ids": [0], "offsets": [9]}]
    assert (group["generation_id"], group["group_state"], group["members"]) == (3, "Empty", [])
    assert description.notes == ("1 record is of a type that says nothing about classic groups.",)


def test_members_that_cannot_be_read_are_named() -> None:
    member = {"memberId": "m", "groupInstanceId": None, "clientId": "c", "clientHost": "/h", "subscription": "", "assignment": ""}
    connect = record(2, {"group": "workers"}, metadata(protocolType="connect", members=[member]))
    description = read_description(record(2, {"group": "g"}, metadata(members=[member])) + connect)
    assert [group.get("members") for group in description.groups] == [[], None]
    assert description.notes[0].startswith("Group 'g', member 'm': ")
    assert description.notes[1] == "Group 'workers' has the protocol type 'connect': its members are not read."


@pytest.mark.parametrize("subscription", ["?", "é", "AAA"])
def test_bytes_that_are_not_base64(subscription: str) -> None:
    """What follows the record does not matter."""
    member = {"memberId": "m", "clientId": "c", "clientHost": "/h", "subscription": subscription}
    with pytest.raises(UnreadableDescription, match=r"^line 1: subscription: not base64\.$"):
        read_description(record(2, {"group": "g"}, metadata(members=[member])) + "}]")


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (record(2, {"group": "g"}, metadata(generation="3")), "generation: not an integer."),
        (record(2, {"group": "g"}, metadata(protocol=["range"])), "protocol: not a string."),
        (record(2, {}, metadata()), "group is missing."),
        (record(1, {"group": "g", "topic": "t", "partition": "0"}, None), "partition: not an integer."),
        ('{"key": 1, "value": null}', "key: not an object."),
    ],
)
def test_a_damaged_record_is_refused_with_its_line(damaged: str, told: str) -> None:
    with pytest.raises(UnreadableDescription) as refused:
        read_description(f"{commit(0, 1)}\n{damaged}\n")
    assert str(refused.value) == f"line 2: {told}"
