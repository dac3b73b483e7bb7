"""Plans of numbers of members as JSON and as a table."""

from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from service.api.member_counts.schema import MemberCountPlansSchema
from service.core.measures.zone_traffic import FIGURES, NOT_KNOWN
from service.decisions.member_counts.answer import ChosenCount, MemberCountsAnswer, answer
from service.decisions.member_counts.judging import JudgedPlan, Plans, drain_seconds, surely_meets
from service.decisions.rows.arrays import columns
from service.planner.member_counts.keda import RELEASE
from service.planner.member_counts.plans import MembersLoad
from service.web import described as fields
from service.web.forms import Form
from service.web.schemas import AnswerSchema, ImplementationSchema, ZoneTrafficSchema


class MembersLoadSchema(AnswerSchema):
    """How much members have to read."""

    worst_load = fields.Float("of the most loaded member: partitions, or their lag or weight; ÷ its `capacity`")
    mean_load = fields.Float("of the members")
    most_partitions = fields.Integer("of one member")
    idle_members = fields.Integer("members without a partition")
    drain_seconds = fields.Float(
        "with `consumption_rate`: until the most loaded member has processed its lag, if no more records arrive",
        allow_none=True,
    )
    zone_traffic = fields.Nested(ZoneTrafficSchema, "if topics have `partition_racks` and members a `rack_id`", optional=True)
    worst_load_at_most = fields.Float(
        "if some lags are not known, which the other loads leave out: the most that `worst_load` can be; null: not known",
        allow_none=True,
        optional=True,
    )
    drain_seconds_at_most = fields.Float("the same of `drain_seconds`", allow_none=True, optional=True)
    meets = fields.Dict(
        "limit → whether it is kept; null: not known", keys=fields.String(), values=fields.Boolean(allow_none=True)
    )


class MembersPlanSchema(MembersLoadSchema):
    """A number of members."""

    members_count = fields.Integer()
    pods = fields.Integer("with `threads_per_pod` members in each")
    moved = fields.Integer("partitions that go to a member other than their present owner")
    unread_partitions = fields.Integer(
        "partitions to which only further members subscribe; such a number neither gains nor is recommended", required=True
    )
    idle_partition_ms = fields.Integer(
        "the time without a reader until the group has this number of members, the sum over partitions; null where that was not "
        "simulated",
        allow_none=True,
    )
    longest_idle_ms = fields.Integer("the same of the partition that waits longest", allow_none=True)
    rebalances = fields.Integer("the number of rebalances until then", allow_none=True)
    gains = fields.Boolean("whether the worst load is lower than with every smaller number")
    bound = fields.Float(
        "from `balanced`: no assignment to this number of members has a lower worst load", allow_none=True, required=True
    )


class MembersPlansSchema(AnswerSchema):
    """The plans under one assignor."""

    assignor = fields.String()
    plans = fields.List(fields.Nested(MembersPlanSchema), "by `members_count`")
    worth_using = fields.List(fields.Integer(), "the numbers that gain")
    recommended = fields.Integer(
        "the smallest number planned that surely keeps all limits; null if none does, or there are no limits",
        allow_none=True,
        required=True,
    )
    out_of_reach = fields.Dict(
        "limit → why no number of members that was planned keeps it", keys=fields.String(), values=fields.String(), required=True
    )


class PolicySchema(MembersLoadSchema):
    """What KEDA chooses."""

    policy = fields.String("`keda`")
    option = fields.String(
        "the option that is set, such as `limitToPartitionsWithLag`, which takes a trigger for each topic; null: none",
        allow_none=True,
    )
    release = fields.String("of KEDA")
    triggers = fields.Integer("one for all topics, or one for each")
    total_lag = fields.Integer("the lag that the triggers report, with the option applied, within 64 bits")
    is_active = fields.Boolean("whether the lag is above `activation_lag_threshold`")
    replicas = fields.Integer("pods, without the limits of a HorizontalPodAutoscaler on its speed")
    members_count = fields.Integer("in these pods")
    worst_load = fields.Float("under the group's own assignor; null without members", allow_none=True)
    mean_load = fields.Float(allow_none=True)
    most_partitions = fields.Integer(allow_none=True)
    idle_members = fields.Integer(allow_none=True)


class MemberCountPlansAnswerSchema(MembersPlansSchema):
    """What each number of members would mean."""

    kafka_version = fields.String()
    group_protocol = fields.String()
    implementation = fields.Nested(ImplementationSchema)
    partitions_count = fields.Integer("of all topics")
    current_members_count = fields.Integer()
    current = fields.Nested(
        MembersLoadSchema, "the load by what members own now; null without members", allow_none=True, required=True
    )
    balanced = fields.Nested(
        MembersPlansSchema,
        "the same under `balanced`; null for share groups, which do not have it",
        allow_none=True,
    )
    policies = fields.List(
        fields.Nested(PolicySchema),
        "with `lag`, or `partition_weights` in its place: what KEDA would choose; not for share groups",
    )
    planned = fields.String("`all`: from 1 to the number of partitions; `useful`: those that can gain with equal loads; `listed`")
    conclusion = fields.String("how many members are enough, or which numbers gain, of those planned or proven for all")
    warnings = fields.List(fields.String(), "the assumptions behind the figures")


