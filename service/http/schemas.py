"""Pieces of request and answer that several resources share."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from marshmallow import Schema, post_load, validate

from service.core.kafka_versions import LATEST, since
from service.core.measures.skew import Spread, spread
from service.core.model import Float64s, Int32s, Int64s
from service.core.registry import Strategy
from service.http import described as fields
from service.http.fields import Bool, Number
from service.planner.reassignments import UNKNOWN_RACKS

_OF_A_TOPIC: Final = (
    "topic_id", "partitions_count", "internal", "placements", "partition_bytes", "log_start_offsets", "log_end_offsets",
    "records_per_second", "bytes_per_second",
)  # fmt: skip
"""What a snapshot says of a topic."""


def row_of_a_snapshot(*unused: str) -> Callable[[type[Schema]], type[Schema]]:
    """Let a schema take rows of a snapshot as they are. unused : their fields that the question does not use"""

    def extended(schema: type[Schema]) -> type[Schema]:
        not_used = {name: fields.Raw("as a snapshot has it; not used", allow_none=True) for name in unused}
        schema._declared_fields.update(not_used)  # noqa: SLF001 - what Meta.include does
        return schema

    return extended


def topic_of_a_snapshot(*used: str) -> Callable[[type[Schema]], type[Schema]]:
    """The same for a topic. used : what the question uses of it"""
    return row_of_a_snapshot(*(name for name in _OF_A_TOPIC if name not in used))


class QuestionSchema(Schema):
    """A body whose fields are those of a question. asks : makes the question"""

    asks: Callable[..., Any]

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> Any:
        """The question."""
        return type(self).asks(**body)


class DetailSchema(Schema):
    """The query of every computing resource. ``service.http.blueprint`` reads it."""

    detail = fields.String("adds figures that few callers need", validate=validate.OneOf(["full"]))


class ExplainSchema(DetailSchema):
    """The query of those that explain their answers."""

    explain = Bool("add an `explanation` to the answer", load_default=False)


OF_BROKERS: Final = "the release of your brokers; the answer is the same for all of them"
"""The ``description`` of a KafkaVersion that changes no answer."""


class KafkaVersion(fields.String):
    """The release of Apache Kafka whose answer is wanted; an unknown one is rejected with the list of the known.

    oldest : the oldest release that the family of questions has
    """

    def __init__(self, oldest: str = "4.0.0", description: str = "the release of Apache Kafka to reproduce") -> None:
        known = validate.OneOf(since(oldest), error="Unknown Kafka version {input}; it must be one of {choices}.")
        super().__init__(description, load_default=LATEST, validate=known)


class AnswerSchema(Schema):
    """Part of an answer, which has every field that is not ``optional``; the contract says so, for generators of clients."""

    def on_bind_field(self, field_name: str, field_obj: Any) -> None:
        """Marshmallow's."""
        field_obj.required = not field_obj.metadata.get("optional")


class ImplementationSchema(AnswerSchema):
    """The code whose answers a strategy gives."""

    client = fields.String(
        "the library, or the part of Kafka (`java`: kafka-clients; `broker`, `controller`, `tools`); null: no client's",
        allow_none=True,
        example="java",
    )
    release = fields.String("its newest release that answers so", allow_none=True, example=LATEST)
    symbol = fields.String("the class or function there", allow_none=True)


class AssignedSchema(AnswerSchema):
    """What every assignment says of its assignor."""

    kafka_version = fields.String()
    group_protocol = fields.String()
    assignor = fields.String()
    implementation = fields.Nested(ImplementationSchema)


def assigned_by(kafka_version: str, group_protocol: str, assignor: Strategy) -> dict[str, Any]:
    """The answer's members about its assignor, as AssignedSchema has them."""
    return {
        "kafka_version": kafka_version,
        "group_protocol": group_protocol,
        "assignor": assignor.name,
        "implementation": assignor.implementation_fields,
    }


class SpreadSchema(AnswerSchema):
    """How even something is."""

    min: fields.Field = fields.Integer()
    max: fields.Field = fields.Integer()
    mean = fields.Float()
    stddev = fields.Float("the standard deviation", detail=True)
    skew = fields.Float("max ÷ mean; 1.0 is perfectly even, and the value if nothing is counted")


class CountsSchema(SpreadSchema):
    """How many each holder has, and how even that is."""

    counts = fields.List(fields.Integer(), "what each holder has", optional=True)


class LoadsSchema(SpreadSchema):
    """What each holder bears, which need not be an integer, and how even that is."""

    min = fields.Float()
    max = fields.Float()
    totals = fields.List(fields.Float(), "what each holder has")


def counts_document(counts: Int32s | Int64s, evenness: Spread) -> dict[str, Any]:
    """The answer's member for counts, as CountsSchema has it."""
    return {"counts": counts, **asdict(evenness)}


def loads_document(loads: Float64s) -> dict[str, Any]:
    """The answer's member for loads, as LoadsSchema has it."""
    return {"totals": loads, **asdict(spread(loads))}


class ZoneTrafficSchema(AnswerSchema):
    """What is read on the reader's rack, and what crosses zones."""

    local_share = fields.Float(
        "the share that can be read on the reader's rack, by weight if there are weights, if consumers fetch from the closest "
        "replica (KIP-392: `replica.selector.class`, `client.rack`); by default they read from leaders. What has no rack does "
        "not count. Null if no rack is known",
        allow_none=True,
        example=0.75,
    )
    cross_zone_bytes_per_second = fields.Float(
        "the rate of reads from other racks then, if weights are bytes per second; null without weights", allow_none=True
    )
    cost_per_month = fields.Float(
        "of these bytes in 730 hours, at `price_per_gb` for 10⁹ bytes; null without a price", allow_none=True
    )


PLACED_TRAFFIC: Final = (
    "if brokers have racks. Readers are assumed to be spread evenly over the racks, and to read everything once; followers "
    "fetch from the "
    "leader, which counts as crossing, too"
)
"""What it is of a placement."""


def accepted_racks_field() -> fields.String:
    """A body's word that racks are not known."""
    text = f"`{UNKNOWN_RACKS}`: no broker has a rack, and the answer need not say so"
    return fields.String(text, validate=validate.OneOf([UNKNOWN_RACKS]))


def price_per_gb_field() -> Number:
    """The body's ``price_per_gb``."""
    text = "the price of 10⁹ bytes that cross zones, for the `cost_per_month` of `zone_traffic`"
    return Number(text, zero=True, load_default=None, example=0.02)
