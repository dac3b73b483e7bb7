"""Requests to ``/v1/group-assignments`` for the groups that another assignor would assign more evenly."""

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.pipeline.spark.io.columns import column
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sources import CORRUPT
from service.pipeline.spark.tasks.group_requests import present


def questions(groups: ScanSource, results: pa.Table, body_column: str | None, most: int) -> list[dict[str, Any]]:
    """At most ``most`` groups with an id, as bodies with the most even of the assignors tried, largest gain first.

    Of equally even assignors the one that moves fewest partitions.

    groups, body_column : the input of ``assignments.assign_groups``, and where it is
    results : its rows, ``summary.GROUP_COLUMNS``
    """
    better = _better(results, most)
    names = list(better)
    if not names:
        return []
    bodies = _rows(groups, names) if body_column is None else _bodies(groups, body_column, names)
    by_name = {body["group_id"]: body for body in bodies}
    return [{**by_name[name], **better[name]} for name in names]


def _rows(groups: ScanSource, names: list[str]) -> Iterator[dict[str, Any]]:
    """The groups of these names in nested columns."""
    for batch in groups.having("group_id", names):
        for row in batch.to_pylist():
            yield present({name: value for name, value in row.items() if name != CORRUPT})


def _bodies(groups: ScanSource, body_column: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """The groups of these names in a column of JSON."""
    if groups.files is None:
        text = column(body_column).cast("string")
        rows = groups.frame.where(F.get_json_object(text, "$.group_id").isin(names)).select(text.alias(body_column)).toArrow()
        yield from map(orjson.loads, rows[body_column].to_pylist())
        return
    for batch in groups.batches():
        for text in batch.column(body_column).to_pylist():
            try:
                body = orjson.loads(text or b"null")
            except orjson.JSONDecodeError:
                continue  # it is among the rejected rows
            if isinstance(body, dict) and body.get("group_id") in names:
                yield body


def _better(results: pa.Table, most: int) -> dict[str, dict[str, str]]:
    """group_protocol and assignor for each group that has a more even one than its own."""
    tried = results.filter(pc.field("error").is_null() & pc.field("group_id").is_valid())
    own = tried.filter(pc.field("own")).group_by("group_id").aggregate([("skew", "min")])
    order = ("skew", "moved", "group_protocol", "assignor")
    others = tried.filter(~pc.field("own")).sort_by([(name, "ascending") for name in order])
    best = others.group_by("group_id", use_threads=False).aggregate([(name, "first") for name in order])
    both = own.join(best, "group_id", join_type="inner")
    both = both.append_column("gain", pc.subtract(both["skew_min"], both["skew_first"])).filter(pc.field("gain") > 0)
    rows = both.sort_by([("gain", "descending"), ("group_id", "ascending")]).slice(0, most).to_pylist()
    return {row["group_id"]: {"group_protocol": row["group_protocol_first"], "assignor": row["assignor_first"]} for row in rows}
