"""The answer of ``POST /v1/group-rebalances``: its schema, its JSON, its tables."""

from dataclasses import asdict
from math import isinf
from typing import Any

import pyarrow as pa
from flask import Response
from marshmallow import Schema, fields

from service.api.groups.response import MemberAssignmentSchema, MovementSchema, assignments_json
from service.api.rebalances.request import RebalancesQuestion
from service.arrow.groups import in_answer_order
from service.core.model import Group, Ragged
from service.core.ragged import transposed
from service.core.timelines.model import Outcome, Reading, Rebalance, Totals
from service.core.timelines.simulation import Variant
from service.web import responses
from service.web.fields import about
from service.web.schemas import CountsSchema


class StateSchema(Schema):
    """A state that the group entered."""

    at_ms = fields.Integer()
    state = fields.String(metadata=about("as Kafka names it"))


class RequestSchema(Schema):
    """A request of a member."""

    at_ms = fields.Integer()
    request = fields.String(metadata=about("JoinGroup, ConsumerGroupHeartbeat …"))
    member_id = fields.String()
    error = fields.String(metadata=about("of its response, by Kafka's name"))


class IdleSchema(Schema):
    """How long the partitions that this rebalance gave to a member had no reader."""

    partition_ms = fields.Integer(metadata=about("the sum over these partitions"))
    longest_ms = fields.Integer(metadata=about("the longest for one partition"))


class RebalanceSchema(Schema):
    """One new generation, or one new target assignment."""

    at_ms = fields.Integer(metadata=about("when it began"))
    stable_at_ms = fields.Integer(
        allow_none=True, metadata=about("when every member had what it was assigned; null if another rebalance came first")
    )
    event = fields.Integer(
        allow_none=True, metadata=about("index of the event that caused it; null for the forming of the group")
    )
    reason = fields.String(metadata=about("in the words of the broker's log"))
    group_protocol = fields.String()
    assignor = fields.String()
    generation_id = fields.Integer(metadata=about("of a classic group"))
    group_epoch = fields.Integer(metadata=about("of any other group"))
    states = fields.List(fields.Nested(StateSchema), metadata=about("in order"))
    requests_count = fields.Dict(keys=fields.String(), values=fields.Integer(), metadata=about("requests by name"))
    requests = fields.List(fields.Nested(RequestSchema), metadata=about("with `detail` assignments: in order"))
    assignments_before = fields.List(fields.Nested(MemberAssignmentSchema), metadata=about("what each member had"))
    assignments = fields.List(fields.Nested(MemberAssignmentSchema), metadata=about("members in the coordinator's order"))
    member_load = fields.Nested(CountsSchema, metadata=about("partitions per member; counts with `detail` assignments"))
    members_count = fields.Integer()
    movement = fields.Nested(MovementSchema)
    revoked = fields.Integer(metadata=about("partitions that a member gave up and that the rebalance did not give back to it"))
    withheld = fields.Integer(metadata=about("from `cooperative-sticky`: partitions that wait for the follow-up rebalance"))
    idle = fields.Nested(IdleSchema)
    undelivered = fields.Float(metadata=about("with `partition_weights` as rates: what came in for idle partitions"))
    catch_up_ms = fields.Float(
        allow_none=True,
        metadata=about("with a `consumption_rate`: until the slowest member has worked that off; null if it never does"),
    )
    explanation = fields.Dict(metadata=about("with `explain=true` and `detail` assignments: how the assignor came to this"))


class TotalsSchema(Schema):
    """What a timeline costs."""

    rebalances = fields.Integer()
    idle_partition_ms = fields.Integer(
        metadata=about("the time that partitions had no reader, summed over partitions; those still idle at `end_ms` included")
    )
    longest_idle_ms = fields.Integer(metadata=about("the longest for one partition"))
    moved = fields.Integer(
        metadata=about("partitions that went from one member to another: `movement.moved` and `withheld` of all rebalances")
    )
    revoked = fields.Integer(metadata=about("see `movement`; the sum over all rebalances"))
    worst_skew = fields.Float(metadata=about("the largest skew of all rebalances"))
    requests = fields.Integer(metadata=about("all requests, apart from heartbeats that change nothing"))
    end_ms = fields.Integer(metadata=about("when the last rebalance was stable, or the last event happened"))
    undelivered = fields.Float(metadata=about("with `partition_weights` as rates: what came in for idle partitions"))
    longest_catch_up_ms = fields.Float(
        allow_none=True, metadata=about("the longest `catch_up_ms` of all rebalances; null: never")
    )


