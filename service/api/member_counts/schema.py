"""The JSON body of a question about numbers of members."""

from dataclasses import fields as fields_of
from typing import Any, Final

from marshmallow import Schema, post_load, validate

from service.api.groups.schema import GroupAssignmentSchema, members_field, topics_field
from service.api.rebalances.schema import TimingSchema
from service.decisions.groups.question import GroupQuestion
from service.decisions.member_counts.question import MOST_MEMBERS, MOST_PLANS, Limits, MemberCountsQuestion
from service.decisions.rebalances.question import POLL_MS
from service.planner.member_counts.keda import RELEASE, Scaling, Trigger
from service.web import described as fields
from service.web.fields import INT64, Array, Bool, Int, Number
from service.web.schemas import price_per_gb_field

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
    price_per_gb = price_per_gb_field()
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
