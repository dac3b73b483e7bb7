"""The answer of ``POST /v1/reassignments``: its schema, its JSON, its table."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from marshmallow import Schema, fields

from service.api.placements.response import ReassignmentSchema, load_documents
from service.core.model import NONE, Int32s, Ragged
from service.core.reassignments.effects import effects, timing_sentence, warnings
from service.core.reassignments.sets import rows_of
from service.decisions.groups.rows import NAME
from service.decisions.reassignments.tables import ids_of, reason_texts
from service.web.fields import about
from service.web.json.codec import dumps
from service.web.responses import json_lists, json_objects
from service.web.schemas import CountsSchema, LoadsSchema

if TYPE_CHECKING:
    from service.api.reassignments.request import Question
    from service.core.placers.load import Load
    from service.core.reassignments.batches.model import Batches, Timing
    from service.core.reassignments.model import Plan
    from service.core.reassignments.moves import Moves


class MovesSchema(Schema):
    """How much moves, and how little could."""

    replicas = fields.Integer(metadata=about("replicas copied"))
    bytes = fields.Integer(allow_none=True, metadata=about("bytes copied; null without `partition_bytes`"))
    leaders = fields.Integer(metadata=about("preferred leaders that change"))
    lower_bound = fields.Integer(
        metadata=about(
            "a lower bound of the replicas, or with `balance`: `bytes` of the bytes, that any plan copies that keeps the "
            "rules and, for `even`, is as even"
        )
    )
    gap = fields.Float(metadata=about("the copies above `lower_bound`, as a share of it; 0: the plan is proven optimal"))


class ReasonSchema(Schema):
    """One move."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    source = fields.Integer(data_key="from", allow_none=True, metadata=about("a broker id; null: a replica is added"))
    target = fields.Integer(data_key="to", allow_none=True, metadata=about("a broker id; null: a replica is removed"))
    reason = fields.String(
        metadata=about('such as "drains broker 7", "rack rule", "evens out broker 3", "replication factor", "leader"')
    )


class BatchSchema(Schema):
    """One step."""

    reassignment = fields.Nested(ReassignmentSchema)
    rollback = fields.Nested(ReassignmentSchema, metadata=about("undoes this step"))
    moves = fields.Integer(metadata=about("replicas copied"))
    bytes = fields.Integer(allow_none=True)
    duration_seconds = fields.Float(
        allow_none=True,
        metadata=about("at `throttle_bytes_per_second`; null without it, or if producers write faster"),
    )


class BrokersLoadSchema(Schema):
    """What brokers have."""

    broker_ids = fields.List(fields.Integer(), metadata=about("in request order, then those that only placements mention"))
    replicas = fields.Nested(CountsSchema)
    leaders = fields.Nested(CountsSchema)
    bytes = fields.Nested(LoadsSchema, metadata=about("with `partition_bytes`"))
    bytes_per_second = fields.Nested(LoadsSchema, metadata=about("with `partition_bytes_per_second`"))


class RacksLoadSchema(Schema):
    """What racks have."""

    rack_ids = fields.List(
        fields.String(allow_none=True), metadata=about("null: brokers without a rack, and those that only placements mention")
    )
    replicas = fields.Nested(CountsSchema)
    leaders = fields.Nested(CountsSchema)
    bytes = fields.Nested(LoadsSchema, metadata=about("with `partition_bytes`"))
    bytes_per_second = fields.Nested(LoadsSchema, metadata=about("with `partition_bytes_per_second`"))


class LoadSchema(Schema):
    """The load of a placement.

    Its evenness counts the brokers that are listed and not fenced; `after`, also neither draining nor replaced.
    """

    broker_load = fields.Nested(BrokersLoadSchema)
    rack_load = fields.Nested(RacksLoadSchema)


class TrafficSchema(Schema):
    """Bytes that brokers send and receive for the whole plan."""

    broker_ids = fields.List(fields.Integer())
    bytes_in = fields.List(fields.Integer())
    bytes_out = fields.List(fields.Integer(), metadata=about("from the current leaders, from which replicas are copied"))


