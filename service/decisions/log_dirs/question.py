"""The question: the directories of brokers, what is in them, and what is to become of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion, faults_of, raise_all
from service.core.kafka_versions import LATEST
from service.core.model import NONE, Cluster, Int32s
from service.decisions.budget import Budget
from service.decisions.log_dirs.rows import DirRows, check_dir_rows, read_dir_replicas, read_log_dirs
from service.decisions.reassignments.plan_ids import plan_id
from service.decisions.reassignments.question import faults_of_limits, parts_of
from service.decisions.reassignments.rows import check_topic_names, read_placements
from service.decisions.reassignments.selection import excluded_topics
from service.planner.log_dirs.model import DirReplicas, LogDirs
from service.planner.reassignments.batches.model import BatchLimits, Pace
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements


@dataclass(frozen=True)
class LogDirQuestion:
    """What is to be planned.

    brokers : rows DISK_BROKER (see ``log_dirs.rows``); topics : rows PLACED_TOPIC, the placement that the plan keeps
    goal : in bytes and without racks; its limits of copies, and those of a batch, are of each broker
    included_topics, excluded_topics : names and patterns of topics (see ``reassignments.selection``)
    disk_threshold : the share of its ``capacity_bytes`` that a directory may use
    throttle_bytes_per_second : of each broker; duration_seconds : the time for all batches
    kafka_version : of the brokers; the plan is the same for all releases
    """

    brokers: pa.StructArray
    topics: pa.StructArray
    goal: Goal
    limits: BatchLimits
    pace: Pace
    included_topics: Sequence[str] = ()
    excluded_topics: Sequence[str] = ()
    disk_threshold: float = 1.0
    throttle_bytes_per_second: int | None = None
    duration_seconds: int | None = None
    kafka_version: str = LATEST

    @classmethod
    def of(
        cls,
        brokers: pa.StructArray,
        topics: pa.StructArray,
        moves_per_broker: int | None = None,
        moves_per_log_dir: int | None = None,
        **given: Any,
    ) -> Self:
        """The question. given : as of ``parts_of``; moves_per_broker, moves_per_log_dir : in one batch"""
        of_each_broker = {"moves_per_batch": moves_per_broker, "moves_per_broker": moves_per_log_dir}
        goal, limits, pace, rest = parts_of({**given, **of_each_broker, "racks": "none", "leaders": "keep", "balance": "bytes"})
        return cls(brokers, topics, goal, limits, pace, **rest)


@dataclass(frozen=True)
class DirCluster:
    """The question's rows as arrays.

    partitions : int32[replicas], the partition of each, NONE for one that ``placements`` does not have on its broker
    broker_ids : int32[...], of the replicas of ``placements``, which are indices into it
    """

    log_dirs: LogDirs
    replicas: DirReplicas
    placements: Placements
    partitions: Int32s
    broker_ids: Int32s


def read(question: LogDirQuestion, budget: Budget) -> DirCluster:
    """The directories and replicas of a question. Raises InvalidQuestion with all faults, LimitExceeded; reserves memory."""
    rows, topics = DirRows.of(question.brokers), question.topics
    _check_size(rows, topics, budget)
    raise_all(faults_of(lambda: check_dir_rows(rows), lambda: check_topic_names(topics)))
    excluded, unmatched = excluded_topics(topics.field("topic_name"), question.included_topics, question.excluded_topics, budget)
    mentioned = np.array(topics.field("placements").flatten().field("replicas").flatten(), np.int32)
    broker_ids = np.union1d(np.array(rows.brokers.field("broker_id"), np.int32), mentioned).astype(np.int32)
    count = len(broker_ids)
    cluster = Cluster(broker_ids, (), np.full(count, NONE, np.int32), np.zeros(count, np.bool_))
    placements = read_placements(topics, Brokers.of(cluster), None, excluded)
    replicas, partitions = read_dir_replicas(rows, placements, broker_ids)
    log_dirs = read_log_dirs(rows, replicas, question.disk_threshold)
    raise_all(chain(unmatched, _faults(question, log_dirs, replicas)))
    return DirCluster(log_dirs, replicas, placements, partitions, broker_ids)


def _check_size(rows: DirRows, topics: pa.StructArray, budget: Budget) -> None:
    """Raise LimitExceeded for more than a plan may take, and reserve the memory."""
    dirs, replicas = np.diff(rows.dir_offsets), int(rows.replica_offsets[-1])
    lists = topics.field("placements").flatten().field("replicas")
    lengths = np.diff(lists.offsets)
    cells = max(len(lists.flatten()), len(lists) * int(lengths.max(initial=0)))
    budget.check("max_placement_cells", cells, "partitions × replicas", "topics")
    budget.check("max_placement_cells", replicas, "replicas", "brokers")
    budget.check("max_placement_cells", int((dirs.astype(np.float64) ** 2).sum()), "log directories × log directories", "brokers")
    of_brokers = np.diff(rows.replica_offsets[rows.topic_offsets[rows.dir_offsets]])
    budget.check(
        "max_assignment_cells", int((of_brokers.astype(np.float64) * dirs).sum()), "replicas × log directories", "brokers"
    )
    # What is read, the matrices of one broker and its state, and the lists of the answer.
    largest = int(dirs.max(initial=0)) ** 2
    budget.reserve(100_000 + 120 * len(lists) + 60 * cells + 250 * replicas + 26 * largest + 200 * int(dirs.sum()))


def _faults(question: LogDirQuestion, log_dirs: LogDirs, replicas: DirReplicas) -> Iterator[InvalidQuestion]:
    yield from faults_of_limits(question.goal)
    if question.disk_threshold < 1 and not (log_dirs.disk_bytes != NO_LIMIT).any():
        yield InvalidQuestion(
            "The capacity_bytes of log directories are required for a disk threshold; a snapshot has them.", "disk_threshold"
        )
    total = float(replicas.sizes.astype(np.float64).sum() + log_dirs.other_bytes.astype(np.float64).sum())
    if 2 * total > float(NO_LIMIT):
        yield InvalidQuestion("The sizes of all replicas add up to more than 2⁶¹ bytes.", "brokers")


def id_of(question: LogDirQuestion, cluster: DirCluster) -> str:
    """The plan's id."""
    log_dirs, replicas, placements = cluster.log_dirs, cluster.replicas, cluster.placements
    throttle, seconds = question.throttle_bytes_per_second, question.duration_seconds
    settled = question.goal, question.limits, throttle, seconds, question.pace, question.kafka_version
    names = log_dirs.paths, replicas.topic_names, placements.topic_names
    arrays = (
        log_dirs.broker_ids,
        log_dirs.offsets,
        log_dirs.path_of,
        log_dirs.capacity_bytes,
        log_dirs.disk_bytes,
        log_dirs.other_bytes,
        log_dirs.draining,
        log_dirs.cordoned,
        replicas.topics,
        replicas.partition_ids,
        replicas.dirs,
        replicas.sizes,
        replicas.stays,
        cluster.broker_ids,
        placements.topics,
        placements.partition_ids,
        placements.replicas.offsets,
        placements.replicas.values,
        placements.rates,
    )
    return plan_id(settled, names, arrays)
