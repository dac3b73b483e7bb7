"""The body of ``POST /v1/reassignments``: its schema, and the step into the core's arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from marshmallow import Schema, ValidationError, fields, validate

from service import __version__
from service.core.errors import InvalidQuestion, raise_all
from service.core.reassignments import BALANCES, BATCH_SECONDS, LEADER_RULES, OBJECTIVES, RACK_RULES, THROTTLE_UTILIZATION
from service.core.reassignments.batches.model import MAX_DETOURS, Limits, Pace
from service.core.reassignments.model import NO_LIMIT, Brokers, Goal, Placements
from service.decisions.reassignments.rows import (
    MOST_BYTES,
    PLACED_TOPIC,
    REASSIGNED,
    TARGET_BROKER,
    as_topics,
    check_broker_ids,
    check_topic_names,
    plain_placed_topics,
    plain_reassigned,
    plain_target_brokers,
    read_brokers,
    read_placements,
)
from service.web.blueprint import Parts, QuestionSchema
from service.web.columns_field import Rows
from service.web.context import check_limit, reserve
from service.web.fields import INT64, Boolean, Integer, List, Name, Number, TopicName, about
from service.web.json.codec import dumps

LARGEST_FACTOR = 2**15 - 1

LONGEST_BATCH = 86_400
"""Seconds, of what a batch takes beside the copying."""

AS_IN_A_SNAPSHOT = "as a snapshot has it; not used"


def _replicas() -> List:
    """Where a partition is, or goes."""
    return List(
        Integer(),
        required=True,
        validate=validate.Length(min=1, max=LARGEST_FACTOR),
        metadata=about("broker ids, the preferred leader first"),
    )


def _replication_factor(text: str, **options: Any) -> Integer:
    return Integer(minimum=1, maximum=LARGEST_FACTOR, allow_none=True, metadata=about(text), **options)


class TargetBrokerSchema(Schema):
    """A broker as it is to be."""

    broker_id = Integer(required=True)
    rack_id = Name(empty=True, allow_none=True, metadata=about("`broker.rack`; brokers without one count as one rack"))
    fenced = Boolean(metadata=about("fenced: its replicas move to other brokers, and none is copied from it; default false"))
    draining = Boolean(metadata=about("whether to empty it: its replicas move to other brokers; default false"))
    weight = Number(allow_none=True, metadata=about("its share of the load, relative to the other brokers; default 1"))
    max_replicas = Integer(minimum=0, maximum=MOST_BYTES, allow_none=True, metadata=about("the maximum number of replicas"))
    capacity_bytes = Integer(
        minimum=0, maximum=MOST_BYTES, allow_none=True, metadata=about("the maximum number of bytes; needs `partition_bytes`")
    )
    used_bytes = Integer(minimum=0, maximum=MOST_BYTES, allow_none=True, metadata=about(AS_IN_A_SNAPSHOT))
    replaces = Integer(allow_none=True, metadata=about("the broker whose replicas all move to this one"))


class PlacedPartitionSchema(Schema):
    """Where a partition is now."""

    partition_id = Integer(required=True, minimum=0)
    replicas = _replicas()
    in_sync_replicas = List(Integer(), allow_none=True, metadata=about(AS_IN_A_SNAPSHOT))


class PlacedTopicSchema(Schema):
    """A topic, and where its partitions are now."""

    topic_name = TopicName(required=True)
    replication_factor = _replication_factor("for this topic instead of the body's")
    placements = List(fields.Nested(PlacedPartitionSchema), required=True)
    partition_bytes = List(
        Integer(minimum=0, maximum=MOST_BYTES),
        allow_none=True,
        metadata=about("the bytes of a replica of each of `placements`; for all topics or none"),
    )
    partition_bytes_per_second = List(
        Number(zero=True),
        allow_none=True,
        metadata=about("the rate at which producers write to each of `placements`; for all topics or none"),
    )
    topic_id = Name(empty=True, allow_none=True, metadata=about(AS_IN_A_SNAPSHOT))
    partitions_count = Integer(minimum=0, allow_none=True, metadata=about(AS_IN_A_SNAPSHOT))
    internal = Boolean(allow_none=True, metadata=about(AS_IN_A_SNAPSHOT))
    log_end_offsets = List(
        Integer(minimum=-INT64 - 1, maximum=INT64, allow_none=True), allow_none=True, metadata=about(AS_IN_A_SNAPSHOT)
    )


class ReassignedPartitionSchema(Schema):
    """A partition as ``kafka-reassign-partitions`` writes it."""

    topic = TopicName(required=True)
    partition = Integer(required=True, minimum=0)
    replicas = _replicas()
    log_dirs = List(Name(empty=True), allow_none=True, metadata=about("not used"))


class KafkaReassignmentSchema(Schema):
    """Kafka's reassignment JSON."""

    version = Integer(minimum=1, maximum=1)
    partitions = Rows(ReassignedPartitionSchema, REASSIGNED, plain_reassigned, required=True)


