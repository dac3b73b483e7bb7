"""The JSON body of a question about log directories."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, post_load, validate

from service.api.reassignments.schema import PATTERNS, PacedSchema, PlacedTopicSchema
from service.core.reassignments import BATCH_ORDERS, OBJECTIVES
from service.core.reassignments.batches.model import BatchLimits, Pace
from service.core.reassignments.model import Goal
from service.decisions.log_dirs.question import LogDirQuestion
from service.decisions.log_dirs.rows import DISK_BROKER, plain_disk_brokers
from service.decisions.reassignments.rows import MOST_BYTES, PLACED_TOPIC, plain_placed_topics
from service.web.columns_field import Rows
from service.web.fields import INT64, Boolean, Integer, List, Name, Number, TopicName, about


def _bytes(text: str) -> Integer:
    return Integer(minimum=0, maximum=MOST_BYTES, allow_none=True, metadata=about(text))


class DirTopicSchema(Schema):
    """The replicas of a topic in a directory."""

    topic_name = TopicName(required=True)
    partition_ids = List(Integer(minimum=0), required=True)
    partition_bytes = List(
        Integer(minimum=0, maximum=MOST_BYTES), required=True, metadata=about("the size of each of these replicas")
    )


class LogDirSchema(Schema):
    """A log directory."""

    log_dir = Name(required=True, metadata=about("its path, as in `log.dirs`", example="/data/a"))
    capacity_bytes = _bytes(
        "the size of its disk (`totalBytes`). Disks are evened out by their sizes; if that of one is unknown, all of the broker "
        "count as equally large"
    )
    used_bytes = _bytes(
        "the bytes in use on it (`totalBytes` less `usableBytes`); other files than `replicas` stay; default: none of them"
    )
    draining = Boolean(metadata=about("whether to empty it: its replicas move to other directories; default false"))
    cordoned = Boolean(metadata=about("whether it keeps the replicas that it has and gets no others (KIP-1066); default false"))
    replicas = List(fields.Nested(DirTopicSchema), required=True, metadata=about("the replicas in it"))


class DiskBrokerSchema(Schema):
    """A broker and its disks."""

    broker_id = Integer(required=True)
    log_dirs = List(fields.Nested(LogDirSchema), required=True, metadata=about("its directories that are online"))


class LogDirLimitsSchema(PacedSchema):
    """What one batch may do, and how fast."""

    moves_per_broker = Integer(minimum=1, allow_none=True, metadata=about("the maximum number of replicas that a broker moves"))
    moves_per_log_dir = Integer(
        minimum=1, allow_none=True, metadata=about("the maximum number that a directory gets, and that it gives away")
    )
    bytes_in_flight = Integer(minimum=1, maximum=INT64, allow_none=True, metadata=about("bytes that a broker copies"))
    order = fields.String(
        allow_none=True,
        validate=validate.OneOf(BATCH_ORDERS),
        metadata=about(f"which replicas come first, by their bytes; default `{BATCH_ORDERS[0]}`"),
    )
    throttle_bytes_per_second = Integer(
        minimum=1, maximum=INT64, allow_none=True, metadata=about("`--replica-alter-log-dirs-throttle`: of each broker")
    )


class LogDirQuestionSchema(Schema):
    """Brokers with their log directories, what is in them, and what is to become of it."""

    objective = fields.String(
        load_default=None,
        validate=validate.OneOf(OBJECTIVES),
        metadata=about(
            "`fewest-moves`: the fewest bytes that empty what is `draining` and keep `disk_threshold`, then the evenest disks; "
            "`even`: the evenest disks of each broker, then the fewest bytes; default `fewest-moves`, and `even` with "
            "`tolerance`, `max_moves` or `max_bytes`"
        ),
    )
    tolerance = Number(
        zero=True,
        load_default=None,
        metadata=about(
            "for `even`: few bytes that bring every directory within this share of the mean of its broker, such as 0.1"
        ),
    )
    max_moves = Integer(
        minimum=0,
        load_default=None,
        metadata=about("for `even`: the evenest disks with at most so many replicas moved on each broker"),
    )
    max_bytes = Integer(minimum=0, maximum=INT64, load_default=None, metadata=about("for `even`: the same with bytes"))
    disk_threshold = Number(
        most=1,
        load_default=1.0,
        metadata=about(
            "the share of its `capacity_bytes` that a directory may use, also while replicas are copied, such as 0.85; default 1"
        ),
    )
    brokers = Rows(
        DiskBrokerSchema,
        DISK_BROKER,
        plain_disk_brokers,
        required=True,
        metadata=about("`log_dirs` of a snapshot; each broker is planned independently"),
    )
    topics = Rows(
        PlacedTopicSchema,
        PLACED_TOPIC,
        plain_placed_topics,
        required=True,
        metadata=about(
            "the current placement, which `kafka-reassign-partitions` needs besides the directories. Replicas of partitions that "
            "it does not have on their broker stay where they are. `partition_bytes` are not used"
        ),
    )
    included_topics = List(
        TopicName(),
        load_default=None,
        validate=validate.Length(min=1),
        metadata=about(f"the only topics whose replicas may move, {PATTERNS}; absent: all"),
    )
    excluded_topics = List(
        TopicName(),
        load_default=[],
        metadata=about(f"topics whose replicas do not move, {PATTERNS}, also if `included_topics` has them"),
    )
    limits = fields.Nested(LogDirLimitsSchema, load_default=None)

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> LogDirQuestion:
        """The question."""
        limits = {name: value for name, value in (body["limits"] or {}).items() if value is not None}
        pace = {name: limits.pop(name) for name in ("throttle_utilization", "batch_seconds") if name in limits}
        between = {name: body[name] for name in ("tolerance", "max_moves", "max_bytes")}
        return LogDirQuestion(
            body["brokers"],
            body["topics"],
            Goal.of(body["objective"], racks="none", leaders="keep", balance="bytes", **between),
            BatchLimits(
                limits.get("moves_per_log_dir"),
                limits.get("moves_per_broker"),
                limits.get("bytes_in_flight"),
                limits.get("order", BATCH_ORDERS[0]),
            ),
            Pace(**pace),
            tuple(body["included_topics"] or ()),
            tuple(body["excluded_topics"]),
            body["disk_threshold"],
            limits.get("throttle_bytes_per_second"),
            limits.get("duration_seconds"),
        )
