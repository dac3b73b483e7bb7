"""``__consumer_offsets`` replayed record by record, as a coordinator does that loads it, and then cleaned once.

Source: OffsetMetadataManager.replay and cleanupExpiredOffsets, ClassicGroup.offsetExpirationCondition (Apache Kafka 4.3.1).
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from service.wire.consumer_protocol import read_subscription
from service.wire.coordinator_records import read_group_record

if TYPE_CHECKING:
    from collections.abc import Iterable


def committed_offsets(
    log: Iterable[tuple[bytes, bytes | None, int]], as_of: int, retention_ms: int
) -> dict[tuple[str, str, int], tuple[int, bool]]:
    """What is committed at a time.

    log : key, value and timestamp of each record, in the order of the log
    Returns for each group, topic and partition the committed offset, and whether it has expired.
    """
    offsets: dict[tuple[str, str, int], dict[str, Any]] = {}
    groups: dict[str, dict[str, Any]] = {}
    for key, value, timestamp in log:
        if timestamp > as_of:
            continue
        record = read_group_record(key, value)
        if record.type in (0, 1):
            name = record.key["group"], record.key["topic"], record.key["partition"]
            offsets.pop(name, None)
            if record.value is not None:
                offsets[name] = record.value
        elif record.type == 2:
            groups.pop(record.key["group"], None)
            if record.value is not None:
                groups[record.key["group"]] = record.value
    return {
        name: (commit["offset"], has_expired(commit, name[1], groups.get(name[0]), as_of, retention_ms))
        for name, commit in offsets.items()
    }


def has_expired(commit: dict[str, Any], topic: str, group: dict[str, Any] | None, as_of: int, retention_ms: int) -> bool:
    """Whether the cleaner would remove it. group : its GROUP_METADATA; None for a group that only commits."""
    base = commit["commitTimestamp"]
    if group is not None and not group["members"]:
        base = group["currentStateTimestamp"]
    elif group is not None:
        subscriptions = [read_subscription(base64.b64decode(member["subscription"])) for member in group["members"]]
        if any(topic in subscription.topic_names for subscription in subscriptions):
            return False
    if "expireTimestamp" in commit:
        return as_of >= commit["expireTimestamp"]
    return as_of - base >= retention_ms
