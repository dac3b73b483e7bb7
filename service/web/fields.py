"""Marshmallow fields as strict as the contract: integers are integers, booleans are booleans."""

from __future__ import annotations

import re
from typing import Any, Final

from marshmallow import ValidationError, fields, validate

from service.core.errors import MAX_ERRORS
from service.core.measures import LARGEST, SMALLEST

INT32 = 2**31 - 1
INT64 = 2**63 - 1

_DIGITS: Final = re.compile(r"-?[0-9]{1,30}")
_DECIMAL: Final = re.compile(r"-?[0-9]{0,15}\.[0-9]{1,15}")


def about(text: str, **more: Any) -> dict[str, Any]:
    """A field's metadata: its description, and what else OpenAPI is to say of it."""
    return {"description": text, **more}


class Integer(fields.Integer):
    """A JSON integer: not ``true``, ``1.0`` or ``"1"``.

    minimum, maximum : inclusive bounds; by default those of a Java int.
    """

    def __init__(self, *, minimum: int = -INT32 - 1, maximum: int = INT32, **kwargs: Any) -> None:
        super().__init__(validate=validate.Range(min=minimum, max=maximum), **kwargs)
        self.minimum, self.maximum = minimum, maximum

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if type(value) is not int:
            raise ValidationError("Not an integer.")
        return value


def from_query(text: Any) -> Any:
    """The number that a query's text writes in digits; any other text as it is, for the field to refuse."""
    if isinstance(text, str):
        if _DIGITS.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
    return text


class List(fields.List[Any]):
    """A list, of whose elements at most MAX_ERRORS are reported as faulty; the rest is not looked at then."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self.make_error("invalid")
        elements: list[Any] = []
        faults: dict[int, Any] = {}
        for i, element in enumerate(value):
            try:
                elements.append(self.inner.deserialize(element, **kwargs))
            except ValidationError as error:
                faults[i] = error.messages
                if len(faults) == MAX_ERRORS:
                    break
        if faults:
            raise ValidationError(faults)
        return elements


class Subject(fields.String):
    """A name that the caller gives what the question is about, "topic" or "group"."""

    def __init__(self, what: str) -> None:
        text = f"what the {what} is called in this service's metrics"
        super().__init__(load_default=None, allow_none=True, metadata=about(text))


class Boolean(fields.Boolean):
    """A JSON boolean: not ``1`` or ``"true"``."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if type(value) is not bool:
            raise ValidationError("Not a boolean.")
        return value


class Number(fields.Float):
    """A JSON number from SMALLEST to LARGEST, or also 0: not ``true`` or ``"1"``."""

    def __init__(self, *, zero: bool = False, **kwargs: Any) -> None:
        super().__init__(validate=validate.Range(min=0, max=LARGEST, min_inclusive=zero), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if type(value) not in (int, float):
            raise ValidationError("Not a number.")
        number: float = super()._deserialize(value, attr, data, **kwargs)
        if 0 < number < SMALLEST:
            raise ValidationError(f"Must be at least {SMALLEST}.")
        return number
