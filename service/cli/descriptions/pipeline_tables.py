"""A description of a cluster as the tables that the pipeline reads: Parquet files in a folder.

================== ================================================ ======================================================
file               a row for each                                   read by
================== ================================================ ======================================================
groups.parquet     group with members: its request                  ``fleet``, ``load --groups``
topics.parquet     topic, with its placements                       ``fleet --topics``, ``load --placements``
placements.parquet partition: its replicas, and its size            ``reassign``
brokers.parquet    broker: rack, fenced, capacity                   ``reassign --brokers``, ``fleet --brokers``
================== ================================================ ======================================================
"""

from pathlib import Path
from typing import Final

import click
import pyarrow as pa
import pyarrow.parquet

from service.cli import note
from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.core.printable import counted
from service.decisions.groups.rows import MEMBER, TOPIC
from service.decisions.rows import NAME
from service.descriptions import Description, bodies

_REPLICAS: Final = pa.list_(pa.int32())
_GROUPS: Final = pa.schema(
    {"group_id": NAME, "group_protocol": NAME, "assignor": NAME, "topics": pa.list_(TOPIC), "members": pa.list_(MEMBER)}
)
_TOPICS: Final = pa.schema(
    {
        "topic_name": NAME,
        "partitions_count": pa.int32(),
        "placements": pa.list_(pa.struct({"partition_id": pa.int32(), "replicas": _REPLICAS})),
    }
)
_PLACEMENTS: Final = pa.schema(
    {"topic_name": NAME, "partition_id": pa.int32(), "replicas": _REPLICAS, "partition_bytes": pa.int64()}
)
_BROKERS: Final = pa.schema(
    {"broker_id": pa.int32(), "rack_id": NAME, "fenced": pa.bool_(), "capacity_bytes": pa.int64(), "used_bytes": pa.int64()}
)
SIZED: Final = ("partition_bytes", "capacity_bytes", "used_bytes")
"""Columns that are left out unless the size of each partition is known, without which they mean nothing."""

OPTION: Final = click.option(
    "--tables",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the tables for the jobs of pipeline (groups, topics, placements, brokers) into this folder.",
)


def write_tables(description: Description, folder: Path) -> None:
    """Write the tables that the description has rows for, and note on standard error what was written and what was left out."""
    topics = [topic for topic in description.topics if topic.get("placements")]
    sized = all(len(topic.get("partition_bytes") or ()) >= len(topic["placements"]) for topic in topics)
    sized = sized and not any(None in topic["partition_bytes"] for topic in topics)
    rows = {
        "groups": (_group_rows(description), _GROUPS),
        "topics": ([_topic_row(topic) for topic in topics], _TOPICS),
        "placements": ([row for topic in topics for row in _placement_rows(topic)], _PLACEMENTS),
        "brokers": (list(description.brokers), _BROKERS),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (of_table, schema) in rows.items():
        if of_table:
            table = pa.Table.from_pylist(of_table, schema=schema)
            path = folder / f"{name}.parquet"
            pa.parquet.write_table(table if sized else table.select([one for one in schema.names if one not in SIZED]), path)
            note(f"wrote {path}: {counted(len(of_table), 'row')}")


def _group_rows(description: Description) -> list[Json]:
    """The request of each group that has one. A note says how many have none, and why the first has none."""
    rows: list[Json] = []
    refusals: list[str] = []
    for group in description.groups:
        try:
            rows.append(bodies.group_assignment(description, group["group_id"]))
        except InvalidQuestion as error:
            refusals.append(f"{group['group_id']!r}: {error.detail}")
    if refusals:
        first = "" if len(refusals) == 1 else "The first is "
        note(f"{counted(len(refusals), 'group is', 'groups are')} not in the table of groups. {first}{refusals[0]}")
    return rows


def _topic_row(topic: Json) -> Json:
    """Without a replication factor: it is what most of its partitions have, as in ``audit --into``."""
    placements = [bodies.picked(placement, bodies.PLACEMENT) for placement in topic["placements"]]
    count = topic.get("partitions_count", len(placements))
    return {"topic_name": topic["topic_name"], "partitions_count": count, "placements": placements}


def _placement_rows(topic: Json) -> list[Json]:
    sizes = dict(enumerate(topic.get("partition_bytes") or ()))
    return [
        {
            "topic_name": topic["topic_name"],
            "partition_id": placement["partition_id"],
            "replicas": placement["replicas"],
            "partition_bytes": sizes.get(placement["partition_id"]),
        }
        for placement in topic["placements"]
    ]