class ComparisonSchema(Schema):
    """The same events, another way to run the group."""

    group_protocol = fields.String()
    assignor = fields.String()
    static = fields.Boolean(allow_none=True)
    totals = fields.Nested(TotalsSchema)


class DerivedSchema(Schema):
    """An id that a broker or client would have drawn at random."""

    member_id = fields.String()
    first_member_id = fields.String(metadata=about("the id that this member had first"))


class ReadsSchema(Schema):
    """How many partitions a member reads: from each time on, so many."""

    at_ms = fields.List(fields.Integer())
    partitions = fields.List(fields.Integer())


class ReadingSchema(Schema):
    """A member, from its start to its end."""

    member_id = fields.String()
    first_member_id = fields.String(metadata=about("the id that this member had first"))
    started_ms = fields.Integer()
    ended_ms = fields.Integer(allow_none=True, metadata=about("when its client ended, or fell out of the group; null if it runs"))
    reads = fields.Nested(ReadsSchema)


class GroupRebalancesAnswerSchema(Schema):
    """Every rebalance of a group, and what they cost."""

    kafka_version = fields.String()
    group_protocol = fields.String()
    assignor = fields.String()
    detail = fields.String()
    rebalances = fields.List(fields.Nested(RebalanceSchema), metadata=about("unless `detail` is totals"))
    totals = fields.Nested(TotalsSchema)
    final_state = fields.String(metadata=about("the state of the group at the end"))
    members = fields.List(
        fields.Nested(ReadingSchema), metadata=about("with `detail` assignments: how much each member reads, and when")
    )
    comparisons = fields.List(fields.Nested(ComparisonSchema), metadata=about("with `compare`, in its order"))
    derived_member_ids = fields.List(
        fields.Nested(DerivedSchema),
        metadata=about(
            "the ids of restarted and added members that the request does not give: a name-based UUID in the place of a "
            "random one. A broker's own ids can change how ties between members are decided"
        ),
    )


def answer(question: RebalancesQuestion, outcome: Outcome, comparisons: list[Outcome]) -> Response:
    """The answer in the media type that the client accepts."""
    media_type = responses.preferred()
    if media_type != responses.JSON:
        rows = _comparison_rows(question, comparisons) if question.variants else _rebalance_rows(outcome)
        return responses.table(rows, media_type)
    timeline = question.timeline
    document: dict[str, Any] = {
        "kafka_version": question.kafka_version,
        "group_protocol": timeline.group_protocol,
        "assignor": timeline.assignor.name,
        "detail": timeline.detail,
    }
    if timeline.detail != "totals":
        document["rebalances"] = [_rebalance(rebalance) for rebalance in outcome.rebalances]
    document |= {"totals": _totals(outcome.totals), "final_state": outcome.final_state}
    if outcome.readings is not None:
        document["members"] = [_reading(reading) for reading in outcome.readings]
    if question.variants:
        pairs = zip(question.variants, comparisons, strict=True)
        document["comparisons"] = [{**_variant(variant), "totals": _totals(other.totals)} for variant, other in pairs]
    if timeline.detail != "totals":
        document["derived_member_ids"] = [{"member_id": new, "first_member_id": first} for new, first in outcome.derived_ids]
    return responses.answer(document)


