"""Nested columns, as tables have them, as the rows that the core's readers take. Executors run this.

A table may lack optional members, have 64-bit integers for 32-bit ones, and lists of text for lists that are always empty; but it
may have no member that nobody knows: a misspelt ``topic_names`` would silently subscribe to everything.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CORRUPT: Final = "_corrupt_record"
"""The column in which Spark's readers keep a line that they cannot read (``sources.CORRUPT``)."""

MANY: Final = 2**20
"""Partitions with which a batch of results is closed, for the sake of an executor's memory."""


def rows_of(batch: pa.RecordBatch, names: Iterable[str]) -> Iterator[dict[str, pa.Array]]:
    """Each row of a batch as columns of one value: of ``names`` those that are there."""
    columns = {name: batch.column(name) for name in names if name in batch.schema.names}
    for row in range(batch.num_rows):
        yield {name: column.slice(row, 1) for name, column in columns.items()}


def gathered(results: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The results as batches of ``schema``. A result names its values, or has them as arrays of one value; the others are null.

    An Arrow array of one value takes as long to make as one of a hundred, and most groups are small.
    """
    waiting: list[dict[str, Any]] = []
    partitions = 0
    for result in results:
        waiting.append(result)
        partitions += result.get("partitions", 0)
        if partitions >= MANY:
            yield _batch(waiting, schema)
            waiting, partitions = [], 0
    if waiting:
        yield _batch(waiting, schema)


def _batch(results: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for member in schema:
        values = [result.get(member.name) for result in results]
        if any(isinstance(value, pa.Array) for value in values):
            nothing = pa.nulls(1, member.type)
            columns.append(pa.concat_arrays([nothing if value is None else value.cast(member.type) for value in values]))
        else:
            columns.append(pa.array(values, member.type))
    return pa.record_batch(columns, schema=schema)


def check_line(row: dict[str, pa.Array]) -> None:
    """Raise InvalidQuestion if the row, its columns of one value each, is a line that could not be read."""
    if CORRUPT in row and row[CORRUPT][0].is_valid:
        raise InvalidQuestion("the line cannot be read")


def rejection(row: dict[str, pa.Array], error: InvalidQuestion) -> dict[str, str]:
    """Why a row is set aside, as ``detail``, and the row itself, as ``record``: JSON, or the line as it was."""
    values: dict[str, Any] = {name: column[0].as_py() for name, column in row.items()}
    line = values.pop(CORRUPT, None)
    return {"detail": located(error), "record": line if line is not None else json.dumps(values, ensure_ascii=False)}


def located(error: InvalidQuestion) -> str:
    """What is wrong, and where: ``/members/3: not well-formed``."""
    return "".join(f"/{part}" for part in error.field) + ": " * bool(error.field) + error.detail


def check_type(found: pa.DataType, wanted: pa.DataType, at: str) -> None:
    """Raise InvalidQuestion, before any row is read, if no value of a column can be of the wanted type.

    at : the column's name, for the message
    """
    if pa.types.is_null(found) or _is_empty_list(found, wanted):
        return
    if pa.types.is_struct(wanted) and pa.types.is_struct(found):
        known = [member.name for member in wanted]
        for member in found:
            if member.name not in known:
                raise InvalidQuestion(f"{at} has a member {member.name!r}; known are {', '.join(known)}")
            check_type(member.type, wanted.field(member.name).type, f"{at}.{member.name}")
    elif _is_list(wanted) and _is_list(found):
        check_type(found.value_type, wanted.value_type, f"{at}[]")
    elif not _alike(found, wanted):
        raise InvalidQuestion(f"{at} is {found}, not {wanted}")


def conform(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The column as ``wanted``; raises pyarrow.ArrowInvalid for a value that does not fit, such as 2³¹ partitions."""
    if column.type.equals(wanted):
        return column
    if _is_list(wanted) and _is_list(column.type):
        # By its parts, for a list of text in which there is never anything may stand for one of structs.
        values = pa.array([], wanted.value_type) if not len(column.flatten()) else conform(column.flatten(), wanted.value_type)
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=column.is_null())
    if pa.types.is_struct(wanted) and pa.types.is_struct(column.type):
        there = {member.name for member in column.type}
        children = [
            conform(column.field(member.name), member.type) if member.name in there else pa.nulls(len(column), member.type)
            for member in wanted
        ]
        return pa.StructArray.from_arrays(children, fields=list(wanted), mask=column.is_null())
    return column.cast(wanted)


def first_misfit(rows: pa.Array, plain: Callable[[pa.Array], bool]) -> int:
    """The index of the first of the rows that is not ``plain``, when all together are not: found by halving."""
    first, last = 0, len(rows)
    while last - first > 1:
        half = (first + last) // 2
        if plain(compact(rows.slice(first, half - first))):
            first = half
        else:
            last = half
    return first


def compact(rows: pa.Array) -> pa.Array:
    """A copy of a slice that holds nothing but its own values, and begins at 0, as ``.values`` and ``.offsets`` suppose."""
    return rows.take(pa.array(np.arange(len(rows), dtype=np.int32)))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_empty_list(found: pa.DataType, wanted: pa.DataType) -> bool:
    """What Spark infers from lists that are all empty."""
    return _is_list(wanted) and _is_list(found) and (pa.types.is_string(found.value_type) or pa.types.is_null(found.value_type))


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    types = pa.types
    if types.is_integer(wanted):
        return bool(types.is_integer(found))
    if types.is_floating(wanted):
        return bool(types.is_floating(found) or types.is_integer(found))
    if types.is_string(wanted):
        return bool(types.is_string(found) or types.is_large_string(found))
    return bool(found.equals(wanted))
