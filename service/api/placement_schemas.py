"""The JSON body of a question about replicas: what to place, in one of four forms."""

from marshmallow import Schema, validate

from service.core.kafka_versions import LATEST
from service.decisions.placements.question import PlacementQuestion
from service.decisions.placements.rows import BROKER, CURRENT, plain_brokers, plain_current
from service.http import fields
from service.http.fields import INT64, Array, Bool, Int, Name, Number, Rows, TopicName
from service.http.forms import QuestionSchema, accepted_racks_field, price_per_gb_field, row_of_a_snapshot


@row_of_a_snapshot("capacity_bytes", "used_bytes")
class BrokerSchema(Schema):
    """A broker."""

    broker_id = Int(required=True)
    rack_id = Name("`broker.rack`; brokers without one are a rack of their own for `striped`", empty=True, allow_none=True)
    fenced = Bool("registered but fenced (KRaft): it may follow but not lead; default false")
    cordoned = Bool(
        "`striped`, `balanced`: all its log directories are cordoned (KIP-1066), or it is shutting down, so it gets no new "
        "replicas and is left out of the answer; default false. Audits ignore it"
    )
    weight = Number("`balanced`: the share of the load for this broker, relative to the others; default 1")


class CurrentPartitionSchema(Schema):
    """What a partition has now."""

    topic_name = TopicName(required=True)
    partition_id = Int(required=True, minimum=0)
    replicas = Array(Int(), required=True)


def brokers_field(text: str) -> Rows:
    """A body's list of brokers."""
    return Rows(BrokerSchema, BROKER, plain_brokers, text)


class TopicRequestSchema(Schema):
    """A topic, or the partitions added to one."""

    topic_name = TopicName(required=True)
    partitions_count = Int("how many partitions to place", required=True)
    replication_factor = Int(required=True)
    start_partition_id = Int("the first id, when partitions are added to a topic; default 0")
    start_index = Int("AdminUtils: where to start in the broker list; stands for `replica_shift` too if that is absent")
    replica_shift = Int("AdminUtils: the distance of the followers, where it differs")
    partition_0_replicas = Array(
        Int(),
        "AdminUtils, when partitions are added: the replicas of partition 0, which determine the start, as in "
        "AdminUtils.addPartitions",
        validate=validate.Length(min=1),
    )


class OperationTopicSchema(Schema):
    """A topic in a request to a controller; -1 or absent: the controller's default."""

    topic_name = Name(required=True, empty=True)
    partitions_count = Int("for create_partitions the new total")
    replication_factor = Int("for create_topics only")


class OperationSchema(Schema):
    """One request to a KRaft controller."""

    operation = fields.String(required=True, validate=validate.OneOf(["create_topics", "create_partitions"]))
    topics = Array(fields.Nested(OperationTopicSchema), required=True)


class ReplicaPlacementSchema(QuestionSchema, TopicRequestSchema):
    """What to place, in one of four forms: one topic (`partitions_count`), several topics of one CreateTopics (`topics`), a KRaft
    controller's requests (`operations`), or existing topics (`topics_to_move`, for the placer `kafka-reassign-generate`).
    """

    asks = PlacementQuestion

    kafka_version = fields.String("the release to reproduce, one of the placer's", example=LATEST)
    placer = fields.String("the name of a placer, as GET /v1/placers lists them", load_default="striped")
    topic_name = TopicName("one topic: its name in `reassignment` and in this service's metrics")
    partitions_count = Int("one topic: how many partitions to place")
    replication_factor = Int("one topic")
    random_seed = Int(
        "of the one `java.util.Random` from which everything is drawn; default 0. Neighbouring seeds have similar first "
        "draws; choose distant seeds for different placements. POST /v1/placement-audits finds a seed for a placement",
        minimum=-INT64 - 1,
        maximum=INT64,
    )
    brokers = brokers_field("all but `kafka-reassign-generate`: the cluster, in Kafka's order")
    topics = Array(fields.Nested(TopicRequestSchema), "several topics: created one after another from one random sequence")
    operations = Array(fields.Nested(OperationSchema), "a controller's requests, one after another; `striped` only")
    default_partitions_count = Int("operations: `num.partitions`; default 1", minimum=1)
    default_replication_factor = Int("operations: `default.replication.factor`; default 1", minimum=1, maximum=2**15 - 1)
    broker_list = Array(Int(), "kafka-reassign-generate: `--broker-list`")
    topics_to_move = Array(TopicName(), "kafka-reassign-generate: the topics to place again")
    cluster_brokers = brokers_field("kafka-reassign-generate: the brokers in the cluster's order")
    current_assignments = Rows(
        CurrentPartitionSchema,
        CURRENT,
        plain_current,
        "kafka-reassign-generate: the current replicas of the topics, in the cluster's order. `balanced`: the current "
        "replicas of the cluster's topics in any order, which it evens out",
    )
    bytes_per_second = Number(
        "written to the placed partitions in total, the same to each: for `zone_traffic`", zero=True, example=1_000_000
    )
    price_per_gb = price_per_gb_field()
    racks = accepted_racks_field()
    rack_aware = Bool("kafka-reassign-generate: false is `--disable-rack-aware`; default true")
