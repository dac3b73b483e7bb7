"""The JSON form of a family of questions, which service, command line and library share, and parts of several forms."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError, post_load, validate
from marshmallow.fields import List, Nested

from service.core.budget import Budget, Figures
from service.core.errors import AllocatorError, InvalidQuestion
from service.core.kafka_versions import LATEST, since
from service.core.measures import COUNTS, Load, rack_load, spread
from service.core.model import Cluster, Float64s, Int32s, Int64s
from service.core.registry import Strategy
from service.http import fields
from service.http.fields import Bool, Number
from service.http.json.codec import LongText, Members, dumps, loads, without
from service.http.json.limits import JsonRejected, scanned
from service.http.json.rows import enclosed
from service.http.media_types import CSV
from service.http.problems import of_allocator_error, of_messages, problem, reword
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


def counts_document(counts: Int32s | Int64s | list[int]) -> dict[str, Any]:
    """The answer's member for counts, as CountsSchema has it."""
    counts = np.array(counts, np.int64) if isinstance(counts, list) else counts
    return {"counts": counts, **asdict(spread(counts))}


def loads_document(loads: Float64s) -> dict[str, Any]:
    """The answer's member for loads, as LoadsSchema has it."""
    return {"totals": loads, **asdict(spread(loads))}


class BrokerLoadSchema(AnswerSchema):
    """What brokers get, over all topics placed."""

    broker_ids = fields.List(fields.Integer(), "in request order")
    replicas = fields.Nested(CountsSchema)
    leaders = fields.Nested(CountsSchema)


class RackLoadSchema(AnswerSchema):
    """What racks get, over all topics placed."""

    rack_ids = fields.List(fields.String(allow_none=True), "in the order in which they first appear; null: no rack")
    replicas = fields.Nested(CountsSchema)
    leaders = fields.Nested(CountsSchema)


class ReassignedSchema(AnswerSchema):
    """One partition of a reassignment."""

    topic = fields.String()
    partition = fields.Integer()
    replicas = fields.List(fields.Integer())
    log_dirs = fields.List(
        fields.String(),
        "from `kafka-reassign-generate`: `any` for each of `replicas`",
        optional=True,
        example=["any", "any"],
    )


class ReassignmentSchema(AnswerSchema):
    """What ``kafka-reassign-partitions --reassignment-json-file`` reads."""

    version = fields.Integer()
    partitions = fields.List(fields.Nested(ReassignedSchema))


def load_documents(cluster: Cluster, load: Load) -> dict[str, Any]:
    """An answer's `broker_load` and `rack_load`. load : of the brokers"""
    rack_ids, of_racks = rack_load(cluster, load)
    return {
        "broker_load": {"broker_ids": cluster.broker_ids, **_measures(load)},
        "rack_load": {"rack_ids": rack_ids, **_measures(of_racks)},
    }


def _measures(load: Load) -> dict[str, Any]:
    return {
        name: {"counts" if name in COUNTS else "totals": totals, **asdict(load.spread(name))}
        for name, totals in load.totals.items()
    }


def reassignment(rows: LongText) -> LongText:
    """A reassignment. rows : the text of its partitions"""
    return enclosed(b'{"version":1,"partitions":[', rows, b"]}")


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
    "fetch from the leader, which counts as crossing, too"
)
"""What it is of a placement."""


ACCEPTED_RACKS: Final = fields.String(
    f"`{UNKNOWN_RACKS}`: no broker has a rack, and the answer need not say so", validate=validate.OneOf([UNKNOWN_RACKS])
)
"""A body's word that racks are not known."""

PRICE_PER_GB: Final = Number(
    "the price of 10⁹ bytes that cross zones, for the `cost_per_month` of `zone_traffic`",
    zero=True,
    load_default=None,
    example=0.02,
)
"""A body's ``price_per_gb``."""

PARAMETER: Final = "detail=full"
"""Adds the figures that few callers need."""


