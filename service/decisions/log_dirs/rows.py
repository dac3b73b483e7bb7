"""Log directories and what is in them, from Arrow to arrays."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.errors import MAX_ERRORS, InvalidQuestion, raise_all
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged, indices_in, offsets_of
from service.decisions.reassignments.rows import MOST_BYTES
from service.decisions.rows import duplicates
from service.decisions.rows.names import LONGEST_TOPIC_NAME, NAME, plain_names
from service.decisions.rows.numbers import in_range
from service.planner.log_dirs.model import DirReplicas, LogDirs
from service.planner.reassignments.model import NO_LIMIT, Placements

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


def check_dir_rows(rows: DirRows) -> None:
    """Raise InvalidQuestion for brokers and paths that are listed twice, and for sizes that are not one for each partition."""
    raise_all(chain(_duplicates(rows), _wrong_sizes(rows)))


def _duplicates(rows: DirRows) -> Iterator[InvalidQuestion]:
    yield from duplicates.in_column("brokers", rows.brokers, "broker_id")
    paths = pc.dictionary_encode(rows.dirs.field("log_dir"))
    brokers = np.repeat(np.arange(len(rows.brokers)), np.diff(rows.dir_offsets))
    keys = brokers * (len(paths.dictionary) + 1) + np.array(paths.indices, np.int64)
    for row in np.delete(np.arange(len(keys)), np.unique(keys, return_index=True)[1])[:MAX_ERRORS].tolist():
        at = row - int(rows.dir_offsets[brokers[row]])
        yield InvalidQuestion(
            f"Duplicate log_dir {paths[row].as_py()!r}.", "brokers", int(brokers[row]), "log_dirs", at, "log_dir"
        )


def _wrong_sizes(rows: DirRows) -> Iterator[InvalidQuestion]:
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
    partitions = _partitions(known[topics], ids, placements)
    holders = np.searchsorted(broker_ids, np.array(rows.brokers.field("broker_id"), np.int32))[broker]
    partitions[~_are_on(partitions, holders, placements.replicas, len(broker_ids))] = NONE
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


def _partitions(topics: Int64s, ids: Int32s, placements: Placements) -> Int32s:
    """int32[replicas], the partition of each, NONE if there is none. topics : int64[replicas], NONE for unknown ones"""
    return indices_in(placements.topics.astype(np.int64) * 2**31 + placements.partition_ids, topics * 2**31 + ids)


def _are_on(partitions: Int32s, holders: Int64s, replicas: Ragged, brokers_count: int) -> Bools:
    """bool[...], whether each partition has a replica on this broker."""
    keys = replicas.row_of_each_value().astype(np.int64) * brokers_count + replicas.values
    on: Bools = np.isin(partitions.astype(np.int64) * brokers_count + holders, keys) & (partitions != NONE)
    return on