class LimitsSchema(Schema):
    """What one batch may do, and how fast."""

    moves_per_broker = Integer(
        minimum=1,
        allow_none=True,
        metadata=about("the maximum number of replicas that a broker receives, and that it gives away, in one batch"),
    )
    moves_per_batch = Integer(minimum=1, allow_none=True, metadata=about("replicas copied in one batch"))
    bytes_in_flight = Integer(minimum=1, maximum=INT64, allow_none=True, metadata=about("bytes copied in one batch"))
    throttle_bytes_per_second = Integer(
        minimum=1, maximum=INT64, allow_none=True, metadata=about("`--throttle`: of each broker, in each direction")
    )
    duration_seconds = Integer(
        minimum=1, allow_none=True, metadata=about("the time for all batches; answered with the throttle needed")
    )
    throttle_utilization = Number(
        most=1,
        allow_none=True,
        metadata=about(f"the share of the throttle that copying reaches; default {THROTTLE_UTILIZATION:g}"),
    )
    batch_seconds = Number(
        zero=True,
        most=LONGEST_BATCH,
        allow_none=True,
        metadata=about(f"the time that a batch takes besides copying; default {BATCH_SECONDS:g}"),
    )


@dataclass(frozen=True)
class Question:
    """What is to be planned."""

    brokers: Brokers
    placements: Placements
    goal: Goal
    limits: Limits
    throttle: int | None
    seconds: int | None
    pace: Pace

    def plan_id(self) -> str:
        """A hash of all this and of the version of the service."""
        digest = sha256(dumps([__version__, repr(self.goal), repr(self.limits), self.throttle, self.seconds, repr(self.pace)]))
        brokers, placements = self.brokers, self.placements
        digest.update(dumps([brokers.cluster.rack_ids, placements.topic_names]))
        for array in (
            brokers.cluster.broker_ids,
            brokers.cluster.racks,
            brokers.cluster.fenced,
            brokers.draining,
            brokers.listed,
            brokers.weights,
            brokers.max_replicas,
            brokers.capacity_bytes,
            brokers.replaced_by,
            placements.topics,
            placements.partition_ids,
            placements.replicas.offsets,
            placements.replicas.values,
            placements.replication_factors,
            placements.sizes,
            placements.rates,
            placements.excluded,
        ):
            digest.update(b"\0" if array is None else np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]


