"""The body of ``POST /v1/replica-placements``: its schema, its four forms, and the command that each form stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc
from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.api.placements.commands import Command, Generate, Operate, Place
from service.api.placements.response import UNNAMED
from service.core.kafka_versions import LATEST
from service.core.model import PlacementRequest
from service.core.placers import PLACERS, Placer
from service.core.placers.controller import DEFAULT, TopicRequest
from service.core.placers.reassign_generate import CurrentTopic
from service.decisions.placements.rows import (
    BROKER,
    CURRENT,
    is_cordoned,
    plain_brokers,
    plain_current,
    read_cluster,
    read_load,
    uncordoned,
)
from service.web import responses
from service.web.blueprint import Parts, QuestionSchema
from service.web.columns_field import Rows
from service.web.context import check_limit, reserve
from service.web.fields import INT64, Boolean, Integer, List, Name, Number, TopicName, about
from service.web.json.codec import dumps
from service.web.tables import ARROW_STREAM, CSV, JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from service.core.model import Cluster


# ---- the schema --------------------------------------------------------------------------------------------------------


class BrokerSchema(Schema):
    """A broker."""

    broker_id = Integer(required=True)
    rack_id = Name(
        empty=True, allow_none=True, metadata=about("`broker.rack`; brokers without one are a rack of their own for `striped`")
    )
    fenced = Boolean(metadata=about("registered but fenced (KRaft): it may follow but not lead; default false"))
    cordoned = Boolean(
        metadata=about(
            "`striped`, `balanced`: all its log directories are cordoned (KIP-1066), or it is shutting down, so it gets no new "
            "replicas and is left out of the answer; default false. Audits ignore it"
        )
    )
    weight = Number(metadata=about("`balanced`: the share of the load for this broker, relative to the others; default 1"))


class CurrentPartitionSchema(Schema):
    """What a partition has now."""

    topic_name = TopicName(required=True)
    partition_id = Integer(required=True, minimum=0)
    replicas = List(Integer(), required=True)


def brokers_field(**kwargs: Any) -> Rows:
    """A body's list of brokers."""
    return Rows(BrokerSchema, BROKER, plain_brokers, **kwargs)


def current_field(**kwargs: Any) -> Rows:
    """A body's list of what partitions have now."""
    return Rows(CurrentPartitionSchema, CURRENT, plain_current, **kwargs)


class TopicRequestSchema(Schema):
    """A topic, or the partitions added to one."""

    topic_name = TopicName(required=True)
    partitions_count = Integer(required=True, metadata=about("how many partitions to place"))
    replication_factor = Integer(required=True)
    start_partition_id = Integer(metadata=about("the first id, when partitions are added to a topic; default 0"))
    start_index = Integer(
        metadata=about("AdminUtils: where to start in the broker list; stands for `replica_shift` too if that is absent")
    )
    replica_shift = Integer(metadata=about("AdminUtils: the distance of the followers, where it differs"))
    partition_0_replicas = List(
        Integer(),
        validate=validate.Length(min=1),
        metadata=about(
            "AdminUtils, when partitions are added: the replicas of partition 0, which determine the start, as in "
            "AdminUtils.addPartitions"
        ),
    )


class OperationTopicSchema(Schema):
    """A topic in a request to a controller; -1 or absent: the controller's default."""

    topic_name = Name(required=True, empty=True)
    partitions_count = Integer(metadata=about("for create_partitions the new total"))
    replication_factor = Integer(metadata=about("for create_topics only"))


class OperationSchema(Schema):
    """One request to a KRaft controller."""

    operation = fields.String(required=True, validate=validate.OneOf(["create_topics", "create_partitions"]))
    topics = List(fields.Nested(OperationTopicSchema), required=True)


