"""What callers pass, as the service's requests have it: keys as Arrow arrays, tables as lists of objects."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeAlias

import numpy as np
import pyarrow as pa

from service import parameters
from service.core.keys.columns import BYTES
from service.decisions.rows import TYPE_OF_FORMAT

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

Rows: TypeAlias = "Iterable[Mapping[str, Any]] | pa.Table | pd.DataFrame"
"""A list of the request: dicts, or a table with a column for each field (a null is an absent field)."""

Topics: TypeAlias = "Mapping[str, Sequence[Sequence[int]]] | Rows"
"""Where replicas are: topic → the replicas of its partitions 0, 1, …; or a table with ``topic_name``, ``partition_id``,
``replicas`` and perhaps OF_PARTITIONS, such as that of ``place``; or rows with ``topic_name`` and ``placements``, which may have
more fields."""

OF_PARTITIONS: Final = ("partition_bytes", "partition_bytes_per_second", "partition_bytes_out_per_second")
"""Columns of such a table that the request has as lists of its topics."""


def are_null(keys: pa.Array | pa.ChunkedArray | list[Any]) -> npt.NDArray[np.bool_]:
    """Which of the keys that ``key_column`` gives are of records without a key."""
    if isinstance(keys, list):
        return np.array([key is None for key in keys], bool)
    return np.asarray(keys.is_null(), bool)


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
    except (pa.ArrowException, OverflowError) as error:
        raise TypeError(f"{name} must be of one type: {error}") from None


def key_column(keys: Any, key_format: str | None) -> pa.Array | pa.ChunkedArray | list[Any]:
    """The keys in the type that their format has in Arrow; a list as JSON has it if that cannot hold them. Raises TypeError."""
    keys = list(keys) if isinstance(keys, Iterator) else keys
    try:
        array = column(keys, "keys")
    except UnicodeEncodeError:  # half a surrogate pair, which Java's strings can have
        return list(keys)
    except TypeError:
        if key_format is None or not isinstance(keys, list | tuple):
            raise
        return list(keys)
    if key_format is None and pa.types.is_floating(array.type) and (_is_of_pandas(keys) or isinstance(keys, np.ndarray)):
        _check_not_integers(array)
    if not isinstance(key_format, str):  # the service refuses what is no name
        return array
    if key_format in TYPE_OF_FORMAT:
        return _cast(array, TYPE_OF_FORMAT[key_format])
    if key_format in BYTES and pa.types.is_null(array.type):
        return array.cast(pa.binary())
    return array


def _cast(array: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray | list[Any]:
    """The keys as this type; a list if any of them does not fit it: then the service names the first."""
    try:
        own = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if own == kind or pa.types.is_null(own) or (_is_number(own) and _is_number(kind)):
            typed = array.cast(kind)
            if kind != pa.float32() or _infinities(typed) == _infinities(array.cast(pa.float64())):
                return typed
    except pa.ArrowInvalid:
        pass
    return array.to_pylist()


def _infinities(array: pa.Array | pa.ChunkedArray) -> int:
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 30 ms, and most keys are text

    return pc.sum(pc.is_inf(array)).as_py() or 0


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def integer_column(values: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """Integers, also those that pandas has made doubles. Raises TypeError, which names the argument."""
    array = column(values, name)
    if pa.types.is_floating(array.type):
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise TypeError(f"{name} must be integers: {error}") from None
    if not (pa.types.is_integer(array.type) or pa.types.is_null(array.type)):
        raise TypeError(f"{name} must be integers, not {array.type}.")
    return array.cast(pa.int64()) if pa.types.is_null(array.type) else array


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
    if isinstance(table, pa.Table):
        return [_without_nulls(row) for row in table.to_pylist()]
    if _is_table(table):
        try:
            of_pandas = pa.Table.from_pandas(table, preserve_index=False)
        except (pa.ArrowException, ValueError) as error:
            raise TypeError(f"{name} must have one type in each column: {error}") from None
        return [{field: _whole(value) for field, value in row.items()} for row in rows(of_pandas, name)]
    listed = list(table) if isinstance(table, Iterable) and not isinstance(table, Mapping) else None
    if listed is None or not all(isinstance(row, Mapping) for row in listed):
        raise TypeError(f"{name} must be a list of dicts, a pyarrow.Table or a pandas.DataFrame.")
    return [dict(row) for row in listed]


def _without_nulls(value: Any) -> Any:
    """A value of a table whose structs, and those in its lists, lack what is null."""
    if isinstance(value, dict):
        return {field: _without_nulls(inner) for field, inner in value.items() if inner is not None}
    return [*map(_without_nulls, value)] if isinstance(value, list) and dict in {*map(type, value)} else value


def _whole(value: Any) -> Any:
    """An integer that pandas has made a double, because another row has none."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def base64(captured: Any, name: str) -> str | None:
    """Captured bytes as text. Raises TypeError, which names the argument."""
    if captured is None:
        return None
    if not isinstance(captured, bytes | bytearray | memoryview):
        raise TypeError(f"{name} must be bytes, not {type(captured).__name__}.")
    return b64encode(captured).decode()


