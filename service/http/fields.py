"""Marshmallow's fields, of which the description in the contract is an argument, and how a query writes their values.

text : the description; example : a value; optional : a field of an answer that is left out at times
detail : one that an answer has only with ``detail=full`` (``service/http/forms.py``)

They are as strict as the contract: integers are integers, booleans are booleans. Lists that may be long are in ``lists.py``.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any, Final
from urllib.parse import unquote

from marshmallow import Schema, ValidationError, fields, missing, validate

from service.core.errors import InvalidQuestion
from service.core.model import LARGEST, SMALLEST
from service.core.printable import did_you_mean
from service.decisions.rows import LONGEST_NAME, LONGEST_TOPIC_NAME


class Field(fields.Field[Any]):
    """A field."""

    def __init__(
        self, text: str | None = None, *, example: Any = missing, optional: bool = False, detail: bool = False, **kwargs: Any
    ) -> None:
        if detail:
            text = f"{text}; with `detail=full`" if text else "with `detail=full`"
        metadata = ({} if text is None else {"description": text}) | ({} if example is missing else {"example": example})
        metadata |= ({"optional": True} if optional or detail else {}) | ({"detail": True} if detail else {})
        super().__init__(metadata=metadata, **kwargs)


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


class List(Field, fields.List[Any]):
    """A list. inner : the field of its elements"""

    def __init__(self, inner: Any, *text: str, **kwargs: Any) -> None:
        super().__init__(*text, cls_or_instance=inner, **kwargs)


class Nested(Field, fields.Nested):
    """An object. schema : its fields"""

    def __init__(self, schema: Any, *text: str, **kwargs: Any) -> None:
        super().__init__(*text, nested=schema, **kwargs)

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


def from_query(text: str) -> Any:
    """The number that a query's text writes in digits; any other text as it is, for the field to refuse."""
    if _DIGITS.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return text


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


BOOLEANS: Final = {"true": True, "false": False}
"""Booleans as a query writes them."""


def query_values(query: str, schema: Schema) -> dict[str, Any]:
    """A query's parameters as JSON would have them: digits for an Integer or a Number are numbers, true and false are
    booleans, lists end at each comma.

    Raises InvalidQuestion for a repeated parameter that is not a list, BadRequest for bytes that are not UTF-8.
    """
    values: dict[str, Any] = {}
    for name, _, text in _parameters(query):
        if name == "detail":  # which ``decide`` reads: the question does not depend on it
            if text != "full":
                raise InvalidQuestion("Must be full.", name)
            continue
        field = schema.fields.get(name)
        value = _reader(field)(text)
        if name not in values:
            values[name] = value
        elif isinstance(field, fields.List):
            values[name] += value
        else:
            raise InvalidQuestion("Given more than once.", name)
    return values


def _parameters(query: str) -> list[tuple[str, str, str]]:
    """The names and texts of a query, whose characters stand for bytes, with what is between them.

    Raises BadRequest for a query such as ``key=%FF``, of which Werkzeug would take the three characters for the key.
    """
    try:
        text = query if query.isascii() else query.encode("latin1").decode()
        pairs = [pair.partition("=") for pair in text.replace("+", " ").split("&") if pair]
        if "%" not in text:
            return pairs
        return [(unquote(name, errors="strict"), equals, unquote(value, errors="strict")) for name, equals, value in pairs]
    except UnicodeDecodeError as error:
        from werkzeug.exceptions import BadRequest  # noqa: PLC0415 - commands, which have no queries, do without Werkzeug

        escapes = "".join(f"%{byte:02X}" for byte in error.object[error.start : error.end])
        raise BadRequest(f"The query is not UTF-8 at {escapes}: {error.reason}.") from None


@cache
def _reader(field: Any) -> Callable[[str], Any]:
    """What makes a field's JSON value of a text. Schemas and their fields are made once."""
    if isinstance(field, fields.List):
        read = _reader(field.inner)
        return lambda text: [read(part) for part in text.split(",")]
    if isinstance(field, fields.Number):
        return from_query
    return (lambda text: BOOLEANS.get(text, text)) if type(field) is Bool else str


class QuerySchema(Schema):
    """A schema of optional parameters, and the question that they make."""

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default of each parameter that has one."""
        return {name: field.load_default for name, field in self.fields.items() if field.load_default is not missing}

    def question(self, body: dict[str, Any]) -> Any:
        """The question of the parameters."""
        raise NotImplementedError

    def read(self, query: str) -> Any:
        """The question of a query, field by field: 10 µs where webargs and ``load`` take 80.

        Raises ValidationError for faults of single parameters, and what ``query_values`` does.
        """
        body = self.defaults.copy()
        faults: dict[str, Any] = {}
        for name, value in query_values(query, self).items():
            field = self.fields.get(name)
            if field is None:
                faults[name] = [self.error_messages["unknown"] + did_you_mean(name, self.fields, most=1)]
                continue
            try:
                body[name] = field.deserialize(value)
            except ValidationError as error:
                faults[name] = error.messages
        if faults:
            raise ValidationError(faults)
        return self.question(body)
