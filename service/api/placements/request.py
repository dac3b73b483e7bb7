"""The four forms that a request for replicas can have: which one it is, what goes with it, and what it asks to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc
from marshmallow import ValidationError

from service.api.placements.commands import Generation, Operations, Task, Topics
from service.api.placements.response import UNNAMED
from service.arrow.clusters import read_cluster
from service.config import environment_name
from service.core.errors import LimitExceeded
from service.core.model import Wish
from service.core.placers import REASSIGN_GENERATE, Placer
from service.core.placers.controller import TopicWish
from service.core.placers.reassign_generate import CurrentTopic
from service.web.context import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def read(body: dict[str, Any], placer: Placer, version: str) -> Task:
    """What a body asks, whose fields have been checked one by one. Raises ValidationError, LimitExceeded."""
    form = _form(body)
    _check_form(body, form)
    return form.read(body, placer, version)


@dataclass(frozen=True)
class Form:
    """One form of the request: the fields it needs, those it may have, and how it is read."""

    name: str
    needs: frozenset[str]
    may_have: frozenset[str]
    read: Callable[[dict[str, Any], Placer, str], Task]


def _read_one(body: dict[str, Any], placer: Placer, version: str) -> Task:
    wish = _wish(body, placer, version)
    _check_cells([(wish.partitions_count, wish.replication_factor)], "partitions_count")
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
    _check_cells([(wish.partitions_count, wish.replication_factor) for _, wish in wishes], "topics")
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
    _check_cells(cells, "operations")
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
    _check_cells([(len(ids), int(factors.max(initial=0)))], "current_assignments")
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


def _check_cells(wanted: Iterable[tuple[int, int]], field: str) -> None:
    """Raise LimitExceeded for more partitions × replicas than the settings allow."""
    cells, allowed = sum(max(0, count) * max(1, factor) for count, factor in wanted), settings().max_placement_cells
    if cells > allowed:
        raise LimitExceeded(environment_name("max_placement_cells"), allowed, cells, "partitions × replicas", field)
