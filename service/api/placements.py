"""Place partitions' replicas on brokers.

As an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is its table: `topic_name`,
`partition_id`, `replicas` (a list, or text with commas).
"""

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from marshmallow import Schema, validate

from service.core.kafka_versions import LATEST
from service.core.model import Cluster, Ragged
from service.core.placers.controller import TopicResult, protocol_name
from service.decisions.placements.answer import (
    BROKER,
    CURRENT,
    UNNAMED,
    PlacementAnswer,
    PlacementQuestion,
    answer,
    plain_current,
)
from service.decisions.placements.commands import CommandResult, Created, Generated, NotPlaced, Operated, Placed, created
from service.decisions.rows import NAME, plain_brokers
from service.http import fields
from service.http.fields import INT64, Bool, Int, Name, Number, TopicName
from service.http.forms import (
    ACCEPTED_RACKS,
    PLACED_TRAFFIC,
    PRICE_PER_GB,
    AnswerSchema,
    BrokerLoadSchema,
    ExplainSchema,
    Form,
    ImplementationSchema,
    Operation,
    QuestionSchema,
    RackLoadSchema,
    ReassignmentSchema,
    ZoneTrafficSchema,
    load_documents,
    reassignment,
    row_of_a_snapshot,
)
from service.http.json.codec import LongText, dumps
from service.http.json.rows import Part, enclosed, json_list, rows
from service.http.lists import Array, Rows


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

    asks = PlacementQuestion.of

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
    price_per_gb = PRICE_PER_GB
    racks = ACCEPTED_RACKS
    rack_aware = Bool("kafka-reassign-generate: false is `--disable-rack-aware`; default true")


class PlacementSchema(AnswerSchema):
    """Where a partition's replicas go."""

    partition_id = fields.Integer()
    replicas = fields.List(fields.Integer(), "broker ids, the leader (the preferred replica) first")


class TopicPlacementSchema(AnswerSchema):
    """What became of one of several topics."""

    topic_name = fields.String()
    placements = fields.List(fields.Nested(PlacementSchema), optional=True)
    error = fields.String("Kafka's name of the error, if it refuses this topic", optional=True)
    exception = fields.String("the Java class that Kafka throws", optional=True)
    message = fields.String("Kafka's message", allow_none=True, optional=True)


class ControllerPlacementSchema(PlacementSchema):
    """A partition that a controller has made."""

    in_sync_replicas = fields.List(fields.Integer())
    leader = fields.Integer()


class ControllerTopicSchema(TopicPlacementSchema):
    """What a controller answers for one topic; errors by the protocol's names."""

    topic_name = fields.String("absent if Kafka refuses the whole request", optional=True)
    placements = fields.List(fields.Nested(ControllerPlacementSchema), optional=True)


class ReplicaPlacementAnswerSchema(AnswerSchema):
    """The placement; which of `placements`, `topics`, `results` and `proposed_json` it has goes by the request's form."""

    kafka_version = fields.String()
    placer = fields.String()
    implementation = fields.Nested(ImplementationSchema)
    conclusion = fields.String("what is placed, and where; that racks are not known")
    warnings = fields.List(fields.String(), "brokers without a rack where others have one; what can be read on the reader's rack")
    placements = fields.List(fields.Nested(PlacementSchema), "one topic", optional=True)
    topics = fields.List(fields.Nested(TopicPlacementSchema), "several topics, in request order", optional=True)
    results = fields.List(
        fields.List(fields.Nested(ControllerTopicSchema)),
        "operations: for each, its topics in order",
        optional=True,
    )
    proposed_json = fields.String("kafka-reassign-generate: what the tool prints", optional=True)
    broker_load = fields.Nested(BrokerLoadSchema)
    rack_load = fields.Nested(RackLoadSchema)
    zone_traffic = fields.Nested(ZoneTrafficSchema, PLACED_TRAFFIC, optional=True)
    reassignment = fields.Nested(
        ReassignmentSchema,
        "the placement as the file that kafka-reassign-partitions takes; a topic without a `topic_name` is "
        f'called "{UNNAMED}". Not for operations',
        optional=True,
    )
    explanation = fields.Dict("with `explain=true`: draws and lists, and for each replica the rule that placed it", optional=True)


def document(answer: PlacementAnswer) -> dict[str, Any]:
    """The answer, as ReplicaPlacementAnswerSchema has it."""
    body = {
        "kafka_version": answer.question.version,
        "placer": answer.placer.name,
        "implementation": answer.placer.implementation_fields,
        "conclusion": answer.conclusion,
        "warnings": answer.warnings,
        **_outcome(answer.cluster, answer.outcome),
        **load_documents(answer.cluster, answer.load),
    }
    if answer.traffic is not None:
        body["zone_traffic"] = answer.traffic.figures(answer.question.given.get("price_per_gb"))
    if answer.outcome.explanation:
        body["explanation"] = answer.outcome.explanation
    return body