class ReassignmentQuestionSchema(QuestionSchema):
    """A cluster, its placement now, and what it is to become."""

    objective = fields.String(
        load_default="fewest-moves",
        validate=validate.OneOf(OBJECTIVES),
        metadata=about(
            "`fewest-moves`: the fewest copies, then the evenest load; `even`: the evenest load, then the fewest copies"
        ),
    )
    racks = fields.String(
        load_default="strict",
        validate=validate.OneOf(RACK_RULES),
        metadata=about(
            "`strict`: each partition is on as many racks as possible; `spread`: replicas that share a rack may stay, but no "
            "move makes replicas share one; `none`"
        ),
    )
    leaders = fields.String(
        load_default="balance",
        validate=validate.OneOf(LEADER_RULES),
        metadata=about(
            "`balance`: preferred leaders as even as the replicas allow, then the fewest changes; `keep`: a leader changes only "
            "where its replica moves; `only`: no replica moves"
        ),
    )
    balance = fields.String(
        load_default="replicas",
        validate=validate.OneOf(BALANCES),
        metadata=about("what is counted, for copies and for evenness; `bytes` needs `partition_bytes`"),
    )
    per_topic = Boolean(
        load_default=False,
        metadata=about(
            "also even out each topic by itself, without more copies or less evenness; not with `balance`: `bytes`; default false"
        ),
    )
    replication_factor = _replication_factor("of all topics; absent: unchanged", load_default=None)
    brokers = Rows(
        TargetBrokerSchema,
        TARGET_BROKER,
        plain_target_brokers,
        required=True,
        metadata=about(
            "the cluster as it should be; a broker that only placements mention is gone, and its replicas move to other brokers"
        ),
    )
    topics = Rows(PlacedTopicSchema, PLACED_TOPIC, plain_placed_topics, metadata=about("the current placement"))
    reassignment = fields.Nested(
        KafkaReassignmentSchema, metadata=about("the current placement as Kafka's reassignment JSON, instead of `topics`")
    )
    excluded_topics = List(TopicName(), load_default=[], metadata=about("topics whose replicas and leaders do not change"))
    limits = fields.Nested(LimitsSchema, load_default=None, allow_none=True)

    def question(self, body: dict[str, Any], **_: Any) -> Question:
        """The question as the core's arrays. Raises InvalidQuestion, LimitExceeded."""
        _check_one_placement(body)
        field = "topics" if "topics" in body else "reassignment"
        topics, order = (body["topics"], None) if field == "topics" else as_topics(body["reassignment"]["partitions"])
        replicas = topics.field("placements").flatten().field("replicas")
        cells, partitions = len(replicas.flatten()), len(replicas)
        factor = body["replication_factor"] or 0
        factors = np.array(topics.field("replication_factor").fill_null(factor), np.int64)
        longest = max(factor, int(factors.max(initial=0)))
        cells = max(cells, partitions * longest)
        check_limit("max_placement_cells", cells, "partitions × replicas", field)
        brokers = read_brokers(body["brokers"], np.unique(np.array(replicas.flatten(), np.int32)))
        check_limit("max_placement_cells", len(brokers) ** 2, "brokers × brokers", "brokers")
        check_limit("max_assignment_cells", cells * len(brokers), "replicas × brokers")
        if body["per_topic"]:
            check_limit("max_placement_cells", len(topics) * len(brokers), "topics × brokers", "per_topic")
        names = sum(map(len, map(dumps, topics.field("topic_name").to_pylist())))
        reserve(plan_bytes(len(brokers), partitions, cells, longest_name(names, topics)))
        try:
            placements = read_placements(topics, brokers, body["replication_factor"], frozenset(body["excluded_topics"]))
        except InvalidQuestion as error:
            raise InvalidQuestion(error.detail, *_at(error.field, topics, order)) from None
        goal = Goal(body["objective"], body["racks"], body["leaders"], body["balance"], body["per_topic"])
        limits = dict(body["limits"] or {})
        throttle, seconds = limits.pop("throttle_bytes_per_second", None), limits.pop("duration_seconds", None)
        pace = {name: limits.pop(name, None) for name in ("throttle_utilization", "batch_seconds")}
        question = Question(
            brokers,
            placements,
            goal,
            Limits(**limits),
            throttle,
            seconds,
            Pace(**{name: value for name, value in pace.items() if value is not None}),
        )
        raise_all(_faults(question, body["excluded_topics"]))
        return question

    def parts(self) -> Parts:
        """The field that holds the placement; the brokers' ids; the topics' names."""
        return (
            _check_one_placement,
            lambda body: check_broker_ids(body["brokers"]),
            lambda body: check_topic_names(body["topics"]) if "topics" in body else None,
        )


