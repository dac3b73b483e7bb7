"""The question: a cluster, its placement now, and what it is to become."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from service import __version__
from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST
from service.decisions.reassignments.rows import (
    as_topics,
    mentioned_brokers,
    read_brokers,
    read_placements,
    room_for,
)
from service.decisions.reassignments.selection import broker_sets, excluded_topics, faults_of_balance, topic_leaders
from service.decisions.rows import duplicates_in_column, raise_all
from service.planner.reassignments import LEADER_RULES, RACK_RULES, UNKNOWN_RACKS
from service.planner.reassignments.batches.schedule import BatchLimits, Pace
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, Replacements
from service.planner.reassignments.resources.loads import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.core.budget import Budget


def plan_id(settled: Iterable[object], names: Iterable[tuple[str, ...]], arrays: Iterable[Any]) -> str:
    """A hash of what a question says and of the version of the service."""
    digest = sha256(orjson.dumps([__version__, *map(repr, settled), *names]))
    for array in arrays:
        digest.update(b"\0" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


@dataclass(frozen=True)
class ReassignmentQuestion:
    """What is to be planned.

    brokers : rows TARGET_BROKER, the cluster as it should be
    topics, reassigned : rows PLACED_TOPIC or rows REASSIGNED (see ``reassignments.rows``): the current placement, one of the two
    replication_factor : of all topics; None: unchanged
    excluded_topics, included_topics : names and patterns of topics (see ``reassignments.selection``): those whose replicas and
        leaders do not change, and the only ones that may; none included: all topics may
    throttle_bytes_per_second : of each broker, in each direction; duration_seconds : the time for all batches
    frontier : also answer copies against evenness
    min_insync_replicas : of topics that give none; None: unknown
    price_per_gb : of traffic between zones; None: unknown
    destinations : ids of the brokers that may get replicas; none: all
    broker_sets : for names and patterns of topics the ids of the brokers that they may be on; the first that fits a topic holds
    disk_threshold : the share of its ``capacity_bytes`` that a broker may use
    topic_leaders : for names and patterns of topics how many of their partitions each of these brokers leads at least; None: each
        broker that may lead
    racks_accepted : whether it says that racks are not known
    infer_replaces : whether a new broker replaces one that is gone where only one can
    kafka_version : of the brokers; the plan is the same for all releases
    """

    brokers: pa.StructArray
    topics: pa.StructArray | None
    reassigned: pa.StructArray | None
    goal: Goal
    limits: BatchLimits
    pace: Pace
    replication_factor: int | None = None
    excluded_topics: Sequence[str] = ()
    throttle_bytes_per_second: int | None = None
    duration_seconds: int | None = None
    frontier: bool = False
    min_insync_replicas: int | None = None
    price_per_gb: float | None = None
    included_topics: Sequence[str] = ()
    destinations: Sequence[int] = ()
    broker_sets: tuple[tuple[str, tuple[int, ...]], ...] = ()
    disk_threshold: float = 1.0
    topic_leaders: tuple[tuple[str, int, tuple[int, ...] | None], ...] = ()
    infer_replaces: bool = False
    racks_accepted: bool = False
    kafka_version: str = LATEST

    @classmethod
    def of(
        cls, brokers: pa.StructArray, topics: pa.StructArray | None, reassigned: pa.StructArray | None = None, **given: Any
    ) -> ReassignmentQuestion:
        """The question. given : as of ``parts_of``; ``leaders`` may be left out, ``racks`` be UNKNOWN_RACKS"""
        if given.get("racks") == UNKNOWN_RACKS:
            given |= {"racks": RACK_RULES[0], "racks_accepted": True}
        goal, limits, pace, rest = parts_of(given)
        if given.get("leaders") is None and goal.objective != "even" and not (goal.resources or goal.per_topic):
            # Those of others stay if the brokers say whose replicas or leaders leave.
            marks = [pc.any(brokers.field(name)).as_py() for name in ("fenced", "draining", "demoted")]
            stay = any(marks) or brokers.field("replaces").null_count < len(brokers)
            goal = replace(goal, leaders="keep" if stay else LEADER_RULES[0])
        return cls(brokers, topics, reassigned, goal, limits, pace, **rest)


def parts_of(given: Mapping[str, Any]) -> tuple[Goal, BatchLimits, Pace, dict[str, Any]]:
    """The goal, limits and pace of a question, and its other fields. given : the fields of all; None is the default"""
    rest = {name: value for name, value in given.items() if value is not None}
    goal, limits, pace = (
        {each.name: rest.pop(each.name) for each in fields(part) if each.name in rest} for part in (Goal, BatchLimits, Pace)
    )
    return Goal.of(**{"objective": None, **goal}), BatchLimits(**limits), Pace(**pace), rest


@dataclass(frozen=True)
class CurrentCluster:
    """The question's rows as the core's arrays. replacements : who may replace whom; None: nothing is inferred"""

    brokers: Brokers
    placements: Placements
    replacements: Replacements | None = None


def read(question: ReassignmentQuestion, budget: Budget) -> CurrentCluster:
    """The cluster of a question. Raises InvalidQuestion with all faults, LimitExceeded; reserves memory."""
    raise_all(_row_faults(question))
    field = "reassignment" if question.topics is None else "topics"
    topics, order = (question.topics, None) if question.topics is not None else as_topics(question.reassigned)
    replicas = topics.field("placements").flatten().field("replicas")
    partitions, factor = len(replicas), question.replication_factor or 0
    factors = np.array(topics.field("replication_factor").fill_null(factor), np.int64)
    cells = max(len(replicas.flatten()), partitions * max(factor, int(factors.max(initial=0))))
    budget.check("max_placement_cells", cells, "partitions × replicas", field)
    mentioned = mentioned_brokers(topics.field("placements").flatten())
    brokers = read_brokers(question.brokers, mentioned, budget, question.destinations)
    _check_size(question, topics, len(brokers), cells, budget)
    excluded, unmatched = excluded_topics(topics.field("topic_name"), question.included_topics, question.excluded_topics, budget)
    try:
        placements = read_placements(topics, brokers, question.replication_factor, excluded, question.min_insync_replicas)
    except InvalidQuestion as error:
        raise InvalidQuestion(error.detail, *_at(error.field, topics, order)) from None
    allowed, unknown = broker_sets(question.broker_sets, topics.field("topic_name"), brokers, placements.topics, budget)
    replacements = None
    if question.infer_replaces:
        replacements = Replacements.of(brokers, placements, question.goal.racks)
        brokers = replace(brokers, replaced_by=replacements.replaced_by(brokers))
    least, impossible = topic_leaders(question.topic_leaders, topics.field("topic_name"), brokers, placements.topics, budget)
    if placements.sizes is not None:
        capacities, now = brokers.capacity_bytes, placements.replicas
        room = room_for(question.brokers, capacities, now, placements.sizes, question.disk_threshold)
        brokers = replace(brokers, capacity_bytes=room)
    cluster = CurrentCluster(brokers, replace(placements, broker_sets=allowed, topic_leaders=least), replacements)
    raise_all(chain(unmatched, unknown, impossible, _faults(question, cluster)))
    return cluster


def _check_size(question: ReassignmentQuestion, topics: pa.StructArray, brokers: int, cells: int, budget: Budget) -> None:
    """Raise LimitExceeded for more than a plan may take, and reserve its memory. cells : partitions × replicas"""
    partitions = len(topics.field("placements").flatten())
    budget.check("max_assignment_cells", cells * brokers, "replicas × brokers")
    sets = len(question.broker_sets)
    budget.check("max_placement_cells", sets * max(len(topics), brokers), "broker sets × topics or brokers", "broker_sets")
    budget.check("max_assignment_cells", sets * brokers**2, "broker sets × brokers × brokers", "broker_sets")
    if question.goal.per_topic:
        budget.check("max_placement_cells", len(topics) * brokers, "topics × brokers", "per_topic")
    rules = len(question.topic_leaders)
    if rules:
        budget.check("max_placement_cells", len(topics) * brokers, "topics × brokers", "min_topic_leaders")
        budget.check("max_placement_cells", rules * max(len(topics), brokers), "rules × topics or brokers", "min_topic_leaders")
    # The matrices of exchanges, and the arrays.
    memory = 100_000 + 2 * 13 * brokers**2 + 140 * partitions + 140 * cells
    memory += 8 * sets * (brokers + len(topics))
    if question.goal.per_topic:  # counts of each topic, partners by pairs of brokers, and lists of replicas
        memory += 4 * len(topics) * brokers + 12 * brokers**2 + 5 * partitions + 42 * cells
    memory += 16 * len(names_of(question.goal)) * (partitions + brokers) + 16 * partitions
    if rules:  # edges of partitions to brokers, and to racks where they lack a replica
        racks = 1 if question.goal.racks == "none" else 1 + len(question.brokers.field("rack_id").unique())
        memory += 4 * len(topics) * brokers + 150 * (cells + partitions * (2 + racks) + 4 * len(topics) * brokers)
    if question.frontier:  # the points of the curve
        memory += 57 * cells
    budget.reserve(memory)


def id_of(question: ReassignmentQuestion, cluster: CurrentCluster) -> str:
    """The plan's id."""
    brokers, placements = cluster.brokers, cluster.placements
    settled: tuple[object, ...] = (
        question.goal,
        question.limits,
        question.throttle_bytes_per_second,
        question.duration_seconds,
        question.pace,
        question.kafka_version,
        *(() if question.price_per_gb is None else (question.price_per_gb,)),
        *(each for each in (question.broker_sets, question.topic_leaders) if each),
        *(name for name in ("infer_replaces", "racks_accepted") if getattr(question, name)),
    )
    arrays = (
        brokers.cluster.broker_ids,
        brokers.cluster.racks,
        brokers.cluster.fenced,
        brokers.draining,
        brokers.demoted,
        brokers.listed,
        brokers.weights,
        brokers.max_replicas,
        brokers.capacity_bytes,
        brokers.replaced_by,
        brokers.cordoned,
        brokers.destinations,
        brokers.cpu_usage,
        placements.topics,
        placements.partition_ids,
        placements.replicas.offsets,
        placements.replicas.values,
        placements.replication_factors,
        placements.sizes,
        placements.rates,
        placements.read_rates,
        placements.excluded,
        placements.in_sync,
        placements.min_in_sync,
        placements.leaders,
        placements.in_progress,
        None if placements.leaving is None else placements.leaving.values,
    )
    return plan_id(settled, (brokers.cluster.rack_ids, placements.topic_names), arrays)


