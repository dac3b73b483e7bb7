"""Figures that few callers need: an answer has them only with ``detail=full`` in the query."""

from functools import cache
from typing import Any, Final

from marshmallow import Schema, fields

PARAMETER: Final = "detail=full"

_Plan = tuple[frozenset[str], tuple[tuple[str, "_Plan"], ...]]
"""The fields of a schema that are details, and those below which there are any."""


def without_details(schema: type[Schema], document: dict[str, Any]) -> dict[str, Any]:
    """The document of an answer without its details; what has none is the same object. schema : of the answer"""
    return _without(_plan(schema), document)


def _without(plan: _Plan, document: dict[str, Any]) -> dict[str, Any]:
    details, below = plan
    if not details and not below:
        return document
    kept = {name: value for name, value in document.items() if name not in details}
    for name, inner in below:
        value = kept.get(name)
        if isinstance(value, dict):
            kept[name] = _without(inner, value)
        elif isinstance(value, list):
            kept[name] = [_without(inner, each) if isinstance(each, dict) else each for each in value]
    return kept


@cache
def _plan(schema: type[Schema]) -> _Plan:
    details, below = set(), []
    for name, field in schema().fields.items():
        inner = field.inner if isinstance(field, fields.List) else field
        if field.metadata.get("detail"):
            details.add(name)
        elif isinstance(inner, fields.Nested):
            plan = _plan(type(inner.schema))
            if any(plan):
                below.append((name, plan))
    return frozenset(details), tuple(below)
