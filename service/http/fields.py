"""Marshmallow's fields, of which the description in the contract is an argument; those that read long lists as Arrow arrays.

text : the description; example : a value; optional : a field of an answer that is left out at times
detail : one that an answer has only with ``detail=full`` (``service/http/forms.py``)

They are as strict as the contract: integers are integers, booleans are booleans. Plain rows of a long list are read in one pass,
odd ones are judged by their schema.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from operator import methodcaller
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, missing, validate
from marshmallow.experimental.context import Context

from service.core.budget import NO_LIMITS, Budget
from service.core.errors import MAX_ERRORS, InvalidQuestion
from service.core.model import LARGEST, SMALLEST
from service.decisions.rows import LONGEST_NAME, LONGEST_TOPIC_NAME, read_array


def metadata(text: str | None, example: Any = missing, *, optional: bool = False, detail: bool = False) -> dict[str, Any]:
    """What OpenAPI says of a field."""
    if detail:
        text = f"{text}; with `detail=full`" if text else "with `detail=full`"
    described = ({} if text is None else {"description": text}) | ({} if example is missing else {"example": example})
    return described | ({"optional": True} if optional or detail else {}) | ({"detail": True} if detail else {})


class Field(fields.Field[Any]):
    """A field."""

    def __init__(
        self, text: str | None = None, *, example: Any = missing, optional: bool = False, detail: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(metadata=metadata(text, example, optional=optional, detail=detail), **kwargs)


class String(Field, fields.String):
    """A string."""

    def deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """See Field, which takes ten times as long for a value without rules."""
        if type(value) is str and type(self) is String and not self.validators:
            return value
        return super().deserialize(value, *args, **kwargs)


class Integer(Field, fields.Integer):
    """An integer."""


class Float(Field, fields.Float):
    """A number."""


class Boolean(Field, fields.Boolean):
    """A boolean."""


class Dict(Field, fields.Dict):
    """An object of any members. keys, values : the fields of its members, if all are alike"""


class Raw(Field, fields.Raw):
    """Any value."""


class List(fields.List[Any]):
    """A list. inner : the field of its elements"""

    def __init__(
        self, inner: Any, text: str | None = None, *, example: Any = missing, optional: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(inner, metadata=metadata(text, example, optional=optional), **kwargs)


class Nested(fields.Nested):
    """An object. schema : its fields"""

    def __init__(
        self, schema: Any, text: str | None = None, *, example: Any = missing, optional: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(schema, metadata=metadata(text, example, optional=optional), **kwargs)

    def _load(self, value: Any, partial: Any = None) -> Any:
        """As Marshmallow's, whose error and frame hold each other, and so the whole body, until the cyclic collector comes."""
        try:
            return self.schema.load(value, unknown=self.unknown, partial=partial)
        except ValidationError as error:
            error.__traceback__ = None
            raise ValidationError(error.messages, valid_data=error.valid_data) from None


INT32 = 2**31 - 1
INT64 = 2**63 - 1

_DIGITS: Final = re.compile(r"-?[0-9]{1,30}")
_DECIMAL: Final = re.compile(r"-?[0-9]{0,15}\.[0-9]{1,15}")

CHECKED_ELEMENTS, CHECKED_ROWS = 1_000, 16
"""Elements of a list between two checks of the time, and objects, which take 50 µs each and have lists themselves."""


FEW: Final = 20
"""Rows up to which each is read by itself."""


def from_query(text: Any) -> Any:
    """The number that a query's text writes in digits; any other text as it is, for the field to refuse."""
    if isinstance(text, str):
        if _DIGITS.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
    return text


def budget() -> Budget:
    """What the question whose body is being read may take. The parser sets it; without a parser nothing is limited."""
    return Context[Budget].get(NO_LIMITS)


def faults_in(messages: Any, *field: str | int) -> Iterator[InvalidQuestion]:
    """The faults in Marshmallow's nested messages, which may hold faults with their own path. field : path to the messages"""
    if isinstance(messages, dict):
        for part, inner in messages.items():
            yield from faults_in(inner, *field, *(() if part == "_schema" else (part,)))
    elif isinstance(messages, list):
        for inner in messages:
            yield from faults_in(inner, *field)
    elif isinstance(messages, InvalidQuestion):
        yield messages
    else:
        yield InvalidQuestion(str(messages), *field)


