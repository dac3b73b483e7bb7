"""Check a reassignment JSON against a cluster.

An `error` is rejected by Kafka or reduces availability, a `warning` is probably not intended, a `note` could be improved.
As `text/csv` or an Arrow stream the answer is the table of findings: `severity`, `rule`, `pointer`, `detail`.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from marshmallow import Schema, post_load

from service.api.reassignment_schemas import KafkaReassignmentSchema, placed_topics, target_brokers
from service.core.budget import Budget, Figures
from service.core.kafka_versions import LATEST
from service.core.model import NONE, Ragged, indices_in
from service.decisions.reassignments.rows import read_current, room_for
from service.http import fields
from service.http.forms import ACCEPTED_RACKS, OF_BROKERS, AnswerSchema, Form, KafkaVersion, Operation
from service.planner.reassignments.lint import LintFinding, Reassigned, conclusion, lint
from service.planner.reassignments.model import Brokers, Placements, rackless


@dataclass(frozen=True)
class LintQuestion:
    """A reassignment, and the cluster that it is for.

    brokers, topics, reassigned : rows (see ``reassignments.rows``: TARGET_BROKER, PLACED_TOPIC, REASSIGNED), each well-formed
    kafka_version : of the brokers; the findings are the same for all releases
    racks_accepted : whether it says that racks are not known
    """

    brokers: pa.StructArray
    topics: pa.StructArray
    reassigned: pa.StructArray
    kafka_version: str = LATEST
    racks_accepted: bool = False


@dataclass(frozen=True)
class LintAnswer:
    """The findings by row, at most MAX_ERRORS of one rule and severity.

    question : the one that was answered; counts : severity → how many there are; figures : see Figures
    conclusion, warnings : sentences
    """

    question: LintQuestion
    findings: list[LintFinding]
    counts: dict[str, int]
    figures: Figures
    conclusion: str
    warnings: list[str]


def answer(question: LintQuestion, budget: Budget) -> LintAnswer:
    """Lint the reassignment. Raises InvalidQuestion, and what the budget raises."""
    replicas = len(question.reassigned.field("replicas").flatten())
    brokers, placements = read_current(question.brokers, question.topics, budget, replicas)
    budget.check("max_assignment_cells", (replicas + len(placements.replicas.values)) * len(brokers), "replicas × brokers")
    budget.reserve(2 * 13 * len(brokers) ** 2 + 400 * len(question.reassigned))
    reassigned = _read_reassigned(question.reassigned, brokers, placements)
    if placements.sizes is not None:
        capacities = room_for(question.brokers, brokers.capacity_bytes, placements.replicas, placements.sizes, 1.0)
        brokers = replace(brokers, capacity_bytes=capacities)
    result = lint(brokers, placements, reassigned)
    said = conclusion(result, brokers, placements, reassigned, racks_accepted=question.racks_accepted)
    warnings = list(rackless(brokers.cluster, brokers.listed))
    figures = Figures("lint", {"partitions": len(reassigned.partition_ids), "brokers": len(brokers)})
    return LintAnswer(question, result.findings, result.counts, figures, said, warnings)


def _read_reassigned(rows: pa.StructArray, brokers: Brokers, placements: Placements) -> Reassigned:
    """The rows of type REASSIGNED."""
    names, ids = rows.field("topic"), np.array(rows.field("partition"), np.int32)
    known_names = pa.array(placements.topic_names, names.type)
    topics = np.array(pc.fill_null(pc.index_in(names, known_names), NONE), np.int32)
    partitions = indices_in(_keys(placements.topics, placements.partition_ids), _keys(topics, ids))
    broker_ids = np.array(rows.field("replicas").flatten(), np.int32)
    lengths = np.array(pc.list_value_length(rows.field("replicas")), np.int64)
    replicas = Ragged.of_lengths(lengths, indices_in(brokers.cluster.broker_ids, broker_ids))
    return Reassigned(names.to_pylist(), ids, partitions, topics != NONE, broker_ids, replicas)


def _keys(topics: Any, ids: Any) -> Any:
    """int64[...], a number for each topic and partition."""
    return topics.astype(np.int64) << 32 | ids.astype(np.int64)


class ReassignmentLintSchema(Schema):
    """A reassignment, and the cluster that it is for."""

    kafka_version = KafkaVersion(description=OF_BROKERS)
    brokers = target_brokers("the cluster, as for /v1/reassignments")
    topics = placed_topics("the current placement")
    reassignment = fields.Nested(KafkaReassignmentSchema, "Kafka's reassignment JSON", required=True)
    racks = ACCEPTED_RACKS

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> LintQuestion:
        """The question."""
        reassigned = body["reassignment"]["partitions"]
        return LintQuestion(body["brokers"], body["topics"], reassigned, body["kafka_version"], "racks" in body)


class FindingSchema(AnswerSchema):
    """Something to mend."""

    severity = fields.String("`error`, `warning` or `note`", example="error")
    rule = fields.String(
        "`unknown-topic`, `unknown-partition`, `duplicate-partition`, `duplicate-replica`, `unknown-broker`, `fenced-broker`, "
        "`cordoned-broker`, `unavailable-leader`, `rack-rule`, `replication-factor`, `no-op`, `disk`, `skew`, `avoidable-moves`",
        example="rack-rule",
    )
    pointer = fields.String("into the body", example="/reassignment/partitions/0")
    topic_name = fields.String("null: all of the reassignment", allow_none=True)
    partition_id = fields.Integer(allow_none=True)
    broker_ids = fields.List(fields.Integer(), "the broker at the pointer, or all in the replicas of the row")
    text = fields.String("what is wrong, equal where the same is wrong")
    detail = fields.String("the same with its partition and brokers")


class SeverityCountsSchema(AnswerSchema):
    """How many findings there are, those that are not listed included."""

    error = fields.Integer()
    warning = fields.Integer()
    note = fields.Integer()


class ReassignmentLintAnswerSchema(AnswerSchema):
    """The findings."""

    kafka_version = fields.String()
    conclusion = fields.String("how much was found, and what was not looked for")
    warnings = fields.List(fields.String(), "what counts otherwise than one may think")
    findings = fields.List(
        fields.Nested(FindingSchema), "in the order of the reassignment; at most 100 for each rule and severity"
    )
    counts = fields.Nested(SeverityCountsSchema)


def pointer(finding: LintFinding) -> str:
    """Into the body."""
    row = "" if finding.row is None else f"/{finding.row}"
    return f"/reassignment/partitions{row}" + ("" if finding.replica is None else f"/replicas/{finding.replica}")


def document(answer: LintAnswer) -> dict[str, Any]:
    """The answer, as ReassignmentLintAnswerSchema has it."""
    return {
        "kafka_version": answer.question.kafka_version,
        "conclusion": answer.conclusion,
        "warnings": answer.warnings,
        "findings": _rows(answer),
        "counts": answer.counts,
    }


def table(answer: LintAnswer) -> pa.Table:
    """The findings as columns."""
    types = {"severity": pa.string(), "rule": pa.string(), "topic_name": pa.string(), "partition_id": pa.int32()}
    return pa.Table.from_pylist(_rows(answer), pa.schema({**types, "pointer": pa.string(), "detail": pa.string()}))


def _rows(answer: LintAnswer) -> list[dict[str, Any]]:
    names = ("severity", "rule", "topic_name", "partition_id", "broker_ids", "text", "detail")
    return [{"pointer": pointer(finding), **{name: getattr(finding, name) for name in names}} for finding in answer.findings]


FORM: Final = Form(ReassignmentLintSchema(), answer, ReassignmentLintAnswerSchema, document, table)

EXAMPLE: Final = {
    "brokers": [{"broker_id": i, "rack_id": "aab"[i]} for i in range(3)],
    "topics": [{"topic_name": "orders", "placements": [{"partition_id": 0, "replicas": [0, 2]}]}],
    "reassignment": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [0, 1]}]},
}

OPERATION: Final = Operation("lintReassignment", "lint", "a reassignment JSON → its errors", EXAMPLE, tag="reassignment-lints")
