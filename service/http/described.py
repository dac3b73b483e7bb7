"""Marshmallow's fields, of which the description in the contract is an argument.

text : the description; example : a value; optional : a field of an answer that is left out at times
detail : one that an answer has only with ``detail=full`` (``service/http/details.py``)
"""

from typing import Any

from marshmallow import ValidationError, fields, missing


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