class ReplicaPlacementSchema(TopicRequestSchema, QuestionSchema):
    """What to place, in one of four forms: one topic (`partitions_count`), several topics of one CreateTopics (`topics`), a KRaft
    controller's requests (`operations`), or existing topics (`topics_to_move`, for the placer `kafka-reassign-generate`).
    """

    kafka_version = fields.String(metadata=about("the release to reproduce, one of the placer's", example=LATEST))
    placer = fields.String(load_default="striped", metadata=about("the name of a placer, as GET /v1/placers lists them"))
    topic_name = TopicName(metadata=about("one topic: its name in `reassignment` and in this service's metrics"))
    partitions_count = Integer(metadata=about("one topic: how many partitions to place"))
    replication_factor = Integer(metadata=about("one topic"))
    random_seed = Integer(
        minimum=-INT64 - 1,
        maximum=INT64,
        metadata=about(
            "of the one `java.util.Random` from which everything is drawn; default 0. Neighbouring seeds have similar first "
            "draws; choose distant seeds for different placements. POST /v1/placement-audits finds a seed for a placement"
        ),
    )
    brokers = brokers_field(metadata=about("all but `kafka-reassign-generate`: the cluster, in Kafka's order"))
    topics = List(
        fields.Nested(TopicRequestSchema),
        metadata=about("several topics: created one after another from one random sequence"),
    )
    operations = List(
        fields.Nested(OperationSchema),
        metadata=about("a controller's requests, one after another; `striped` only"),
    )
    default_partitions_count = Integer(minimum=1, metadata=about("operations: `num.partitions`; default 1"))
    default_replication_factor = Integer(
        minimum=1, maximum=2**15 - 1, metadata=about("operations: `default.replication.factor`; default 1")
    )
    broker_list = List(Integer(), metadata=about("kafka-reassign-generate: `--broker-list`"))
    topics_to_move = List(TopicName(), metadata=about("kafka-reassign-generate: the topics to place anew"))
    cluster_brokers = brokers_field(metadata=about("kafka-reassign-generate: the brokers in the cluster's order"))
    current_assignments = current_field(
        metadata=about(
            "kafka-reassign-generate: the current replicas of the topics, in the cluster's order. `balanced`: the current "
            "replicas of the cluster's topics in any order, which it evens out"
        )
    )
    rack_aware = Boolean(metadata=about("kafka-reassign-generate: false is `--disable-rack-aware`; default true"))

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def has_its_form(self, body: dict[str, Any], sent: dict[str, Any], **_: Any) -> None:
        """Report fields that are missing or misplaced, also beside other faults."""
        if body.get("placer") in PLACERS.names():
            known = [name for name in sent if name in self.fields]
            _form(dict.fromkeys(known), PLACERS[body["placer"]])

    def question(self, body: dict[str, Any], **_: Any) -> Question:
        """The question: its placer resolved, its form read, its size within the limits. Raises ValidationError, LimitExceeded."""
        placer, version = placer_at(body)
        command = _form(body, placer).read(body, placer, version)
        return Question(version, placer, body.get("topic_name"), body.get("random_seed", 0), command)

    def parts(self) -> Parts:
        """The placer; the brokers; the names of topics."""
        return (
            placer_at,
            lambda body: _loaded_cluster(body, PLACERS[body["placer"]]) if "brokers" in body else None,
            lambda body: _check_distinct(body.get("topics") or (), ("topics",)),
        )


def placer_at(body: dict[str, Any]) -> tuple[Placer, str]:
    """The placer, and the release of Kafka. Raises UnknownStrategy, InvalidQuestion."""
    placer = PLACERS[body["placer"]]
    version = body.get("kafka_version", LATEST)
    return placer.at(version), version


@dataclass(frozen=True)
class Question:
    """How does this placer carry out this command?"""

    kafka_version: str
    placer: Placer
    topic_name: str | None
    random_seed: int
    command: Command


