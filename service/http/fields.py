"""Marshmallow fields as strict as the contract: integers are integers, booleans are booleans."""

import re
from typing import Any, Final

from marshmallow import ValidationError, validate
from marshmallow.experimental.context import Context

from service.core.model import LARGEST, SMALLEST
from service.decisions.budget import Budget
from service.decisions.rows.names import LONGEST_NAME, LONGEST_TOPIC_NAME
from service.http import described as fields
from service.http.problems import are_many

INT32 = 2**31 - 1
INT64 = 2**63 - 1

_DIGITS: Final = re.compile(r"-?[0-9]{1,30}")
_DECIMAL: Final = re.compile(r"-?[0-9]{0,15}\.[0-9]{1,15}")

NO_LIMITS: Final = Budget()

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


class Int(fields.Integer):
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


class Array(fields.List):
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
        checked = CHECKED_ROWS if isinstance(self.inner, fields.Nested) else CHECKED_ELEMENTS
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

    inner: fields.Nested

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


class Name(fields.String):
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


class Subject(fields.String):
    """A name that the caller gives what the question is about, "topic" or "group"."""

    def __init__(self, what: str) -> None:
        text = f"the {what}'s name in this service's metrics"
        rule = validate.Length(max=LONGEST_TOPIC_NAME) if what == "topic" else short
        super().__init__(text, load_default=None, validate=rule)


class Bool(fields.Boolean):
    """A JSON boolean: not ``1`` or ``"true"``."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if type(value) is not bool:
            raise ValidationError("Not a boolean.")
        return value


class Number(fields.Float):
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
