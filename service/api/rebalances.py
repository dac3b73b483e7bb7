"""Simulate what happens to a group: every rebalance that the events cause, and each member's standstill.

If no member owns anything, the group forms at 0 ms; otherwise it is stable then, with what its members own. As `text/csv` or
an Arrow stream the answer is the table of rebalances, or with `compare` that of the comparisons.
"""

from dataclasses import asdict
from math import isinf
from typing import Any, Final

import pyarrow as pa

from service.api.groups import MemberAssignmentSchema, MovementSchema, RangeSchema, assignments_json
from service.api.rebalance_schemas import GroupRebalancesSchema
from service.core.measures import FIGURES, NOT_KNOWN
from service.core.model import Group, Ragged
from service.core.ragged import transposed
from service.decisions.groups.answer import in_answer_order
from service.decisions.rebalances.answer import RebalancesAnswer, Way, answer
from service.decisions.rebalances.conclusions import conclusion, warnings
from service.decisions.rebalances.question import rebalance_protocol_of
from service.decisions.rows import columns
from service.http import fields
from service.http.forms import AnswerSchema, CountsSchema, ExplainSchema, Form, Operation, ZoneTrafficSchema
from service.planner.rebalances import Movement
from service.planner.timelines.model import Idle, Reading, TimelineRebalance, Totals
from service.planner.timelines.simulation import Variant


class StateSchema(AnswerSchema):
    """A state that the group entered."""

    at_ms = fields.Integer()
    state = fields.String("as Kafka names it")


class RequestSchema(AnswerSchema):
    """A request of a member."""

    at_ms = fields.Integer()
    request = fields.String("JoinGroup, ConsumerGroupHeartbeat …")
    member_id = fields.String()
    error = fields.String("of its response, by Kafka's name", optional=True)


CARRIED_OUT = "of a classic group: eager or cooperative; else null"
LEAST = "if every heartbeat and poll that partitions wait for came at once"
MOST = "if each of them had just been missed"


class IdleSchema(AnswerSchema):
    """How long the partitions that this rebalance gave to a member had no reader."""

    partition_ms = fields.Integer("the sum over these partitions")
    longest_ms = fields.Integer("the longest for one partition")
    least_partition_ms = fields.Integer(LEAST)
    least_longest_ms = fields.Integer()
    most_partition_ms = fields.Integer(MOST)
    most_longest_ms = fields.Integer()


class RebalanceSchema(AnswerSchema):
    """One new generation, or one new target assignment."""

    at_ms = fields.Integer("when it began")
    stable_at_ms = fields.Integer("when every member had its assignment; null if another rebalance came first", allow_none=True)
    event = fields.Integer("index of the event that caused it; null when the group forms", allow_none=True)
    reason = fields.String("as the broker logs it")
    group_protocol = fields.String()
    assignor = fields.String()
    generation_id = fields.Integer("of a classic group", optional=True)
    group_epoch = fields.Integer("of any other group", optional=True)
    states = fields.List(fields.Nested(StateSchema), "in order")
    requests_count = fields.Dict("requests by name", keys=fields.String(), values=fields.Integer())
    requests = fields.List(fields.Nested(RequestSchema), "with `detail` assignments: in order", optional=True)
    assignments_before = fields.List(fields.Nested(MemberAssignmentSchema), "what each member had", optional=True)
    assignments = fields.List(fields.Nested(MemberAssignmentSchema), "members in the coordinator's order", optional=True)
    member_load = fields.Nested(CountsSchema, "partitions per member; counts with `detail` assignments", optional=True)
    members_count = fields.Integer()
    movement = fields.Nested(MovementSchema, optional=True)
    revoked = fields.Integer("partitions that a member revoked and did not get back in this rebalance", optional=True)
    withheld = fields.Integer(
        "from `cooperative-sticky`: partitions left unassigned until the follow-up rebalance", optional=True
    )
    zone_traffic = fields.Nested(
        ZoneTrafficSchema, "of the assignment, if topics have `partition_racks` and members a `rack_id`", optional=True
    )
    idle = fields.Nested(IdleSchema)
    undelivered = fields.Float("with `partition_weights` as rates: the backlog of idle partitions", optional=True)
    catch_up_ms = fields.Float(
        "with a `consumption_rate`: the time until the slowest member has consumed that backlog; null if it never does",
        allow_none=True,
        optional=True,
    )
    explanation = fields.Dict("with `explain=true` and `detail` assignments: how the assignor decided", optional=True)