# ---- the forms ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """One form of the request.

    name : the field that marks it, as in ``Placer.requests``
    needs, may_have : its required and optional fields
    read : makes the command; its arguments are the body, the placer and the Kafka version
    """

    name: str
    needs: frozenset[str]
    may_have: frozenset[str]
    read: Callable[[dict[str, Any], Placer, str], Command]


def _read_topic(body: dict[str, Any], placer: Placer, version: str) -> Command:
    request = _placement_request(body, placer, version)
    cluster, name = _loaded_cluster(body, placer), body.get("topic_name", UNNAMED)
    _check_size(cluster, [(name, request.partitions_count, request.replication_factor)], "partitions_count")
    return Place(cluster, ((name, request),), alone=True)


def _read_topics(body: dict[str, Any], placer: Placer, version: str) -> Command:
    topics = body["topics"]
    _check_distinct(topics, ("topics",))
    requests, faults = [], {}
    for i, topic in enumerate(topics):
        try:
            requests.append((topic["topic_name"], _placement_request(topic, placer, version)))
        except ValidationError as error:
            faults[i] = error.messages
    if faults:
        raise ValidationError({"topics": faults})
    cluster = _loaded_cluster(body, placer)
    _check_size(cluster, [(name, request.partitions_count, request.replication_factor) for name, request in requests], "topics")
    return Place(cluster, tuple(requests), alone=False)


def _read_operations(body: dict[str, Any], _: Placer, version: str) -> Command:
    default_count, default_factor = body.get("default_partitions_count", 1), body.get("default_replication_factor", 1)
    operations = []
    factors: dict[str, int] = {}
    sizes = []
    for i, operation in enumerate(body["operations"]):
        _check_distinct(operation["topics"], ("operations", i, "topics"))
        topics = tuple(TopicRequest(**topic) for topic in operation["topics"])
        operations.append((operation["operation"], topics))
        for topic in topics:
            if operation["operation"] == "create_topics":
                factor = default_factor if topic.replication_factor == DEFAULT else topic.replication_factor
                factors.setdefault(topic.topic_name, factor)
            count = default_count if topic.partitions_count == DEFAULT else topic.partitions_count
            sizes.append((topic.topic_name, count, factors.get(topic.topic_name, 0)))
    cluster = read_cluster(uncordoned(body["brokers"]))
    _check_size(cluster, sizes, "operations", documents=2)
    return Operate(cluster, tuple(operations), default_count, default_factor, version)


def _read_generation(body: dict[str, Any], _: Placer, __: str) -> Command:
    rows = body["current_assignments"]
    names = pc.dictionary_encode(rows.field("topic_name"))
    topic_of = np.array(names.indices, np.int32)
    ids = np.array(rows.field("partition_id"), np.int32)
    factors = np.array(pc.list_value_length(rows.field("replicas")), np.int32)
    order = np.argsort(topic_of, kind="stable")
    bounds = np.searchsorted(topic_of[order], np.arange(len(names.dictionary) + 1))
    current = {
        name: CurrentTopic(ids[order[bounds[i] : bounds[i + 1]]], factors[order[bounds[i] : bounds[i + 1]]])
        for i, name in enumerate(names.dictionary.to_pylist())
    }
    cluster, longest = read_cluster(body["cluster_brokers"]), max(current, key=len, default="")
    _check_size(cluster, [(longest, len(ids), int(factors.max(initial=0)))], "current_assignments", documents=2)
    return Generate(
        cluster,
        np.array(body["broker_list"], np.int32),
        tuple(body["topics_to_move"]),
        current,
        body.get("rack_aware", True),
    )


_OF_ALL: Final = frozenset({"kafka_version", "placer", "random_seed"})
_OF_A_TOPIC: Final = frozenset({"start_partition_id", "start_index", "replica_shift", "partition_0_replicas"})
FORMS: Final = (
    Form(
        "operations",
        frozenset({"brokers", "operations"}),
        frozenset({"default_partitions_count", "default_replication_factor"}),
        _read_operations,
    ),
    Form(
        "topics_to_move",
        frozenset({"broker_list", "topics_to_move", "cluster_brokers", "current_assignments"}),
        frozenset({"rack_aware"}),
        _read_generation,
    ),
    Form("topics", frozenset({"brokers", "topics"}), frozenset({"current_assignments"}), _read_topics),
    Form(
        "partitions_count",
        frozenset({"brokers", "partitions_count", "replication_factor"}),
        _OF_A_TOPIC | {"topic_name", "current_assignments"},
        _read_topic,
    ),
)
"""The first whose field the body has, or the last that the placer supports, is the form of a body."""


def _form(body: dict[str, Any], placer: Placer) -> Form:
    """The form of the body; raises ValidationError if the placer does not support it, or if fields are missing or misplaced."""
    for form in FORMS:
        if form.name in body and form.name not in placer.requests:
            raise ValidationError({form.name: [f"Not supported by the placer {placer.name}."]})
    supported = [form for form in FORMS if form.name in placer.requests]
    form = next((form for form in supported if form.name in body), supported[-1])
    faults = {name: ["Missing data for required field."] for name in sorted(form.needs - body.keys())}
    for name in sorted(body.keys() - form.needs - form.may_have - _OF_ALL):
        faults[name] = [f"Not allowed together with {form.name}."]
    if faults:
        raise ValidationError(faults)
    return form


def _loaded_cluster(body: dict[str, Any], placer: Placer) -> Cluster:
    """The brokers, with what they have already if the placer looks at it. Raises ValidationError if it does not, but is given."""
    brokers, current = body["brokers"], body.get("current_assignments")
    unsupported = [f"Not supported by the placer {placer.name}."]
    faults: dict[str, Any] = {}
    if current is not None and "current_assignments" not in placer.options:
        faults["current_assignments"] = unsupported
    given = {"weight": pc.is_valid(brokers.field("weight")), "cordoned": is_cordoned(brokers)}
    for name in sorted(given.keys() - set(placer.options)):
        for first in np.flatnonzero(np.array(given[name]))[:1].tolist():
            faults.setdefault("brokers", {}).setdefault(first, {})[name] = unsupported
    if faults:
        raise ValidationError(faults)
    brokers = uncordoned(brokers)
    cluster = read_cluster(brokers)
    return replace(cluster, known_load=read_load(brokers, current, cluster)) if "weight" in placer.options else cluster


def _placement_request(topic: dict[str, Any], placer: Placer, version: str) -> PlacementRequest:
    options = {
        "start_index": topic.get("start_index"),
        "replica_shift": topic.get("replica_shift"),
        "partition_0_replicas": topic.get("partition_0_replicas"),
    }
    faults = {
        name: [f"Not supported by the placer {placer.name}."]
        for name, value in options.items()
        if value is not None and name.replace("replicas", "leader") not in placer.options
    }
    if not faults and options["start_index"] is not None and options["partition_0_replicas"] is not None:
        faults["start_index"] = ["Not allowed together with partition_0_replicas, which determines it."]
    if faults:
        raise ValidationError(faults)
    return PlacementRequest(
        topic["partitions_count"],
        topic["replication_factor"],
        topic.get("start_partition_id", 0),
        options["start_index"],
        options["replica_shift"],
        options["partition_0_replicas"][0] if options["partition_0_replicas"] else None,
        version,
    )


def _check_distinct(topics: Iterable[dict[str, Any]], at: tuple[str | int, ...]) -> None:
    """Reject a topic that one request names twice, as a broker does before it calls its placer."""
    names = set()
    messages: Any = {}
    for i, topic in enumerate(topics):
        if topic["topic_name"] in names:
            messages[i] = {"topic_name": ["Duplicate topic name."]}
        names.add(topic["topic_name"])
    if messages:
        for part in reversed(at):
            messages = {part: messages}
        raise ValidationError(messages)


def _check_size(cluster: Cluster, topics: list[tuple[str, int, int]], field: str, documents: int = 1) -> None:
    """Raise LimitExceeded for more partitions × replicas than the settings allow, and reserve the memory of the placement.

    topics : of each the name, the number of partitions, and the replication factor
    documents : how many times as long as for one topic the JSON answer is
    """
    sizes = [(name, max(0, count), max(1, factor)) for name, count, factor in topics]
    check_limit("max_placement_cells", sum(count * factor for _, count, factor in sizes), "partitions × replicas", field)
    digits = max(map(len, map(str, cluster.broker_ids.tolist())), default=0)
    media_type = responses.preferred()
    reserve(
        documents * sum(placement_bytes(count, factor, len(dumps(name)), digits, media_type) for name, count, factor in sizes)
    )


def placement_bytes(partitions: int, factor: int, name: int, digits: int, media_type: str) -> int:
    """Most bytes of memory that a topic's placement takes: arrays, and the answer, which is there once as JSON, else twice.

    factor : the replication factor; name, digits : characters of the topic's name, and of the longest broker id
    Measured for 10,000,000 × 1 with ids of 9 digits: 112 a partition as JSON (here 183), 88 as CSV (128), 56 as Arrow (96).
    """
    text = {
        JSON: 92 + name + 2 * (digits + 1) * factor,
        CSV: 2 * (15 + name + (digits + 1) * factor),
        ARROW_STREAM: 2 * (12 + 4 * factor),
    }[media_type]
    return 2_000 + partitions * (text + 40 + 24 * factor)
