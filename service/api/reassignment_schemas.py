"""The JSON body of a question about a reassignment to be planned."""

from typing import Any, Final

from marshmallow import Schema, ValidationError, post_load, validate

from service.core.errors import InvalidQuestion
from service.decisions.reassignments.question import ReassignmentQuestion
from service.decisions.reassignments.rows import (
    MOST_BYTES,
    PLACED_TOPIC,
    REASSIGNED,
    TARGET_BROKER,
    plain_placed_topics,
    plain_reassigned,
    plain_target_brokers,
)
from service.decisions.reassignments.selection import read_balance
from service.http import fields
from service.http.fields import INT64, Bool, Int, Name, Number, TopicName
from service.http.forms import OF_BROKERS, DetailSchema, KafkaVersion, topic_of_a_snapshot
from service.http.lists import Array, Rows
from service.planner.reassignments import (
    BALANCES,
    BATCH_ORDERS,
    BATCH_SECONDS,
    LEADER_RULES,
    OBJECTIVES,
    RACK_RULES,
    RESOURCES,
    THROTTLE_UTILIZATION,
    UNKNOWN_RACKS,
)
from service.planner.reassignments.model import Priorities

LARGEST_FACTOR = 2**15 - 1

LONGEST_BATCH = 86_400
"""Most seconds that a batch may take besides copying."""

PATTERNS = "names or patterns with `*` (any characters) and `?` (one)"


REPLICAS: Final = Array(
    Int(), "broker ids, the preferred leader first", required=True, validate=validate.Length(min=1, max=LARGEST_FACTOR)
)
"""Where a partition is, or goes."""


def _replication_factor(text: str, **options: Any) -> Int:
    return Int(text, minimum=1, maximum=LARGEST_FACTOR, allow_none=True, **options)


class TargetBrokerSchema(Schema):
    """A broker as it is to be."""

    broker_id = Int(required=True)
    rack_id = Name("`broker.rack`; brokers without one count as one rack", empty=True, allow_none=True)
    fenced = Bool("whether it is fenced: its replicas move to other brokers, and none is copied from it; default false")
    draining = Bool("whether to empty it: its replicas move to other brokers; default false")
    demoted = Bool(
        "whether other brokers are to lead its partitions where they can: it becomes the last in each list of replicas; "
        "default false"
    )
    weight = Number("its share of the load, relative to the other brokers; default 1", allow_none=True)
    max_replicas = Int("the maximum number of replicas", minimum=0, maximum=MOST_BYTES, allow_none=True)
    capacity_bytes = Int("the size of its disks; needs `partition_bytes`", minimum=0, maximum=MOST_BYTES, allow_none=True)
    used_bytes = Int(
        "the bytes of `capacity_bytes` in use now, as in a snapshot; those that the replicas in the body do not account for "
        "stay in use; default: the replicas' bytes",
        minimum=0,
        maximum=MOST_BYTES,
        allow_none=True,
    )
    replaces = Int("the broker whose replicas all move to this one", allow_none=True)
    cpu_usage = Number(
        "the CPU that it uses now, in cores, or as a share if all brokers have equally many; of all brokers that lead "
        "partitions or none; for `balance`: `cpu`",
        zero=True,
        allow_none=True,
    )
    cordoned = Bool("whether it keeps the replicas that it has and gets no others (KIP-1066); default false")


class PlacedPartitionSchema(Schema):
    """Where a partition is now."""

    partition_id = Int(required=True, minimum=0)
    replicas = REPLICAS
    in_sync_replicas = Array(Int(), "the replicas in sync; absent: all on brokers that are not fenced or gone", allow_none=True)
    leader = Int(
        "the broker that leads now; -1, or null where other partitions have one: none; absent of all partitions: not known",
        allow_none=True,
    )
    adding_replicas = Array(Int(), "those of `replicas` that a reassignment in progress adds", allow_none=True)
    removing_replicas = Array(
        Int(), "the replicas that it removes; the plan takes it as done, with or without them in `replicas`", allow_none=True
    )


@topic_of_a_snapshot("placements", "partition_bytes")
class PlacedTopicSchema(Schema):
    """A topic, and where its partitions are now."""

    topic_name = TopicName(required=True)
    replication_factor = _replication_factor("for this topic instead of the body's")
    min_insync_replicas = Int("for this topic instead of the body's", minimum=1, maximum=LARGEST_FACTOR, allow_none=True)
    placements = Array(fields.Nested(PlacedPartitionSchema), required=True)
    partition_bytes = Array(
        Int(minimum=0, maximum=MOST_BYTES),
        "the bytes of a replica of each of `placements`; for all topics or none",
        allow_none=True,
    )
    partition_bytes_per_second = Array(
        Number(zero=True), "the rate at which producers write to each of `placements`; for all topics or none", allow_none=True
    )
    partition_bytes_out_per_second = Array(
        Number(zero=True),
        "the rate at which consumers read each of `placements`, without what followers fetch; for all topics or none",
        allow_none=True,
    )


