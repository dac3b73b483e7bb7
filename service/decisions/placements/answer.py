"""The answer: replicas on brokers, and how even that is; and clusters, from Arrow to arrays."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.jvm.random import JavaRandom
from service.core.kafka_versions import LATEST
from service.core.measures import NOT_KNOWN, Load, ZoneTraffic, load_of, placed_traffic, racks_of, read_nearby, rows_of_topics
from service.core.model import NONE, BrokerLoad, Cluster, Int32s, PlacementRequest, Ragged, indices_in
from service.core.placers.controller import DEFAULT, TopicRequest
from service.core.placers.reassign_generate import CurrentTopic
from service.core.printable import counted
from service.decisions.placements.commands import Command, CommandResult, create, generate, operate
from service.decisions.rows import (
    LONGEST_TOPIC_NAME,
    NAME,
    duplicates_in_column,
    duplicates_in_rows,
    faults_of,
    in_range,
    plain_names,
    raise_all,
)
from service.planner.reassignments.model import RACKS_UNKNOWN, rackless
from service.strategies import PLACERS, Placer

BROKER = pa.struct(
    {"broker_id": pa.int32(), "rack_id": NAME, "fenced": pa.bool_(), "weight": pa.float64(), "cordoned": pa.bool_()}
)
PLACEMENT = pa.struct({"partition_id": pa.int32(), "replicas": pa.list_(pa.int32())})
CURRENT = pa.struct({"topic_name": NAME, "partition_id": pa.int32(), "replicas": pa.list_(pa.int32())})


def plain_current(rows: pa.StructArray) -> bool:
    """Is every row of type CURRENT, none null, well-formed by itself?"""
    names, ids, replicas = (rows.field(name) for name in ("topic_name", "partition_id", "replicas"))
    return bool(
        names.null_count == ids.null_count == replicas.null_count == replicas.values.null_count == 0
        and in_range(ids, 0)
        and plain_names(names, LONGEST_TOPIC_NAME)
    )


def plain_placements(rows: pa.StructArray) -> bool:
    """Is every row of type PLACEMENT, none null, well-formed by itself?"""
    ids, replicas = rows.field("partition_id"), rows.field("replicas")
    return ids.null_count == replicas.null_count == replicas.values.null_count == 0 and in_range(ids, 0)


def read_placement(rows: pa.StructArray, cluster: Cluster) -> tuple[Int32s, Ragged]:
    """The ids of these partitions, and of each the brokers as indices of the cluster, NONE for one that it does not have.

    rows : of type PLACEMENT; the cluster has no broker id twice
    """
    replicas = rows.field("replicas")
    lengths = np.array(pc.list_value_length(replicas), np.int64)
    brokers = indices_in(cluster.broker_ids, np.array(replicas.flatten(), np.int32))
    return np.array(rows.field("partition_id"), np.int32), Ragged.of_lengths(lengths, brokers)


def uncordoned(brokers: pa.StructArray) -> pa.StructArray:
    """The rows of type BROKER that may get new replicas.

    Reproduces BrokerHeartbeatManager.UsableBrokerIterator (KIP-1066, since 4.3.0): the placer never sees a broker of which every
    log directory is cordoned, or that is shutting down.
    """
    return brokers.filter(pc.invert(is_cordoned(brokers)))


def is_cordoned(brokers: pa.StructArray) -> pa.BooleanArray:
    """Of each row of type BROKER, whether the broker gets no new replicas."""
    return pc.fill_null(brokers.field("cordoned"), False)


def read_cluster(brokers: pa.StructArray) -> Cluster:
    """The cluster of these rows of type BROKER."""
    racks = pc.dictionary_encode(brokers.field("rack_id"))
    return Cluster(
        np.array(brokers.field("broker_id"), np.int32),
        tuple(racks.dictionary.to_pylist()),
        np.array(pc.fill_null(racks.indices, NONE), np.int32),
        np.array(pc.fill_null(brokers.field("fenced"), False), np.bool_),
    )


def check_brokers(cluster: Cluster, replicas: int, budget: Budget) -> None:
    """Raise LimitExceeded for brokers among which so many replicas take too long to place.

    Where racks differ in size, or only some have a broker that may lead, each replica may pass over all racks, and the brokers
    that a rack has more than the smallest. Each takes as long as ten cells of an assignment.
    """
    budget.check("max_placement_cells", len(cluster) ** 2, "brokers × brokers", "brokers")
    sizes = np.unique(cluster.racks, return_counts=True)[1]
    passed_over = len(sizes) + len(cluster) - len(sizes) * int(sizes.min(initial=len(cluster)))
    what = "10 × replicas × racks and brokers that one may pass over"
    budget.check("max_assignment_cells", 10 * replicas * passed_over, what, "brokers")


UNNAMED: Final = "topic"
"""The name in ``reassignment`` of a topic that the question does not name."""

Topic = dict[str, Any]
"""A topic: topic_name, partitions_count, replication_factor, and the options of PlacementRequest."""

TOPIC_BYTES: Final = 4_000
"""What a topic takes besides its partitions, 3,500 measured."""


@dataclass(frozen=True)
class PlacementQuestion:
    """What to place, in one of four forms: one topic (``partitions_count``), several topics of one CreateTopics (``topics``), a
    KRaft controller's requests (``operations``), or existing topics (``topics_to_move``).

    given : the fields of ``ReplicaPlacementSchema`` that are given. Of these, brokers and cluster_brokers are rows BROKER, and
        current_assignments rows CURRENT (see ``placements.rows``)
    explain : whether to tell what was drawn, and which rule placed each replica
    """

    given: dict[str, Any]
    explain: bool = False

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """The question of a body; None stands for what is not given."""
        return cls({name: value for name, value in fields.items() if value is not None})

    @property
    def version(self) -> str:
        """The release of Kafka."""
        version: str = self.given.get("kafka_version", LATEST)
        return version


def strategy(question: PlacementQuestion) -> Placer:
    """The placer, as the release has it. Raises UnknownStrategy, InvalidQuestion."""
    return PLACERS[question.given["placer"]].at(question.version)


def _faults(question: PlacementQuestion) -> Iterator[InvalidQuestion]:
    given = question.given
    yield from faults_of(lambda: strategy(question))
    if given["placer"] not in PLACERS.names():
        return
    placer = PLACERS[given["placer"]]
    yield from faults_of(lambda: _form(given, placer))
    if not placer.takes_repeated_ids:
        for name in ("brokers", "cluster_brokers"):
            if name in given:
                yield from duplicates_in_column(name, given[name], "broker_id")
    if "brokers" in given:
        yield from faults_of(lambda: _loaded_cluster(given, placer))
    yield from duplicates_in_rows(given.get("topics", ()), "topic_name", "topics")
    for i, topic in enumerate(given.get("topics", ())):
        yield from _misplaced(topic, placer, "topics", i)
    if "partitions_count" in given:
        yield from _misplaced(given, placer)
    for i, operation in enumerate(given.get("operations", ())):
        yield from duplicates_in_rows(operation["topics"], "topic_name", "operations", i, "topics")


@dataclass(frozen=True)
class QuestionForm:
    """One form of the question.

    name : the field that marks it, as in ``Placer.requests``
    needs, may_have : its required and optional fields
    read : the cluster and the command; its arguments are the given fields, the placer, the Kafka version and the budget
    """

    name: str
    needs: frozenset[str]
    may_have: frozenset[str]
    read: Callable[[dict[str, Any], Placer, str, Budget], tuple[Cluster, Command]]


def _read_topics(given: dict[str, Any], placer: Placer, version: str, budget: Budget) -> tuple[Cluster, Command]:
    alone = "topics" not in given
    topics = [{"topic_name": UNNAMED, **given}] if alone else given["topics"]
    requests = [(topic["topic_name"], _placement_request(topic, version)) for topic in topics]
    cluster = _loaded_cluster(given, placer)
    sizes = [(request.partitions_count, request.replication_factor) for _, request in requests]
    _check_size(cluster, sizes, "partitions_count" if alone else "topics", budget)
    return cluster, partial(create, cluster, requests, alone=alone)


def _read_operations(given: dict[str, Any], _: Placer, version: str, budget: Budget) -> tuple[Cluster, Command]:
    default_count, default_factor = given.get("default_partitions_count", 1), given.get("default_replication_factor", 1)
    operations = []
    factors: dict[str, int] = {}
    sizes = []
    for operation in given["operations"]:
        topics = tuple(TopicRequest(**topic) for topic in operation["topics"])
        operations.append((operation["operation"], topics))
        for topic in topics:
            if operation["operation"] == "create_topics":
                factor = default_factor if topic.replication_factor == DEFAULT else topic.replication_factor
                factors.setdefault(topic.topic_name, factor)
            count = default_count if topic.partitions_count == DEFAULT else topic.partitions_count
            sizes.append((count, factors.get(topic.topic_name, 0)))
    cluster = read_cluster(uncordoned(given["brokers"]))
    _check_size(cluster, sizes, "operations", budget)
    return cluster, partial(operate, cluster, operations, (default_count, default_factor), version)


def _read_generation(given: dict[str, Any], _: Placer, __: str, budget: Budget) -> tuple[Cluster, Command]:
    rows = given["current_assignments"]
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
    cluster = read_cluster(given["cluster_brokers"])
    _check_size(cluster, [(len(ids), int(factors.max(initial=0)))], "current_assignments", budget)
    broker_list = np.array(given["broker_list"], np.int32)
    aware = given.get("rack_aware", True)
    return cluster, partial(generate, cluster, broker_list, given["topics_to_move"], current, rack_aware=aware)


_OF_ALL: Final = frozenset({"kafka_version", "placer", "random_seed", "bytes_per_second", "price_per_gb", "racks"})
_OF_A_TOPIC: Final = frozenset({"start_partition_id", "start_index", "replica_shift", "partition_0_replicas"})
FORMS: Final = (
    QuestionForm(
        "operations",
        frozenset({"brokers", "operations"}),
        frozenset({"default_partitions_count", "default_replication_factor"}),
        _read_operations,
    ),
    QuestionForm(
        "topics_to_move",
        frozenset({"broker_list", "topics_to_move", "cluster_brokers", "current_assignments"}),
        frozenset({"rack_aware"}),
        _read_generation,
    ),
    QuestionForm("topics", frozenset({"brokers", "topics"}), frozenset({"current_assignments"}), _read_topics),
    QuestionForm(
        "partitions_count",
        frozenset({"brokers", "partitions_count", "replication_factor"}),
        _OF_A_TOPIC | {"topic_name", "current_assignments"},
        _read_topics,
    ),
)
"""The first whose field the body has, or the last that the placer supports, is the form of a body."""


def _form(given: dict[str, Any], placer: Placer) -> QuestionForm:
    """The form of the given fields. Raises InvalidQuestion if the placer lacks it, or fields are missing or misplaced."""
    for form in FORMS:
        if form.name in given and form.name not in placer.requests:
            raise InvalidQuestion(f"Not supported by the placer {placer.name}.", form.name)
    supported = [form for form in FORMS if form.name in placer.requests]
    form = next((form for form in supported if form.name in given), supported[-1])
    missing = [InvalidQuestion("Missing data for required field.", name) for name in sorted(form.needs - given.keys())]
    misplaced = sorted(given.keys() - form.needs - form.may_have - _OF_ALL)
    raise_all((*missing, *(InvalidQuestion(f"Not allowed together with {form.name}.", name) for name in misplaced)))
    return form


def _loaded_cluster(given: dict[str, Any], placer: Placer) -> Cluster:
    """The brokers, with what they have already if the placer looks at it. Raises InvalidQuestion if it does not, but is given."""
    current = given.get("current_assignments")
    raise_all(_unsupported(given["brokers"], current, placer))
    brokers = uncordoned(given["brokers"])
    cluster = read_cluster(brokers)
    if "weight" not in placer.options:
        return cluster
    weights = np.array(pc.fill_null(brokers.field("weight"), 1.0), np.float64)
    nothing = np.zeros(len(cluster), np.int64)
    known = BrokerLoad(weights, nothing, nothing)
    if current is not None:  # replicas on unknown brokers do not count
        load = load_of(cluster, read_placement(current, cluster)[1])
        known = BrokerLoad(weights, load.replicas, load.leaders)
    return replace(cluster, known_load=known)


def _unsupported(brokers: pa.StructArray, current: pa.StructArray | None, placer: Placer) -> Iterator[InvalidQuestion]:
    detail = f"Not supported by the placer {placer.name}."
    if current is not None and "current_assignments" not in placer.options:
        yield InvalidQuestion(detail, "current_assignments")
    columns = {"weight": pc.is_valid(brokers.field("weight")), "cordoned": is_cordoned(brokers)}
    for name in sorted(columns.keys() - set(placer.options)):
        for first in np.flatnonzero(np.array(columns[name]))[:1].tolist():
            yield InvalidQuestion(detail, "brokers", first, name)


def _misplaced(topic: Topic, placer: Placer, *place: str | int) -> Iterator[InvalidQuestion]:
    """The options of a topic that the placer does not have, or that do not go together."""
    options = {name for name in ("start_index", "replica_shift", "partition_0_replicas") if topic.get(name) is not None}
    unknown = [name for name in sorted(options) if name.replace("replicas", "leader") not in placer.options]
    for name in unknown:
        yield InvalidQuestion(f"Not supported by the placer {placer.name}.", *place, name)
    if not unknown and {"start_index", "partition_0_replicas"} <= options:
        yield InvalidQuestion("Not allowed together with partition_0_replicas, which determines it.", *place, "start_index")


def _placement_request(topic: Topic, version: str) -> PlacementRequest:
    replicas = topic.get("partition_0_replicas")
    return PlacementRequest(
        topic["partitions_count"],
        topic["replication_factor"],
        topic.get("start_partition_id", 0),
        topic.get("start_index"),
        topic.get("replica_shift"),
        replicas[0] if replicas else None,
        version,
    )


def _check_size(cluster: Cluster, topics: Iterable[tuple[int, int]], field: str, budget: Budget) -> None:
    """Raise LimitExceeded for more partitions × replicas than allowed, and reserve the memory of the placement's arrays.

    topics : of each the number of partitions, and the replication factor
    """
    sizes = [(max(0, count), max(1, factor)) for count, factor in topics]
    cells = sum(count * factor for count, factor in sizes)
    budget.check("max_placement_cells", cells, "partitions × replicas", field)
    check_brokers(cluster, cells, budget)
    exchanges = 0 if cluster.known_load is None else 2 * 13 * len(cluster) ** 2  # of leaders, between two brokers each
    arrays = sum(count * (40 + 32 * factor) for count, factor in sizes)
    budget.reserve(TOPIC_BYTES * len(sizes) + 600 * len(cluster) + exchanges + arrays)


@dataclass(frozen=True)
class PlacementAnswer:
    """What became of the placer's command.

    load : of the brokers, over all topics placed; traffic : between zones, of the same; None without racks
    """

    question: PlacementQuestion
    placer: Placer
    cluster: Cluster
    outcome: CommandResult
    load: Load
    traffic: ZoneTraffic | None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        partitions = sum(len(topic.partition_ids) for topic in self.outcome.placed)
        items = {"partitions": partitions, "brokers": len(self.cluster)}
        return Figures(self.placer.name, items, self.load.spread().skew, self.question.given.get("topic_name"))

    @property
    def conclusion(self) -> str:
        """What is placed, and where, in a sentence."""
        placed, cluster, count = self.outcome.placed, self.cluster, len(self.outcome.placed)
        partitions = counted(self.figures.items["partitions"], "partition")
        of = f"of {placed[0].topic_name}" if count == 1 else f"of {counted(count, 'topic')}"
        used = self.load.replicas > 0
        on = f"{used.sum():,} of {counted(len(cluster), 'broker')}"
        if cluster.rack_ids:
            on += f" and {len(np.unique(racks_of(cluster)[used])):,} of {counted(len(np.unique(racks_of(cluster))), 'rack')}"
        text = f"Places {partitions} {of} on {on}" if count else "Places nothing"
        if self.outcome.refused:
            text += f"; Kafka refuses {counted(self.outcome.refused, 'topic or request', 'topics or requests')}"
        if self._racks_matter and not cluster.rack_ids and "racks" not in self.question.given:
            text += f"; {RACKS_UNKNOWN}"
        return f"{text}."

    @property
    def warnings(self) -> list[str]:
        """The brokers without a rack where others have one, and what can be read on the reader's rack."""
        without = rackless(self.cluster, np.ones(len(self.cluster), np.bool_)) if self._racks_matter else ()
        return [*without, *read_nearby((self.traffic or NOT_KNOWN).figures(self.question.given.get("price_per_gb")))]

    @property
    def _racks_matter(self) -> bool:
        """Has a partition several replicas?"""
        return any(topic.replicas.shape[1] > 1 for topic in self.outcome.placed)


def answer(question: PlacementQuestion, budget: Budget) -> PlacementAnswer:
    """Place the replicas. Raises InvalidQuestion (all faults at once), KafkaError, and what the budget raises."""
    given = question.given
    raise_all(_faults(question))
    placer = strategy(question)
    cluster, command = _form(given, placer).read(given, placer, question.version, budget)
    outcome = command(placer, JavaRandom(given.get("random_seed", 0)), budget.explained if question.explain else 0)
    rows = rows_of_topics([topic.replicas for topic in outcome.placed])
    written = given.get("bytes_per_second")
    rates = None if written is None else np.full(len(rows), written / max(len(rows), 1))
    traffic = placed_traffic(cluster, rows, rates)
    return PlacementAnswer(question, placer, cluster, outcome, load_of(cluster, rows), traffic)