def document(answer: MemberCountsAnswer) -> dict[str, Any]:
    """The answer, as MemberCountPlansAnswerSchema has it."""
    question = answer.question
    return {
        "kafka_version": question.group.version,
        "group_protocol": question.group.protocol,
        "implementation": answer.own.assignor.implementation_fields,
        "partitions_count": answer.partitions,
        "current_members_count": answer.current,
        "current": None if answer.now is None else _load(answer, answer.now),
        **_plans(answer, answer.own),
        "balanced": None if answer.balanced is None else _plans(answer, answer.balanced),
        "policies": [_policy(answer, each) for each in answer.policies],
        "planned": answer.planned,
        "conclusion": answer.conclusion,
        "warnings": list(answer.warnings),
    }


def _load(answer: MemberCountsAnswer, load: MembersLoad) -> dict[str, Any]:
    at_most = None if answer.is_unbounded else load.worst_at_most
    rate = answer.question.consumption_rate
    longest = None if at_most is None or rate is None else at_most / rate
    return {
        "worst_load": load.worst,
        "mean_load": load.mean,
        "most_partitions": load.most_partitions,
        "idle_members": load.idle_members,
        "drain_seconds": drain_seconds(answer.question, load),
        **({} if load.traffic is None else {"zone_traffic": _traffic(answer, load)}),
        **({} if answer.are_known else {"worst_load_at_most": at_most, "drain_seconds_at_most": longest}),
        "meets": surely_meets(answer.question, load, is_unbounded=answer.is_unbounded),
    }


def _traffic(answer: MemberCountsAnswer, load: MembersLoad) -> dict[str, float | None]:
    question = answer.question
    return (load.traffic or NOT_KNOWN).figures(question.price_per_gb, of_lag=question.has_lag)


def _plans(answer: MemberCountsAnswer, each: Plans) -> dict[str, Any]:
    return {
        "assignor": each.assignor.name,
        "plans": [_plan(answer, plan) for plan in each.plans],
        "worth_using": each.worth_using,
        "recommended": each.recommended,
        "out_of_reach": each.out_of_reach,
    }


def _plan(answer: MemberCountsAnswer, each: JudgedPlan) -> dict[str, Any]:
    plan, standstill = each.plan, each.standstill
    return {
        "members_count": plan.members_count,
        "pods": -(-plan.members_count // answer.question.threads_per_pod),
        **_load(answer, plan.load),
        "moved": plan.moved,
        "unread_partitions": plan.unread,
        **dict.fromkeys(("rebalances", "idle_partition_ms", "longest_idle_ms")),
        **({} if standstill is None else asdict(standstill)),
        "gains": plan.gains,
        "bound": plan.bound,
    }


def _policy(answer: MemberCountsAnswer, each: ChosenCount) -> dict[str, Any]:
    nothing = dict.fromkeys(("worst_load", "mean_load", "most_partitions", "idle_members", "drain_seconds")) | {"meets": {}}
    return {
        "policy": "keda",
        "release": RELEASE,
        **asdict(each.policy),
        **(nothing if each.load is None else _load(answer, each.load)),
    }


COLUMNS: Final = pa.schema(
    {
        **columns(
            "assignor string, members_count int, pods int, worst_load double, mean_load double, most_partitions int, "
            "idle_members int, drain_seconds double, moved int, unread_partitions int, rebalances int, "
            "idle_partition_ms long, longest_idle_ms long, gains boolean, bound double, meets_limits boolean, "
            "recommended boolean"
        ),
        **dict.fromkeys(FIGURES, pa.float64()),
    }
)
"""The columns of the table."""


def table(answer: MemberCountsAnswer) -> pa.Table:
    """The answer's table: a row for each assignor and number of members; ``meets_limits`` is null without limits."""
    rows = []
    for plans in (answer.own, *(() if answer.balanced is None else (answer.balanced,))):
        for each in plans.plans:
            row = {"assignor": plans.assignor.name, **_plan(answer, each), **_traffic(answer, each.plan.load)}
            kept = set(each.meets.values())
            row["meets_limits"] = False if False in kept else None if None in kept or not kept else True
            row["recommended"] = each.plan.members_count == plans.recommended
            rows.append(row)
    return pa.Table.from_pylist(rows, COLUMNS)


FORM: Final = Form(MemberCountPlansSchema(), answer, MemberCountPlansAnswerSchema, document, table)