def target_brokers(text: str) -> Rows:
    """A body's ``brokers``, as they are to be."""
    return Rows(TargetBrokerSchema, TARGET_BROKER, plain_target_brokers, text, required=True)


def placed_topics(text: str, *, required: bool = True) -> Rows:
    """A body's ``topics``, as they are placed."""
    return Rows(PlacedTopicSchema, PLACED_TOPIC, plain_placed_topics, text, required=required)


class ReassignedPartitionSchema(Schema):
    """A partition as ``kafka-reassign-partitions`` writes it."""

    topic = TopicName(required=True)
    partition = Int(required=True, minimum=0)
    replicas = REPLICAS
    log_dirs = Array(Name(empty=True), "not used", allow_none=True)


class KafkaReassignmentSchema(Schema):
    """Kafka's reassignment JSON."""

    version = Int(minimum=1, maximum=1)
    partitions = Rows(ReassignedPartitionSchema, REASSIGNED, plain_reassigned, required=True)


class PacedSchema(Schema):
    """How long batches take."""

    duration_seconds = Int(
        "the time for all batches; the answer has the throttle that this needs, and the plan uses it if "
        "`throttle_bytes_per_second` takes longer, or never ends",
        minimum=1,
        allow_none=True,
    )
    throttle_utilization = Number(
        f"the share of the throttle that copying reaches; default {THROTTLE_UTILIZATION:g}", most=1, allow_none=True
    )
    batch_seconds = Number(
        f"the time that a batch takes besides copying; default {BATCH_SECONDS:g}", zero=True, most=LONGEST_BATCH, allow_none=True
    )


class LimitsSchema(PacedSchema):
    """What one batch may do, and how fast."""

    moves_per_broker = Int(
        "the maximum number of replicas that a broker receives, and that it gives away, in one batch", minimum=1, allow_none=True
    )
    moves_per_batch = Int("replicas copied in one batch", minimum=1, allow_none=True)
    bytes_in_flight = Int("bytes copied in one batch", minimum=1, maximum=INT64, allow_none=True)
    order = fields.String(
        f"which partitions come first, by the bytes copied; default `{BATCH_ORDERS[0]}`. Before them come those that lack "
        "replicas in sync, first those with the fewest above `min_insync_replicas`",
        allow_none=True,
        validate=validate.OneOf(BATCH_ORDERS),
    )
    throttle_bytes_per_second = Int("`--throttle`: of each broker, in each direction", minimum=1, maximum=INT64, allow_none=True)


