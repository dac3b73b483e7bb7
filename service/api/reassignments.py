"""Plan a reassignment: with the fewest copies or to the evenest load, in batches, each with its rollback.

The `ETag` is the `plan_id`. If no placement keeps all rules, the answer is a 422 of type `infeasible` with the rules that
`clash` and `remedies`; if the search ends without one, although there may be one, of type `not-found`. As an Arrow stream
(`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is the table of moves: `topic_name`, `partition_id`,
`from`, `to`, `reason`, `batch`; with `?frontier=true` it is the frontier.
"""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.api.reassignment_schemas import FrontierSchema, ReassignmentQuestionSchema
from service.core.model import NONE, Int32s, Ragged
from service.core.ragged import taken
from service.decisions.log_dirs import LogDirAnswer
from service.decisions.reassignments.answer import ReassignmentAnswer, answer, moves_table, replica_reasons
from service.http import fields
from service.http.forms import (
    PLACED_TRAFFIC,
    AnswerSchema,
    CountsSchema,
    Form,
    LoadsSchema,
    Operation,
    ReassignmentSchema,
    ZoneTrafficSchema,
    load_documents,
    reassignment,
)
from service.http.json.codec import LongText, dumps
from service.http.json.rows import Part, json_list
from service.http.json.rows import rows as json_rows
from service.planner.reassignments.batches.schedule import Batches, BatchTiming


class MovesSchema(AnswerSchema):
    """How much moves, and how little could."""

    replicas = fields.Integer("replicas copied")
    bytes = fields.Integer("bytes copied; null without `partition_bytes`", allow_none=True)
    leaders = fields.Integer("preferred leaders that change")
    elections = fields.Integer("preferred leader elections after all copying")
    lower_bound = fields.Integer(
        "a lower bound of the replicas, or with `balance`: `bytes` of the bytes, that any plan copies that keeps the rules "
        "and, for `even`, is as even"
    )
    gap = fields.Float(
        "the copies above `lower_bound`, as a share of it; 0: proven the fewest; null: the bound is 0", allow_none=True
    )


class CopiesGoalSchema(AnswerSchema):
    """The copies."""

    value = fields.Integer("replicas copied, or with `balance`: `bytes` bytes")
    lower_bound = fields.Integer("as in `moves`")
    gap = fields.Float("as in `moves`", allow_none=True)


class EvennessGoalSchema(AnswerSchema):
    """The evenness of the brokers that may have replicas: the sum of (replicas, or bytes)² ÷ `weight`."""

    value = fields.Float()
    lower_bound = fields.Float("no plan that keeps the rules and, for `fewest-moves`, copies as little has a smaller sum")
    gap = fields.Float("the sum above `lower_bound`, as a share of it; 0: proven the least")


class ResourceGoalSchema(AnswerSchema):
    """The evenness of a resource: the sum of its load² ÷ `weight` over the brokers that may have replicas."""

    resource = fields.String()
    value = fields.Float()
    lower_bound = fields.Float("a lower bound of all plans that keep the rules, whatever they do to other resources")
    gap = fields.Float("the sum above `lower_bound`, as a share of it")


class GoalsSchema(AnswerSchema):
    """What the plan reaches of each goal, and what any plan could."""

    copies = fields.Nested(CopiesGoalSchema)
    evenness = fields.Nested(
        EvennessGoalSchema,
        "with several resources, of those of the first priority: the weighted sum of their sums, each ÷ the sum if its load "
        "could be divided at will",
    )
    resources = fields.List(
        fields.Nested(ResourceGoalSchema), "of `balance` with other or several resources, in its order", optional=True
    )


class FrontierPointSchema(AnswerSchema):
    """The evenest load within a number of copies."""

    copies = fields.Integer("replicas copied; `max_moves` of as many gives the plan")
    bytes = fields.Integer("bytes copied; null without `partition_bytes`", allow_none=True)
    spread = fields.Float(
        "the largest load of a broker less the smallest, each ÷ `weight`; loads are replicas, or bytes with `balance`"
    )
    stddev = fields.Float("the standard deviation of the loads ÷ `weight`")
    proven = fields.Boolean("whether no plan that keeps the rules and copies at most as many replicas is more even")


