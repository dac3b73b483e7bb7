"""Check which partitions of a cluster are at risk.

`conclusion` names the partitions without a leader, under-replicated, at or under `min.insync.replicas`, or not rack-safe: on
fewer racks than their replicas allow. What is not known is said, and is neither safe nor at risk. As `text/csv` or an Arrow
stream the answer is the table of findings, a row for each partition: `severity`, `rule`, `topic_name`, `detail`, `partition_id`.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.api.reassignment_schemas import placed_topics, target_brokers
from service.core.budget import Budget, Figures
from service.core.kafka_versions import LATEST
from service.core.measures import load_of
from service.core.model import NONE
from service.decisions.reassignments.rows import read_current
from service.http import fields
from service.http.forms import OF_BROKERS, AnswerSchema, Form, KafkaVersion, Operation, QuestionSchema
from service.planner.placement_checks import SEVERITIES, CheckFinding, PlacementCheck, check_placements, conclusion, warnings


@dataclass(frozen=True)
class CheckQuestion:
    """A cluster as it is.

    brokers, topics : rows (see ``reassignments.rows``: TARGET_BROKER, PLACED_TOPIC), each well-formed
    kafka_version : of the brokers; the answer is the same for all releases
    """

    brokers: pa.StructArray
    topics: pa.StructArray
    kafka_version: str = LATEST


@dataclass(frozen=True)
class CheckAnswer:
    """The state of the cluster, also in sentences: what is at risk, and what was assumed or is unusual."""

    question: CheckQuestion
    check: PlacementCheck
    conclusion: str
    warnings: list[str]

    @property
    def figures(self) -> Figures:
        """See Figures."""
        return Figures("check", {"partitions": len(self.check.placements), "brokers": len(self.check.brokers)})


def answer(question: CheckQuestion, budget: Budget) -> CheckAnswer:
    """Check the cluster. Raises InvalidQuestion, and what the budget raises."""
    brokers, placements = read_current(question.brokers, question.topics, budget)
    in_sync = question.topics.field("placements").flatten().field("in_sync_replicas")
    check = check_placements(brokers, placements, np.array(pc.is_valid(in_sync), np.bool_))
    return CheckAnswer(question, check, conclusion(check), list(warnings(check)))


class PlacementCheckSchema(QuestionSchema):
    """A cluster as it is."""

    asks = CheckQuestion
    kafka_version = KafkaVersion(description=OF_BROKERS)
    brokers = target_brokers("the cluster, as for /v1/reassignments; only `rack_id` and `fenced` matter")
    topics = placed_topics(
        "where the replicas are, as for /v1/reassignments, with `leader`, `in_sync_replicas` and `min_insync_replicas`"
    )


class CheckFindingSchema(AnswerSchema):
    """What is true of some partitions of a topic."""

    severity = fields.String("`error`, `warning` or `note`", example="warning")
    rule = fields.String(f"`{'`, `'.join(SEVERITIES)}`", example="rack-unsafe")
    topic_name = fields.String()
    partition_ids = fields.List(fields.Integer())
    broker_ids = fields.List(
        fields.Integer(),
        "of `under-replicated` those that are not in sync, of `under-min-isr` and `at-min-isr` those that are, of "
        "`preferred-leader` those that lead, otherwise all that have a replica",
    )
    detail = fields.String(example="on 1 rack; 2 are possible")


class CheckedBrokerSchema(AnswerSchema):
    """What a broker has."""

    broker_id = fields.Integer()
    rack_id = fields.String(allow_none=True)
    replicas = fields.Integer()
    leaders = fields.Integer("partitions that it leads now; null: not known", allow_none=True)
    preferred_leaders = fields.Integer("partitions of which it is the first replica")


class PlacementCheckAnswerSchema(AnswerSchema):
    """The state of the cluster."""

    kafka_version = fields.String()
    conclusion = fields.String("what is at risk, in sentences, and what is not known")
    warnings = fields.List(fields.String(), "what was assumed, and what is unusual")
    at_risk = fields.Boolean("whether there is an `error` or a `warning`")
    findings = fields.List(fields.Nested(CheckFindingSchema), "by rule, then by topic")
    partitions_count = fields.Integer("partitions that were checked")
    racks_unknown = fields.Integer("partitions of which it is not known whether they are rack-safe")
    in_sync_unknown = fields.Integer("partitions of which it is not known which replicas are in sync")
    brokers = fields.List(fields.Nested(CheckedBrokerSchema))


def document(answer: CheckAnswer) -> dict[str, Any]:
    """The answer, as PlacementCheckAnswerSchema has it."""
    check = answer.check
    return {
        "kafka_version": answer.question.kafka_version,
        "conclusion": answer.conclusion,
        "warnings": answer.warnings,
        "at_risk": check.at_risk,
        "findings": [_finding(check, finding) for finding in check.findings],
        "partitions_count": len(check.placements),
        "racks_unknown": len(check.racks_unknown),
        "in_sync_unknown": int((~check.in_sync_known).sum()),
        "brokers": _brokers(check),
    }


def table(answer: CheckAnswer) -> pa.Table:
    """A row for each partition of each finding."""
    rows = [_finding(answer.check, finding) for finding in answer.check.findings]
    names = ("severity", "rule", "topic_name", "detail")
    each = [(*(row[name] for name in names), partition_id) for row in rows for partition_id in row["partition_ids"]]
    columns = list(zip(*each, strict=True)) or [()] * 5
    types = (*(pa.string(),) * 4, pa.int32())
    return pa.table(dict(zip((*names, "partition_id"), map(pa.array, columns, types), strict=True)))


def _finding(check: PlacementCheck, finding: CheckFinding) -> dict[str, Any]:
    placements = check.placements
    return {
        "severity": SEVERITIES[finding.rule],
        "rule": finding.rule,
        "topic_name": placements.topic_names[placements.topics[finding.partitions[0]]],
        "partition_ids": placements.partition_ids[finding.partitions],
        "broker_ids": np.sort(check.brokers.cluster.broker_ids[finding.brokers]),
        "detail": finding.detail,
    }


def _brokers(check: PlacementCheck) -> list[dict[str, Any]]:
    cluster, load = check.brokers.cluster, load_of(check.brokers.cluster, check.placements.replicas)
    leaders = np.bincount(check.leaders[check.leaders != NONE], minlength=len(cluster)).tolist()
    leads = leaders if check.placements.leaders is not None else [None] * len(cluster)
    rack_ids = [None if rack == NONE else cluster.rack_ids[rack] for rack in cluster.racks.tolist()]
    columns = (cluster.broker_ids.tolist(), rack_ids, load.replicas.tolist(), leads, load.leaders.tolist())
    names = ("broker_id", "rack_id", "replicas", "leaders", "preferred_leaders")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


FORM: Final = Form(PlacementCheckSchema(), answer, PlacementCheckAnswerSchema, document, table)

EXAMPLE: Final = {
    "brokers": [{"broker_id": i, "rack_id": "aab"[i]} for i in range(3)],
    "topics": [
        {
            "topic_name": "orders",
            "min_insync_replicas": 2,
            "placements": [
                {"partition_id": 0, "replicas": [0, 2], "in_sync_replicas": [0, 2], "leader": 0},
                {"partition_id": 1, "replicas": [0, 1], "in_sync_replicas": [1], "leader": 1},
            ],
        }
    ],
}

OPERATION: Final = Operation("checkPlacement", "check", "a cluster → partitions at risk", EXAMPLE)