class Balance(fields.Field):
    """``balance`` as ``Goal.balance`` and ``Goal.resources``."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, Priorities]:
        try:
            return read_balance(value)
        except InvalidQuestion as error:
            place = error.field[1:]
            raise ValidationError({place[0]: [error.detail]} if place else [error.detail]) from None


class BrokerSetSchema(Schema):
    """The brokers of some topics."""

    topics = TopicName("a name, or a pattern with `*` (any characters) and `?` (one)", required=True)
    broker_ids = Array(Int(), "the only brokers that may have their replicas", required=True, validate=validate.Length(min=1))


class MinTopicLeadersSchema(Schema):
    """How many partitions of some topics each broker leads at least."""

    topics = TopicName("a name, or a pattern with `*` (any characters) and `?` (one)", required=True)
    leaders = Int("the fewest partitions of each topic that a broker leads", minimum=1, load_default=1)
    broker_ids = Array(
        Int(), "of these brokers; absent: of all that may lead", load_default=None, validate=validate.Length(min=1)
    )


class FrontierSchema(DetailSchema):
    """The query."""

    frontier = Bool("add the `frontier`: how even the cluster can be with each number of copies", load_default=False)


class ReassignmentQuestionSchema(Schema):
    """A cluster, its placement now, and what it is to become."""

    kafka_version = KafkaVersion(description=OF_BROKERS)
    objective = fields.String(
        "`fewest-moves`: the fewest copies, then the evenest load; `even`: the evenest load, then the fewest copies; default "
        "`fewest-moves`, and `even` with `tolerance`, `max_moves` or `max_bytes`",
        load_default=None,
        validate=validate.OneOf(OBJECTIVES),
    )
    racks = fields.String(
        "`strict`: each partition is on as many racks as possible; `spread`: a rack has at most its share of a partition, or "
        "as many replicas as are there now on brokers that may keep them; `none`; `unknown`: as `strict`, without a word if no "
        "broker has a rack",
        load_default="strict",
        validate=validate.OneOf((*RACK_RULES, UNKNOWN_RACKS)),
    )
    leaders = fields.String(
        "`balance`: preferred leaders as even as the replicas allow, then the fewest changes; `keep`: a leader changes only "
        "where its replica moves, or its broker is `demoted`; `only` and `demote`: no replica moves, and leaders change as "
        "with `balance` and with `keep`. Default: `keep` with `fewest-moves` if a broker is `fenced`, `draining` or `demoted` or "
        "`replaces` another, otherwise, and with several resources or `per_topic`, `balance`",
        load_default=None,
        validate=validate.OneOf(LEADER_RULES),
    )
    balance = Balance(
        "the resources to even out: one, such as `bytes`; a list of them, by priority; or an object of "
        f'their weights, such as `{{"cpu": 2, "bytes": 1}}`. Resources: `{"`, `".join(RESOURCES)}`. '
        "`bytes` alone also counts copies in bytes. Default `replicas`",
        load_default=lambda: (BALANCES[0], ()),
    )
    per_topic = Bool(
        "also even out the replicas of each topic, without more copies or less evenness, and its leaders; only with "
        "`balance`: `replicas`; default false",
        load_default=False,
    )
    tolerance = Number(
        "for `even`: the fewest copies that bring every broker within this share of the mean, such as 0.1, then the evenest "
        "load with so few; the bounds are rounded outwards to whole replicas",
        zero=True,
        load_default=None,
    )
    max_moves = Int("for `even`: the most replicas copied; the evenest load within that", minimum=0, load_default=None)
    max_bytes = Int("for `even`: the same with bytes; needs `partition_bytes`", minimum=0, maximum=INT64, load_default=None)
    replication_factor = _replication_factor("of all topics; absent: unchanged", load_default=None)
    min_insync_replicas = Int(
        "`min.insync.replicas` of all topics: no step may leave a partition with fewer replicas in sync; absent: not checked",
        minimum=1,
        maximum=LARGEST_FACTOR,
        load_default=None,
    )
    brokers = target_brokers(
        "the cluster as it should be; a broker that only placements mention is gone, and its replicas move to other brokers"
    )
    topics = placed_topics("the current placement", required=False)
    reassignment = fields.Nested(
        KafkaReassignmentSchema, "the current placement as Kafka's reassignment JSON, instead of `topics`"
    )
    price_per_gb = Number(
        "the price of 10⁹ bytes that cross zones, for the `cost` of `across_racks` and the `cost_per_month` of `zone_traffic`",
        zero=True,
        load_default=None,
    )
    included_topics = Array(
        TopicName(),
        f"the only topics whose replicas and leaders may change, {PATTERNS}; absent: all",
        load_default=None,
        validate=validate.Length(min=1),
    )
    excluded_topics = Array(
        TopicName(),
        f"topics whose replicas and leaders do not change, {PATTERNS}, also if `included_topics` has them",
        load_default=[],
    )
    disk_threshold = Number(
        "the share of its `capacity_bytes` that a broker may use, also while replicas are copied, such as 0.85: with "
        "`fewest-moves`, brokers below it are left as they are; default 1",
        most=1,
        load_default=1.0,
    )
    destinations = Array(
        Int(),
        "ids of the only brokers that get replicas; all others keep what they have; absent: all",
        load_default=None,
        validate=validate.Length(min=1),
    )
    broker_sets = Array(
        fields.Nested(BrokerSetSchema),
        "the brokers that topics may be on; replicas on others move there. The first set that fits a topic holds; a topic "
        "that no set fits may be on all",
        load_default=[],
    )
    infer_replaces = Bool(
        "whether a new broker, one without replicas, `replaces` a broker that only placements mention, if no other could: "
        "unless `racks` is `none`, its rack must have no other replica of a partition of that broker; default false",
        load_default=False,
    )
    min_topic_leaders = Array(
        fields.Nested(MinTopicLeadersSchema),
        "the fewest leaders of a topic on a broker, as with Cruise Control's MinTopicLeadersPerBrokerGoal: a hard rule, for "
        "which replicas move if necessary. Of several for a topic and a broker, the largest applies",
        load_default=[],
    )
    limits = fields.Nested(LimitsSchema, load_default=None)

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> ReassignmentQuestion:
        """The question."""
        balance, resources = body.pop("balance")
        rules = [tuple(rule[name] for name in ("topics", "leaders", "broker_ids")) for rule in body.pop("min_topic_leaders")]
        return ReassignmentQuestion.of(
            body.pop("brokers"),
            body.pop("topics", None),
            body.pop("reassignment", {}).get("partitions"),
            balance=balance,
            resources=resources,
            broker_sets=tuple((each["topics"], tuple(each["broker_ids"])) for each in body.pop("broker_sets")),
            topic_leaders=tuple((topics, leaders, ids and tuple(ids)) for topics, leaders, ids in rules),
            **(body.pop("limits") or {}),
            **body,
        )