def are_many(messages: Any) -> bool:
    """Whether there are MAX_ERRORS faults in Marshmallow's nested messages."""
    return next(islice(faults_in(messages), MAX_ERRORS - 1, None), None) is not None


class Int(Integer):
    """A JSON integer: not ``true``, ``1.0`` or ``"1"``.

    minimum, maximum : inclusive bounds; by default those of a Java int.
    """

    def __init__(self, *text: str, minimum: int = -INT32 - 1, maximum: int = INT32, **kwargs: Any) -> None:
        bounds = validate.Range(min=minimum, max=maximum)
        super().__init__(*text, strict=True, validate=bounds, error_messages={"invalid": "Not an integer."}, **kwargs)
        self.minimum, self.maximum = minimum, maximum

    def deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """See Field, which takes ten times as long for a value that is right."""
        if type(value) is int and self.minimum <= value <= self.maximum:
            return value
        return super().deserialize(value, *args, **kwargs)

    def are_plain(self, values: list[Any]) -> bool:
        """Are all of them right?"""
        return set(map(type, values)) == {int} and self.minimum <= min(values) and max(values) <= self.maximum


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
                budget().check_time()
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
            budget().check_time()
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


def short(name: str) -> None:
    """Validate that a name, also one with half a surrogate pair, has at most LONGEST_NAME bytes."""
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        raise ValidationError(f"Longer than {LONGEST_NAME} bytes.")


class Name(String):
    """A string that can be encoded as UTF-8, of at most LONGEST_NAME bytes, and not empty unless ``empty`` is True.

    lengths : those of a name in ASCII that needs no other check
    """

    def __init__(self, *text: str, empty: bool = False, rule: validate.Validator | None = None, **kwargs: Any) -> None:
        super().__init__(*text, validate=short if empty else [short, rule or validate.Length(min=1)], **kwargs)
        self.lengths = range(0) if rule else range(0 if empty else 1, LONGEST_NAME + 1)

    def are_plain(self, values: list[Any]) -> bool:
        """Are all of them certainly right, by their lengths and as they are ASCII?"""
        if set(map(type, values)) != {str}:
            return False
        lengths = set(map(len, values))
        return min(lengths) in self.lengths and max(lengths) in self.lengths and "".join(values).isascii()

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        name: str = super()._deserialize(value, attr, data, **kwargs)
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValidationError("Contains an unpaired surrogate.") from None
        return name


class TopicName(Name):
    """A name of at most 249 characters, Kafka's limit."""

    def __init__(self, *text: str, **kwargs: Any) -> None:
        super().__init__(*text, rule=validate.Length(min=1, max=LONGEST_TOPIC_NAME), **kwargs)
        self.lengths = range(1, LONGEST_TOPIC_NAME + 1)


class Subject(String):
    """A name that the caller gives what the question is about, "topic" or "group"."""

    def __init__(self, what: str) -> None:
        text = f"the {what}'s name in this service's metrics"
        rule = validate.Length(max=LONGEST_TOPIC_NAME) if what == "topic" else short
        super().__init__(text, load_default=None, validate=rule)


class Bool(Boolean):
    """A JSON boolean: not ``1`` or ``"true"``."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if type(value) is not bool:
            raise ValidationError("Not a boolean.")
        return value


class Number(Float):
    """A JSON number from SMALLEST to ``most``, or also 0: not ``true`` or ``"1"``."""

    def __init__(self, *text: str, zero: bool = False, most: float = LARGEST, **kwargs: Any) -> None:
        super().__init__(*text, validate=validate.Range(min=0, max=most, min_inclusive=zero), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if type(value) not in (int, float):
            raise ValidationError("Not a number.")
        number: float = super()._deserialize(value, attr, data, **kwargs)
        if 0 < number < SMALLEST:
            raise ValidationError(f"Must be at least {SMALLEST}.")
        return number


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
            budget().check_time()
            budget().reserve(ODD_BYTES)
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
