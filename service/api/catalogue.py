"""The strategies installed, plug-ins included: ``GET /v1/partitioners``, ``/v1/assignors`` and ``/v1/placers``."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from flask import Response
from marshmallow import Schema

from service.clients.connect import PROTOCOLS as CONNECT
from service.clients.connect import ConnectAssignor
from service.clients.streams import BROKERS
from service.clients.streams.classic import LEADERS
from service.clients.streams.classic.clients import LeadersAssignor
from service.clients.streams.model import StreamsAssignor
from service.core.partitioners import PARTITIONERS
from service.decisions.rebalances.question import rebalance_protocol_of
from service.http import fields
from service.http.blueprint import Blueprint
from service.http.deciding import json_response, preferred, table
from service.http.forms import ImplementationSchema
from service.http.media_types import CSV, JSON
from service.strategies import GROUP_PROTOCOLS, PLACERS, Assignor


def partitioners() -> list[dict[str, Any]]:
    """The partitioners, in the order of GET /v1/partitioners."""
    return [
        {
            "partitioner": partitioner.name,
            **partitioner.implementation_fields,
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


def assignors() -> list[dict[str, Any]]:
    """The assignors of every group protocol."""
    return [
        {
            "group_protocol": group_protocol,
            "assignor": assignor.name,
            "aliases": assignor.aliases,
            **assignor.implementation_fields,
            "summary": assignor.summary,
            "setting": assignor.setting,
            "is_default": assignor.is_default,
            "rebalance_protocol": rebalance_protocol_of(group_protocol, assignor) if isinstance(assignor, Assignor) else None,
            "kafka_versions": assignor.kafka_versions,
            "client_versions": assignor.client_releases,
        }
        for group_protocol, assignor in _assignors()
    ]


def _assignors() -> Iterator[tuple[str, Assignor | ConnectAssignor | StreamsAssignor | LeadersAssignor]]:
    """(group protocol, assignor) of each."""
    for group_protocol, assignors in GROUP_PROTOCOLS.items():
        yield from ((group_protocol, assignor) for assignor in assignors)
    yield from (("connect", assignor) for assignor in CONNECT)
    yield from (("streams", assignor) for assignor in (*BROKERS, *LEADERS))


def placers() -> list[dict[str, Any]]:
    """The placers."""
    return [
        {
            "placer": placer.name,
            **placer.implementation_fields,
            "summary": placer.summary,
            "kafka_versions": placer.kafka_versions,
        }
        for placer in PLACERS
    ]


class PartitionerSchema(ImplementationSchema):
    """A partitioner."""

    partitioner = fields.String("its name in requests", example="java")
    used_by = fields.String("the client in plain words, with the products that use it")
    notes = fields.String("what else its users should know; may be empty")
    setting = fields.String("the setting that selects it")
    aliases = fields.List(fields.String(), "Java classes that a request may name instead")
    hash = fields.String("null: keys are not hashed", allow_none=True)
    sign_rule = fields.String("how the hash becomes a partition", allow_none=True, example="mask")
    null_key = fields.String("where a record without a key goes; if keys are not hashed, every record")
    empty_key = fields.String("where a record with an empty key goes", example="hashed")
    explicit_partition = fields.String("how it treats a partition that the caller names")
    key_encoding = fields.String("how the client serializes a key before hashing")
    key_formats = fields.List(fields.String(), "the key formats that it accepts")
    options = fields.List(fields.String(), "the request's fields that affect it")
    summary = fields.String()


class AssignorSchema(ImplementationSchema):
    """An assignor."""

    group_protocol = fields.String("the group protocol in which it assigns", example="classic")
    assignor = fields.String("its name in requests", example="range")
    aliases = fields.List(fields.String(), "Java classes that a request may name instead")
    summary = fields.String()
    setting = fields.String("what selects it in the client's configuration")
    is_default = fields.Boolean("whether its client uses it, or puts it first, if nothing is configured")
    rebalance_protocol = fields.String("of a classic group: `eager` or `cooperative`; null: another protocol", allow_none=True)
    kafka_versions = fields.List(fields.String(), "the releases of Kafka that it can reproduce")
    client_versions = fields.List(
        fields.String(),
        "the releases of its client that were compared; `client_version` may be any between. Empty: it takes none",
    )


class PlacerSchema(ImplementationSchema):
    """A placer."""

    placer = fields.String("its name in requests", example="striped")
    summary = fields.String()
    kafka_versions = fields.List(fields.String(), "the releases that it can reproduce; default: the latest")


def _listing(name: str, row: type[Schema], rows: Callable[[], list[dict[str, Any]]]) -> Blueprint:
    """A list of strategies. name : in the plural; row : the schema of one"""
    blueprint, title = Blueprint(name, __name__, description=f"the {name} installed"), name.capitalize()

    def listing() -> Response:
        media_type = preferred()
        return json_response({name: rows()}) if media_type == JSON else table(_table(rows(), media_type), media_type)

    listing.__doc__ = f"List the {name}, plug-ins included, as JSON, `text/csv` or an Arrow stream."
    listed = Schema.from_dict({name: fields.List(fields.Nested(row))}, name=f"{title}Schema")
    blueprint.get(f"/v1/{name}")(blueprint.doc(operationId=f"list{title}")(blueprint.response(200, listed)(listing)))
    return blueprint


def _table(rows: list[dict[str, Any]], media_type: str) -> pa.Table:
    """In CSV, lists are separated by commas."""
    lists = [name for name, value in rows[0].items() if isinstance(value, list | tuple)]
    if media_type == CSV:
        return pa.Table.from_pylist([row | {name: ",".join(row[name]) for name in lists} for row in rows])
    kinds = {list: pa.list_(pa.string()), tuple: pa.list_(pa.string()), bool: pa.bool_()}
    return pa.Table.from_pylist(rows, pa.schema([(name, kinds.get(type(value), pa.string())) for name, value in rows[0].items()]))


BLUEPRINTS: Final = (
    _listing("partitioners", PartitionerSchema, partitioners),
    _listing("assignors", AssignorSchema, assignors),
    _listing("placers", PlacerSchema, placers),
)
