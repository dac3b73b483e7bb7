"""Which replica goes to which log directory of its broker: the question the answer, and its moves as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget, Figures
from service.core.errors import MAX_ERRORS, InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.model import NONE, Cluster, Int32s, Int64s, indices_in, offsets_of
from service.decisions.reassignments.answer import reasons_of
from service.decisions.reassignments.question import faults_of_limits, parts_of, plan_id
from service.decisions.reassignments.rows import MOST_BYTES, read_placements
from service.decisions.reassignments.selection import excluded_topics
from service.decisions.rows import LONGEST_TOPIC_NAME, NAME, duplicates_in_column, in_range, plain_names, raise_all
from service.planner.log_dirs.effects import conclusion, effects, warnings
from service.planner.log_dirs.model import REASONS, DirMoves, DirReplicas, DirUsage, LogDirPlan, LogDirs
from service.planner.log_dirs.plan import plan_log_dirs
from service.planner.reassignments.batches.schedule import BatchLimits, BatchTiming, Pace, Traffic
from service.planner.reassignments.effects import timing_sentences
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements

DIR_TOPIC = pa.struct({"topic_name": NAME, "partition_ids": pa.list_(pa.int32()), "partition_bytes": pa.list_(pa.int64())})
LOG_DIR = pa.struct(
    {
        "log_dir": NAME,
        "capacity_bytes": pa.int64(),
        "used_bytes": pa.int64(),
        "draining": pa.bool_(),
        "cordoned": pa.bool_(),
        "replicas": pa.list_(DIR_TOPIC),
    }
)
DISK_BROKER = pa.struct({"broker_id": pa.int32(), "log_dirs": pa.list_(LOG_DIR)})


def plain_disk_brokers(rows: pa.StructArray) -> bool:
    """Is every row of type DISK_BROKER, none null, well-formed by itself?"""
    dirs = rows.field("log_dirs").values
    topics = dirs.field("replicas").values
    ids, sizes = topics.field("partition_ids"), topics.field("partition_bytes")
    required = (
        *(rows.field("broker_id"), rows.field("log_dirs"), dirs, dirs.field("log_dir"), dirs.field("replicas"), topics),
        *(topics.field("topic_name"), ids, sizes, ids.values, sizes.values),
    )
    return bool(
        all(array.null_count == 0 for array in required)
        and plain_names(dirs.field("log_dir"))
        and plain_names(topics.field("topic_name"), LONGEST_TOPIC_NAME)
        and in_range(ids.values, 0, 2**31 - 1)
        and in_range(sizes.values, 0, MOST_BYTES)
        and all(in_range(dirs.field(name), 0, MOST_BYTES) for name in ("capacity_bytes", "used_bytes"))
    )


class DirRows(NamedTuple):
    """The levels of rows DISK_BROKER, each end to end.

    dirs, topics : rows LOG_DIR and DIR_TOPIC
    dir_offsets, topic_offsets, replica_offsets : int32[... + 1], where the directories of each broker begin, the topics of each
        directory, and the replicas of each of these topics
    """

    brokers: pa.StructArray
    dirs: pa.StructArray
    topics: pa.StructArray
    dir_offsets: Int32s
    topic_offsets: Int32s
    replica_offsets: Int32s

    @classmethod
    def of(cls, rows: pa.StructArray) -> Self:
        """The levels of these rows."""
        dirs = rows.field("log_dirs").flatten()
        topics = dirs.field("replicas").flatten()
        lists = rows.field("log_dirs"), dirs.field("replicas"), topics.field("partition_ids")
        return cls(rows, dirs, topics, *(offsets_of(pc.list_value_length(each)) for each in lists))

    def place(self, topic: int) -> tuple[str | int, ...]:
        """The path to one of ``topics``."""
        log_dir = int(np.searchsorted(self.topic_offsets, topic, "right")) - 1
        broker = int(np.searchsorted(self.dir_offsets, log_dir, "right")) - 1
        inner = log_dir - int(self.dir_offsets[broker]), topic - int(self.topic_offsets[log_dir])
        return "brokers", broker, "log_dirs", inner[0], "replicas", inner[1]


def _row_faults(rows: DirRows) -> Iterator[InvalidQuestion]:
    """Brokers and paths that are listed twice, and sizes that are not one for each partition."""
    yield from duplicates_in_column("brokers", rows.brokers, "broker_id")
    paths = pc.dictionary_encode(rows.dirs.field("log_dir"))
    brokers = np.repeat(np.arange(len(rows.brokers)), np.diff(rows.dir_offsets))
    keys = brokers * (len(paths.dictionary) + 1) + np.array(paths.indices, np.int64)
    for row in np.delete(np.arange(len(keys)), np.unique(keys, return_index=True)[1])[:MAX_ERRORS].tolist():
        at = row - int(rows.dir_offsets[brokers[row]])
        yield InvalidQuestion(
            f"Duplicate log_dir {paths[row].as_py()!r}.", "brokers", int(brokers[row]), "log_dirs", at, "log_dir"
        )
    counts = np.diff(rows.replica_offsets)
    sizes = np.array(pc.list_value_length(rows.topics.field("partition_bytes")), np.int64)
    for row in np.flatnonzero(sizes != counts)[:MAX_ERRORS].tolist():
        yield InvalidQuestion(
            f"Must have one number for each of the {counts[row]} partition_ids.", *rows.place(row), "partition_bytes"
        )


def read_log_dirs(rows: DirRows, replicas: DirReplicas, threshold: float) -> LogDirs:
    """The directories of these rows. threshold : the share of its capacity that may be used

    ``used_bytes`` are those of the replicas and of what else is on the disk.
    """
    capacities = np.array(pc.fill_null(rows.dirs.field("capacity_bytes"), NO_LIMIT), np.int64)
    used = np.array(pc.fill_null(rows.dirs.field("used_bytes"), 0), np.int64)
    paths = pc.dictionary_encode(rows.dirs.field("log_dir"))
    return LogDirs(
        np.array(rows.brokers.field("broker_id"), np.int32),
        rows.dir_offsets,
        tuple(paths.dictionary.to_pylist()),
        np.array(paths.indices, np.int32),
        np.where(capacities == NO_LIMIT, NO_LIMIT, np.floor(capacities * threshold).astype(np.int64)),
        capacities,
        np.maximum(used - replicas.bytes_in(replicas.dirs, len(used)), 0),
        *(np.array(pc.fill_null(rows.dirs.field(name), False), np.bool_) for name in ("draining", "cordoned")),
    )


def read_dir_replicas(rows: DirRows, placements: Placements, broker_ids: Int32s) -> tuple[DirReplicas, Int32s]:
    """The replicas, and int32[replicas], the partition of each, NONE for one that ``placements`` does not have on this broker.

    placements : the replicas of its partitions are indices into ``broker_ids``, int32[...] without duplicates. Partitions that
        are excluded, or that it does not have, stay where they are.
    Raises InvalidQuestion for a replica that a broker has twice.
    """
    names = pc.dictionary_encode(rows.topics.field("topic_name"))
    row = np.repeat(np.arange(len(rows.topics), dtype=np.int64), np.diff(rows.replica_offsets))
    log_dir = np.repeat(np.arange(len(rows.dirs), dtype=np.int32), np.diff(rows.topic_offsets))[row]
    ids = np.array(rows.topics.field("partition_ids").flatten(), np.int32)
    topics = np.array(names.indices, np.int32)[row]
    offsets = rows.replica_offsets[rows.topic_offsets[rows.dir_offsets]]
    broker = np.repeat(np.arange(len(rows.brokers), dtype=np.int32), np.diff(offsets))
    _check_once(rows, row, np.lexsort((np.arange(len(ids)), ids, topics, broker)), (broker, topics, ids))
    index_in = pc.index_in(names.dictionary, value_set=pa.array(placements.topic_names, NAME))
    known = np.array(pc.fill_null(index_in, NONE), np.int64)
    both = placements.topics.astype(np.int64) * 2**31 + placements.partition_ids
    partitions = indices_in(both, known[topics] * 2**31 + ids)
    holders = np.searchsorted(broker_ids, np.array(rows.brokers.field("broker_id"), np.int32))[broker]
    replicas, count = placements.replicas, len(broker_ids)
    keys = replicas.row_of_each_value().astype(np.int64) * count + replicas.values
    partitions[~np.isin(partitions.astype(np.int64) * count + holders, keys)] = NONE  # without a replica on this broker
    sizes = np.array(rows.topics.field("partition_bytes").flatten(), np.int64)
    stays = (partitions == NONE) | placements.excluded[partitions] if len(placements) else np.ones(len(ids), np.bool_)
    return DirReplicas(tuple(names.dictionary.to_pylist()), topics, ids, offsets, log_dir, sizes, stays), partitions


def _check_once(rows: DirRows, row: Int64s, order: Int64s, columns: tuple[Int32s, ...]) -> None:
    """Raise InvalidQuestion if a broker has a replica twice. order : sorts the columns"""
    same = np.logical_and.reduce([np.diff(column[order]) == 0 for column in columns])
    if same.any():
        at = int(order[1:][same].min())
        topic = int(row[at])
        name, partition_id = rows.topics.field("topic_name")[topic].as_py(), columns[2][at]
        inner = at - int(rows.replica_offsets[topic])
        detail = f"The broker has a replica of {name}-{partition_id} already."
        raise InvalidQuestion(detail, *rows.place(topic), "partition_ids", inner)


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
    raise_all(chain(_row_faults(rows), duplicates_in_column("topics", topics, "topic_name")))
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


@dataclass(frozen=True)
class LogDirAnswer:
    """A plan. usage : of the directories, before and after"""

    question: LogDirQuestion
    plan_id: str
    cluster: DirCluster
    plan: LogDirPlan
    usage: tuple[DirUsage, DirUsage]
    timing: BatchTiming

    @property
    def conclusion(self) -> tuple[str, bool]:
        """What was asked, done or not, in sentences; and whether all of it is done."""
        cluster = self.cluster
        return conclusion(cluster.log_dirs, self.question.goal, cluster.replicas, cluster.partitions, self.plan, self.usage)

    @property
    def rates_known(self) -> bool:
        """Is it known what producers write meanwhile?"""
        return self.cluster.placements.rates is not None

    @property
    def effects(self) -> list[str]:
        """What the plan does besides, and how long it takes, in sentences."""
        about_disks = effects(self.cluster.log_dirs, self.plan, self.usage)
        return [*about_disks, *timing_sentences(self.timing, self.question.pace, (), rates_known=self.rates_known)]

    @property
    def warnings(self) -> list[str]:
        """What to know before it is executed, in sentences."""
        return list(warnings(self.cluster.log_dirs, self.cluster.replicas, self.plan))

    @property
    def figures(self) -> Figures:
        """See Figures."""
        items = {"partitions": len(self.cluster.placements), "brokers": len(self.cluster.log_dirs.broker_ids)}
        skew = float(self.usage[1].skews.max(initial=1.0))
        return Figures(self.question.goal.objective, items, skew, tag=self.plan_id)


def answer(question: LogDirQuestion, budget: Budget) -> LogDirAnswer:
    """Plan the moves. Raises InvalidQuestion (all faults at once), NoPlan, and what the budget raises."""
    cluster = read(question, budget)
    log_dirs, replicas = cluster.log_dirs, cluster.replicas
    plan = plan_log_dirs(log_dirs, replicas, question.goal, question.limits)
    budget.check_time()
    throttle, seconds = question.throttle_bytes_per_second, question.duration_seconds
    return LogDirAnswer(
        question,
        id_of(question, cluster),
        cluster,
        plan,
        (DirUsage.of(log_dirs, replicas, replicas.dirs), DirUsage.of(log_dirs, replicas, plan.dirs)),
        _traffic(cluster, plan).timing(plan.batch_count(), question.pace, throttle, seconds),
    )


def _traffic(cluster: DirCluster, plan: LogDirPlan) -> Traffic:
    """What each broker copies in each batch: the throttle is one of a broker, not of a directory."""
    moves, rates = plan.moves, cluster.placements.rates
    width = max(1, len(cluster.log_dirs.broker_ids))
    keys = moves.batches.astype(np.int64) * width + cluster.log_dirs.broker_of()[moves.sources]
    key, index = np.unique(keys, return_inverse=True)
    amounts = np.zeros(len(key), np.int64)
    np.add.at(amounts, index, cluster.replicas.sizes[moves.replicas])
    written = np.zeros(len(moves)) if rates is None else rates[cluster.partitions[moves.replicas]]
    return Traffic(
        (key // width).astype(np.int32),
        (key % width).astype(np.int32),
        np.ones(len(key), np.bool_),
        amounts,
        np.bincount(index, written, len(key)).astype(np.float64, copy=False),
    )


def dir_reasons(log_dirs: LogDirs, moves: DirMoves) -> pa.DictionaryArray:
    """The reason of each move."""
    return reasons_of(moves, REASONS, lambda dirs: paths_of(log_dirs, dirs)).dictionary_encode()


def paths_of(log_dirs: LogDirs, dirs: pa.Array) -> pa.DictionaryArray:
    """The paths of directories, int32[...]."""
    return pa.DictionaryArray.from_arrays(pa.array(log_dirs.path_of[dirs]), pa.array(log_dirs.paths, NAME))


def moves_table(answer: LogDirAnswer) -> pa.Table:
    """The columns topic_name, partition_id, broker_id, from, to, bytes, reason and batch (from 1), a row for each move."""
    log_dirs, replicas, moves = answer.cluster.log_dirs, answer.cluster.replicas, answer.plan.moves
    names = pa.array(replicas.topic_names, NAME)
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(replicas.topics[moves.replicas]), names),
            "partition_id": pa.array(replicas.partition_ids[moves.replicas]),
            "broker_id": pa.array(log_dirs.broker_ids[log_dirs.broker_of()[moves.sources]]),
            "from": paths_of(log_dirs, moves.sources),
            "to": paths_of(log_dirs, moves.targets),
            "bytes": pa.array(replicas.sizes[moves.replicas]),
            "reason": dir_reasons(log_dirs, moves),
            "batch": pa.array(moves.batches + 1),
        }
    )
