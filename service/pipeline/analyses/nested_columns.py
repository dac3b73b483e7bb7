"""Converts a table's nested columns to the types that ``service.decisions.groups.rows`` reads. Executors run this.

A table may lack optional members, have 64-bit integers in place of 32-bit ones, and lists of strings for lists that are always
empty. It must not have an unknown member: a misspelt ``topic_names`` would silently subscribe to everything.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import AllocatorError, InvalidQuestion, KafkaError

CORRUPT: Final = "_corrupt_record"
"""The column of the lines that Spark could not read (``sources.CORRUPT``)."""

BATCH_PARTITIONS: Final = 2**20
"""Partitions after which a batch of results ends, to bound an executor's memory."""


def rows_of(batch: pa.RecordBatch, names: Iterable[str]) -> Iterator[dict[str, pa.Array]]:
    """Each row of a batch as columns of one value, for those of ``names`` that exist."""
    columns = {name: batch.column(name) for name in names if name in batch.schema.names}
    for row in range(batch.num_rows):
        yield {name: column.slice(row, 1) for name, column in columns.items()}


def gathered(
    results: Iterable[dict[str, Any]], schema: pa.Schema, arrays: Mapping[str, Callable[[list[Any]], pa.Array]]
) -> Iterator[pa.RecordBatch]:
    """The results as batches of ``schema``. A result's values are Python's or arrays of one value; missing ones are null.

    Making an Arrow array of one value takes as long as one of a hundred, and most groups are small.

    arrays : of some columns, what makes an array of the values that are not missing
    """
    waiting: list[dict[str, Any]] = []
    partitions = 0
    for result in results:
        waiting.append(result)
        partitions += result.get("partitions", 0)
        if partitions >= BATCH_PARTITIONS:
            yield _batch(waiting, schema, arrays)
            waiting, partitions = [], 0
    if waiting:
        yield _batch(waiting, schema, arrays)


def _batch(
    results: list[dict[str, Any]], schema: pa.Schema, arrays: Mapping[str, Callable[[list[Any]], pa.Array]]
) -> pa.RecordBatch:
    columns = []
    for member in schema:
        values = [result.get(member.name) for result in results]
        valid = np.array([value is not None for value in values])
        if not valid.any():
            columns.append(pa.nulls(len(values), member.type))
        elif member.name in arrays:
            array = arrays[member.name]([value for value in values if value is not None]).cast(member.type)
            columns.append(array.take(pa.array(np.cumsum(valid) - 1, mask=~valid)))
        elif any(isinstance(value, pa.Array) for value in values):
            nothing = pa.nulls(1, member.type)
            columns.append(pa.concat_arrays([nothing if value is None else value.cast(member.type) for value in values]))
        else:
            columns.append(pa.array(values, member.type))
    return pa.record_batch(columns, schema=schema)


def check_line(row: dict[str, pa.Array]) -> None:
    """Raise InvalidQuestion if the row, as columns of one value, is a line that Spark could not read."""
    if CORRUPT in row and row[CORRUPT][0].is_valid:
        raise InvalidQuestion("The line is unreadable.")


def rejection(row: dict[str, pa.Array], error: InvalidQuestion) -> dict[str, str]:
    """A rejected row's ``detail``, and the row as ``record``: as JSON, or the unreadable line."""
    values: dict[str, Any] = {name: column[0].as_py() for name, column in row.items()}
    line = values.pop(CORRUPT, None)
    return {"detail": located(error), "record": line if line is not None else json.dumps(values, ensure_ascii=False)}


def failure(error: AllocatorError) -> dict[str, str | None]:
    """What a row of results says of an assignor or a placer that failed; ``exception`` is Kafka's."""
    exception = error.exception if isinstance(error, KafkaError) else None
    return {"error": type(error).__name__, "exception": exception, "detail": str(error)}


def required(schema: pa.Schema, columns: Mapping[str, pa.DataType], names: Iterable[str]) -> None:
    """Raise InvalidQuestion unless a table has the columns ``names``, and those of ``columns`` that it has can be converted."""
    for name in names:
        if name not in schema.names:
            raise InvalidQuestion(f"Column {name!r} is missing; the columns are {', '.join(schema.names)}.")
    for name, kind in columns.items():
        if name in schema.names:
            check_type(schema.field(name).type, kind, name)


def located(error: InvalidQuestion) -> str:
    """What is wrong, and where: ``/members/3: not well-formed``."""
    return "".join(f"/{part}" for part in error.field) + ": " * bool(error.field) + error.detail


def check_type(actual: pa.DataType, expected: pa.DataType, at: str) -> None:
    """Raise InvalidQuestion, before any row is read, if a column's type cannot be converted to the expected one.

    at : the column's name, for the message
    """
    if pa.types.is_null(actual):
        return
    if _is_list(expected) and _is_list(actual) and (pa.types.is_string(actual.value_type) or pa.types.is_null(actual.value_type)):
        return  # Spark infers lists of strings from lists that are all empty
    if pa.types.is_struct(expected) and pa.types.is_struct(actual):
        known = [member.name for member in expected]
        for member in actual:
            if member.name not in known:
                raise InvalidQuestion(f"{at} has an unknown member {member.name!r}; it must be one of {', '.join(known)}.")
            check_type(member.type, expected.field(member.name).type, f"{at}.{member.name}")
    elif _is_list(expected) and _is_list(actual):
        check_type(actual.value_type, expected.value_type, f"{at}[]")
    elif not _alike(actual, expected):
        raise InvalidQuestion(f"{at} is {actual}, not {expected}.")


def conform(column: pa.Array, expected: pa.DataType) -> pa.Array:
    """The column as the type ``expected``; raises pyarrow.ArrowInvalid for a value that does not fit, such as 2³¹ partitions."""
    if column.type.equals(expected):
        return column
    if _is_list(expected) and _is_list(column.type):
        # By parts, as a list of strings that is always empty may stand for one of structs.
        values = column.flatten()
        values = conform(values, expected.value_type) if len(values) else pa.array([], expected.value_type)
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=column.is_null())
    if pa.types.is_struct(expected) and pa.types.is_struct(column.type):
        names = {member.name for member in column.type}
        children = [
            conform(column.field(member.name), member.type) if member.name in names else pa.nulls(len(column), member.type)
            for member in expected
        ]
        return pa.StructArray.from_arrays(children, fields=list(expected), mask=column.is_null())
    return column.cast(expected)


def conformed(batch: pa.RecordBatch, expected: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """The batch with its columns as the types expected of them; one with a value that does not fit stays as it is."""
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        columns[name] = column
        with suppress(pa.ArrowInvalid):
            columns[name] = conform(column, expected.get(name, column.type))
    return pa.RecordBatch.from_pydict(columns)


def first_misfit(rows: pa.Array, plain: Callable[[pa.Array], bool]) -> int:
    """The index of the first row that is not ``plain``, by bisection; at least one is not."""
    return bisect_left(range(len(rows)), True, key=lambda row: not plain(compact(rows.slice(0, row + 1))))


def compact(rows: pa.Array) -> pa.Array:
    """A copy of a slice with its own values only, from offset 0, as ``.values`` and ``.offsets`` require."""
    return pa.concat_arrays([rows])


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _alike(actual: pa.DataType, expected: pa.DataType) -> bool:
    types = pa.types
    if types.is_integer(expected):
        return bool(types.is_integer(actual))
    if types.is_floating(expected):
        return bool(types.is_floating(actual) or types.is_integer(actual))
    if types.is_string(expected):
        return bool(types.is_string(actual) or types.is_large_string(actual))
    return bool(actual.equals(expected))
