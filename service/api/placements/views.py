"""``POST /v1/replica-placements``: replicas → brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marshmallow import Schema, ValidationError, fields, post_load, validate

from service.api.groups.request import Name
from service.api.placements import request
from service.api.placements.response import (
    UNNAMED,
    BrokerLoadSchema,
    PlacementSchema,
    RackLoadSchema,
    ReassignmentSchema,
    brokers_field,
    current_field,
    load_documents,
    placements_table,
)
from service.core.jvm.random import JavaRandom
from service.core.placers import LATEST, PLACERS, Placer
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.fields import INT64, Boolean, Integer
from service.web.schemas import ExplainSchema

if TYPE_CHECKING:
    from flask import Response

    from service.api.placements.commands import Task

blueprint = Blueprint("replica_placements", __name__, description="replicas → brokers")


# ---- the request -------------------------------------------------------------------------------------------------------


class TopicWishSchema(Schema):
    """A topic, or the partitions added to one."""

    topic_name = Name(required=True)
    partitions_count = Integer(required=True, metadata={"description": "how many partitions to place"})
    replication_factor = Integer(required=True)
    start_partition_id = Integer(metadata={"description": "the first id, when partitions are added to a topic; default 0"})
    start_index = Integer(
        metadata={
            "description": "AdminUtils: where to start in the broker list; stands for `replica_shift` too if that is absent"
        }
    )
    replica_shift = Integer(metadata={"description": "AdminUtils: the distance of the followers, where it differs"})
    partition_0_replicas = fields.List(
        Integer(),
        validate=validate.Length(min=1),
        metadata={
            "description": "AdminUtils, when partitions are added: what partition 0 has now; the start is found from it, as "
            "AdminUtils.addPartitions does"
        },
    )


class OperationTopicSchema(Schema):
    """A topic in a request to a controller; -1 or absent: the controller's default."""

    topic_name = Name(required=True, empty=True)
    partitions_count = Integer(metadata={"description": "for create_partitions the new total"})
    replication_factor = Integer(metadata={"description": "for create_topics only"})


class OperationSchema(Schema):
    """One request to a KRaft controller."""

    operation = fields.String(required=True, validate=validate.OneOf(["create_topics", "create_partitions"]))
    topics = fields.List(fields.Nested(OperationTopicSchema), required=True)


class ReplicaPlacementSchema(TopicWishSchema):
    """What to place, in one of four forms: one topic (`partitions_count`), several topics of one CreateTopics (`topics`), a KRaft
    controller's requests (`operations`), or existing topics (`topics_to_move`, for the placer `kafka-reassign-generate`).
    """

    kafka_version = fields.String(
        metadata={"description": "the release whose answer and words are wanted, one of the placer's", "example": LATEST}
    )
    placer = fields.String(
        load_default="striped", metadata={"description": "the name of a placer, as GET /v1/placers lists them"}
    )
    topic_name = Name(metadata={"description": "one topic: its name in `reassignment` and in this service's metrics"})
    partitions_count = Integer(metadata={"description": "one topic: how many partitions to place"})
    replication_factor = Integer(metadata={"description": "one topic"})
    random_seed = Integer(
        minimum=-INT64 - 1,
        maximum=INT64,
        metadata={"description": "of the one `java.util.Random` from which everything is drawn; default 0"},
    )
    brokers = brokers_field(metadata={"description": "all but `kafka-reassign-generate`: the cluster, in Kafka's order"})
    topics = fields.List(
        fields.Nested(TopicWishSchema),
        metadata={"description": "several topics: created one after another from one random sequence"},
    )
    operations = fields.List(
        fields.Nested(OperationSchema),
        metadata={"description": "a controller's requests, one after another; `striped` only"},
    )
    default_partitions_count = Integer(minimum=1, metadata={"description": "operations: `num.partitions`; default 1"})
    default_replication_factor = Integer(
        minimum=1, maximum=2**15 - 1, metadata={"description": "operations: `default.replication.factor`; default 1"}
    )
    broker_list = fields.List(Integer(), metadata={"description": "kafka-reassign-generate: `--broker-list`"})
    topics_to_move = fields.List(Name(), metadata={"description": "kafka-reassign-generate: the topics to place anew"})
    cluster_brokers = brokers_field(
        metadata={"description": "kafka-reassign-generate: the brokers in the order in which the cluster lists them"}
    )
    current_assignments = current_field(
        metadata={"description": "kafka-reassign-generate: what the topics have, in the order in which the cluster says it"}
    )
    rack_aware = Boolean(metadata={"description": "kafka-reassign-generate: false is `--disable-rack-aware`; default true"})

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> Question:
        """The question, its placer looked up, its form found, its size within the limits."""
        placer = PLACERS[body["placer"]]
        version = body.get("kafka_version", placer.kafka_versions[-1])
        if version not in placer.kafka_versions:
            known = ", ".join(placer.kafka_versions)
            raise ValidationError({"kafka_version": [f"{placer.name} does not answer for Kafka {version}; known are {known}."]})
        task = request.read(body, placer, version)
        return Question(version, placer, body.get("topic_name"), body.get("random_seed", 0), task)