def _row_faults(question: ReassignmentQuestion) -> Iterator[InvalidQuestion]:
    """A placement that is not given once, and rows that are."""
    if question.topics is None and question.reassigned is None:
        yield InvalidQuestion("Missing data for required field.", "topics")
    if question.topics is not None and question.reassigned is not None:
        yield InvalidQuestion("Not allowed together with topics.", "reassignment")
    yield from duplicates_in_column("brokers", question.brokers, "broker_id")
    if question.topics is not None:
        yield from duplicates_in_column("topics", question.topics, "topic_name")


def _at(field: tuple[str | int, ...], topics: Any, order: Any) -> tuple[str | int, ...]:
    """The place of a fault in ``topics``, in the reassignment that they were made of if they were."""
    if order is None or len(field) < 4 or field[0] != "topics":
        return field
    row = order[int(topics.field("placements").offsets[field[1]].as_py()) + int(field[3])]
    return ("reassignment", "partitions", int(row), *("partition" if part == "partition_id" else part for part in field[4:]))


def _faults(question: ReassignmentQuestion, cluster: CurrentCluster) -> Iterator[InvalidQuestion]:
    """What the parts of a body say together and cannot mean."""
    placements = cluster.placements
    if question.goal.only_leaders and (placements.replication_factors != placements.replicas.lengths()).any():
        detail = f"With leaders = {question.goal.leaders}, no replica moves, so the replication factor cannot change."
        yield InvalidQuestion(detail, "leaders")
    if question.goal.only_leaders and question.infer_replaces:
        yield InvalidQuestion(
            f"Not allowed together with leaders = {question.goal.leaders}, which moves no replica.", "infer_replaces"
        )
    yield from faults_of_limits(question.goal)
    yield from faults_of_balance(question.goal, cluster.brokers, placements, frontier=question.frontier)
    if question.disk_threshold < 1 and not (cluster.brokers.capacity_bytes != NO_LIMIT).any():
        yield InvalidQuestion(
            "The capacity_bytes of brokers are required for a disk threshold; a snapshot has them.", "disk_threshold"
        )
    if question.goal.per_topic and question.goal.balance == "bytes":
        yield InvalidQuestion("Not allowed together with balance = bytes.", "per_topic")
    if placements.sizes is None:
        yield from _faults_without_sizes(question, cluster)
    elif 2 * float(placements.sizes.astype(np.float64).sum()) * float(
        max(placements.replicas.lengths().max(initial=1), placements.replication_factors.max(initial=1))
    ) > float(NO_LIMIT):
        yield InvalidQuestion("The sizes of all replicas add up to more than 2⁶¹ bytes.", "topics")


