"""The strategies installed, plug-ins included: ``GET /v1/partitioners``, ``/v1/assignors`` and ``/v1/placers``."""

from flask import Response
from marshmallow import Schema, fields

from service.core.assignors import GROUP_PROTOCOLS
from service.core.partitioners import PARTITIONERS
from service.core.placers import PLACERS
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.fields import about

partitioners = Blueprint("partitioners", __name__, description="the partitioners installed")
assignors = Blueprint("assignors", __name__, description="the assignors installed")
placers = Blueprint("placers", __name__, description="the placers installed")


class PartitionerSchema(Schema):
    """A partitioner."""

    partitioner = fields.String(metadata=about("what a request calls it", example="java"))
    reproduces = fields.String(metadata=about("the class and release whose answers it gives"))
    client = fields.String(metadata=about("the client and its release"))
    used_by = fields.String(metadata=about("the client in plain words, with the products that use it"))
    notes = fields.String(metadata=about("what else its users must know; empty if nothing"))
    setting = fields.String(metadata=about("what selects it there"))
    aliases = fields.List(fields.String(), metadata=about("Java classes that a request may name instead"))
    hash = fields.String(allow_none=True, metadata=about("null: keys are not hashed"))
    sign_rule = fields.String(allow_none=True, metadata=about("how the hash becomes a partition", example="mask"))
    null_key = fields.String(metadata=about("where a record without a key goes; if keys are not hashed, every record"))
    empty_key = fields.String(metadata=about("where a record with an empty key goes", example="hashed"))
    explicit_partition = fields.String(metadata=about("what becomes of a partition that the caller names"))
    key_encoding = fields.String(metadata=about("what the client makes of a key before it is hashed"))
    key_formats = fields.List(fields.String(), metadata=about("the key formats that it takes"))
    options = fields.List(fields.String(), metadata=about("the request's fields that mean something to it"))
    summary = fields.String()


class PartitionersSchema(Schema):
    """The partitioners."""

    partitioners = fields.List(fields.Nested(PartitionerSchema))


@partitioners.get("/v1/partitioners")
@partitioners.response(200, PartitionersSchema)
@partitioners.doc(operationId="listPartitioners")
def list_partitioners() -> Response:
    """List the partitioners, plug-ins included."""
    return responses.answer(
        {
            "partitioners": [
                {
                    "partitioner": partitioner.name,
                    "reproduces": partitioner.reproduces,
                    "client": partitioner.client,
                    "used_by": partitioner.used_by,
                    "notes": partitioner.notes,
                    "setting": partitioner.setting,
                    "aliases": partitioner.aliases,
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


class AssignorSchema(Schema):
    """An assignor."""

    group_protocol = fields.String(metadata=about("the group protocol in which it assigns", example="classic"))
    assignor = fields.String(metadata=about("what a request calls it", example="range"))
    aliases = fields.List(fields.String(), metadata=about("Java classes that a request may name instead"))
    reproduces = fields.String(metadata=about("the class and release whose answers it gives"))
    summary = fields.String()
    kafka_versions = fields.List(fields.String(), metadata=about("the releases whose answers it can give"))


class AssignorsSchema(Schema):
    """The assignors."""

    assignors = fields.List(fields.Nested(AssignorSchema))


@assignors.get("/v1/assignors")
@assignors.response(200, AssignorsSchema)
@assignors.doc(operationId="listAssignors")
def list_assignors() -> Response:
    """List the assignors, plug-ins included."""
    return responses.answer(
        {
            "assignors": [
                {
                    "group_protocol": group_protocol,
                    "assignor": assignor.name,
                    "aliases": assignor.aliases,
                    "reproduces": assignor.reproduces,
                    "summary": assignor.summary,
                    "kafka_versions": assignor.kafka_versions,
                }
                for group_protocol, assignors in GROUP_PROTOCOLS.items()
                for assignor in assignors
            ]
        }
    )


class PlacerSchema(Schema):
    """A placer."""

    placer = fields.String(metadata=about("what a request calls it", example="striped"))
    reproduces = fields.String(metadata=about("the class and releases whose answers it gives"))
    summary = fields.String()
    kafka_versions = fields.List(fields.String(), metadata=about("the releases it can be asked for; default: the last"))


class PlacersSchema(Schema):
    """The placers."""

    placers = fields.List(fields.Nested(PlacerSchema))


@placers.get("/v1/placers")
@placers.response(200, PlacersSchema)
@placers.doc(operationId="listPlacers")
def list_placers() -> Response:
    """List the placers, plug-ins included."""
    return responses.answer(
        {
            "placers": [
                {
                    "placer": placer.name,
                    "reproduces": placer.reproduces,
                    "summary": placer.summary,
                    "kafka_versions": placer.kafka_versions,
                }
                for placer in PLACERS
            ]
        }
    )
