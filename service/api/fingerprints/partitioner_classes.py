"""Partitioners in requests and answers: those that a request names, and classes of those that no key tells apart."""

from collections.abc import Iterable, Iterator
from typing import Any

from marshmallow import Schema, fields

from service.core.attribution.equivalents import PartitionerClass, PartitionerClasses
from service.core.errors import InvalidQuestion, UnknownStrategy, raise_all
from service.core.partitioners import PARTITIONERS, Partitioner
from service.web.fields import about


def chosen(names: list[str] | None) -> list[Partitioner]:
    """The partitioners of a request's ``partitioners``; None: every one."""
    if names is None:
        return list(PARTITIONERS)
    raise_all(_faults(names))
    return [PARTITIONERS[name] for name in names]


def _faults(names: list[str]) -> Iterator[InvalidQuestion]:
    for i, name in enumerate(names):
        try:
            PARTITIONERS[name]
        except UnknownStrategy as error:
            error.field = ("partitioners", i)
            yield error
        if name in names[:i]:
            yield InvalidQuestion(f"Duplicate partitioner {name!r}.", "partitioners", i)


class WriterSchema(Schema):
    """Partitioners that no key tells apart."""

    partitioners = fields.List(
        fields.String(),
        metadata=about("those in use first, and of these a client's default ones; empty: no client in the list does so"),
    )
    hash = fields.String()
    sign_rule = fields.String(metadata={"example": "mask"})


class ExcludedSchema(Schema):
    """A partitioner that says nothing about these keys."""

    partitioner = fields.String()
    reason = fields.String()


def writer_document(each: PartitionerClass) -> dict[str, Any]:
    """A class, as WriterSchema has it."""
    return {"partitioners": each.names, "hash": each.rule.hash.name, "sign_rule": each.rule.sign.name}


def excluded_documents(partitioners: PartitionerClasses) -> list[dict[str, str]]:
    """The partitioners that have no say, as ExcludedSchema has them."""
    ignoring: Iterable[tuple[str, str]] = ((name, "ignores keys") for name in partitioners.ignoring_keys)
    return [{"partitioner": name, "reason": reason} for name, reason in (*ignoring, *partitioners.excluded)]
