"""Lists in a body. Plain rows of a long one are read in one pass, as Arrow arrays; odd ones are judged by their schema."""

from collections.abc import Callable, Iterator
from itertools import islice
from operator import methodcaller
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate

from service.core.budget import check_time, reserve
from service.core.errors import MAX_ERRORS
from service.decisions.rows import read_array
from service.http.fields import Int, List, Name, Nested, faults_in

CHECKED_ELEMENTS, CHECKED_ROWS = 1_000, 16
"""Elements of a list between two checks of the time, and objects, which take 50 µs each and have lists themselves."""


FEW: Final = 20
"""Rows up to which each is read by itself."""


def are_many(messages: Any) -> bool:
    """Whether there are MAX_ERRORS faults in Marshmallow's nested messages."""
    return next(islice(faults_in(messages), MAX_ERRORS - 1, None), None) is not None


class Array(List):
    """A JSON array that is not validated beyond the element with its fault number MAX_ERRORS: a fault takes 600 bytes, an unknown
    field takes 8 to send, and lists of lists would have the square of as many elements with faults.

    One that is longer than its validators allow is refused before any element is read.
    """

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self.make_error("invalid")
        for rule in self.validators:
            if isinstance(rule, validate.Length) and rule.max is not None and len(value) > rule.max:
                rule(value)
        elements: list[Any] = []
        faults: dict[int, Any] = {}
        checked = CHECKED_ROWS if isinstance(self.inner, Nested) else CHECKED_ELEMENTS
        for start in range(0, len(value), checked):
            some = value[start : start + checked]
            if len(some) == checked:
                check_time()
            if len(some) > FEW and isinstance(self.inner, Int | Name) and self.inner.are_plain(some):
                elements += some
            else:
                self._read(some, start, elements, faults, **kwargs)
        if faults:
            raise ValidationError(faults)
        return elements

    def _read(self, some: list[Any], start: int, elements: list[Any], faults: dict[int, Any], **kwargs: Any) -> None:
        """Read a part of the list. start : its index; elements, faults : what was read, and what is wrong, of the part as well"""
        for i, element in enumerate(some, start):
            try:
                elements.append(self.inner.deserialize(element, **kwargs))
            except ValidationError as error:
                faults[i] = error.messages
                if are_many(faults):
                    raise ValidationError(faults) from None


class FlatRows(Array):
    """A list of objects whose fields are all required, and integers or strings. Of many, each value of a field is read once.

    Where one of them is faulty, or has another field, all are read one by one.
    """

    inner: Nested

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        if isinstance(value, list) and len(value) > FEW and self._are_valid(value, **kwargs):
            return value
        return super()._deserialize(value, attr, data, **kwargs)

    def _are_valid(self, rows: list[Any], **kwargs: Any) -> bool:
        columns = self.inner.schema.load_fields
        if not all(type(row) is dict and row.keys() == columns.keys() for row in rows):
            return False
        for name, field in columns.items():
            check_time()
            column = [row[name] for row in rows]
            if not set(map(type, column)) <= {int, str}:
                return False
            values = set(column)
            try:
                for value in (min(values), max(values)) if isinstance(field, Int) else values:
                    field.deserialize(value, **kwargs)
            except (TypeError, ValidationError):
                return False
        return True


ODD_BYTES: Final = 28_000
"""Memory for a row that is an array by itself, until all are joined. Measured: 17,800 for a topic, 27,700 for a disk."""