def table(answer: PlacementAnswer) -> pa.Table:
    """The columns topic_name, partition_id and replicas, a row for each partition."""
    placed = answer.outcome.placed
    topic = np.repeat(np.arange(len(placed), dtype=np.int32), [len(each.partition_ids) for each in placed])
    lists = [pa.array([], pa.list_(pa.int32()))]
    for each in placed:
        count, factor = each.replicas.shape
        offsets = np.arange(count + 1, dtype=np.int32) * np.int32(factor)
        lists.append(pa.ListArray.from_arrays(pa.array(offsets), pa.array(answer.cluster.broker_ids[each.replicas].ravel())))
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(topic), pa.array([each.topic_name for each in placed], NAME)),
            "partition_id": pa.array(np.concatenate([each.partition_ids for each in placed] or [np.empty(0, np.int32)])),
            "replicas": pa.concat_arrays(lists),
        }
    )


def _outcome(cluster: Cluster, outcome: CommandResult) -> dict[str, Any]:
    """The members of the answer that only this form of the question has."""
    if isinstance(outcome, Generated):
        proposed, again = (reassignment_json(cluster, outcome.placed, log_dirs=True) for _ in range(2))
        return {"proposed_json": in_quotes(proposed), "reassignment": again}
    if isinstance(outcome, Operated):
        return {"results": [_operated(cluster, request) for request in outcome.results]}
    topics = cast("Created", outcome)
    file = {"reassignment": reassignment_json(cluster, topics.placed)}
    if topics.alone:
        return {"placements": placements_json(cluster, topics.placed[0]), **file}
    return {"topics": [_created(cluster, result) for result in topics.results], **file}


def _created(cluster: Cluster, result: Placed | NotPlaced) -> dict[str, Any]:
    if isinstance(result, Placed):
        return {"topic_name": result.topic_name, "placements": placements_json(cluster, result)}
    error = result.error
    body = {"error": type(error).__name__, "exception": error.exception, "message": error.message}
    return {"topic_name": result.topic_name, **body}


def _operated(cluster: Cluster, request: list[TopicResult] | NotPlaced) -> list[dict[str, Any]]:
    if isinstance(request, NotPlaced):
        error = request.error
        return [{"error": protocol_name(error), "exception": error.exception, "message": error.message}]
    return [
        {"topic_name": topic.topic_name, "error": topic.error.name, "message": topic.error.message}
        if topic.error
        else {"topic_name": topic.topic_name, "placements": controller_placements_json(cluster, created(topic))}
        for topic in request
    ]


def placements_json(cluster: Cluster, placed: Placed) -> LongText:
    """``[{"partition_id", "replicas"}]``."""
    return json_list(len(placed.partition_ids), *_opened(cluster, placed, b'{"partition_id":'), Part([b"]}"]))


def controller_placements_json(cluster: Cluster, placed: Placed) -> LongText:
    """``[{"partition_id", "replicas", "in_sync_replicas", "leader"}]``: a controller's new partitions."""
    in_sync = ~cluster.fenced[placed.replicas]
    offsets = np.append(0, np.cumsum(np.count_nonzero(in_sync, axis=1))).astype(np.int32)
    return json_list(
        len(placed.partition_ids),
        *_opened(cluster, placed, b'{"partition_id":'),
        Part([b'],"in_sync_replicas":['], numbers=Ragged(offsets, placed.replicas[in_sync]), ids=cluster.broker_ids),
        Part([b'],"leader":'], numbers=placed.replicas[:, 0], ids=cluster.broker_ids),
        Part([b"}"]),
    )


def reassignment_json(cluster: Cluster, placed: Sequence[Placed], *, log_dirs: bool = False) -> LongText:
    """``{"version":1,"partitions":[{"topic","partition","replicas"}]}``, to the letter as Kafka's tool prints it.

    log_dirs : with ``"log_dirs":["any", …]`` besides, as ``--generate`` has them
    """
    texts = []
    for topic in placed:
        count, factor = topic.replicas.shape
        if count:
            after = b'],"log_dirs":[' + b",".join([b'"any"'] * factor) + b"]}" if log_dirs else b"]}"
            before = b'{"topic":%s,"partition":' % dumps(topic.topic_name)
            texts.append(rows(count, *_opened(cluster, topic, before), Part([after])))
    commas = chain.from_iterable((b",", *text.pieces) for text in texts)
    return reassignment(LongText(islice(commas, 1, None), max(0, sum(1 + text.size for text in texts) - 1), exact=True))


def _opened(cluster: Cluster, placed: Placed, before: bytes) -> tuple[Part, Part]:
    """The beginning of a row for each partition: a text, its id, and its replicas."""
    replicas = Part([b',"replicas":['], numbers=placed.replicas, ids=cluster.broker_ids)
    return Part([before], numbers=placed.partition_ids), replicas


def in_quotes(text: LongText) -> LongText:
    """A text as a JSON string; its pieces are whole characters."""
    return enclosed(b'"', LongText((dumps(piece.decode())[1:-1] for piece in text.pieces), 2 * text.size, exact=False), b'"')


FORM: Final = Form(ReplicaPlacementSchema(), answer, ReplicaPlacementAnswerSchema, document, table)

EXAMPLE: Final = {
    "placer": "striped",
    "random_seed": 7,
    "topic_name": "orders",
    "partitions_count": 6,
    "replication_factor": 2,
    "brokers": [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2, "rack_id": "b"}, {"broker_id": 3, "rack_id": "c"}],
}

OPERATION: Final = Operation("placeReplicas", "placement", "replicas → brokers", EXAMPLE, query=ExplainSchema)