class ElectedSchema(Schema):
    """A partition."""

    topic = fields.String()
    partition = fields.Integer()


class ElectionsSchema(Schema):
    """What ``kafka-leader-election --election-type preferred --path-to-json-file`` reads."""

    partitions = fields.List(fields.Nested(ElectedSchema))


class PaceSchema(Schema):
    """How fast Kafka executes batches: durations are (bytes of the busiest broker) ÷ (`throttle_bytes_per_second` ×
    `throttle_utilization`) + `batch_seconds`, with what producers write meanwhile.
    """

    throttle_bytes_per_second = fields.Integer(allow_none=True, metadata=about("as in `limits`"))
    throttle_utilization = fields.Float(metadata=about("the share of the throttle that copying reaches"))
    batch_seconds = fields.Float(metadata=about("the time that each batch takes besides copying"))


class ReassignmentAnswerSchema(Schema):
    """The plan."""

    plan_id = fields.String(metadata=about("a hash of the question and the version of the service; also the `ETag`"))
    objective = fields.String()
    effects = fields.List(
        fields.String(),
        metadata=about("what the plan does, in sentences", example=["Empties broker 6 with 53 copies, the fewest possible."]),
    )
    warnings = fields.List(
        fields.String(),
        metadata=about("racks that are emptied, partitions that lose a rack, and batches that never end", example=[]),
    )
    moves = fields.Nested(MovesSchema)
    reassignment = fields.Nested(ReassignmentSchema, metadata=about("all partitions that change"))
    rollback = fields.Nested(ReassignmentSchema, metadata=about("their current replicas"))
    preferred_leader_elections = fields.Nested(ElectionsSchema, metadata=about("to run after all copying"))
    reasons = fields.List(fields.Nested(ReasonSchema))
    batches = fields.List(fields.Nested(BatchSchema), metadata=about("all rules hold after each"))
    duration_seconds = fields.Float(allow_none=True, metadata=about("of all batches, at `throttle_bytes_per_second`"))
    throttle_needed_bytes_per_second = fields.Integer(
        allow_none=True, metadata=about("the least throttle with which all batches take at most `limits.duration_seconds`")
    )
    pace = fields.Nested(PaceSchema, metadata=about("what the durations assume"))
    traffic = fields.Nested(TrafficSchema, allow_none=True, metadata=about("null without `partition_bytes`"))
    before = fields.Nested(LoadSchema)
    after = fields.Nested(LoadSchema)


class Texts:
    """The JSON of a plan's partitions."""

    def __init__(self, question: Question, changed: Int32s) -> None:
        """Changed : int32[...]   the partitions to write, in that order"""
        placements = question.placements
        self._changed = changed
        self._broker_ids = question.brokers.cluster.broker_ids
        self._names = pa.array([dumps(name).decode() for name in placements.topic_names], NAME)
        self._placements = placements

    @cached_property
    def topics(self) -> pa.Array:
        """The topic of each partition, as JSON."""
        return self._names.take(pa.array(self._placements.topics[self._changed]))

    @cached_property
    def ids(self) -> pa.Array:
        """The partition_id of each."""
        return pc.cast(pa.array(self._placements.partition_ids[self._changed]), NAME)

    def rows(self, rows: Ragged) -> pa.Array:
        """Of each the row of a reassignment. rows : Ragged, the replicas of each"""
        return json_objects(
            topic=self.topics, partition=self.ids, replicas=json_lists(rows.offsets, self._broker_ids[rows.values])
        )


def _joined(rows: pa.Array, bounds: Any) -> list[str]:
    """The rows of each part, with commas. bounds : int32[parts + 1]"""
    joined: list[str] = pc.binary_join(pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), rows), ",").to_pylist()
    return joined


def _reassignment(rows: str) -> orjson.Fragment:
    return orjson.Fragment(b'{"version":1,"partitions":[' + rows.encode() + b"]}")


