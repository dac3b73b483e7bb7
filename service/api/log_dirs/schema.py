"""The JSON body of a question about log directories."""

from typing import Any

from marshmallow import Schema, post_load, validate

from service.api.reassignments.schema import PATTERNS, PacedSchema, PlacedTopicSchema
from service.decisions.log_dirs.question import LogDirQuestion
from service.decisions.log_dirs.rows import DISK_BROKER, plain_disk_brokers
from service.decisions.reassignments.rows import MOST_BYTES, PLACED_TOPIC, plain_placed_topics
from service.planner.reassignments import BATCH_ORDERS, OBJECTIVES
from service.web import described as fields
from service.web.columns_field import Rows
from service.web.fields import INT64, Array, Bool, Int, Name, Number, TopicName
from service.web.schemas import OF_BROKERS, KafkaVersion


def _bytes(text: str) -> Int:
    return Int(text, minimum=0, maximum=MOST_BYTES, allow_none=True)


class DirTopicSchema(Schema):
    """The replicas of a topic in a directory."""

    topic_name = TopicName(required=True)
    partition_ids = Array(Int(minimum=0), required=True)
    partition_bytes = Array(Int(minimum=0, maximum=MOST_BYTES), "the size of each of these replicas", required=True)


class LogDirSchema(Schema):
    """A log directory."""

    log_dir = Name("its path, as in `log.dirs`", required=True, example="/data/a")
    capacity_bytes = _bytes(
        "the size of its disk (`totalBytes`). Disks are evened out by their sizes; if that of one is unknown, all of the broker "
        "count as equally large"
    )
    used_bytes = _bytes(
        "the bytes in use on it (`totalBytes` less `usableBytes`); files other than `replicas` stay; default: none"
    )
    draining = Bool("whether to empty it: its replicas move to other directories; default false")
    cordoned = Bool("whether it keeps the replicas that it has and gets no others (KIP-1066); default false")
    replicas = Array(fields.Nested(DirTopicSchema), "the replicas in it", required=True)


class DiskBrokerSchema(Schema):
    """A broker and its disks."""

    broker_id = Int(required=True)
    log_dirs = Array(fields.Nested(LogDirSchema), "its directories that are online", required=True)


class LogDirLimitsSchema(PacedSchema):
    """What one batch may do, and how fast."""

    moves_per_broker = Int("the maximum number of replicas that a broker moves", minimum=1, allow_none=True)
    moves_per_log_dir = Int("the maximum number that a directory gets, and that it gives away", minimum=1, allow_none=True)
    bytes_in_flight = Int("bytes that a broker copies", minimum=1, maximum=INT64, allow_none=True)
    order = fields.String(
        f"which replicas come first, by their bytes; default `{BATCH_ORDERS[0]}`",
        allow_none=True,
        validate=validate.OneOf(BATCH_ORDERS),
    )
    throttle_bytes_per_second = Int(
        "`--replica-alter-log-dirs-throttle`: of each broker", minimum=1, maximum=INT64, allow_none=True
    )


class LogDirQuestionSchema(Schema):
    """Brokers with their log directories, what is in them, and what is to become of it."""

    kafka_version = KafkaVersion(description=OF_BROKERS)
    objective = fields.String(
        "`fewest-moves`: the fewest bytes that empty what is `draining` and keep `disk_threshold`, then the evenest disks; "
        "`even`: the evenest disks of each broker, then the fewest bytes; default `fewest-moves`, and `even` with "
        "`tolerance`, `max_moves` or `max_bytes`",
        load_default=None,
        validate=validate.OneOf(OBJECTIVES),
    )
    tolerance = Number(
        "for `even`: few bytes that bring every directory within this share of the mean of its broker, such as 0.1",
        zero=True,
        load_default=None,
    )
    max_moves = Int(
        "for `even`: the most replicas moved on each broker; the evenest disks within that", minimum=0, load_default=None
    )
    max_bytes = Int("for `even`: the same with bytes", minimum=0, maximum=INT64, load_default=None)
    disk_threshold = Number(
        "the share of its `capacity_bytes` that a directory may use, also while replicas are copied, such as 0.85; default 1",
        most=1,
        load_default=1.0,
    )
    brokers = Rows(
        DiskBrokerSchema,
        DISK_BROKER,
        plain_disk_brokers,
        "`log_dirs` of a snapshot; each broker is planned independently",
        required=True,
    )
    topics = Rows(
        PlacedTopicSchema,
        PLACED_TOPIC,
        plain_placed_topics,
        "the current placement, which `kafka-reassign-partitions` needs besides the directories. Replicas of partitions that "
        "it does not have on their broker stay where they are. `partition_bytes` are not used",
        required=True,
    )
    included_topics = Array(
        TopicName(),
        f"the only topics whose replicas may move, {PATTERNS}; absent: all",
        load_default=None,
        validate=validate.Length(min=1),
    )
    excluded_topics = Array(
        TopicName(), f"topics whose replicas do not move, {PATTERNS}, also if `included_topics` has them", load_default=[]
    )
    limits = fields.Nested(LogDirLimitsSchema, load_default=None)

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> LogDirQuestion:
        """The question."""
        return LogDirQuestion.of(**(body.pop("limits") or {}), **body)