class TotalsSchema(AnswerSchema):
    """What the events cost; without events what it costs that the group forms."""

    rebalances = fields.Integer()
    idle_partition_ms = fields.Integer(
        "the time that partitions waited for a reader, summed over partitions; those that have none in the end are in `end`"
    )
    longest_idle_ms = fields.Integer("the longest for one partition")
    least_idle_partition_ms = fields.Integer(LEAST)
    least_longest_idle_ms = fields.Integer()
    most_idle_partition_ms = fields.Integer(MOST)
    most_longest_idle_ms = fields.Integer()
    moved = fields.Integer("partitions that moved between members: `movement.moved` and `withheld` of all rebalances")
    revoked = fields.Integer("see `movement`; the sum over all rebalances")
    worst_skew = fields.Float("the largest skew of all rebalances")
    requests = fields.Integer("all requests, apart from heartbeats that change nothing")
    end_ms = fields.Integer("when the last rebalance was stable, or the last event happened")
    undelivered = fields.Float("with `partition_weights` as rates: the backlog of idle partitions", optional=True)
    longest_catch_up_ms = fields.Float("the longest `catch_up_ms` of all rebalances; null: never", allow_none=True, optional=True)


class UnreadSchema(AnswerSchema):
    """Partitions of a topic that have no reader at the end, nor ever will have."""

    topic_name = fields.String()
    partitions_count = fields.Integer("how many have none")
    of = fields.Integer("partitions of the topic")
    since_ms = fields.Integer("from when on none of them has a reader")
    reason = fields.String("`no_member` (is left), `no_subscriber`, or `not_assigned` to a subscriber")


class EndSchema(AnswerSchema):
    """How the group is when nothing is to come."""

    members_count = fields.Integer("members that run")
    empty_since_ms = fields.Integer("since when no member runs; null if one does", allow_none=True)
    leader_id = fields.String("the member_id of the leader of a classic group, or null", allow_none=True)
    partitions_count = fields.Integer("partitions that exist")
    unread = fields.List(fields.Nested(UnreadSchema), "by topic, the partitions without a reader")


class EffectiveTimingSchema(AnswerSchema):
    """What was taken for broker and clients: as in the request, or by default."""

    session_timeout_ms = fields.Integer()
    heartbeat_interval_ms = fields.Integer()
    rebalance_timeout_ms = fields.Integer()
    initial_rebalance_delay_ms = fields.Integer()
    metadata_max_age_ms = fields.Integer()
    assignment_interval_ms = fields.Integer()
    poll_interval_ms = fields.Integer()
    consumption_rate = fields.Float(allow_none=True)


class DrawsSchema(AnswerSchema):
    """Timelines that differ in the ids that new and restarted members draw."""

    count = fields.Integer("how many; the first is the one that is answered")
    failed = fields.Integer("in how many of them the assignor fails; `totals` are those of the others")
    totals = fields.Dict(
        "`rebalances`, `moved`, `revoked`, `idle_partition_ms` and `longest_idle_ms` of `totals`",
        keys=fields.String(),
        values=fields.Nested(RangeSchema),
    )


class SlowPollSchema(AnswerSchema):
    """The same for members that poll seldom."""

    poll_interval_ms = fields.Integer()
    idle_partition_ms = fields.Integer("see `totals`")


class ComparisonSchema(AnswerSchema):
    """The same events, another way to run the group."""

    group_protocol = fields.String()
    assignor = fields.String()
    rebalance_protocol = fields.String(CARRIED_OUT, allow_none=True)
    static = fields.Boolean(allow_none=True)
    timing = fields.Nested(EffectiveTimingSchema)
    totals = fields.Nested(TotalsSchema)
    end = fields.Nested(EndSchema)
    draws = fields.Nested(DrawsSchema, optional=True)
    slow_poll = fields.Nested(SlowPollSchema, optional=True)


class DerivedSchema(AnswerSchema):
    """An id that a broker or client draws at random."""

    member_id = fields.String()
    first_member_id = fields.String("the id that this member had first, or its `member_name`")


class ReadsSchema(AnswerSchema):
    """How many partitions a member reads from each time on."""

    at_ms = fields.List(fields.Integer())
    partitions = fields.List(fields.Integer())


class ReadingSchema(AnswerSchema):
    """A member, from its start to its end."""

    member_id = fields.String()
    first_member_id = fields.String("the id that this member had first")
    started_ms = fields.Integer()
    ended_ms = fields.Integer("when its client ended, or left the group; null if it runs", allow_none=True)
    reads = fields.Nested(ReadsSchema)


