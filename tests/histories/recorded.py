"""The real runs of ``tests/vectors/timelines`` as the log of their broker, and as the records that it has stored."""

import base64
import json
import struct
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "vectors" / "timelines"
START_MS = 1_795_251_600_000
"""2026-11-21T09:00:00Z, when the clocks of all runs begin."""


def run(name):
    """A run: its request, what the broker has logged and stored."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def log(name, *, hours=0):
    """The log of the broker, as log4j's default layout prints it; its clock is some hours ahead of UTC."""
    start = datetime.fromtimestamp(START_MS / 1000, UTC) + timedelta(hours=hours)
    lines = []
    for at_ms, text in run(name)["log"]:
        when = start + timedelta(milliseconds=at_ms)
        lines.append(f"[{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03}] INFO {text} (kafka.coordinator.group.Group)\n")
    return "".join(lines)


def records(name):
    """The records, as kafka-dump-log prints them."""
    group = run(name)["request"]["group_id"]
    topics = [topic["topic_name"] for topic in run(name)["request"]["topics"]]
    stored = [each for each in run(name)["records"] if each["name"] == "GROUP_METADATA" and each["value"]]
    shift = min((each["at_ms"] + START_MS - each["value"]["currentStateTimestamp"] for each in stored), default=0)
    lines = []
    for record in run(name)["records"]:
        value, at_ms = record["value"], record["at_ms"] + START_MS
        if record["name"] == "GROUP_METADATA":
            key = {"type": "2", "data": {"group": group}}
            if value is not None:
                state_ms, members = value["currentStateTimestamp"] + shift, [_member(each, topics) for each in value["members"]]
                value = {**value, "currentStateTimestamp": state_ms, "members": members}
        else:
            if record["name"] not in TYPES:
                continue
            member = {"memberId": record["memberId"]} if "memberId" in record else {}
            key = {"type": str(TYPES[record["name"]]), "data": {"groupId": group, **member}}
        payload = "null" if value is None else json.dumps({"version": "0", "data": value})
        lines.append(f"| offset: 1 CreateTime: {at_ms} keySize: 9 valueSize: 9 key: {json.dumps(key)} payload: {payload}\n")
    return "".join(lines)


TYPES = {
    "CONSUMER_GROUP_METADATA": 3,
    "CONSUMER_GROUP_MEMBER_METADATA": 5,
    "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA": 6,
    "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER": 7,
    "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT": 8,
}


def _member(row, topics):
    subscription = struct.pack(">hi", 0, len(topics)) + b"".join(map(_text, topics)) + struct.pack(">i", -1)
    by_topic = defaultdict(list)
    for topic, partition in row["assignment"]:
        by_topic[topic].append(partition)
    parts = (_text(topic) + struct.pack(f">i{len(ids)}i", len(ids), *ids) for topic, ids in by_topic.items())
    assignment = struct.pack(">hi", 0, len(by_topic)) + b"".join(parts) + struct.pack(">i", -1)
    return {
        "memberId": row["member_id"],
        "groupInstanceId": row["instance_id"],
        "clientId": row["member_id"].partition("-")[0],
        "clientHost": "/127.0.0.1",
        "rebalanceTimeout": 10_000,
        "sessionTimeout": 6_000,
        "subscription": base64.b64encode(subscription).decode(),
        "assignment": base64.b64encode(assignment).decode(),
    }


def _text(text):
    return struct.pack(">h", len(text)) + text.encode()