@cache
def details_of(schema: type[Schema]) -> Members:
    """The members of an answer that are details, which only ``detail=full`` adds. schema : of the answer"""
    details: dict[str, Any] = {}
    for name, field in schema().fields.items():
        inner = field.inner if isinstance(field, List) else field
        if field.metadata.get("detail"):
            details[name] = None
        elif isinstance(inner, Nested) and (below := details_of(type(inner.schema))):
            details[name] = below
    return details


class Refused(Exception):
    """A question that is not answered. problem : the problem document, without a request id"""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document["detail"])
        self.problem = document


class FamilyAnswer(Protocol):
    """The answer of any family."""

    @property
    def figures(self) -> Figures:
        """What it is about, in numbers."""


Q = TypeVar("Q")
A = TypeVar("A", bound=FamilyAnswer)


@dataclass(frozen=True)
class Operation:
    """The POST of a family.

    name : the operationId
    metric : the decision's name in metrics
    about : what its resource in the contract answers
    example : a body for the reference page
    query : the parameters, each a field of the question
    columns : the members of a body that an Arrow stream replaces; the field of the first gets the stream
    tag : the resource; None: as its path
    """

    name: str
    metric: str
    about: str
    example: dict[str, Any]
    query: type[Schema] = DetailSchema
    columns: tuple[str, ...] = ()
    tag: str | None = None


@dataclass(frozen=True)
class Form(Generic[Q, A]):
    """How a family's questions and answers look as JSON.

    schema : of a body; it makes the question
    answer : decides. Raises AllocatorError
    answer_schema : documents the answer
    document : the answer as what ``json.codec`` writes
    table : the answer's main table; None: it has none
    lines : the answer as JSON lines; None: it has none
    read : the value of a JSON text
    stream : the field whose large list a table can replace
    csv_row : the first column of the table as CSV, whose rows somebody may sort: their numbers; None: no such column
    of : the form of the family that an answer is of, where it can be of another one; None: this form
    """

    schema: Schema
    answer: Callable[[Q, Budget], A]
    answer_schema: type[Schema]
    document: Callable[[A], dict[str, Any]]
    table: Callable[[A], pa.Table] | None = None
    lines: Callable[[A], LongText] | None = None
    read: Callable[[bytes], Any] = loads
    csv_row: str | None = None
    stream: str = "keys"
    of: Callable[[A], "Form[Any, Any]"] | None = None

    def question(self, body: bytes | Mapping[str, Any]) -> Q:
        """The question of a body. Raises Refused for what is not JSON, and for faults of single fields."""
        value = self._value(body) if isinstance(body, bytes) else body
        try:
            question: Q = self.schema.load(value)
        except ValidationError as error:
            reword(error.messages, self.schema, value)
            raise Refused(of_messages(error.messages)) from None
        except InvalidQuestion as error:
            raise Refused(of_allocator_error(error)) from None
        return question

    def decide(self, question: Q, budget: Budget) -> A:
        """The answer. Raises Refused."""
        try:
            return self.answer(question, budget)
        except AllocatorError as error:
            raise Refused(of_allocator_error(error)) from error

    def columns(self, answer: A, media_type: str) -> pa.Table:
        """The answer's table for a media type. Raises TypeError if it has none."""
        if self.table is None:
            raise TypeError("the family has no table")
        table = self.table(answer)
        if self.csv_row is not None and media_type == CSV:
            table = table.add_column(0, self.csv_row, pa.array(np.arange(len(table))))
        return table

    def json(self, answer: A, *, full: bool = False) -> bytes:
        """The answer as JSON. full : with its details"""
        document, form = self.document(answer), self if self.of is None else self.of(answer)
        return dumps(document if full else without(details_of(form.answer_schema), document))

    def _value(self, body: bytes) -> Any:
        """The value of a text that is UTF-8 and whose members are unique."""
        try:
            body.decode()
            scanned(body)
            return self.read(body)
        except JsonRejected as error:
            raise Refused(of_allocator_error(InvalidQuestion(str(error), *error.field))) from None
        except ValueError as error:
            raise Refused(problem(400, "bad-request", "Bad Request", f"The body is not JSON: {error}")) from None
