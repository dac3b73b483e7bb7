"""The types of columns, and the texts of their values: one rule for files that tasks read, for those that Spark reads, and for
``plan``.

Types are those in which Spark reads a file: unsigned integers as the next wider signed ones, all times to the microsecond. Texts
are those of Spark's ``cast(… AS STRING)`` in UTC.
"""

import re
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

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
    return any(of(kind) for of in (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)) or (
        types.is_date(kind) or types.is_timestamp(kind)
    )


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
        return pa.array([None if value is None else f"{value:f}" for value in _decimals(column)], pa.string())
    if pa.types.is_floating(kind):
        return pa.array(
            [None if value is None else java_text(value) for value in column.cast(pa.string()).to_pylist()], pa.string()
        )
    return column.cast(pa.string())


def _decimals(column: pa.Array) -> list[Decimal | None]:
    values: list[Decimal | None] = column.to_pylist()
    return values


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