def document(
    question: Question, plan: Plan, batches: Batches, moves: Moves, loads: tuple[Load, Load], timing: Timing
) -> dict[str, Any]:
    """The answer as JSON. loads : of the brokers, before and after"""
    changed = np.flatnonzero(batches.batch_of != NONE).astype(np.int32)
    placements = question.placements
    now = placements.replicas
    sized = placements.sizes is not None
    leads = now.values[now.offsets[:-1]] != plan.replicas.values[plan.replicas.offsets[:-1]]
    texts = Texts(question, changed)
    after, before = texts.rows(rows_of(plan.replicas, changed)), texts.rows(rows_of(now, changed))
    in_steps = Texts(question, batches.steps.partitions)
    bounds = np.searchsorted(batches.steps.batches, np.arange(len(batches) + 1))
    steps = zip(*(_joined(in_steps.rows(rows), bounds) for rows in (batches.steps.after, batches.steps.before)), strict=True)
    seconds, pace = timing.seconds, question.pace
    elected = Texts(question, np.flatnonzero(leads).astype(np.int32))
    elections = json_objects(topic=elected.topics, partition=elected.ids)
    return {
        "plan_id": question.plan_id(),
        "objective": question.goal.objective,
        "effects": [
            *effects(question.brokers, question.goal, plan, batches, loads),
            *timing_sentence(timing, pace, question.throttle),
        ],
        "warnings": list(warnings(question.brokers, placements, plan, batches, timing)),
        "moves": {
            "replicas": int(batches.moves.sum()),
            "bytes": int(batches.amounts.sum()) if sized else None,
            "leaders": int(leads.sum()),
            "lower_bound": plan.lower_bound,
            "gap": plan.gap,
        },
        "reassignment": _reassignment(_joined(after, [0, len(after)])[0]),
        "rollback": _reassignment(_joined(before, [0, len(before)])[0]),
        "preferred_leader_elections": {
            "partitions": orjson.Fragment("[" + _joined(elections, [0, len(elections)])[0] + "]"),
        },
        "reasons": orjson.Fragment("[" + _reasons_json(question, moves) + "]"),
        "batches": [
            {
                "reassignment": _reassignment(step),
                "rollback": _reassignment(back),
                "moves": int(batches.moves[i]),
                "bytes": int(batches.amounts[i]) if sized else None,
                "duration_seconds": None if seconds is None or seconds[i] == np.inf else float(seconds[i]),
            }
            for i, (step, back) in enumerate(steps)
        ],
        "duration_seconds": timing.total,
        "throttle_needed_bytes_per_second": timing.throttle_needed,
        "pace": {"throttle_bytes_per_second": question.throttle, **asdict(pace)},
        "traffic": _traffic(question, batches) if sized else None,
        "before": load_documents(question.brokers.cluster, loads[0]),
        "after": load_documents(question.brokers.cluster, loads[1]),
    }


def _traffic(question: Question, batches: Batches) -> dict[str, Any]:
    traffic, ids = batches.traffic, question.brokers.cluster.broker_ids
    totals = np.zeros((2, len(ids)), np.int64)
    np.add.at(totals, (traffic.incoming.astype(np.int64), traffic.brokers), traffic.amounts)
    return {"broker_ids": ids, "bytes_in": totals[1], "bytes_out": totals[0]}


def _reasons_json(question: Question, moves: Moves) -> str:
    texts = Texts(question, moves.partitions)
    reasons = pc.binary_join_element_wise('"', reason_texts(question.brokers, moves), '"', "")
    members = {
        "topic_name": texts.topics,
        "partition_id": texts.ids,
        "from": pc.fill_null(pc.cast(ids_of(question.brokers, moves.sources), NAME), "null"),
        "to": pc.fill_null(pc.cast(ids_of(question.brokers, moves.targets), NAME), "null"),
        "reason": reasons,
    }
    return _joined(json_objects(**members), [0, len(moves.partitions)])[0]