def faults_of_limits(goal: Goal) -> Iterator[InvalidQuestion]:
    """What limits of copies and a tolerance cannot go with."""
    for name in ("tolerance", "max_moves", "max_bytes"):
        if getattr(goal, name) is None:
            continue
        if goal.objective != "even":
            yield InvalidQuestion("Not allowed together with objective = fewest-moves.", name)
        if goal.only_leaders:
            yield InvalidQuestion(f"Not allowed together with leaders = {goal.leaders}, which moves no replica.", name)
    if goal.tolerance is not None and goal.limited:
        yield InvalidQuestion("Not allowed together with max_moves or max_bytes.", "tolerance")


def _faults_without_sizes(question: ReassignmentQuestion, cluster: CurrentCluster) -> Iterator[InvalidQuestion]:
    """What has no meaning without partition_bytes."""
    limited = np.flatnonzero(cluster.brokers.capacity_bytes != NO_LIMIT)
    for use, given, *field in (
        ("balance = bytes", question.goal.balance == "bytes", "balance"),
        ("a limit of bytes", question.goal.max_bytes is not None, "max_bytes"),
        ("a limit of bytes", question.limits.bytes_in_flight, "limits", "bytes_in_flight"),
        ("the time at a throttle", question.throttle_bytes_per_second, "limits", "throttle_bytes_per_second"),
        ("the throttle for a time", question.duration_seconds, "limits", "duration_seconds"),
        ("capacities", limited.size, "brokers", *limited[:1].tolist(), "capacity_bytes"),
    ):
        if given:
            yield InvalidQuestion(f"The topics' partition_bytes are required for {use}; a snapshot has them.", *field)
