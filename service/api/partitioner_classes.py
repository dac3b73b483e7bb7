"""Partitioners in answers: classes of those that no key tells apart."""

from typing import TYPE_CHECKING, Any

from service.http import fields
from service.http.forms import AnswerSchema
from service.planner.attribution.equivalents import PartitionerClass, PartitionerClasses

if TYPE_CHECKING:
    from collections.abc import Iterable


class WriterSchema(AnswerSchema):
    """Partitioners that no key tells apart."""

    partitioners = fields.List(
        fields.String(),
        "those in use first, and among them the defaults of clients; empty: none in the list has this hash and sign rule",
    )
    hash = fields.String()
    sign_rule = fields.String(example="mask")


class ExcludedSchema(AnswerSchema):
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