class ReasonSchema(AnswerSchema):
    """One move."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    source = fields.Integer("a broker id; null: a replica is added", data_key="from", allow_none=True)
    target = fields.Integer("a broker id; null: a replica is removed", data_key="to", allow_none=True)
    reason = fields.String('such as "drains broker 7", "rack rule", "evens out broker 3", "replication factor", "leader"')


class BatchSchema(AnswerSchema):
    """One step."""

    reassignment = fields.Nested(ReassignmentSchema)
    rollback = fields.Nested(ReassignmentSchema, "undoes this step")
    moves = fields.Integer("replicas copied")
    bytes = fields.Integer(allow_none=True)
    duration_seconds = fields.Float(
        "at `throttle_bytes_per_second` of the answer; null without it, or if producers write faster", allow_none=True
    )


class ResourceLoadsSchema(AnswerSchema):
    """What replicas take, by resource."""

    replicas = fields.Nested(CountsSchema)
    leaders = fields.Nested(CountsSchema, "preferred leaders")
    bytes = fields.Nested(LoadsSchema, "with `partition_bytes`", optional=True)
    bytes_per_second = fields.Nested(
        LoadsSchema, "what producers and followers' fetches write; with `partition_bytes_per_second`", optional=True
    )
    leader_bytes_per_second = fields.Nested(LoadsSchema, "what producers write; with `partition_bytes_per_second`", optional=True)
    bytes_out_per_second = fields.Nested(
        LoadsSchema, "what consumers and followers read; with `partition_bytes_out_per_second` besides", optional=True
    )
    cpu = fields.Nested(
        LoadsSchema,
        "as Cruise Control estimates it, in units of `cpu_usage`; with `partition_bytes_out_per_second`",
        optional=True,
    )


class BrokersLoadSchema(ResourceLoadsSchema):
    """What brokers have."""

    broker_ids = fields.List(fields.Integer(), "in request order, then those that only placements mention")
    current_leaders = fields.List(
        fields.Integer(),
        "the partitions that each leads, now or after all elections; absent without `leader`",
        optional=True,
    )


class RacksLoadSchema(ResourceLoadsSchema):
    """What racks have."""

    rack_ids = fields.List(fields.String(allow_none=True), "null: brokers without a rack, and those that only placements mention")


class LoadSchema(AnswerSchema):
    """The load of a placement.

    Its evenness counts the brokers that are listed and not fenced; `after`, also neither draining nor replaced.
    """

    broker_load = fields.Nested(BrokersLoadSchema)
    rack_load = fields.Nested(RacksLoadSchema)
    zone_traffic = fields.Nested(ZoneTrafficSchema, f"{PLACED_TRAFFIC}; bytes need `partition_bytes_per_second`", optional=True)


class TrafficSchema(AnswerSchema):
    """Bytes that brokers send and receive for the whole plan."""

    broker_ids = fields.List(fields.Integer())
    bytes_in = fields.List(fields.Integer())
    bytes_out = fields.List(fields.Integer(), "from the current leaders, from which replicas are copied")


class AcrossRacksSchema(AnswerSchema):
    """What the plan takes across racks, detours included. Kafka copies a replica from its partition's leader."""

    rack_changes = fields.Integer("replicas that move to another rack")
    replicas = fields.Integer("replicas copied from a leader on another rack")
    bytes = fields.Integer("bytes of these; null without `partition_bytes`", allow_none=True)
    cost = fields.Float("of these bytes, at `price_per_gb` for 10⁹; null without either", allow_none=True)


class ElectedSchema(AnswerSchema):
    """A partition."""

    topic = fields.String()
    partition = fields.Integer()


class ElectionsSchema(AnswerSchema):
    """What ``kafka-leader-election --election-type preferred --path-to-json-file`` reads."""

    partitions = fields.List(fields.Nested(ElectedSchema))


