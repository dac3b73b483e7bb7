"""Audit a placement: whether the placer could have made it, by which draws, and how even its placements are.

If it could not, the answer names the first rule that the placement breaks, and whether partitions may have been added, or
the topic placed on other brokers. `skew` compares the placement with the best, typical and worst of the placer's draws. As
`text/csv` or an Arrow stream the answer is a table with a row for each of the four measures of `skew`: `topic_name`,
`placer`, `possible`, `broken_rule`, `measure`, `actual`, `best`, `typical`, `worst`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, validate

from service.api.placements import BrokerSchema
from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.measures import Load, ZoneTraffic, load_of, placed_traffic, spread
from service.core.model import NONE, Cluster, Int32s, PlacementRequest, Ragged
from service.core.ragged import taken
from service.decisions.placements.answer import BROKER, PLACEMENT, check_brokers, plain_placements, read_cluster, read_placement
from service.decisions.rows import columns, duplicates_in_column, faults_of, plain_brokers, raise_all
from service.http import fields
from service.http.fields import Int, TopicName
from service.http.forms import (
    PLACED_TRAFFIC,
    AnswerSchema,
    BrokerLoadSchema,
    Form,
    Operation,
    QuestionSchema,
    RackLoadSchema,
    ZoneTrafficSchema,
    load_documents,
    row_of_a_snapshot,
)
from service.http.lists import Array, Rows
from service.planner.placement_audits import (
    MEASURES,
    CreatedPart,
    Evenness,
    PlacementAudit,
    PlacerRuleBroken,
    audit,
    evenness,
    skews_of,
    verdict,
)
from service.strategies import PLACERS, Placer


@dataclass(frozen=True)
class AuditQuestion:
    """Could this placer have placed the topic this way?

    brokers, placements : rows (see ``placements.rows``: BROKER, PLACEMENT), each well-formed
    additions : the first id of the partitions that were added to the topic, for each addition
    """

    brokers: pa.StructArray
    placements: pa.StructArray
    placer: str = "striped"
    kafka_version: str = LATEST
    topic_name: str | None = None
    additions: Sequence[int] = ()


@dataclass(frozen=True)
class AuditAnswer:
    """The audit.

    placement : Ragged partition → brokers, NONE for one that the cluster does not have; first_id : of the first partition
    position : int32[partitions], where each stands in the question
    evenness : over all draws; None if the placer refuses such a topic, or partitions differ in replicas
    load : of the brokers, as it is; traffic : between zones, likewise; None without racks
    """

    question: AuditQuestion
    placer: Placer
    cluster: Cluster
    first_id: int
    placement: Ragged
    position: Int32s
    audit: PlacementAudit
    evenness: Evenness | None
    load: Load
    traffic: ZoneTraffic | None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        items = {"partitions": len(self.placement), "brokers": len(self.cluster)}
        return Figures(self.placer.name, items, spread(self.load.replicas).skew, self.question.topic_name)


def answer(question: AuditQuestion, budget: Budget) -> AuditAnswer:
    """Audit the placement. Raises InvalidQuestion (all faults at once), KafkaError, and what the budget raises."""
    replicas = len(question.placements.field("replicas").flatten())
    budget.check("max_placement_cells", replicas, "replicas", "placements")
    # Arrays of the placement and of the placer's own, and the answer.
    budget.reserve(100_000 + 100 * len(question.placements) + 150 * replicas + 600 * len(question.brokers))
    cluster = read_cluster(question.brokers)
    check_brokers(cluster, replicas, budget)
    raise_all(_faults(question, cluster))
    placer = _placer(question)
    ids, placement = read_placement(question.placements, cluster)
    order = np.argsort(ids, kind="stable").astype(np.int32)
    ids = ids[order]
    gap = np.flatnonzero(np.diff(ids) != 1)
    if len(gap):
        raise InvalidQuestion(f"Partition {ids[gap[0]] + 1} is missing.", "placements")
    raise_all(_wrong_additions(question.additions, int(ids[0]), int(ids[-1])))
    additions = tuple(partition_id - int(ids[0]) for partition_id in question.additions)
    if (order != np.arange(len(order))).any():
        placement = taken(placement, order)
    result = audit(placer, cluster, placement, int(ids[0]), additions)
    lengths = placement.lengths()
    request = PlacementRequest(len(placement), int(lengths[0]), int(ids[0]))
    refused = result.broken_rule is not None and result.broken_rule.row is None
    even = None if refused or (lengths != lengths[0]).any() else evenness(placer, cluster, request)
    load, traffic = load_of(cluster, placement), placed_traffic(cluster, placement, None)
    return AuditAnswer(question, placer, cluster, int(ids[0]), placement, order, result, even, load, traffic)


def _placer(question: AuditQuestion) -> Placer:
    placer = PLACERS[question.placer].at(question.kafka_version)
    if "partitions_count" not in placer.requests:
        detail = f"{placer.name} places several topics together; a single topic cannot be audited."
        raise InvalidQuestion(detail, "placer")
    return placer


def _faults(question: AuditQuestion, cluster: Cluster) -> Iterator[InvalidQuestion]:
    yield from faults_of(lambda: _placer(question))
    yield from duplicates_in_column("brokers", question.brokers, "broker_id")
    if not len(cluster):
        yield InvalidQuestion("Must have at least one broker.", "brokers")
    if not len(question.placements):
        yield InvalidQuestion("Must have at least one partition.", "placements")
    yield from duplicates_in_column("placements", question.placements, "partition_id")


def _wrong_additions(ids: Sequence[int], first_id: int, last_id: int) -> Iterator[InvalidQuestion]:
    for i, partition_id in enumerate(ids):
        if not first_id < partition_id <= last_id:
            yield InvalidQuestion(f"Must be in [{first_id + 1}, {last_id}].", "additions", i)
        elif i and partition_id <= ids[i - 1]:
            yield InvalidQuestion("Must be larger than the one before.", "additions", i)


@row_of_a_snapshot("in_sync_replicas", "leader")
class AuditedPartitionSchema(Schema):
    """What a partition has."""

    partition_id = Int(required=True, minimum=0)
    replicas = Array(Int(), "broker ids, the preferred leader first", required=True)


class PlacementAuditSchema(QuestionSchema):
    """A topic's placement, and the placer that may have made it."""

    asks = AuditQuestion

    kafka_version = fields.String("the release to reproduce, one of the placer's", example=LATEST)
    placer = fields.String("the name of a placer, as GET /v1/placers lists them", load_default="striped")
    topic_name = TopicName("the topic's name in this service's metrics")
    brokers = Rows(
        BrokerSchema,
        BROKER,
        plain_brokers,
        "the cluster that the topic was placed on. `modulo` and `rack-unaware` count along this list",
        required=True,
    )
    placements = Rows(
        AuditedPartitionSchema, PLACEMENT, plain_placements, "the topic's partitions in any order, without a gap", required=True
    )
    additions = Array(
        Int(minimum=1),
        "the first id of the partitions that were added to the topic, for each addition: [12] for a topic that was created "
        "with 12 partitions and grown once. Default: none were added",
        load_default=[],
        validate=validate.Length(max=1_000),
    )


