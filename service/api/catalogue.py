"""The strategies installed, plug-ins included: ``GET /v1/partitioners``, ``/v1/assignors`` and ``/v1/placers``."""

from typing import Any

import pyarrow as pa
from flask import Response
from marshmallow import Schema, fields

from service.decisions import catalogue
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.fields import about
from service.web.media_types import CSV
from service.web.schemas import ImplementationSchema

partitioners = Blueprint("partitioners", __name__, description="the partitioners installed")
assignors = Blueprint("assignors", __name__, description="the assignors installed")
placers = Blueprint("placers", __name__, description="the placers installed")


class PartitionerSchema(ImplementationSchema):
    """A partitioner."""

    partitioner = fields.String(metadata=about("its name in requests", example="java"))
    used_by = fields.String(metadata=about("the client in plain words, with the products that use it"))
    notes = fields.String(metadata=about("what else its users should know; may be empty"))
    setting = fields.String(metadata=about("the setting that selects it"))
    aliases = fields.List(fields.String(), metadata=about("Java classes that a request may name instead"))
    hash = fields.String(allow_none=True, metadata=about("null: keys are not hashed"))
    sign_rule = fields.String(allow_none=True, metadata=about("how the hash becomes a partition", example="mask"))
    null_key = fields.String(metadata=about("where a record without a key goes; if keys are not hashed, every record"))
    empty_key = fields.String(metadata=about("where a record with an empty key goes", example="hashed"))
    explicit_partition = fields.String(metadata=about("how it treats a partition that the caller names"))
    key_encoding = fields.String(metadata=about("how the client serializes a key before hashing"))
    key_formats = fields.List(fields.String(), metadata=about("the key formats that it accepts"))
    options = fields.List(fields.String(), metadata=about("the request's fields that affect it"))
    summary = fields.String()


class PartitionersSchema(Schema):
    """The partitioners."""

    partitioners = fields.List(fields.Nested(PartitionerSchema))


@partitioners.get("/v1/partitioners")
@partitioners.response(200, PartitionersSchema)
@partitioners.doc(operationId="listPartitioners")
def list_partitioners() -> Response:
    """List the partitioners, plug-ins included, as JSON, `text/csv` or an Arrow stream."""
    return _catalogue({"partitioners": catalogue.partitioners()})


class AssignorSchema(ImplementationSchema):
    """An assignor."""

    group_protocol = fields.String(metadata=about("the group protocol in which it assigns", example="classic"))
    assignor = fields.String(metadata=about("its name in requests", example="range"))
    aliases = fields.List(fields.String(), metadata=about("Java classes that a request may name instead"))
    summary = fields.String()
    setting = fields.String(metadata=about("what selects it in the client's configuration"))
    is_default = fields.Boolean(metadata=about("whether its client uses it, or puts it first, if nothing is configured"))
    kafka_versions = fields.List(fields.String(), metadata=about("the releases of Kafka that it can reproduce"))
    client_versions = fields.List(
        fields.String(),
        metadata=about(
            "the releases of its client that were compared; `client_version` may be any between. Empty: they make no difference"
        ),
    )


class AssignorsSchema(Schema):
    """The assignors."""

    assignors = fields.List(fields.Nested(AssignorSchema))


@assignors.get("/v1/assignors")
@assignors.response(200, AssignorsSchema)
@assignors.doc(operationId="listAssignors")
def list_assignors() -> Response:
    """List the assignors, plug-ins included, as JSON, `text/csv` or an Arrow stream."""
    return _catalogue({"assignors": catalogue.assignors()})


class PlacerSchema(ImplementationSchema):
    """A placer."""

    placer = fields.String(metadata=about("its name in requests", example="striped"))
    summary = fields.String()
    kafka_versions = fields.List(fields.String(), metadata=about("the releases that it can reproduce; default: the latest"))


class PlacersSchema(Schema):
    """The placers."""

    placers = fields.List(fields.Nested(PlacerSchema))


@placers.get("/v1/placers")
@placers.response(200, PlacersSchema)
@placers.doc(operationId="listPlacers")
def list_placers() -> Response:
    """List the placers, plug-ins included, as JSON, `text/csv` or an Arrow stream."""
    return _catalogue({"placers": catalogue.placers()})


def _catalogue(document: dict[str, list[dict[str, Any]]]) -> Response:
    """The only list of a document, also as a table; in CSV, lists are separated by commas."""
    ((_, rows),) = document.items()

    def table(media_type: str) -> pa.Table:
        lists = [name for name, value in rows[0].items() if isinstance(value, list | tuple)]
        if media_type == CSV:
            return pa.Table.from_pylist([row | {name: ",".join(row[name]) for name in lists} for row in rows])
        kinds = {list: pa.list_(pa.string()), tuple: pa.list_(pa.string()), bool: pa.bool_()}
        schema = pa.schema([(name, kinds.get(type(value), pa.string())) for name, value in rows[0].items()])
        return pa.Table.from_pylist(rows, schema)

    return responses.respond(lambda: document, table)