class PaceSchema(AnswerSchema):
    """How fast Kafka executes batches: durations are (bytes of the busiest broker) ÷ (`throttle_bytes_per_second` ×
    `throttle_utilization`) + `batch_seconds`, with what producers write meanwhile.
    """

    throttle_bytes_per_second = fields.Integer("as in `limits`", allow_none=True)
    throttle_utilization = fields.Float("the share of the throttle that copying reaches")
    batch_seconds = fields.Float("the time that each batch takes besides copying")


class PlanAnswerSchema(AnswerSchema):
    """What every plan has that is executed in batches."""

    conclusion = fields.String(
        "what was asked, done or not, in a sentence or more", example="Copies nothing: 1 preferred leader changes."
    )
    complete = fields.Boolean("whether the plan does all that was asked; if not, `conclusion` says what stays")
    kafka_version = fields.String()
    plan_id = fields.String("a hash of the question and the version of the service; also the `ETag`")
    objective = fields.String()
    duration_seconds = fields.Float(
        "of all batches, at `throttle_bytes_per_second`; null without it, or if one never ends", allow_none=True
    )
    write_rates_known = fields.Boolean("if not, durations and `throttle_needed_bytes_per_second` are the least")
    throttle_bytes_per_second = fields.Integer(
        "what to execute the batches with: that of `limits`, or the one needed where that is more; null without both",
        allow_none=True,
    )
    throttle_needed_bytes_per_second = fields.Integer(
        "the lowest throttle with which all batches take at most `limits.duration_seconds`", allow_none=True
    )
    pace = fields.Nested(PaceSchema, "what the durations assume")
    effects = fields.List(
        fields.String(), "what the plan does besides, in sentences", example=["Broker 7 takes over from broker 6."]
    )
    warnings = fields.List(
        fields.String(),
        "what to know before the plan is executed, such as racks that are emptied, brokers without a rack, and why there is no "
        "way back",
        example=[],
    )


class ReplacementSchema(AnswerSchema):
    """A broker that takes over all replicas of another."""

    broker_id = fields.Integer()
    replaces = fields.Integer()


class ReassignmentAnswerSchema(PlanAnswerSchema):
    """The plan."""

    moves = fields.Nested(MovesSchema)
    goals = fields.Nested(GoalsSchema)
    outside_tolerance = fields.List(
        fields.Integer(),
        "ids of the brokers that the rules keep from coming within `tolerance`; null without it",
        allow_none=True,
    )
    inferred_replaces = fields.List(
        fields.Nested(ReplacementSchema),
        "the new brokers that replace one that is gone, with `infer_replaces`; null without it",
        allow_none=True,
    )
    frontier = fields.List(
        fields.Nested(FrontierPointSchema),
        "with `?frontier=true`: from the fewest copies to those of the evenest load, at most 200 points",
        optional=True,
    )
    reassignment = fields.Nested(ReassignmentSchema, "all partitions that change")
    rollback = fields.Nested(ReassignmentSchema, "their current replicas")
    rollback_needs = fields.List(
        fields.Integer(),
        "ids of the brokers that `rollback` needs and that are gone, fenced or in sync with nothing: none while they are",
    )
    preferred_leader_elections = fields.Nested(ElectionsSchema, "to run after all copying")
    reasons = fields.List(fields.Nested(ReasonSchema))
    batches = fields.List(fields.Nested(BatchSchema), "all rules hold after each")
    traffic = fields.Nested(TrafficSchema, "null without `partition_bytes`", allow_none=True)
    across_racks = fields.Nested(AcrossRacksSchema, "null if no broker has a rack", allow_none=True)
    before = fields.Nested(LoadSchema)
    after = fields.Nested(LoadSchema)


