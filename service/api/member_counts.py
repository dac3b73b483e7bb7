"""Plan the number of members of a group: for each, the worst load, what is idle, what moves, and the standstill.

Every number is planned under the group's own assignor and under `balanced`. `worth_using` has those that gain: for 24
partitions 9, 10 and 11 members are no better than 8. `recommended` is the smallest within the limits, and `policies` has what
KEDA would choose for the same lag. `text/csv` and Arrow answers have one row for each assignor and number of members.
"""

from dataclasses import asdict
from dataclasses import fields as fields_of
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, post_load, validate

from service.api.group_schemas import GroupAssignmentSchema, members_field, topics_field
from service.api.rebalance_schemas import TimingSchema
from service.core.measures import FIGURES, NOT_KNOWN
from service.decisions.groups.question import GroupQuestion
from service.decisions.member_counts.answer import MemberCountsAnswer, Policy, answer
from service.decisions.member_counts.question import (
    MOST_MEMBERS,
    MOST_PLANS,
    JudgedPlan,
    Limits,
    MemberCountsQuestion,
    Plans,
    drain_seconds,
    surely_meets,
)
from service.decisions.rebalances.question import POLL_MS
from service.decisions.rows import columns
from service.http import fields
from service.http.fields import INT64, Bool, Int, Number
from service.http.forms import PRICE_PER_GB, AnswerSchema, Form, ImplementationSchema, Operation, ZoneTrafficSchema
from service.http.lists import Array
from service.planner.member_counts import RELEASE, MembersLoad, Scaling, Trigger

GROUP_FIELDS: Final = (
    "kafka_version", "group_protocol", "assignor", "client", "client_version", "balance_racks", "group_id", "topics", "members",
)  # fmt: skip
"""The fields of ``POST /v1/group-assignments`` that this question has too."""


class MemberLimitsSchema(Schema):
    """What every member must keep."""

    max_load = Number("the most that one member may have: partitions, or their lag or weights", load_default=None)
    max_lag_seconds = Number(
        "how long every member may take to process its lag; requires `consumption_rate`", load_default=None, example=60
    )


class WaitsSchema(TimingSchema):
    """What broker and clients wait for."""

    class Meta:
        """The rate of a member is a field of the whole question."""

        exclude = ("consumption_rate",)


class KedaSchema(Schema):
    """The ScaledObject of the group, as far as it decides the number of replicas."""

    lag_threshold = Int("`lagThreshold`", minimum=1, maximum=INT64, load_default=10)
    activation_lag_threshold = Int("`activationLagThreshold`", minimum=0, maximum=INT64, load_default=0)
    offset_reset_policy = fields.String(
        "`offsetResetPolicy`, and that of the members: to KEDA a partition without a committed offset counts as a lag of 1, or "
        "of its whole log. Absent: `latest` for KEDA; what members would read is not known",
        load_default=None,
        validate=validate.OneOf(["latest", "earliest"]),
    )
    scale_to_zero_on_invalid_offset = Bool("`scaleToZeroOnInvalidOffset`: it counts as no lag", load_default=False)
    min_replica_count = Int("`minReplicaCount`", minimum=0, load_default=0)
    max_replica_count = Int("`maxReplicaCount`", minimum=1, load_default=100)
    tolerance = Number("of the HorizontalPodAutoscaler, which ignores smaller changes", zero=True, most=1, load_default=0.1)


class MemberCountPlansSchema(Schema):
    """A group, and the numbers of members that come into question."""

    class Meta:
        """Those of a group are where they are defined."""

        include = {name: GroupAssignmentSchema._declared_fields[name] for name in GROUP_FIELDS[:-2]}  # noqa: SLF001, RUF012

    topics = topics_field()
    members = members_field("the current members, with what they own; additional ones subscribe like the last")
    members_counts = Array(
        Int(minimum=1, maximum=MOST_MEMBERS),
        "the numbers to plan. Absent: from 1 to the number of partitions (with `threads_per_pod`, its multiples); of "
        f"more than {MOST_PLANS} or of many topics those that can gain: 8 and 12 of 24 partitions, but not 9, 10 and 11",
        load_default=None,
        validate=validate.Length(1, MOST_PLANS),
        example=[1, 2, 3, 4, 6, 8, 12, 24],
    )
    consumption_rate = Number(
        "what a member processes per second: records of `lag`, or of `partition_weights`, which are then a lag",
        load_default=None,
        example=5000,
    )
    limits = fields.Nested(MemberLimitsSchema, load_default=lambda: MemberLimitsSchema().load({}))
    threads_per_pod = Int(
        "members that run in one pod, such as `num.stream.threads` or `concurrency`",
        minimum=1,
        maximum=MOST_MEMBERS,
        load_default=1,
    )
    price_per_gb = PRICE_PER_GB
    standstill = Bool(
        "whether to simulate how long partitions have no reader until the group has each number of members", load_default=True
    )
    timing = fields.Nested(WaitsSchema, f"as in /v1/group-rebalances; `poll_interval_ms` absent: {POLL_MS}", load_default=dict)
    keda = fields.Nested(
        KedaSchema, f"what the formulas of KEDA {RELEASE} use besides the lags", load_default=lambda: KedaSchema().load({})
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> MemberCountsQuestion:
        """The question."""
        keda = {name: value for name, value in body.pop("keda").items() if value is not None}
        trigger, scaling = (
            {each.name: keda[each.name] for each in fields_of(kind) if each.name in keda} for kind in (Trigger, Scaling)
        )
        counts = body.pop("members_counts")
        return MemberCountsQuestion(
            GroupQuestion(**{name: body.pop(name) for name in GROUP_FIELDS}),
            None if counts is None else tuple(counts),
            limits=Limits(**body.pop("limits")),
            trigger=Trigger(**trigger),
            scaling=Scaling(**scaling),
            offset_reset_policy=keda.get("offset_reset_policy"),
            **body,
        )


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
        "limit → why no number of members that was planned keeps it",
        keys=fields.String(),
        values=fields.String(),
        required=True,
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
        "policies": [_policy(answer, *each) for each in answer.policies],
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


def _policy(answer: MemberCountsAnswer, policy: Policy, load: MembersLoad | None) -> dict[str, Any]:
    nothing = dict.fromkeys(("worst_load", "mean_load", "most_partitions", "idle_members", "drain_seconds")) | {"meets": {}}
    return {
        "policy": "keda",
        "release": RELEASE,
        **asdict(policy),
        **(nothing if load is None else _load(answer, load)),
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

EXAMPLE: Final = {
    "assignor": "cooperative-sticky",
    "topics": [
        {
            "topic_name": "orders",
            "partitions_count": 6,
            "lag": {
                "committed_offsets": [500_000, 700_000, 640_000, 660_000, 710_000, 690_000],
                "log_end_offsets": [590_000, 740_000, 670_000, 690_000, 730_000, 700_000],
            },
        }
    ],
    "members": [{"member_id": "c1"}, {"member_id": "c2"}],
    "consumption_rate": 2_000,
    "limits": {"max_lag_seconds": 60},
    "keda": {"lag_threshold": 50_000},
}

OPERATION: Final = Operation("planMemberCounts", "member_count_plan", "a group → how many members it needs", EXAMPLE)