class Columns(Array):
    """A list of objects as columns: a dict with an Arrow array, or a list of values as they came, for each member.

    schema : the rule and the documentation of a row
    types : the Arrow type of each member that a row may have; None: any JSON value, kept in a list

    A row that does not fit these types, or the bounds of an Int, to the letter is odd. The list is halved until odd rows
    stand alone, and the schema, which takes 50 µs a row, judges these only and names the exact place. So one fault among a
    million rows costs 20 schema loads, not a million. It stops at MAX_ERRORS faults.
    """

    def __init__(self, schema: type[Schema], types: dict[str, pa.DataType | None], *text: str, **kwargs: Any) -> None:
        super().__init__(Nested(schema), *text, **kwargs)
        self.members = schema().fields
        self.types = types

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list):
            raise self.make_error("invalid")
        faults: dict[int, Any] = {}
        pieces = list(self._pieces(value, 0, faults))
        if faults:
            raise ValidationError(faults)
        return pieces[0] if len(pieces) == 1 else self.joined(pieces)

    def _pieces(self, rows: list[Any], first: int, faults: dict[int, Any]) -> Iterator[Any]:
        """The columns of ``rows``, of which the first is row ``first`` of the whole list."""
        columns = self.plain(rows)
        if columns is not None:
            yield columns
        elif len(rows) > 1:
            half = len(rows) // 2
            yield from self._pieces(rows[:half], first, faults)
            if not are_many(faults):
                yield from self._pieces(rows[half:], first + half, faults)
        else:
            check_time()
            reserve(ODD_BYTES)
            try:
                (row,) = super()._deserialize(rows, None, None)
            except ValidationError as error:
                faults[first] = cast("dict[int, Any]", error.messages)[0]
            else:
                yield self.odd(row)

    def plain(self, rows: list[Any]) -> Any:
        """The columns of ``rows`` without Python work for each; None unless every row is plain."""
        if not set(map(type, rows)) <= {dict}:
            return None
        present = set().union(*rows)
        if not present <= self.types.keys():
            return None
        columns: dict[str, Any] = {}
        for name, kind in self.types.items():
            field = self.members[name]
            values = list(map(methodcaller("get", name), rows))
            absent = len(rows) - (sum(map(methodcaller("__contains__", name), rows)) if name in present else 0)
            if absent and field.required:
                return None
            columns[name] = values
            if kind is None:
                continue
            array = read_array(values, kind)
            if array is None or (array.null_count > absent and not field.allow_none) or not _within(array, field):
                return None
            columns[name] = array
        return columns

    def odd(self, row: dict[str, Any]) -> Any:
        """The columns of one row that the schema has accepted."""
        return {name: [row.get(name)] if kind is None else pa.array([row.get(name)], kind) for name, kind in self.types.items()}

    def joined(self, pieces: list[Any]) -> Any:
        """The columns of several parts of the list, one after the other."""
        return {
            name: [value for piece in pieces for value in piece[name]]
            if kind is None
            else pa.concat_arrays([piece[name] for piece in pieces])
            for name, kind in self.types.items()
        }


class Rows(Columns):
    """A list of objects as one ``pyarrow.StructArray``.

    row : its type; is_plain : is every row of an array well-formed?

    What the schema has beyond this type is left out, whatever its value.
    """

    def __init__(
        self, schema: type[Schema], row: pa.DataType, is_plain: Callable[[pa.StructArray], bool], *text: str, **kwargs: Any
    ) -> None:
        super().__init__(schema, {}, *text, **kwargs)
        self.row = row
        self.is_plain = is_plain
        self.left_out = self.members.keys() - {field.name for field in row}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        # A large body that is plainly well-formed comes as arrays.
        return value if isinstance(value, pa.StructArray) else super()._deserialize(value, attr, data, **kwargs)

    def plain(self, rows: list[Any]) -> pa.StructArray | None:
        """See Columns."""
        if self.left_out and set(map(type, rows)) <= {dict} and self.left_out & set().union(*rows):
            rows = [{name: row[name] for name in row.keys() - self.left_out} for row in rows]
        array = read_array(rows, self.row)
        return None if array is None or array.null_count or not self.is_plain(array) else array

    def odd(self, row: dict[str, Any]) -> pa.StructArray:
        """See Columns."""
        return pa.array([row], self.row)

    def joined(self, pieces: list[pa.StructArray]) -> pa.StructArray:
        """See Columns."""
        return pa.concat_arrays(pieces)


class Integers(Array):
    """A list of integers from 0 on as an array of ``dtype``, read in one pass."""

    def __init__(self, dtype: type[np.integer[Any]], text: str) -> None:
        super().__init__(Int(minimum=0, maximum=int(np.iinfo(dtype).max)), text, allow_none=True)
        self.dtype = dtype

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        array = read_array(value, pa.int64())
        if array is not None and array.null_count == 0 and _within(array, self.inner):
            return array.to_numpy(zero_copy_only=False).astype(self.dtype)
        return np.array(super()._deserialize(value, attr, data, **kwargs), self.dtype)


def _within(array: pa.Array, field: fields.Field[Any]) -> bool:
    """Are all values within the bounds of an Integer? True for any other field."""
    if not isinstance(field, Int) or array.null_count == len(array):
        return True
    values = array.drop_null().to_numpy(zero_copy_only=False)
    return bool(values.min() >= field.minimum and values.max() <= field.maximum)