class PlanTexts:
    """The JSON of a plan's partitions."""

    def __init__(self, answer: ReassignmentAnswer) -> None:
        self._placements = answer.placements
        self._broker_ids = answer.brokers.cluster.broker_ids
        self._names = [dumps(name) for name in answer.placements.topic_names]

    def opened(self, partitions: Int32s, topic: bytes, partition: bytes) -> Part:
        """The beginning of an object for each partition, such as ``{"topic":"t","partition":0``.

        partitions : int32[...]; topic, partition : the names of its members
        """
        topics, labels = np.unique(self._placements.topics[partitions], return_inverse=True)  # a step has few of many topics
        texts = [b'{"%s":%s,"%s":' % (topic, self._names[i], partition) for i in topics.tolist()]
        return Part(texts, labels.astype(np.int32), self._placements.partition_ids[partitions])

    def reassignments(self, partitions: Int32s, *replicas: Ragged) -> Iterator[LongText]:
        """A reassignment for each of these. partitions : int32[...]; replicas : Ragged, those of each partition"""
        before = self.opened(partitions, b"topic", b"partition")
        for rows in replicas:
            parts = before, Part([b',"replicas":['], numbers=rows, ids=self._broker_ids), Part([b"]}"])
            yield reassignment(json_rows(len(partitions), *parts))

    def steps(self, batches: Batches) -> Iterator[Iterator[LongText]]:
        """The reassignment of each batch, and its rollback."""
        steps = batches.steps
        bounds = np.searchsorted(steps.batches, np.arange(len(batches) + 1, dtype=np.int32))
        for start, stop in pairwise(bounds.tolist()):
            both = (Ragged(rows.offsets[start : stop + 1], rows.values) for rows in (steps.after, steps.before))
            yield self.reassignments(steps.partitions[start:stop], *both)


def document(answer: ReassignmentAnswer) -> dict[str, Any]:
    """The answer, as ReassignmentAnswerSchema has it."""
    question, plan, batches = answer.question, answer.plan, answer.batches
    changed = np.flatnonzero(batches.batch_of != NONE).astype(np.int32)
    placements, inferred, elected = answer.placements, answer.replacements, answer.leadership.elected
    now = placements.replicas
    sized = placements.sizes is not None
    leads = now.firsts() != plan.replicas.firsts()
    texts = PlanTexts(answer)
    onward, rollback = texts.reassignments(changed, taken(plan.replicas, changed), taken(now, changed))
    return {
        **plan_document(answer),
        "moves": {
            "replicas": int(batches.moves.sum()),
            "bytes": int(batches.amounts.sum()) if sized else None,
            "leaders": int(leads.sum()),
            "elections": len(elected),
            "lower_bound": plan.lower_bound,
            "gap": plan.gap,
        },
        "goals": plan.goals,
        "inferred_replaces": None if inferred is None else inferred.rows(answer.brokers),
        "outside_tolerance": None if question.goal.tolerance is None else answer.brokers.cluster.broker_ids[plan.outside],
        **({} if answer.frontier is None else {"frontier": answer.frontier.to_pylist()}),
        "reassignment": onward,
        "rollback": rollback,
        "rollback_needs": answer.brokers.cluster.broker_ids[answer.dead_before()],
        "preferred_leader_elections": {
            "partitions": json_list(len(elected), texts.opened(elected, b"topic", b"partition"), Part([b"}"])),
        },
        "reasons": _reasons_json(answer, texts),
        "batches": [
            {
                "reassignment": step,
                "rollback": back,
                "moves": int(batches.moves[i]),
                "bytes": int(batches.amounts[i]) if sized else None,
                "duration_seconds": batch_seconds(answer.timing, i),
            }
            for i, (step, back) in enumerate(texts.steps(batches))
        ],
        "traffic": _traffic(answer) if sized else None,
        "across_racks": _across_racks(answer),
        **{name: _placed(answer, i) for i, name in enumerate(("before", "after"))},
    }


def plan_document(answer: ReassignmentAnswer | LogDirAnswer) -> dict[str, Any]:
    """What a plan concludes, and how long its batches take, as PlanAnswerSchema has it."""
    question, timing, (conclusion, complete) = answer.question, answer.timing, answer.conclusion
    return {
        "conclusion": conclusion,
        "complete": complete,
        "kafka_version": question.kafka_version,
        "plan_id": answer.plan_id,
        "objective": question.goal.objective,
        "effects": answer.effects,
        "warnings": answer.warnings,
        "duration_seconds": timing.total,
        "write_rates_known": answer.rates_known,
        "throttle_bytes_per_second": timing.throttle,
        "throttle_needed_bytes_per_second": timing.throttle_needed,
        "pace": {"throttle_bytes_per_second": question.throttle_bytes_per_second, **asdict(question.pace)},
    }