@dataclass(frozen=True)
class Question:
    """How does this placer do this task?"""

    kafka_version: str
    placer: Placer
    topic_name: str | None
    random_seed: int
    task: Task


# ---- the answer --------------------------------------------------------------------------------------------------------


class TopicPlacementSchema(Schema):
    """What became of one of several topics."""

    topic_name = fields.String()
    placements = fields.List(fields.Nested(PlacementSchema))
    error = fields.String(metadata={"description": "Kafka's name of the error, if it refuses this topic"})
    exception = fields.String(metadata={"description": "the Java class that Kafka throws"})
    message = fields.String(allow_none=True, metadata={"description": "Kafka's own words"})


class ControllerPlacementSchema(PlacementSchema):
    """A partition that a controller has made."""

    in_sync_replicas = fields.List(fields.Integer())
    leader = fields.Integer()


class ControllerTopicSchema(TopicPlacementSchema):
    """What a controller answers for one topic; errors by the protocol's names."""

    placements = fields.List(fields.Nested(ControllerPlacementSchema))


class ReplicaPlacementAnswerSchema(Schema):
    """The placement; which of `placements`, `topics`, `results` and `proposed_json` it has goes by the request's form."""

    kafka_version = fields.String()
    placer = fields.String()
    placements = fields.List(fields.Nested(PlacementSchema), metadata={"description": "one topic"})
    topics = fields.List(fields.Nested(TopicPlacementSchema), metadata={"description": "several topics, in request order"})
    results = fields.List(
        fields.List(fields.Nested(ControllerTopicSchema)), metadata={"description": "operations: for each, its topics in order"}
    )
    proposed_json = fields.String(metadata={"description": "kafka-reassign-generate: what the tool prints"})
    broker_load = fields.Nested(BrokerLoadSchema)
    rack_load = fields.Nested(RackLoadSchema)
    reassignment = fields.Nested(
        ReassignmentSchema,
        metadata={
            "description": "the placement as the file that kafka-reassign-partitions takes; a topic without a `topic_name` is "
            f'called "{UNNAMED}". Not for operations'
        },
    )
    explanation = fields.Dict(
        metadata={"description": "with `explain=true`: draws and lists, and for each replica the rule that put it on its broker"}
    )


@blueprint.post("/v1/replica-placements")
@blueprint.arguments(ReplicaPlacementSchema)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, ReplicaPlacementAnswerSchema)
@blueprint.doc(operationId="placeReplicas")
def place_replicas(question: Question, query: dict[str, bool]) -> Response:
    """Place partitions' replicas on brokers.

    As an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is its table: `topic_name`,
    `partition_id`, `replicas` (a list, or text with commas).
    """
    task, placer = question.task, question.placer
    report = decision("placement", placer.name)
    with report.compute():
        explained = settings().max_explained if query["explain"] else 0
        outcome = task.run(placer, JavaRandom(question.random_seed), explained)
        evenness, load = load_documents(task.cluster, outcome.placed)
        report.sees(partitions=sum(len(topic.partition_ids) for topic in outcome.placed), brokers=len(task.cluster))
        report.gives(evenness.skew, subject=question.topic_name)
    with report.render():
        media_type = responses.preferred()
        if media_type != responses.JSON:
            listed = media_type == responses.ARROW_STREAM
            return responses.table(placements_table(task.cluster, outcome.placed, listed=listed), media_type)
        answer = {"kafka_version": question.kafka_version, "placer": placer.name, **outcome.render(), **load}
        if outcome.explanation:
            answer["explanation"] = outcome.explanation
        return responses.answer(answer)