class GroupRebalancesAnswerSchema(AnswerSchema):
    """Every rebalance of a group, and what they cost."""

    kafka_version = fields.String()
    group_protocol = fields.String()
    assignor = fields.String()
    rebalance_protocol = fields.String(CARRIED_OUT, allow_none=True)
    detail = fields.String()
    timing = fields.Nested(EffectiveTimingSchema)
    rebalances = fields.List(fields.Nested(RebalanceSchema), "unless `detail` is totals", optional=True)
    totals = fields.Nested(TotalsSchema)
    draws = fields.Nested(DrawsSchema, "if members draw ids: the range of totals over several draws", optional=True)
    start = fields.Nested(
        TotalsSchema, "with `events`: what it cost that the group formed at 0 ms, which `totals` does not count", optional=True
    )
    end = fields.Nested(EndSchema)
    final_state = fields.String("the state of the group at the end")
    members = fields.List(
        fields.Nested(ReadingSchema), "with `detail` assignments: how much each member reads, and when", optional=True
    )
    slow_poll = fields.Nested(SlowPollSchema, "with `compare`", optional=True)
    conclusion = fields.String("what the timeline comes to, in sentences")
    warnings = fields.List(fields.String(), "what the figures depend on or assume; absent if there is nothing", optional=True)
    comparisons = fields.List(fields.Nested(ComparisonSchema), "with `compare`, in its order", optional=True)
    derived_member_ids = fields.List(
        fields.Nested(DerivedSchema),
        "the ids of restarted and added members that the request does not give, drawn by `random_seed` in the form in which "
        "brokers and clients draw them. Others can change who gets what: see `draws`",
        optional=True,
    )


def document(answer: RebalancesAnswer) -> dict[str, Any]:
    """The answer as GroupRebalancesAnswerSchema has it."""
    timeline, outcome = answer.first.timeline, answer.first.outcome
    members: dict[str, Any] = {
        "kafka_version": timeline.kafka_version,
        "group_protocol": timeline.group_protocol,
        "assignor": timeline.assignor.name,
        "rebalance_protocol": rebalance_protocol_of(timeline.group_protocol, timeline.assignor),
        "detail": timeline.detail,
        "timing": asdict(timeline.timing),
    }
    if timeline.detail != "totals":
        members["rebalances"] = [_rebalance(rebalance, answer.question.price_per_gb) for rebalance in outcome.rebalances]
    members |= {"totals": _totals(outcome.totals), **_draws(answer.first), "final_state": outcome.end.state}
    if outcome.start is not None:
        members["start"] = _totals(outcome.start)
    members["end"] = _end(answer.first)
    if outcome.readings is not None:
        members["members"] = [_reading(reading) for reading in outcome.readings]
    if answer.variants:
        members |= _slow_poll(answer.first)
        members["comparisons"] = [
            {
                **_variant(variant),
                "timing": asdict(variant.timing),
                "totals": _totals(way.outcome.totals),
                "end": _end(way),
                **_draws(way),
                **_slow_poll(way),
            }
            for variant, way in zip(answer.variants, answer.others, strict=True)
        ]
    if timeline.detail != "totals":
        members["derived_member_ids"] = [{"member_id": new, "first_member_id": first} for new, first in outcome.derived_ids]
    members["conclusion"] = conclusion(answer)
    if sentences := warnings(answer):
        members["warnings"] = sentences
    return members


def table(answer: RebalancesAnswer) -> pa.Table:
    """The table of rebalances, or with ``compare`` that of the comparisons."""
    return _comparison_rows(answer) if answer.variants else _rebalance_rows(answer)


def _draws(way: Way) -> dict[str, Any]:
    return {} if way.draws is None else {"draws": asdict(way.draws)}


def _end(way: Way) -> dict[str, Any]:
    end, names = way.outcome.end, way.timeline.world.names
    unread = [{"topic_name": names[each.topic], **asdict(each)} for each in end.unread]
    for row in unread:
        del row["topic"]
    figures = {"members_count": end.members_count, "empty_since_ms": end.empty_since_ms, "leader_id": end.leader_id}
    return {**figures, "partitions_count": end.partitions_count, "unread": unread}


def _slow_poll(way: Way) -> dict[str, Any]:
    if way.slow is None:
        return {}
    timeline, outcome = way.slow
    idle = outcome.totals.idle.sum_ms
    return {"slow_poll": {"poll_interval_ms": timeline.timing.poll_interval_ms, "idle_partition_ms": idle}}


