"""The types of columns, and the texts of their values: one rule for files that tasks read, for those that Spark reads, and for
``plan``.

Types are those in which Spark reads a file: unsigned integers as the next wider signed ones, all times to the microsecond. Texts
are those of Spark's ``cast(… AS STRING)`` in UTC. In tables with a fixed type for each column, text becomes that type, since all
of CSV is text.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from service.core.printable import printable
from service.decisions.rows import is_text, not_utf8
from service.pipeline.files.rejected import WrongTable

_READ_AS: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.date64(): pa.date32(),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}

_TIME: Final = pa.timestamp("us")


def as_spark_reads(kind: pa.DataType) -> pa.DataType:
    """The type in which Spark reads a column of this type in a file. PyArrow restores types that a writer had in memory, too."""
    types = pa.types
    if types.is_dictionary(kind):
        return as_spark_reads(kind.value_type)
    if types.is_timestamp(kind):
        return _TIME if kind.tz is None else pa.timestamp("us", "UTC")
    if types.is_struct(kind):
        return pa.struct([field.with_type(as_spark_reads(field.type)) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind):
        item = kind.value_field.with_type(as_spark_reads(kind.value_type))
        return pa.list_(item) if types.is_list(kind) else pa.large_list(item)
    return _READ_AS.get(kind, kind)


def has_text(kind: pa.DataType) -> bool:
    """Whether values of this type, as Spark reads it, have a text but are none: numbers, booleans, dates and times."""
    types = pa.types
    kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_date, types.is_timestamp)
    return any(of(kind) for of in kinds)


def text_of(column: pa.Array) -> pa.Array:
    """The text of each value, null where there is none. Bytes are taken for UTF-8.

    ======== =====================================================================
    boolean  ``true``, ``false``
    integer  ``1000``
    decimal  all digits of its scale, without an exponent: ``12.50``
    double   as Java writes it: ``253.0``, ``1.0E10``
    date     ``2026-01-16``
    time     ``2026-01-16 10:00:00``, with as many digits of the second as it has
    ======== =====================================================================
    """
    kind = as_spark_reads(column.type)
    column = column if column.type == kind else column.cast(kind, safe=False)
    if pa.types.is_timestamp(kind):
        return pc.replace_substring_regex(column.cast(_TIME).cast(pa.string()), r"\.?0*$", "")
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else f"{value:f}" for value in column.to_pylist()], pa.string())
    texts = column.cast(pa.string())
    if pa.types.is_floating(kind):
        return pa.array([None if text is None else java_text(text) for text in texts.to_pylist()], pa.string())
    return texts


_SHORTEST: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?")
"""A float in the fewest digits that tell it from its neighbours, as Arrow writes it."""


def java_text(shortest: str) -> str:
    """A float as Java writes it (Double.toString, Float.toString): ``253.0``; from 10⁷ on and below 10⁻³ as ``1.0E7``.

    shortest : its fewest digits, as Arrow writes them
    """
    match = _SHORTEST.fullmatch(shortest)
    if match is None:
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[shortest.lower()]
    sign, whole, fraction, power = match[1], match[2], match[3] or "", int(match[4] or 0)
    digits = (whole + fraction).lstrip("0")
    if not digits.rstrip("0"):
        return f"{sign}0.0"
    exponent = power + len(whole) - (len(whole + fraction) - len(digits)) - 1  # of the first digit
    digits = digits.rstrip("0")
    if -3 <= exponent < 7:
        padded = digits.ljust(exponent + 1, "0") if exponent >= 0 else "0" * -exponent + digits
        at = max(exponent, 0) + 1
        return f"{sign}{padded[:at]}.{padded[at:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def typed(table: pa.Table, types: Mapping[str, pa.DataType], source: str) -> pa.Table:
    """The columns of ``types``, where the table has them, as these types. A list may be text, as ``1,2,3`` or ``[1, 2, 3]``.

    source : the name of the table, for errors
    Raises WrongTable for a value that is not of its type; null and empty text are null.
    """
    return pa.table({name: _typed(table[name], kind, name, source) for name, kind in types.items() if name in table.column_names})


def integers(column: pa.Array) -> pa.Array:
    """A column as int64, null where a value is no integer. ``1.0`` is one, as pandas writes integers beside a missing value."""
    types, kind = pa.types, column.type
    if is_text(kind):
        text = pc.replace_substring_regex(pc.ascii_trim_whitespace(column), _WHOLE, r"\1")
        return pc.if_else(pc.match_substring_regex(text, r"^-?[0-9]{1,18}$"), text, None).cast(pa.int64())
    if types.is_floating(kind) or types.is_decimal(kind):
        numbers = column.cast(pa.float64())
        whole = pc.and_(pc.equal(numbers, pc.floor(numbers)), pc.less(pc.abs(numbers), 2.0**53))
        return pc.if_else(pc.fill_null(whole, False), numbers, None).cast(pa.int64())
    if types.is_integer(kind) or types.is_null(kind):
        return column.cast(pa.int64(), safe=False)
    return pa.nulls(len(column), pa.int64())


_WHOLE: Final = r"^\+?(-?[0-9]+)(?:\.0*)?$"
"""A text of an integer; the group is what Arrow reads."""


def _typed(column: pa.ChunkedArray, kind: pa.DataType, name: str, source: str) -> pa.ChunkedArray:
    first = 0
    for chunk in column.chunks:
        if (wrong := not_utf8(chunk)) is not None:
            row = first + wrong.index(True).as_py()
            raise WrongTable(f"{source}: {name} of row {row + 1:,} is not UTF-8.")
        first += len(chunk)
    try:
        return _cast(column, kind)
    except pa.ArrowNotImplementedError:
        raise WrongTable(f"{source}: The column {name!r} is {column.type}, which cannot become {kind}.") from None
    except pa.ArrowInvalid:
        row = _first_misfit(column, kind)
        value = printable(str(column[row].as_py()))
        raise WrongTable(f"{source}: {name} of row {row + 1:,} is '{value}', which is not of type {kind}.") from None


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if is_text(column.type) and not is_text(kind):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    if is_text(column.type) and pa.types.is_integer(kind):
        column = pc.replace_substring_regex(column, _WHOLE, r"\1")
    if pa.types.is_list(kind) and not pa.types.is_nested(column.type):
        column = pc.split_pattern(pc.replace_substring_regex(column.cast(pa.string()), r"[\[\]\s]", ""), ",")
    return column.cast(kind)


def _first_misfit(column: pa.ChunkedArray, kind: pa.DataType) -> int:
    """The first row whose value cannot be cast; there is one."""

    def is_in_first(row: int) -> bool:
        try:
            _cast(column.slice(0, row + 1), kind)
        except pa.ArrowInvalid:
            return True
        return False

    return bisect_left(range(len(column)), True, key=is_in_first)
