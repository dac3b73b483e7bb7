"""A plan for log directories as JSON and as a table."""

from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.api.log_dirs.schema import LogDirQuestionSchema
from service.api.log_dirs.texts import DirTexts, Positions
from service.api.placements.document import ReassignedSchema
from service.api.reassignments.document import BatchSchema, MovesSchema, PlanAnswerSchema, batch_seconds, timing_document
from service.core.measures.skew import spread
from service.decisions.log_dirs.answer import LogDirAnswer, answer
from service.decisions.log_dirs.tables import moves_table
from service.web import described as fields
from service.web.forms import Form
from service.web.json.rows import json_list
from service.web.schemas import AnswerSchema, CountsSchema, LoadsSchema


class DirMovesSchema(MovesSchema):
    """How much moves, and how little could."""

    class Meta:
        """Leaders stay."""

        exclude = ("leaders", "elections")

    replicas = fields.Integer("moves between directories; those of detours count too")
    bytes = fields.Integer()
    lower_bound = fields.Integer(
        "a lower bound of the bytes that any plan copies that keeps the rules and, for `even`, is as even"
    )


class DirReassignedSchema(ReassignedSchema):
    """One partition of a reassignment between directories."""

    log_dirs = fields.List(fields.String(), "one for each of `replicas`; `any`: stays where it is", example=["any", "/data/b"])


class DirReassignmentSchema(AnswerSchema):
    """What ``kafka-reassign-partitions --reassignment-json-file`` reads."""

    version = fields.Integer()
    partitions = fields.List(fields.Nested(DirReassignedSchema))