def _is_table(rows: Any) -> bool:
    """An Arrow table, or a DataFrame."""
    return isinstance(rows, pa.Table) or hasattr(rows, "itertuples")


def group_topics(topics: Mapping[str, int] | Rows) -> list[dict[str, Any]]:
    """The ``topics`` of a group."""
    if isinstance(topics, Mapping):
        return parameters.topic_rows(topics)
    return rows(topics, "topics")


def group_members(members: int | Rows | Iterable[str], owned_partitions: Rows | None) -> list[dict[str, Any]]:
    """The ``members`` of a group, with what they own."""
    if isinstance(members, str):
        raise TypeError(f'members must be a number, a list of ids or rows; for one member, pass ["{members}"].')
    if isinstance(members, int | np.integer):
        listed = parameters.member_rows(count(members, "members"))
    elif _is_table(members):
        listed = rows(members, "members")
    elif not isinstance(members, Iterable) or isinstance(members, Mapping | AbstractSet):
        raise TypeError(f"members must be a number, a list of ids or rows, not a {type(members).__name__}.")
    else:
        ids_or_rows = _listed(members)
        listed = rows([{"member_id": each} if isinstance(each, str) else each for each in ids_or_rows], "members")
    if owned_partitions is not None:
        _give(rows(owned_partitions, "owned_partitions"), listed)
    return listed


def _listed(values: Any) -> list[Any]:
    """The elements of a list, an array or a column."""
    return values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)


def _give(owned: list[dict[str, Any]], members: list[dict[str, Any]]) -> None:
    """Enter the rows of ``owned`` as ``owned_partitions`` of the members; those of absent members have no owner."""
    by_member: dict[str, dict[str, list[int]]] = {}
    for i, row in enumerate(owned):
        if row.get("member_id") is None:  # an unassigned partition
            continue
        for field, kind in (("member_id", str), ("topic_name", str), ("partition_id", SupportsIndex)):
            if not isinstance(row.get(field), kind):
                raise TypeError(f"owned_partitions must have a {field} in each row, not {row.get(field)!r} as in row {i}.")
        by_member.setdefault(row["member_id"], {}).setdefault(row["topic_name"], []).append(row["partition_id"])
    for member in members:
        member_id = member.get("member_id")
        ids = by_member.get(member_id, {}) if isinstance(member_id, str) else {}
        member["owned_partitions"] = [{"topic_name": name, "partition_ids": sorted(ids[name])} for name in ids]


def brokers(of: int | Rows, racks: int | None = None) -> list[dict[str, Any]]:
    """The ``brokers`` of a cluster. Raises ValueError for a number of racks below 1, or beside rows."""
    if isinstance(of, int | np.integer):
        if racks is not None and count(racks, "racks") == 0:
            raise ValueError("racks must be at least 1.")
        return parameters.broker_rows(count(of, "brokers"), racks)
    if racks is not None:
        raise ValueError("racks is for a number of brokers; rows have a rack_id.")
    return rows(of, "brokers")


def count(of: Any, name: str) -> int:
    """A number of Python or NumPy. Raises ValueError, which names the argument, for a negative one; TypeError."""
    if not isinstance(of, SupportsIndex):
        raise TypeError(f"{name} must be an integer, not {of!r}.")
    if index(of) < 0:
        raise ValueError(f"{name} must not be negative: {of}.")
    return index(of)


def placements(of: Sequence[Sequence[int]] | Rows, name: str = "placements") -> list[dict[str, Any]]:
    """The ``placements`` of a topic: lists of brokers in the order of the partitions, or rows."""
    if isinstance(of, Iterable) and not (_is_table(of) or isinstance(of, str | bytes | Mapping | AbstractSet)):
        listed = _listed(of)
        if not any(isinstance(each, Mapping) for each in listed):
            return [{"partition_id": i, "replicas": replicas} for i, replicas in enumerate(listed)]
        of = listed
    return [{field: value for field, value in row.items() if field != "topic_name"} for row in rows(of, name)]


def placed_topics(topics: Topics) -> list[dict[str, Any]]:
    """The ``topics`` of a reassignment, each with its placements."""
    if isinstance(topics, Mapping):
        return [{"topic_name": name, "placements": placements(of, f"topics[{name!r}]")} for name, of in topics.items()]
    listed = rows(topics, "topics")
    if not any("replicas" in row for row in listed) or not all(isinstance(row.get("topic_name", ""), str) for row in listed):
        return listed
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in listed:
        by_name.setdefault(row.get("topic_name", "topic"), []).append(row)
    return [{"topic_name": name, **_of_partitions(rows), "placements": placements(rows)} for name, rows in by_name.items()]


def _of_partitions(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """What the rows of a topic say of partitions beside their replicas, taken out of them."""
    given = [name for name in OF_PARTITIONS if any(name in row for row in rows)]
    return {name: [row.pop(name, None) for row in rows] for name in given}
