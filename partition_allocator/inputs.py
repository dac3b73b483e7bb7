"""What callers pass, as the service's requests have it: keys as Arrow arrays, tables as lists of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from service.cli import request_bodies
from service.core.keys.columns import BYTES
from service.decisions.keys.types import TYPE_OF_FORMAT

if TYPE_CHECKING:
    import pandas as pd

Rows: TypeAlias = "Iterable[Mapping[str, Any]] | pa.Table | pd.DataFrame"
"""A list of the request: dicts, or a table with a column for each field (a null is an absent field)."""

Topics: TypeAlias = "Mapping[str, Sequence[Sequence[int]]] | Rows"
"""Where replicas are: topic → the replicas of its partitions 0, 1, …; or a table with ``topic_name``, ``partition_id`` and
``replicas``, such as that of ``place``; or rows with ``topic_name`` and ``placements``, which may have more fields."""


def column(values: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """An Arrow array of a list, NumPy array, pandas Series or Arrow array. Raises TypeError, which names the argument."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if values is None or isinstance(values, str | bytes | int | float | bool):
        shown = repr(values) if len(repr(values)) <= 40 else "…"
        shown = shown.replace("'", '"') if isinstance(values, str) else shown
        raise TypeError(f"{name} must be a list, an array or a column; for a single one, pass [{shown}].")
    if _is_table(values) or isinstance(values, Mapping | AbstractSet):
        kind = type(values).__name__
        raise TypeError(f"{name} must be a list, an array or a column, not a {kind}; of a table, pass one column.")
    of_pandas = _is_of_pandas(values)  # where NaN is a missing value
    try:
        return pa.array(values if of_pandas or hasattr(values, "__len__") else list(values), from_pandas=of_pandas)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"{name} must be of one type: {error}") from None


def key_column(keys: Any, key_format: str | None) -> pa.Array | pa.ChunkedArray:
    """The keys in the type that their format has in Arrow. Raises TypeError, pyarrow.ArrowException."""
    array = column(keys, "keys")
    if key_format is None and pa.types.is_floating(array.type) and (_is_of_pandas(keys) or isinstance(keys, np.ndarray)):
        _check_not_integers(array)
    if key_format in TYPE_OF_FORMAT:
        return array.cast(TYPE_OF_FORMAT[key_format])
    if key_format in BYTES and pa.types.is_null(array.type):
        return array.cast(pa.binary())
    return array


def _check_not_integers(array: pa.Array | pa.ChunkedArray) -> None:
    """Raise TypeError for integers that pandas has made doubles, because one was missing: they have other bytes."""
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 30 ms, and most keys are text

    missing = pc.or_(pc.is_null(array), pc.fill_null(pc.is_nan(array), True))
    numbers = pc.filter(array, pc.invert(missing))
    if len(numbers) and len(numbers) < len(array) and pc.all(pc.equal(numbers, pc.round(numbers))).as_py():
        raise TypeError(
            "The keys are doubles, each of them whole or NaN: pandas makes integers doubles if one is missing. "
            'For integers, pass key_format="long" (or "int") or convert the column by .astype("Int64"); for doubles, '
            'pass key_format="double".'
        )


def _is_of_pandas(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pandas"


def rows(table: Rows, name: str) -> list[dict[str, Any]]:
    """The rows as dicts, without nulls of tables. Raises TypeError, which names the argument."""
    if _is_table(table):
        table = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
        return [{field: value for field, value in row.items() if value is not None} for row in table.to_pylist()]
    listed = list(table) if isinstance(table, Iterable) and not isinstance(table, Mapping) else None
    if listed is None or not all(isinstance(row, Mapping) for row in listed):
        raise TypeError(f"{name} must be a list of dicts, a pyarrow.Table or a pandas.DataFrame.")
    return [dict(row) for row in listed]


def _is_table(rows: Any) -> bool:
    """An Arrow table, or a DataFrame."""
    return isinstance(rows, pa.Table) or hasattr(rows, "itertuples")


def group_topics(topics: Mapping[str, int] | Rows) -> list[dict[str, Any]]:
    """The ``topics`` of a group."""
    if isinstance(topics, Mapping):
        return request_bodies.topics(topics)
    return rows(topics, "topics")


def group_members(members: int | Rows | Iterable[str], owned: Rows | None) -> list[dict[str, Any]]:
    """The ``members`` of a group, with what they own."""
    if isinstance(members, str):
        raise TypeError(f'members must be a number, a list of ids or rows; for one member, pass ["{members}"].')
    if isinstance(members, int | np.integer):
        listed = request_bodies.members(count(members, "members"))
    elif _is_table(members):
        listed = rows(members, "members")
    else:
        listed = rows([{"member_id": member} if isinstance(member, str) else member for member in members], "members")
    if owned is not None:
        _give(rows(owned, "owned"), listed)
    return listed


def _give(owned: list[dict[str, Any]], members: list[dict[str, Any]]) -> None:
    """Enter the partitions of ``owned`` as ``owned_partitions`` of the members; those of absent members have no owner."""
    by_member: dict[str, dict[str, list[int]]] = {}
    for row in owned:
        if "member_id" in row:  # an unassigned partition has none
            by_member.setdefault(row["member_id"], {}).setdefault(row["topic_name"], []).append(row["partition_id"])
    for member in members:
        ids = by_member.get(member["member_id"], {})
        member["owned_partitions"] = [{"topic_name": name, "partition_ids": sorted(ids[name])} for name in ids]


def brokers(of: int | Rows, racks: int | None = None) -> list[dict[str, Any]]:
    """The ``brokers`` of a cluster."""
    if isinstance(of, int | np.integer):
        return request_bodies.brokers(count(of, "brokers"), racks)
    return rows(of, "brokers")


def count(of: Any, name: str) -> int:
    """A number of Python or NumPy. Raises ValueError, which names the argument, for a negative one."""
    if of < 0:
        raise ValueError(f"{name} must not be negative: {of}.")
    return int(of)


def placements(of: Sequence[Sequence[int]] | Rows) -> list[dict[str, Any]]:
    """The ``placements`` of a topic: lists of brokers in the order of the partitions, or rows."""
    if isinstance(of, Sequence) and not isinstance(of, str | bytes) and all(isinstance(replicas, Sequence) for replicas in of):
        return [{"partition_id": i, "replicas": list(cast("Sequence[int]", replicas))} for i, replicas in enumerate(of)]
    return [{name: row[name] for name in ("partition_id", "replicas") if name in row} for row in rows(of, "placements")]


def placed_topics(topics: Topics) -> list[dict[str, Any]]:
    """The ``topics`` of a reassignment, each with its placements."""
    if isinstance(topics, Mapping):
        return [{"topic_name": name, "placements": placements(of)} for name, of in topics.items()]
    listed = rows(topics, "topics")
    if not any("replicas" in row for row in listed):
        return listed
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in listed:
        by_name.setdefault(row.get("topic_name", "topic"), []).append(row)
    return [{"topic_name": name, "placements": placements(of)} for name, of in by_name.items()]