class PartSchema(AnswerSchema):
    """Partitions that were placed together."""

    start_partition_id = fields.Integer()
    partitions_count = fields.Integer()
    brokers = fields.String(
        "`as_given`; `unfenced`: the given brokers by ascending id, none of them fenced; `holders`: of these, the brokers "
        "that hold replicas of the topic"
    )
    draws = fields.Dict(
        "what the placer drew. AdminUtils: `start_index` and all `replica_shifts` that give this placement. Striped: "
        "`rack_offset`, and for each rack in sorted order `unfenced_offset` and `fenced_offset`, null if no replica "
        "determines it; later shuffles are not listed. Empty: it draws nothing"
    )
    random_seed = fields.Integer(
        "a seed that gives this part, for /v1/replica-placements. Null: nothing is drawn, or none of the seeds that were "
        "tried gives it, as is usual for a topic with several times as many partitions as there are brokers",
        allow_none=True,
    )


class BrokenRuleSchema(AnswerSchema):
    """The first rule that the placement breaks, partitions in the order of their ids."""

    rule = fields.String(
        "`replication-factor`, `unknown-broker`, `distinct-brokers`, `fenced-leader`; `racks`: the replica belongs on another "
        "rack; `draws`: no draws put this broker here; or Kafka's name of the error, if the placer refuses such a topic",
        example="draws",
    )
    detail = fields.String()
    pointer = fields.String("into the body", allow_none=True, example="/placements/3/replicas/0")
    partition_id = fields.Integer(allow_none=True)
    replica = fields.Integer("index in `replicas`; null: the whole partition", allow_none=True)
    broker_id = fields.Integer("the broker at this place", allow_none=True)


class SkewRangeSchema(AnswerSchema):
    """A skew (max ÷ mean; 1.0 is perfectly even) over all that the placer can draw."""

    actual = fields.Float("of the placement in the request")
    best = fields.Float()
    typical = fields.Float("the median")
    worst = fields.Float()


class SkewsSchema(AnswerSchema):
    """How even the placer makes such a topic."""

    draws_considered = fields.Integer("placements that were generated")
    exhaustive = fields.Boolean(
        "these are all draws, which are equally likely; else they were drawn from a java.util.Random with seed 0"
    )
    broker_replicas = fields.Nested(SkewRangeSchema)
    broker_leaders = fields.Nested(SkewRangeSchema)
    rack_replicas = fields.Nested(SkewRangeSchema)
    rack_leaders = fields.Nested(SkewRangeSchema)