def batch_seconds(timing: BatchTiming, batch: int) -> float | None:
    """How long a batch takes; None if that is not known, or it never ends."""
    seconds = timing.seconds
    return None if seconds is None or seconds[batch] == np.inf else float(seconds[batch])


def _placed(answer: ReassignmentAnswer, i: int) -> dict[str, Any]:
    """What brokers and racks have before (0) or after (1)."""
    traffic, price = answer.traffic[i], answer.question.price_per_gb
    between = {} if traffic is None else {"zone_traffic": traffic.figures(price)}
    documents, lead = load_documents(answer.brokers.cluster, answer.loads[i]), answer.leadership
    if lead.known:
        documents["broker_load"]["current_leaders"] = lead.counts(len(answer.brokers))[i]
    return documents | between


def table(answer: ReassignmentAnswer) -> pa.Table:
    """The table of moves, or the frontier if the question asks for it."""
    if answer.frontier is not None:
        return answer.frontier
    return moves_table(answer.brokers, answer.placements, answer.moves)


def _across_racks(answer: ReassignmentAnswer) -> dict[str, Any] | None:
    crossing = answer.across_racks
    if crossing is None:
        return None
    return {
        "rack_changes": crossing.changes,
        "replicas": crossing.copies,
        "bytes": None if answer.placements.sizes is None else crossing.amount,
        "cost": answer.copying_cost,
    }


def _traffic(answer: ReassignmentAnswer) -> dict[str, Any]:
    traffic, ids = answer.batches.traffic, answer.brokers.cluster.broker_ids
    totals = np.zeros((2, len(ids)), np.int64)
    np.add.at(totals, (traffic.incoming.astype(np.int64), traffic.brokers), traffic.amounts)
    return {"broker_ids": ids, "bytes_in": totals[1], "bytes_out": totals[0]}


def _reasons_json(answer: ReassignmentAnswer, texts: PlanTexts) -> LongText:
    brokers, moves = answer.brokers, answer.moves
    ids = [b"%d" % broker_id for broker_id in brokers.cluster.broker_ids.tolist()] + [b"null"]
    reasons = replica_reasons(brokers, moves).dictionary_encode()
    sources, targets = (np.where(each == NONE, len(ids) - 1, each).astype(np.int32) for each in (moves.sources, moves.targets))
    return json_list(
        len(moves.partitions),
        texts.opened(moves.partitions, b"topic_name", b"partition_id"),
        Part([b',"from":' + broker_id for broker_id in ids], sources),
        Part([b',"to":' + broker_id for broker_id in ids], targets),
        Part([b',"reason":%s}' % dumps(reason) for reason in reasons.dictionary.to_pylist()], reasons.indices.to_numpy()),
    )


FORM: Final = Form(ReassignmentQuestionSchema(), answer, ReassignmentAnswerSchema, document, table)

EXAMPLE: Final = {
    "objective": "fewest-moves",
    "racks": "strict",
    "brokers": [
        {"broker_id": 0, "rack_id": "a"},
        {"broker_id": 1, "rack_id": "b"},
        {"broker_id": 2, "rack_id": "a", "draining": True},
    ],
    "topics": [
        {
            "topic_name": "orders",
            "placements": [{"partition_id": 0, "replicas": [2, 1]}, {"partition_id": 1, "replicas": [1, 0]}],
            "partition_bytes": [1_000_000_000, 2_000_000_000],
        }
    ],
    "limits": {"moves_per_broker": 5, "throttle_bytes_per_second": 50_000_000},
}

OPERATION: Final = Operation(
    "planReassignment", "reassignment", "current placement → a plan to a better one", EXAMPLE, query=FrontierSchema
)
