"""A snapshot of a cluster: its brokers, topics and groups as parts of the bodies of the service's endpoints.

What the cluster does not tell is absent, or null within a list, and ``not_known`` says why.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from service.core.documents import Json
from service.live.client import ClusterClient
from service.live.errors import NotKnown
from service.live.groups import add_committed_offsets, describe_groups, list_groups
from service.live.offsets_topic import add_coordinator_state
from service.live.topics import (
    EARLIEST,
    LATEST,
    Disks,
    add_disks,
    log_dirs_of,
    read_cluster,
    read_disks,
    read_offsets,
    read_topics,
)

SNAPSHOT_VERSION: Final = 1


@dataclass(frozen=True)
class SnapshotExtent:
    """What a snapshot covers.

    topic_names, group_ids : none of them means all
    expected_topics : of all topics those that must be there; of others, ``not_known`` has the broker's reason
    interval_seconds : the time between two looks, which give rates; 0 for one look alone
    with_offsets_topic : read ``__consumer_offsets`` too
    """

    topic_names: Sequence[str] = ()
    group_ids: Sequence[str] = ()
    interval_seconds: float = 0.0
    with_offsets_topic: bool = False
    expected_topics: Sequence[str] = ()


def take_snapshot(client: ClusterClient, extent: SnapshotExtent) -> dict[str, Any]:
    """The snapshot, as described in docs/live-cluster.md."""
    not_known = NotKnown()
    taken_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    cluster_id, brokers = read_cluster(client, not_known)
    not_known.add("kafka_version", "Brokers report which requests they support; patch releases do not differ in these.")
    topics = read_topics(client, extent.topic_names, not_known)
    others = sorted(set(extent.expected_topics).difference(topic["topic_name"] for topic in topics))
    if others:
        topics += read_topics(client, others, not_known)
    disks = _measure(client, brokers, topics, extent, not_known)
    listed = list_groups(client, extent.group_ids, not_known)
    every_topic = read_topics(client, (), NotKnown()) if extent.topic_names else topics
    partitions_counts = {topic["topic_name"]: topic["partitions_count"] for topic in every_topic}
    groups = describe_groups(client, listed, partitions_counts, not_known)
    add_committed_offsets(client, listed, groups, not_known)
    if extent.with_offsets_topic:
        add_coordinator_state(client, groups, not_known)
    elif any(group["group_protocol"] in ("classic", "connect") for group in groups):
        not_known.add("groups[].generation_id", "Only __consumer_offsets has it: --with-offsets-topic.")
    return {
        "snapshot_version": SNAPSHOT_VERSION,
        "taken_at": taken_at,
        "cluster_id": cluster_id,
        "kafka_version": client.release,
        "brokers": brokers,
        "log_dirs": log_dirs_of(disks),
        "topics": topics,
        "groups": groups,
        "not_known": not_known.documents(),
    }


def _measure(
    client: ClusterClient, brokers: list[Json], topics: list[Json], extent: SnapshotExtent, not_known: NotKnown
) -> Disks:
    """Write sizes and offsets, and with a second look the rates between the two; returns what is on the disks."""
    every_topic = not extent.topic_names
    started = time.monotonic()
    if extent.interval_seconds:
        before = read_offsets(client, topics, LATEST, "topics[].records_per_second", not_known)
        disks_before = read_disks(client, topics, every_topic=every_topic, not_known=NotKnown())
        add_disks([], topics, disks_before, NotKnown())
        bytes_before = {topic["topic_name"]: topic.pop("partition_bytes", None) for topic in topics}
        client.pause(max(0.0, started + extent.interval_seconds - time.monotonic()))
    begin = read_offsets(client, topics, EARLIEST, "topics[].log_start_offsets", not_known)
    seconds = time.monotonic() - started
    end = read_offsets(client, topics, LATEST, "topics[].log_end_offsets", not_known)
    disks = read_disks(client, topics, every_topic=every_topic, not_known=not_known)
    add_disks(brokers, topics, disks, not_known)
    for topic in topics:
        name = topic["topic_name"]
        for field, values in (("log_start_offsets", begin[name]), ("log_end_offsets", end[name])):
            if any(value is not None for value in values):
                topic[field] = values
        if extent.interval_seconds:
            topic["records_per_second"] = _rates(before[name], end[name], seconds)
            if bytes_before[name] and "partition_bytes" in topic:
                topic["bytes_per_second"] = _rates(bytes_before[name], topic["partition_bytes"], seconds)
    return disks


def _rates(before: Sequence[int | None], after: Sequence[int | None], seconds: float) -> list[float | None]:
    """Growth per second. What has shrunk, because old segments were deleted, is null."""
    return [None if a is None or b is None or b < a else round((b - a) / seconds, 3) for a, b in zip(before, after, strict=True)]