class PlacementAuditAnswerSchema(AnswerSchema):
    """The audit."""

    kafka_version = fields.String()
    placer = fields.String()
    topic_name = fields.String(optional=True)
    possible = fields.Boolean(
        "whether the placer could have placed the topic this way, on these brokers, with the additions of the request"
    )
    conclusion = fields.String("the answer in a sentence or two; if it is not possible, with what probably happened")
    parts = fields.List(fields.Nested(PartSchema), "if it is possible: the creation of the topic, and each addition")
    broken_rule = fields.Nested(BrokenRuleSchema, "null if it is possible", allow_none=True)
    other_history = fields.List(
        fields.Nested(PartSchema),
        "if it is not possible: what explains it: one addition, or brokers that were unfenced or did not exist yet; empty if "
        "neither does",
    )
    broker_load = fields.Nested(BrokerLoadSchema)
    rack_load = fields.Nested(RackLoadSchema)
    zone_traffic = fields.Nested(ZoneTrafficSchema, PLACED_TRAFFIC, optional=True)
    skew = fields.Nested(
        SkewsSchema, "null if the placer refuses such a topic, or partitions differ in replicas", allow_none=True
    )


def document(answer: AuditAnswer) -> dict[str, Any]:
    """The answer, as PlacementAuditAnswerSchema has it."""
    question, audit = answer.question, answer.audit
    named = {} if question.topic_name is None else {"topic_name": question.topic_name}
    return {
        "kafka_version": question.kafka_version,
        "placer": answer.placer.name,
        **named,
        "possible": audit.broken_rule is None,
        "conclusion": verdict(answer.placer.name, audit, racks_known=bool(answer.cluster.rack_ids)),
        "parts": [_part(part, answer.first_id) for part in audit.parts],
        "broken_rule": audit.broken_rule and _broken_rule(answer, audit.broken_rule),
        "other_history": [_part(part, answer.first_id) for part in audit.other_history],
        **load_documents(answer.cluster, answer.load),
        **({} if answer.traffic is None else {"zone_traffic": answer.traffic.figures(None)}),
        "skew": answer.evenness and _skews(answer.evenness, skews_of(answer.cluster, answer.load)),
    }


def table(answer: AuditAnswer) -> pa.Table:
    """A row for each of MEASURES: the verdict, the skew, and the skews over all draws, null where there are none."""
    broken, actual = answer.audit.broken_rule, skews_of(answer.cluster, answer.load)
    ranges = _skews(answer.evenness, actual) if answer.evenness else {}
    same: dict[str, Any] = {"topic_name": answer.question.topic_name, "placer": answer.placer.name}
    same |= {"possible": broken is None, "broken_rule": broken and broken.rule}
    rows = [same | {"measure": name, "actual": skew} | ranges.get(name, {}) for name, skew in zip(MEASURES, actual, strict=True)]
    types = "topic_name string, placer string, possible boolean, broken_rule string, measure string"
    return pa.Table.from_pylist(rows, pa.schema(columns(f"{types}, actual double, best double, typical double, worst double")))


def _part(part: CreatedPart, first_id: int) -> dict[str, Any]:
    return {
        "start_partition_id": first_id + part.first,
        "partitions_count": part.rows,
        "brokers": part.cluster,
        "draws": part.draws.drawn,
        "random_seed": part.random_seed,
    }


def _broken_rule(answer: AuditAnswer, broken: PlacerRuleBroken) -> dict[str, Any]:
    where: dict[str, Any] = dict.fromkeys(("pointer", "partition_id", "replica", "broker_id"))
    if broken.row is not None:
        where |= {"pointer": f"/placements/{answer.position[broken.row]}", "partition_id": answer.first_id + broken.row}
        if broken.replica is not None:
            broker = answer.placement.values[answer.placement.offsets[broken.row] + broken.replica]
            where["pointer"] += f"/replicas/{broken.replica}"
            where["replica"] = broken.replica
            where["broker_id"] = None if broker == NONE else answer.cluster.broker_ids[broker]
    return {"rule": broken.rule, "detail": broken.detail, **where}


def _skews(evenness: Evenness, actual: list[float]) -> dict[str, Any]:
    ranges = {
        name: {"actual": actual[i], "best": column.min(), "typical": np.median(column), "worst": column.max()}
        for i, (name, column) in enumerate(zip(MEASURES, evenness.skews.T, strict=True))
    }
    return {"draws_considered": evenness.placements, "exhaustive": evenness.exhaustive, **ranges}


FORM: Final = Form(PlacementAuditSchema(), answer, PlacementAuditAnswerSchema, document, table)

EXAMPLE: Final = {
    "placer": "striped",
    "brokers": [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2, "rack_id": "b"}, {"broker_id": 3, "rack_id": "c"}],
    "topic_name": "orders",
    "placements": [
        {"partition_id": 0, "replicas": [1, 2, 3]},
        {"partition_id": 1, "replicas": [2, 3, 1]},
        {"partition_id": 2, "replicas": [3, 1, 2]},
    ],
}

OPERATION: Final = Operation("auditPlacement", "audit", "a topic's placement → could its placer have made it?", EXAMPLE)
