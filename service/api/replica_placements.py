"""``POST /v1/replica-placements``: replicas → brokers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow.compute as pc
from marshmallow import Schema, ValidationError, fields, post_load, validate

from service.api import Blueprint, decision, render, settings
from service.api.fields import Boolean, Integer
from service.api.groups import Name
from service.api.placements import (
    UNNAMED,
    BrokerLoadSchema,
    Placed,
    PlacementSchema,
    RackLoadSchema,
    ReassignmentSchema,
    brokers_field,
    controller_placements_json,
    current_field,
    load_documents,
    placements_json,
    placements_table,
    reassignment_json,
)
from service.api.schemas import ExplainSchema
from service.clusters import read_cluster
from service.config import environment_name
from service.core.errors import KafkaError, LimitExceeded
from service.core.jvm.random import JavaRandom
from service.core.model import Wish
from service.core.placers import LATEST, PLACERS, REASSIGN_GENERATE, Placer
from service.core.placers.controller import Controller, TopicResult, TopicWish, protocol_name
from service.core.placers.reassign_generate import CurrentTopic, Proposal, propose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flask import Response

    from service.core.model import Cluster, Int32s

blueprint = Blueprint("replica_placements", __name__, description="replicas → brokers")

LONG: Final = 2**63 - 1


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
        minimum=-LONG - 1,
        maximum=LONG,
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
        form = _form(body)
        _check_form(body, form)
        task = form.read(body, placer, version)
        return Question(version, placer, body.get("topic_name"), body.get("random_seed", 0), task)


@dataclass(frozen=True)
class Question:
    """How does this placer do this task?"""

    kafka_version: str
    placer: Placer
    topic_name: str | None
    random_seed: int
    task: Task


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    placed : what was placed, in the order of the answer
    render : makes the answer's members of their own
    """

    placed: list[Placed]
    render: Callable[[], dict[str, Any]]
    explanation: dict[str, Any] | None = None


@dataclass(frozen=True)
class Task:
    """What is asked; each form of the request has one."""

    cluster: Cluster

    def run(self, placer: Placer, random: JavaRandom, explained: int) -> Outcome:
        """Do it. explained : the most entries of one list in an explanation; 0: no explanation."""
        raise NotImplementedError


