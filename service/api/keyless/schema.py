"""The JSON body of a question about records without a key."""

from marshmallow import Schema, validate

from service.decisions.keyless import KeylessQuestion
from service.planner.keyless import ADAPTIVE, RULES
from service.web import described as fields
from service.web.fields import Array, Bool, Int, Name, Number, Subject
from service.web.schemas import KafkaVersion, QuestionSchema, row_of_a_snapshot


@row_of_a_snapshot("fenced", "cordoned", "capacity_bytes", "used_bytes")
class KeylessBrokerSchema(Schema):
    """A broker."""

    broker_id = Int(required=True)
    rack_id = Name(empty=True, load_default=None)
    waiting_ms = Int("`adaptive`: for how long the broker has not accepted data of the producer", minimum=0, load_default=0)


class KeylessPartitionSchema(Schema):
    """A partition, as the producer sees it."""

    partition_id = Int(required=True, minimum=0)
    leader_id = Int("broker; null: no leader", load_default=None)
    queue_size = Int("`adaptive`: batches that wait in the producer", minimum=0, load_default=0)
    batch_records = Number("`sticky`: the size at which a batch is sent", load_default=1.0)


class ProducersSchema(Schema):
    """Producers of one rack."""

    rack_id = Name("`client.rack`", empty=True, load_default=None)
    producers = Int("the number of producers with these properties", minimum=1, load_default=1)


class KeylessDistributionsSchema(QuestionSchema):
    """A topic and its producers. Either `partitions_count` alone, all led and nothing queued, or `partitions`."""

    asks = KeylessQuestion

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    rule = fields.String(
        "`round-robin` (up to 2.3), `sticky` (KIP-480, 2.4 to 3.2), `uniform-sticky` and `adaptive` (KIP-794, since 3.3)",
        validate=validate.OneOf(RULES),
        load_default=ADAPTIVE,
    )
    partitions_count = Int(minimum=1)
    partitions = Array(fields.Nested(KeylessPartitionSchema), "every partition of the topic", validate=validate.Length(min=1))
    brokers = Array(fields.Nested(KeylessBrokerSchema), load_default=list)
    availability_timeout_ms = Int(
        "`partitioner.availability.timeout.ms`; 0: slow brokers are not avoided", minimum=0, load_default=0
    )
    rack_aware = Bool("`partitioner.rack.aware` (KIP-1123), of producers from Kafka 4.4", load_default=False)
    producers = Array(fields.Nested(ProducersSchema), "default: one", validate=validate.Length(1, 1000))