class DirReasonSchema(AnswerSchema):
    """One move."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    broker_id = fields.Integer()
    source = fields.String("a log directory", data_key="from")
    target = fields.String("a log directory", data_key="to")
    reason = fields.String('such as "drains /data/a", "evens out /data/b", "limits of /data/a"')


class DirBatchSchema(BatchSchema):
    """One step, on all brokers at the same time."""

    reassignment = fields.Nested(DirReassignmentSchema)
    rollback = fields.Nested(DirReassignmentSchema, "undoes this step")
    moves = fields.Integer()
    bytes = fields.Integer()


class DiskBrokersSchema(AnswerSchema):
    """What each broker copies, and how even its disks become."""

    broker_ids = fields.List(fields.Integer(), "in request order")
    bytes = fields.List(fields.Integer(), "copied")
    lower_bounds = fields.List(fields.Integer(), "of the bytes copied, as in `moves`")
    skews_before = fields.List(
        fields.Float(), "the fullest directory ÷ the mean, by the sizes of the disks; those that are `draining` do not count"
    )
    skews_after = fields.List(fields.Float())
    evenness_gaps = fields.List(
        fields.Float(),
        "the sum of (bytes on a disk)² ÷ its size above a lower bound of it, as a share of that; 0: proven the least. The "
        "bound is one of any plan that keeps the rules and, for `fewest-moves`, copies as little",
    )


class DirLoadSchema(AnswerSchema):
    """What directories have. Their evenness counts those that are not `draining`."""

    broker_ids = fields.List(fields.Integer(), "of each directory, in request order")
    log_dirs = fields.List(fields.String())
    replicas = fields.Nested(CountsSchema)
    bytes = fields.Nested(LoadsSchema, "of the replicas and of what else is on the disk")
    usage = fields.List(fields.Float(allow_none=True), "`bytes` ÷ `capacity_bytes`; null where that is not known", example=[0.42])


class LogDirAnswerSchema(PlanAnswerSchema):
    """The plan."""

    effects = fields.List(fields.String(), "what the plan does besides, in sentences", example=["Empties /data/a of broker 1."])
    warnings = fields.List(
        fields.String(), "what to know before the plan is executed, such as what its rollback needs", example=[]
    )
    moves = fields.Nested(DirMovesSchema)
    brokers = fields.Nested(DiskBrokersSchema)
    outside_tolerance = fields.List(
        fields.Dict(), "`broker_id` and `log_dir` of the directories; null without `tolerance`", allow_none=True
    )
    reassignment = fields.Nested(DirReassignmentSchema, "all partitions of which a replica moves")
    rollback = fields.Nested(DirReassignmentSchema, "their current directories")
    reasons = fields.List(fields.Nested(DirReasonSchema))
    batches = fields.List(fields.Nested(DirBatchSchema), "all rules hold after each, and while it runs")
    before = fields.Nested(DirLoadSchema)
    after = fields.Nested(DirLoadSchema)


def document(answer: LogDirAnswer) -> dict[str, Any]:
    """The answer, as LogDirAnswerSchema has it."""
    question, cluster, plan, timing = answer.question, answer.cluster, answer.plan, answer.timing
    texts = DirTexts(cluster)
    every = Positions.of_all(cluster, plan)
    copied, bound = int(plan.copied.sum()), int(plan.lower_bound.sum())
    conclusion, complete = answer.conclusion
    return {
        "conclusion": conclusion,
        "complete": complete,
        "kafka_version": question.kafka_version,
        "plan_id": answer.plan_id,
        "objective": question.goal.objective,
        "effects": answer.effects,
        "warnings": answer.warnings,
        "moves": {"replicas": len(plan.moves), "bytes": copied, "lower_bound": bound, "gap": _gap(copied, bound)},
        "brokers": _brokers(answer),
        "outside_tolerance": None if question.goal.tolerance is None else _outside(answer),
        "reassignment": texts.reassignment(every, every.targets),
        "rollback": texts.reassignment(every, every.sources),
        "reasons": texts.reasons(plan.moves),
        "batches": list(_batches(answer, texts)),
        **timing_document(timing, question.throttle_bytes_per_second, question.pace, rates_known=answer.rates_known),
        **{name: _load(answer, i, texts) for i, name in enumerate(("before", "after"))},
    }


def _gap(copied: int, bound: int) -> float | None:
    if copied <= bound:
        return 0.0
    return (copied - bound) / bound if bound else None


def _brokers(answer: LogDirAnswer) -> dict[str, Any]:
    plan, (before, after) = answer.plan, answer.usage
    return {
        "broker_ids": answer.cluster.log_dirs.broker_ids,
        "bytes": plan.copied,
        "lower_bounds": plan.lower_bound,
        "skews_before": before.skews(),
        "skews_after": after.skews(),
        "evenness_gaps": plan.evenness_gaps(),
    }


def _outside(answer: LogDirAnswer) -> list[dict[str, Any]]:
    log_dirs = answer.cluster.log_dirs
    broker_ids = log_dirs.broker_ids[log_dirs.broker_of()]
    return [{"broker_id": int(broker_ids[i]), "log_dir": log_dirs.path(i)} for i in np.flatnonzero(answer.plan.outside).tolist()]


def _batches(answer: LogDirAnswer, texts: DirTexts) -> Any:
    plan = answer.plan
    moves, count = plan.moves, plan.batch_count()
    amounts = np.zeros(count, np.int64)
    np.add.at(amounts, moves.batches, answer.cluster.replicas.sizes[moves.replicas])
    bounds = np.searchsorted(moves.batches, np.arange(count + 1))
    for i in range(count):
        step = Positions.of_moves(answer.cluster, moves, slice(*bounds[i : i + 2].tolist()))
        yield {
            "reassignment": texts.reassignment(step, step.targets),
            "rollback": texts.reassignment(step, step.sources),
            "moves": int(bounds[i + 1] - bounds[i]),
            "bytes": int(amounts[i]),
            "duration_seconds": batch_seconds(answer.timing, i),
        }


def _load(answer: LogDirAnswer, i: int, texts: DirTexts) -> dict[str, Any]:
    """What directories have before (0) or after (1)."""
    usage, log_dirs = answer.usage[i], answer.cluster.log_dirs
    counted = usage.counted
    return {
        "broker_ids": log_dirs.broker_ids[log_dirs.broker_of()],
        "log_dirs": json_list(len(log_dirs), texts.paths(log_dirs.path_of)),
        "replicas": {"counts": usage.replicas, **asdict(spread(usage.replicas[counted]))},
        "bytes": {"totals": usage.amounts.astype(np.float64), **asdict(spread(usage.amounts[counted].astype(np.float64)))},
        "usage": pa.array(usage.shares, from_pandas=True).to_pylist(),
    }


FORM: Final = Form(LogDirQuestionSchema(), answer, LogDirAnswerSchema, document, moves_table)
