"""Tables with a fixed type for each column. Text becomes the type of its column, since all of CSV is text."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from service.core.printable import printable
from service.decisions.rows import is_text, not_utf8
from service.pipeline.files.errors import WrongTable


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
    start, end = 0, len(column)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            _cast(column.slice(start, middle - start), kind)
            start = middle
        except pa.ArrowInvalid:
            end = middle
    return start