def _rebalance(rebalance: Rebalance) -> dict[str, Any]:
    """A rebalance as RebalanceSchema has it."""
    document: dict[str, Any] = {
        "at_ms": rebalance.at_ms,
        "stable_at_ms": rebalance.stable_at_ms,
        "event": rebalance.event,
        "reason": rebalance.reason,
        "group_protocol": rebalance.protocol,
        "assignor": rebalance.assignor,
        "generation_id" if rebalance.protocol == "classic" else "group_epoch": rebalance.epoch,
        "states": [{"at_ms": at, "state": state} for at, state in rebalance.states],
        "requests_count": rebalance.requests_count,
        "members_count": rebalance.members_count,
        "idle": {"partition_ms": rebalance.idle_ms, "longest_ms": rebalance.longest_idle_ms},
    }
    if rebalance.load is not None and rebalance.movement is not None:
        document["member_load"] = asdict(rebalance.load)
        document["movement"] = {**asdict(rebalance.movement), "fewest_possible_moves": rebalance.fewest_possible_moves}
        document |= {"revoked": rebalance.movement.revoked, "withheld": rebalance.withheld}
    if rebalance.group is not None and rebalance.assignment is not None:
        document["member_load"] = {"counts": rebalance.counts, **document["member_load"]}
        document["assignments_before"] = assignments_json(rebalance.group, _ordered(rebalance.group, rebalance.group.owned))
        document["assignments"] = assignments_json(rebalance.group, _ordered(rebalance.group, rebalance.assignment))
        document["requests"] = [
            {"at_ms": one.at_ms, "request": one.api, "member_id": one.member_id, **({"error": one.error} if one.error else {})}
            for one in sorted(rebalance.requests, key=lambda one: one.at_ms)
        ]
        if rebalance.group.topics.weights is not None:
            document["undelivered"] = rebalance.backlog
    if rebalance.catch_up_ms is not None:
        document["catch_up_ms"] = _finite(rebalance.catch_up_ms)
    if rebalance.explanation is not None:
        document["explanation"] = rebalance.explanation
    return document


def _ordered(group: Group, rows: Ragged) -> Ragged:
    owners = transposed(rows, group.topics.partitions_count + len(group.unknown_partitions))
    return in_answer_order(group, rows, owners)


def _reading(reading: Reading) -> dict[str, Any]:
    times, counts = zip(*reading.reads, strict=True) if reading.reads else ((), ())
    return {
        "member_id": reading.member_id,
        "first_member_id": reading.first_member_id,
        "started_ms": reading.started_ms,
        "ended_ms": reading.ended_ms,
        "reads": {"at_ms": times, "partitions": counts},
    }


def _totals(totals: Totals) -> dict[str, Any]:
    document = asdict(totals)
    if totals.longest_catch_up_ms is not None:
        document["longest_catch_up_ms"] = _finite(totals.longest_catch_up_ms)
    else:
        del document["longest_catch_up_ms"]
    if totals.undelivered is None:
        del document["undelivered"]
    return document


def _finite(milliseconds: float) -> float | None:
    return None if isinf(milliseconds) else milliseconds


def _variant(variant: Variant) -> dict[str, Any]:
    return {"group_protocol": variant.group_protocol, "assignor": variant.assignor.name, "static": variant.static}


def _rebalance_rows(outcome: Outcome) -> pa.Table:
    """The table of rebalances."""
    columns: dict[str, pa.DataType] = {
        **{name: pa.int64() for name in ("rebalance", "at_ms", "stable_at_ms", "event")},
        **{name: pa.string() for name in ("reason", "group_protocol", "assignor")},
        **{name: pa.int64() for name in ("epoch", "members", "retained", "moved", "added", "revoked", "withheld")},
        "idle_partition_ms": pa.int64(),
        "longest_idle_ms": pa.int64(),
        "skew": pa.float64(),
    }
    rows = []
    for i, one in enumerate(outcome.rebalances):
        moves = (
            (one.movement.retained, one.movement.moved, one.movement.added, one.movement.revoked) if one.movement else (0,) * 4
        )
        skew = one.load.skew if one.load else 1.0
        named = (i, one.at_ms, one.stable_at_ms, one.event, one.reason, one.protocol, one.assignor, one.epoch, one.members_count)
        rows.append((*named, *moves, one.withheld, one.idle_ms, one.longest_idle_ms, skew))
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pa.table({name: pa.array(cells, kind) for (name, kind), cells in zip(columns.items(), values, strict=True)})


def _comparison_rows(question: RebalancesQuestion, comparisons: list[Outcome]) -> pa.Table:
    """The table of comparisons."""
    variants = [_variant(variant) for variant in question.variants]
    totals = [asdict(outcome.totals) for outcome in comparisons]
    kinds = {"worst_skew": pa.float64(), "undelivered": pa.float64(), "longest_catch_up_ms": pa.float64()}
    columns = {name: pa.array([one[name] for one in variants], pa.string()) for name in ("group_protocol", "assignor")}
    columns["static"] = pa.array([one["static"] for one in variants], pa.bool_())
    for name in totals[0]:
        columns[name] = pa.array([one[name] for one in totals], kinds.get(name, pa.int64()))
    return pa.table(columns)