def _check_one_placement(body: dict[str, Any]) -> None:
    """Raise ValidationError unless the placement is given once."""
    if ("topics" in body) == ("reassignment" in body):
        name = "reassignment" if "topics" in body else "topics"
        text = "Not allowed together with topics." if "topics" in body else "Missing data for required field."
        raise ValidationError({name: [text]})


def _at(field: tuple[str | int, ...], topics: Any, order: Any) -> tuple[str | int, ...]:
    """The place of a fault in ``topics``, in the reassignment that they were made of if they were."""
    if order is None or len(field) < 4 or field[0] != "topics":
        return field
    row = order[int(topics.field("placements").offsets[field[1]].as_py()) + int(field[3])]
    return ("reassignment", "partitions", int(row), *("partition" if part == "partition_id" else part for part in field[4:]))


def longest_name(total: int, topics: Any) -> int:
    """About the bytes of a topic's name in JSON. total : of all names"""
    return total // max(1, len(topics)) + 8


def plan_bytes(brokers: int, partitions: int, cells: int, name: int) -> int:
    """Most bytes of memory that a plan takes: the matrices of exchanges, the arrays, and the answer, which lists each partition
    in two reassignments, in two batches (in four if it takes a detour) and among the reasons, in pieces and as a whole.

    name : bytes of a topic's name in JSON
    """
    listed = 4 * partitions + 2 * min(partitions, MAX_DETOURS)
    text = listed * (name + 60) + listed * 12 * cells // max(1, partitions) + cells * (name + 110)
    return 100_000 + 2 * 13 * brokers**2 + 120 * partitions + 100 * cells + 2 * text


def _faults(question: Question, excluded: list[str]) -> Iterator[InvalidQuestion]:
    """What the parts of a body say together and cannot mean."""
    placements = question.placements
    known = set(placements.topic_names)
    for row, name in enumerate(excluded):
        if name not in known:
            yield InvalidQuestion(f"Unknown topic {name!r}.", "excluded_topics", row)
    if question.goal.leaders == "only" and (placements.replication_factors != placements.replicas.lengths()).any():
        yield InvalidQuestion("With leaders = only, no replica moves, so the replication factor cannot change.", "leaders")
    if question.goal.per_topic and question.goal.balance == "bytes":
        yield InvalidQuestion("Not allowed together with balance = bytes.", "per_topic")
    if placements.sizes is None:
        yield from _faults_without_sizes(question)
    elif 2 * float(placements.sizes.astype(np.float64).sum()) * float(
        max(placements.replicas.lengths().max(initial=1), placements.replication_factors.max(initial=1))
    ) > float(NO_LIMIT):
        yield InvalidQuestion("The sizes of all replicas add up to more than 2⁶¹ bytes.", "topics")


def _faults_without_sizes(question: Question) -> Iterator[InvalidQuestion]:
    """What has no meaning without partition_bytes."""
    limited = np.flatnonzero(question.brokers.capacity_bytes != NO_LIMIT)
    for use, given, *field in (
        ("balance = bytes", question.goal.balance == "bytes", "balance"),
        ("a limit of bytes", question.limits.bytes_in_flight, "limits", "bytes_in_flight"),
        ("the time at a throttle", question.throttle, "limits", "throttle_bytes_per_second"),
        ("the throttle for a time", question.seconds, "limits", "duration_seconds"),
        ("capacities", limited.size, "brokers", *limited[:1].tolist(), "capacity_bytes"),
    ):
        if given:
            yield InvalidQuestion(f"The topics' partition_bytes are required for {use}; a snapshot has them.", *field)
