"""The JSON body of a question about records without a key."""

from marshmallow import Schema, fields, validate

from service.core.keyless import ADAPTIVE, RULES
from service.decisions.keyless import KeylessQuestion
from service.web.fields import Boolean, Integer, List, Name, Number, Subject, about
from service.web.schemas import KafkaVersion, QuestionSchema, of_a_snapshot


class KeylessBrokerSchema(Schema):
    """A broker."""

    class Meta:
        """Not used of a snapshot."""

        include = of_a_snapshot("fenced", "cordoned", "capacity_bytes", "used_bytes")

    broker_id = Integer(required=True)
    rack_id = Name(empty=True, load_default=None)
    waiting_ms = Integer(
        minimum=0,
        load_default=0,
        metadata=about("`adaptive`: for how long the broker has not accepted data of the producer"),
    )


class KeylessPartitionSchema(Schema):
    """A partition, as the producer sees it."""

    partition_id = Integer(required=True, minimum=0)
    leader_id = Integer(load_default=None, metadata=about("broker; null: no leader"))
    queue_size = Integer(minimum=0, load_default=0, metadata=about("`adaptive`: batches that wait in the producer"))
    batch_records = Number(load_default=1.0, metadata=about("`sticky`: the size at which a batch is sent"))


class ProducersSchema(Schema):
    """Producers of one rack."""

    rack_id = Name(empty=True, load_default=None, metadata=about("`client.rack`"))
    producers = Integer(minimum=1, load_default=1, metadata=about("the number of producers with these properties"))


class KeylessDistributionsSchema(QuestionSchema):
    """A topic and its producers. Either `partitions_count` alone, all led and nothing queued, or `partitions`."""

    asks = KeylessQuestion

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    rule = fields.String(
        validate=validate.OneOf(RULES),
        load_default=ADAPTIVE,
        metadata=about(
            "`round-robin` (up to 2.3), `sticky` (KIP-480, 2.4 to 3.2), `uniform-sticky` and `adaptive` (KIP-794, since 3.3)"
        ),
    )
    partitions_count = Integer(minimum=1)
    partitions = List(
        fields.Nested(KeylessPartitionSchema), validate=validate.Length(min=1), metadata=about("every partition of the topic")
    )
    brokers = List(fields.Nested(KeylessBrokerSchema), load_default=list)
    availability_timeout_ms = Integer(
        minimum=0, load_default=0, metadata=about("`partitioner.availability.timeout.ms`; 0: slow brokers are not avoided")
    )
    rack_aware = Boolean(load_default=False, metadata=about("`partitioner.rack.aware` (KIP-1123), of producers from Kafka 4.4"))
    producers = List(fields.Nested(ProducersSchema), validate=validate.Length(1, 1000), metadata=about("default: one"))