@dataclass(frozen=True)
class Topics(Task):
    """Topics, created in turn. alone : one topic, whose refusal is the whole answer"""

    wishes: tuple[tuple[str, Wish], ...]
    alone: bool

    def run(self, placer: Placer, random: JavaRandom, explained: int) -> Outcome:
        """See Task."""
        results: list[Placed | tuple[str, KafkaError]] = []
        explanations: list[dict[str, Any]] = []
        each = max(1, explained // max(1, len(self.wishes)))
        for name, wish in self.wishes:
            before = random.copy()
            try:
                results.append(Placed(name, wish.partition_ids(), placer.run(self.cluster, wish, random)))
            except KafkaError as refusal:
                if self.alone:
                    raise
                results.append((name, refusal))
                continue
            if placer.explain and len(explanations) < explained:
                explanations.append({"topic_name": name, **placer.explain(self.cluster, wish, before, each)})
        placed = [result for result in results if isinstance(result, Placed)]
        if self.alone:
            return Outcome(placed, lambda: {**self._one(placed[0]), **self._reassignment(placed)}, *explanations)
        return Outcome(
            placed,
            lambda: {"topics": [self._topic(result) for result in results], **self._reassignment(placed)},
            {"topics": explanations} if explanations else None,
        )

    def _one(self, topic: Placed) -> dict[str, Any]:
        return {"placements": placements_json(self.cluster, topic)}

    def _topic(self, result: Placed | tuple[str, KafkaError]) -> dict[str, Any]:
        if isinstance(result, Placed):
            return {"topic_name": result.topic_name, **self._one(result)}
        name, refusal = result
        error = {"error": type(refusal).__name__, "exception": refusal.exception, "message": refusal.message}
        return {"topic_name": name, **error}

    def _reassignment(self, placed: list[Placed]) -> dict[str, Any]:
        return {"reassignment": orjson.Fragment(reassignment_json(self.cluster, placed))}


@dataclass(frozen=True)
class Operations(Task):
    """A controller's requests."""

    requests: tuple[tuple[str, tuple[TopicWish, ...]], ...]
    default_partitions_count: int
    default_replication_factor: int

    def run(self, _: Placer, random: JavaRandom, explained: int) -> Outcome:
        """See Task."""
        controller = Controller(self.cluster, random, self.default_partitions_count, self.default_replication_factor)
        act = {"create_topics": controller.create_topics, "create_partitions": controller.create_partitions}
        results: list[list[TopicResult] | KafkaError] = []
        for operation, topics in self.requests:
            try:
                results.append(act[operation](topics))
            except KafkaError as refusal:
                results.append(refusal)
        placed = [_placed(topic) for request in results if isinstance(request, list) for topic in request if topic.error is None]
        order = controller.brokers.tolist() if explained else []
        ids = self.cluster.broker_ids[order[:explained]]
        explanation = {"broker_list": ids, "rule": "brokers reach the placer in the order of the controller's hash map"}
        return Outcome(placed, lambda: {"results": [self._result(r) for r in results]}, explanation if explained else None)

    def _result(self, request: list[TopicResult] | KafkaError) -> list[dict[str, Any]]:
        if isinstance(request, KafkaError):
            return [{"error": protocol_name(request), "exception": request.exception, "message": request.message}]
        return [self._topic(topic) for topic in request]

    def _topic(self, topic: TopicResult) -> dict[str, Any]:
        if topic.error:
            return {"topic_name": topic.topic_name, "error": topic.error.name, "message": topic.error.message}
        fragment = controller_placements_json(self.cluster, _placed(topic))
        return {"topic_name": topic.topic_name, "placements": fragment}


def _placed(topic: TopicResult) -> Placed:
    replicas = topic.placement
    assert replicas is not None  # noqa: S101  it has no error
    return Placed(topic.topic_name, np.arange(len(replicas), dtype=np.int32) + np.int32(topic.first_partition_id), replicas)


@dataclass(frozen=True)
class Generation(Task):
    """What ``kafka-reassign-partitions --generate`` is asked."""

    broker_list: Int32s
    topics_to_move: tuple[str, ...]
    current: dict[str, CurrentTopic] = field(repr=False)
    rack_aware: bool = True

    def run(self, _: Placer, random: JavaRandom, explained: int) -> Outcome:
        """See Task."""
        proposal: Proposal = propose(
            self.cluster, self.broker_list, self.topics_to_move, self.current, random, rack_aware=self.rack_aware
        )
        placed = [
            Placed(name, np.arange(len(replicas), dtype=np.int32), replicas)
            for name, replicas in zip(proposal.topic_names, proposal.placements, strict=True)
        ]

        def members() -> dict[str, Any]:
            text = reassignment_json(self.cluster, placed, log_dirs=True)
            return {"proposed_json": text.decode(), "reassignment": orjson.Fragment(text)}

        return Outcome(placed, members)


# ---- which form the request has ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """One form of the request: the fields it needs, those it may have, and how it is read."""

    name: str
    needs: frozenset[str]
    may_have: frozenset[str]
    read: Callable[[dict[str, Any], Placer, str], Task]


def _read_one(body: dict[str, Any], placer: Placer, version: str) -> Task:
    wish = _wish(body, placer, version)
    _check_cells([(wish.partitions_count, wish.replication_factor)], "/partitions_count")
    return Topics(read_cluster(body["brokers"]), ((body.get("topic_name", UNNAMED), wish),), alone=True)


def _read_topics(body: dict[str, Any], placer: Placer, version: str) -> Task:
    topics = body["topics"]
    _check_once(topics, ("topics",))
    wishes = []
    for i, topic in enumerate(topics):
        try:
            wishes.append((topic["topic_name"], _wish(topic, placer, version)))
        except ValidationError as error:
            raise ValidationError({"topics": {i: error.messages}}) from None
    _check_cells([(wish.partitions_count, wish.replication_factor) for _, wish in wishes], "/topics")
    return Topics(read_cluster(body["brokers"]), tuple(wishes), alone=False)


def _read_operations(body: dict[str, Any], placer: Placer, _: str) -> Task:
    if placer.name != "striped":
        raise ValidationError({"operations": ["A KRaft controller places with striped only."]})
    requests = []
    count, factor = body.get("default_partitions_count", 1), body.get("default_replication_factor", 1)
    factors: dict[str, int] = {}
    cells = []
    for i, request in enumerate(body["operations"]):
        _check_once(request["topics"], ("operations", i, "topics"))
        wishes = tuple(TopicWish(**topic) for topic in request["topics"])
        requests.append((request["operation"], wishes))
        for wish in wishes:
            if request["operation"] == "create_topics":
                factors.setdefault(wish.topic_name, factor if wish.replication_factor == -1 else wish.replication_factor)
            wanted = count if wish.partitions_count == -1 else wish.partitions_count
            cells.append((wanted, factors.get(wish.topic_name, 0)))
    _check_cells(cells, "/operations")
    return Operations(read_cluster(body["brokers"]), tuple(requests), count, factor)


def _read_generation(body: dict[str, Any], _: Placer, __: str) -> Task:
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
    _check_cells([(len(ids), int(factors.max(initial=0)))], "/current_assignments")
    return Generation(
        read_cluster(body["cluster_brokers"]),
        np.array(body["broker_list"], np.int32),
        tuple(body["topics_to_move"]),
        current,
        body.get("rack_aware", True),
    )


_OF_ALL: Final = frozenset({"kafka_version", "placer", "random_seed"})
_OF_A_TOPIC: Final = frozenset({"start_partition_id", "start_index", "replica_shift", "partition_0_replicas"})
ONE: Final = Form(
    "partitions_count",
    frozenset({"brokers", "partitions_count", "replication_factor"}),
    _OF_A_TOPIC | {"topic_name"},
    _read_one,
)
SEVERAL: Final = Form("topics", frozenset({"brokers", "topics"}), frozenset(), _read_topics)
CONTROLLER: Final = Form(
    "operations",
    frozenset({"brokers", "operations"}),
    frozenset({"default_partitions_count", "default_replication_factor"}),
    _read_operations,
)
GENERATE: Final = Form(
    REASSIGN_GENERATE,
    frozenset({"broker_list", "topics_to_move", "cluster_brokers", "current_assignments"}),
    frozenset({"rack_aware"}),
    _read_generation,
)


def _form(body: dict[str, Any]) -> Form:
    if body["placer"] == REASSIGN_GENERATE:
        return GENERATE
    return CONTROLLER if "operations" in body else SEVERAL if "topics" in body else ONE


def _check_form(body: dict[str, Any], form: Form) -> None:
    """Refuse what the form lacks, and what does not go with it."""
    faults = {name: ["Missing data for required field."] for name in sorted(form.needs - body.keys())}
    for name in sorted(body.keys() - form.needs - form.may_have - _OF_ALL):
        faults[name] = [f"Does not go with {form.name}."]
    if faults:
        raise ValidationError(faults)


def _wish(topic: dict[str, Any], placer: Placer, version: str) -> Wish:
    given = {
        "start_index": topic.get("start_index"),
        "replica_shift": topic.get("replica_shift"),
        "partition_0_replicas": topic.get("partition_0_replicas"),
    }
    for name, value in given.items():
        if value is not None and name.replace("replicas", "leader") not in placer.options:
            raise ValidationError({name: [f"The placer {placer.name} has no use for it."]})
    if given["start_index"] is not None and given["partition_0_replicas"] is not None:
        raise ValidationError({"start_index": ["Does not go with partition_0_replicas, which says it."]})
    return Wish(
        topic["partitions_count"],
        topic["replication_factor"],
        topic.get("start_partition_id", 0),
        given["start_index"],
        given["replica_shift"],
        given["partition_0_replicas"][0] if given["partition_0_replicas"] else None,
        version,
    )


def _check_once(topics: Iterable[dict[str, Any]], at: tuple[str | int, ...]) -> None:
    """Refuse a topic that one request names twice, as a broker does before it asks its placer."""
    seen = set()
    for i, topic in enumerate(topics):
        if topic["topic_name"] in seen:
            messages: Any = {i: {"topic_name": ["Is there twice."]}}
            for part in reversed(at):
                messages = {part: messages}
            raise ValidationError(messages)
        seen.add(topic["topic_name"])


def _check_cells(wanted: Iterable[tuple[int, int]], pointer: str) -> None:
    """Raise LimitExceeded for more partitions × replicas than the settings allow."""
    cells, allowed = sum(max(0, count) * max(1, factor) for count, factor in wanted), settings().max_placement_cells
    if cells > allowed:
        raise LimitExceeded(environment_name("max_placement_cells"), allowed, cells, "partitions × replicas", pointer)


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
        media_type = render.wanted()
        if media_type != render.JSON:
            listed = media_type == render.ARROW_STREAM
            return render.table(placements_table(task.cluster, outcome.placed, listed=listed), media_type)
        answer = {"kafka_version": question.kafka_version, "placer": placer.name, **outcome.render(), **load}
        if outcome.explanation:
            answer["explanation"] = outcome.explanation
        return render.answer(answer)
