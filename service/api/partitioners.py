"""``GET /v1/partitioners``: the partitioners installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marshmallow import Schema, fields

from service.api import Blueprint, render
from service.core.errors import InvalidQuestion, UnknownStrategy
from service.core.partitioners import PARTITIONERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flask import Response

    from service.core.partitioners import Partitioner
    from service.core.writers import Writer, Writers

blueprint = Blueprint("partitioners", __name__, description="the partitioners installed")


class PartitionerSchema(Schema):
    """A partitioner."""

    partitioner = fields.String(metadata={"description": "what a request calls it", "example": "java"})
    reproduces = fields.String(metadata={"description": "the class and release whose answers it gives"})
    client = fields.String(metadata={"description": "the client and its release"})
    setting = fields.String(metadata={"description": "what selects it there"})
    hash = fields.String(allow_none=True, metadata={"description": "null: keys are not hashed"})
    sign_rule = fields.String(allow_none=True, metadata={"description": "how the hash becomes a partition", "example": "mask"})
    null_key = fields.String(metadata={"description": "where a record without a key goes; if keys are not hashed, every record"})
    empty_key = fields.String(metadata={"description": "where a record with an empty key goes", "example": "hashed"})
    explicit_partition = fields.String(metadata={"description": "what becomes of a partition that the caller names"})
    key_encoding = fields.String(metadata={"description": "what the client makes of a key before it is hashed"})
    key_formats = fields.List(fields.String(), metadata={"description": "the key formats that it takes"})
    options = fields.List(fields.String(), metadata={"description": "the request's fields that mean something to it"})
    summary = fields.String()


class PartitionersSchema(Schema):
    """The partitioners."""

    partitioners = fields.List(fields.Nested(PartitionerSchema))


@blueprint.get("/v1/partitioners")
@blueprint.response(200, PartitionersSchema)
@blueprint.doc(operationId="listPartitioners")
def list_partitioners() -> Response:
    """List the partitioners, plug-ins included."""
    return render.answer(
        {
            "partitioners": [
                {
                    "partitioner": partitioner.name,
                    "reproduces": partitioner.reproduces,
                    "client": partitioner.client,
                    "setting": partitioner.setting,
                    "hash": partitioner.hash and partitioner.hash.name,
                    "sign_rule": partitioner.sign and f"{partitioner.sign.name}: {partitioner.sign.rule}",
                    "null_key": partitioner.null.rule,
                    "empty_key": partitioner.empty_key,
                    "explicit_partition": partitioner.explicit.rule,
                    "key_encoding": partitioner.encoding.name,
                    "key_formats": partitioner.encoding.formats,
                    "options": partitioner.options,
                    "summary": partitioner.summary,
                }
                for partitioner in PARTITIONERS
            ]
        }
    )


def chosen(names: list[str] | None) -> list[Partitioner]:
    """The partitioners of a request's ``partitioners``; None: every one."""
    if names is None:
        return list(PARTITIONERS)
    partitioners = []
    for i, name in enumerate(names):
        try:
            partitioners.append(PARTITIONERS[name])
        except UnknownStrategy as error:
            error.pointer = f"/partitioners/{i}"
            raise
        if name in names[:i]:
            raise InvalidQuestion(f"{name} is there twice", f"/partitioners/{i}")
    return partitioners


class WriterSchema(Schema):
    """Partitioners that no key tells apart."""

    partitioners = fields.List(fields.String(), metadata={"description": "those first that a client has by default"})
    hash = fields.String()
    sign_rule = fields.String(metadata={"example": "mask"})


class ExcludedSchema(Schema):
    """A partitioner that says nothing about these keys."""

    partitioner = fields.String()
    reason = fields.String()


def writer_document(writer: Writer) -> dict[str, Any]:
    """A writer, as WriterSchema has it."""
    return {"partitioners": writer.names, "hash": writer.hash.name, "sign_rule": writer.sign.name}


def excluded_documents(group: Writers) -> list[dict[str, str]]:
    """The partitioners that have no say, as ExcludedSchema has them."""
    ignoring: Iterable[tuple[str, str]] = ((name, "looks at no key") for name in group.ignoring_keys)
    return [{"partitioner": name, "reason": reason} for name, reason in (*ignoring, *group.excluded)]