def _rebalance(rebalance: TimelineRebalance, price_per_gb: float | None) -> dict[str, Any]:
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
        "idle": _idle(rebalance.idle, ""),
    }
    if rebalance.load is not None and rebalance.movement is not None:
        document["member_load"] = asdict(rebalance.load)
        document["movement"] = {**asdict(rebalance.movement), "fewest_possible_moves": rebalance.fewest_possible_moves}
        document |= {"revoked": rebalance.movement.revoked, "withheld": rebalance.withheld}
    if rebalance.zone_traffic is not None:
        document["zone_traffic"] = rebalance.zone_traffic.figures(price_per_gb)
    if rebalance.group is not None and rebalance.assignment is not None:
        document["member_load"] = {"counts": rebalance.assignment.lengths(), **document["member_load"]}
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
    owners = transposed(rows, group.total_partitions)
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
    document = _flat(totals)
    if totals.longest_catch_up_ms is not None:
        document["longest_catch_up_ms"] = _finite(totals.longest_catch_up_ms)
    else:
        del document["longest_catch_up_ms"]
    if totals.undelivered is None:
        del document["undelivered"]
    return document


def _flat(totals: Totals) -> dict[str, Any]:
    """The totals, idle times at the top level as well."""
    rows = asdict(totals)
    del rows["idle"]
    return {"rebalances": rows.pop("rebalances"), **_idle(totals.idle, "idle_"), **rows}


def _idle(idle: Idle, name: str) -> dict[str, int]:
    """Idle times. name : goes before ``partition_ms``, and into ``longest_ms`` before ``ms``"""
    kinds = {"": (idle.sum_ms, idle.longest_ms), "least_": (idle.least_sum_ms, idle.least_longest_ms)}
    kinds["most_"] = (idle.most_sum_ms, idle.most_longest_ms)
    rows: dict[str, int] = {}
    for kind, (total, longest) in kinds.items():
        rows |= {f"{kind}{name}partition_ms": total, f"{kind}longest_{name}ms": longest}
    return rows


def _finite(milliseconds: float) -> float | None:
    return None if isinf(milliseconds) else milliseconds


def _variant(variant: Variant) -> dict[str, Any]:
    return {
        "group_protocol": variant.group_protocol,
        "assignor": variant.assignor.name,
        "rebalance_protocol": rebalance_protocol_of(variant.group_protocol, variant.assignor),
        "static": variant.static,
    }


def _rebalance_rows(answer: RebalancesAnswer) -> pa.Table:
    """The table of rebalances."""
    types = {
        **columns(
            "rebalance long, at_ms long, stable_at_ms long, event long, reason string, group_protocol string, assignor string, "
            "epoch long, members long, retained long, moved long, added long, revoked long, withheld long"
        ),
        **dict.fromkeys(_idle(Idle(), "idle_"), pa.int64()),
        **dict.fromkeys(("skew", *FIGURES), pa.float64()),
    }
    rows = []
    for i, one in enumerate(answer.first.outcome.rebalances):
        named = (i, one.at_ms, one.stable_at_ms, one.event, one.reason, one.protocol, one.assignor, one.epoch, one.members_count)
        moves = vars(one.movement or Movement(0, 0, 0, 0)).values()
        crossing = (one.zone_traffic or NOT_KNOWN).figures(answer.question.price_per_gb).values()
        skew = one.load.skew if one.load else 1.0
        rows.append((*named, *moves, one.withheld, *_idle(one.idle, "idle_").values(), skew, *crossing))
    return pa.Table.from_pylist([dict(zip(types, row, strict=True)) for row in rows], pa.schema(types))


def _comparison_rows(answer: RebalancesAnswer) -> pa.Table:
    """The table of comparisons."""
    rows = [_variant(variant) | _flat(way.outcome.totals) for variant, way in zip(answer.variants, answer.others, strict=True)]
    types = dict.fromkeys(rows[0], pa.int64())
    types |= columns("group_protocol string, assignor string, rebalance_protocol string, static boolean")
    types |= columns("worst_skew double, undelivered double, longest_catch_up_ms double")
    return pa.Table.from_pylist(rows, pa.schema(types))


FORM: Final = Form(GroupRebalancesSchema(), answer, GroupRebalancesAnswerSchema, document, table)

EXAMPLE: Final = {
    "group_protocol": "classic",
    "assignor": "cooperative-sticky",
    "topics": [{"topic_name": "orders", "partitions_count": 6}],
    "members": [{"member_id": "c1"}, {"member_id": "c2"}],
    "events": [
        {"at_ms": 10_000, "type": "member_joins", "member": {"member_id": "c3"}},
        {"at_ms": 60_000, "type": "member_crashes", "member_id": "c1"},
    ],
}

OPERATION: Final = Operation(
    "simulateRebalances", "rebalance", "a timeline of a group → its rebalances", EXAMPLE, query=ExplainSchema
)
