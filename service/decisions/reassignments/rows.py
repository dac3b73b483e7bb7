"""Brokers and placements of a reassignment, from Arrow to arrays."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.core.model import NONE, Bools, Cluster, Int32s, Int64s, Ragged, indices_in, offsets_of
from service.core.ragged import first_repeat
from service.decisions.rows import (
    LONGEST_TOPIC_NAME,
    NAME,
    duplicates_in_column,
    in_range,
    plain_brokers,
    plain_names,
    plain_rates,
    raise_all,
    struct_rows,
)
from service.planner.reassignments.model import NO_LIMIT, Brokers, Placements, bytes_on

TARGET_BROKER = pa.struct(
    {
        "broker_id": pa.int32(),
        "rack_id": NAME,
        "fenced": pa.bool_(),
        "draining": pa.bool_(),
        "demoted": pa.bool_(),
        "weight": pa.float64(),
        "max_replicas": pa.int64(),
        "capacity_bytes": pa.int64(),
        "used_bytes": pa.int64(),
        "replaces": pa.int32(),
        "cordoned": pa.bool_(),
        "cpu_usage": pa.float64(),
    }
)
PLACEMENT = pa.struct(
    {
        "partition_id": pa.int32(),
        "replicas": pa.list_(pa.int32()),
        "in_sync_replicas": pa.list_(pa.int32()),
        "leader": pa.int32(),
        "adding_replicas": pa.list_(pa.int32()),
        "removing_replicas": pa.list_(pa.int32()),
    }
)
PLACED_TOPIC = pa.struct(
    {
        "topic_name": NAME,
        "replication_factor": pa.int32(),
        "min_insync_replicas": pa.int32(),
        "placements": pa.list_(PLACEMENT),
        "partition_bytes": pa.list_(pa.int64()),
        "partition_bytes_per_second": pa.list_(pa.float64()),
        "partition_bytes_out_per_second": pa.list_(pa.float64()),
    }
)
REASSIGNED = pa.struct({"topic": NAME, "partition": pa.int32(), "replicas": pa.list_(pa.int32()), "log_dirs": pa.list_(NAME)})

RATES = ("partition_bytes_per_second", "partition_bytes_out_per_second")
"""What producers write, and what consumers read."""

NO_LEADER: Final = -1
"""The ``leader`` of a partition without one, as Kafka's protocol writes it; null means the same where others have a leader."""

MOST_BYTES = 2**50
"""Of a partition, or of a broker's capacity."""


def plain_target_brokers(rows: pa.StructArray) -> bool:
    """Is every row of type TARGET_BROKER, none null, well-formed by itself?"""
    return (
        plain_brokers(rows)
        and plain_rates(rows.field("cpu_usage"))
        and all(in_range(rows.field(name), 0, MOST_BYTES) for name in ("max_replicas", "capacity_bytes", "used_bytes"))
    )


def plain_placed_topics(rows: pa.StructArray) -> bool:
    """Is every row of type PLACED_TOPIC, none null, well-formed by itself?"""
    placements = rows.field("placements")
    inner = placements.values
    ids, replicas, in_sync = (inner.field(name) for name in ("partition_id", "replicas", "in_sync_replicas"))
    sizes, *rates = (rows.field(name).values for name in ("partition_bytes", *RATES))
    return bool(
        rows.field("topic_name").null_count == placements.null_count == inner.null_count == 0
        and ids.null_count == replicas.null_count == replicas.values.null_count == in_sync.values.null_count == 0
        and sizes.null_count == sum(each.null_count for each in rates) == 0
        and plain_names(rows.field("topic_name"), LONGEST_TOPIC_NAME)
        and in_range(ids, 0, 2**31 - 1)
        and in_range(sizes, 0, MOST_BYTES)
        and all(map(plain_rates, rates))
        and in_range(pc.list_value_length(replicas), 1, 2**15 - 1)
        and all(in_range(rows.field(name), 1, 2**15 - 1) for name in ("replication_factor", "min_insync_replicas"))
    )


def placement_rows(partition_ids: pa.Array, replicas: pa.Array) -> pa.StructArray:
    """Rows of type PLACEMENT, of which nothing else is known."""
    return struct_rows(PLACEMENT, {"partition_id": partition_ids, "replicas": replicas}, len(replicas))


def plain_reassigned(rows: pa.StructArray) -> bool:
    """Is every row of type REASSIGNED, none null, well-formed by itself?"""
    names, ids, replicas = (rows.field(name) for name in ("topic", "partition", "replicas"))
    return bool(
        names.null_count == ids.null_count == replicas.null_count == replicas.values.null_count == 0
        and plain_names(names, LONGEST_TOPIC_NAME)
        and in_range(ids, 0, 2**31 - 1)
        and in_range(pc.list_value_length(replicas), 1, 2**15 - 1)
    )


def as_topics(rows: pa.StructArray) -> tuple[pa.StructArray, Int64s]:
    """Kafka's reassignment JSON, rows of type REASSIGNED, as rows of type PLACED_TOPIC; and for each placement its row."""
    names = pc.dictionary_encode(rows.field("topic"))
    order = np.argsort(np.array(names.indices), kind="stable")
    bounds = np.searchsorted(np.array(names.indices)[order], np.arange(len(names.dictionary) + 1))
    taken = rows.take(pa.array(order))
    placements = placement_rows(taken.field("partition"), taken.field("replicas"))
    count = len(names.dictionary)
    columns = {
        "topic_name": names.dictionary,
        "placements": pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), placements),
    }
    return struct_rows(PLACED_TOPIC, columns, count), order


def read_brokers(rows: pa.StructArray, mentioned: Int32s, budget: Budget, destinations: Sequence[int] = ()) -> Brokers:
    """The brokers of these rows of type TARGET_BROKER, none twice, and after them those that only the placements mention.

    mentioned : int32[...]   ids of all replicas
    destinations : ids of the brokers that may get replicas; none: all
    Raises LimitExceeded for too many, InvalidQuestion for unknown destinations and for a broker that replaces what it cannot.
    """
    ids = np.array(rows.field("broker_id"), np.int32)
    gone = np.setdiff1d(mentioned, ids).astype(np.int32)
    racks = pc.dictionary_encode(rows.field("rack_id"))
    count = len(ids) + len(gone)
    budget.check("max_placement_cells", count**2, "brokers × brokers", "brokers")

    def column(name: str, absent: Any, dtype: Any) -> Any:
        values = np.array(pc.fill_null(rows.field(name), absent), dtype)
        return np.concatenate([values, np.full(len(gone), absent, dtype)])

    rack_of = np.concatenate([np.array(pc.fill_null(racks.indices, NONE), np.int32), np.full(len(gone), NONE, np.int32)])
    cluster = Cluster(
        np.concatenate([ids, gone]), tuple(racks.dictionary.to_pylist()), rack_of, column("fenced", False, np.bool_)
    )
    draining, cordoned = column("draining", False, np.bool_), column("cordoned", False, np.bool_)
    open_to = _destinations(cluster, ids, destinations) if destinations else np.ones(count, np.bool_)
    return Brokers(
        cluster,
        draining,
        np.arange(count) < len(ids),
        column("weight", 1.0, np.float64),
        column("max_replicas", NO_LIMIT, np.int64),
        column("capacity_bytes", NO_LIMIT, np.int64),
        _replaced_by(cluster, rows, cluster.fenced | draining | cordoned | ~open_to),
        column("demoted", False, np.bool_),
        cordoned,
        open_to,
        None if rows.field("cpu_usage").null_count == len(rows) else column("cpu_usage", np.nan, np.float64),
    )


def _destinations(cluster: Cluster, listed: Int32s, destinations: Sequence[int]) -> Bools:
    """bool[brokers], those with these ids. listed : int32[...], the ids that there may be"""
    known = np.isin(np.array(destinations, np.int64), listed).tolist()
    raise_all(
        InvalidQuestion(f"Unknown broker {broker_id}.", "destinations", row)
        for row, broker_id in enumerate(destinations)
        if not known[row]
    )
    return np.isin(cluster.broker_ids, destinations)


def read_current(brokers: pa.StructArray, topics: pa.StructArray, budget: Budget, more: int = 0) -> tuple[Brokers, Placements]:
    """The cluster as it is: rows of type TARGET_BROKER and PLACED_TOPIC. Reserves memory for these, and for 200 bytes a replica.

    more : replicas of the question besides
    Raises InvalidQuestion for duplicates, and if there is no broker; LimitExceeded.
    """
    nothing = [] if len(brokers) else [InvalidQuestion("Must have at least one broker.", "brokers")]
    twice = duplicates_in_column("brokers", brokers, "broker_id"), duplicates_in_column("topics", topics, "topic_name")
    raise_all(chain(nothing, *twice))
    placements = topics.field("placements").flatten()
    cells = len(placements.field("replicas").flatten()) + more
    budget.check("max_placement_cells", cells, "replicas", "topics")
    read = read_brokers(brokers, mentioned_brokers(placements), budget)
    budget.reserve(100_000 + 400 * len(placements) + 200 * cells)
    return read, read_placements(topics, read, None, np.zeros(len(topics), np.bool_))


def _replaced_by(cluster: Cluster, rows: pa.StructArray, closed: Bools) -> Int32s:
    replaced_by = np.full(len(cluster), NONE, np.int32)
    replaces = rows.field("replaces")
    index = {broker_id: i for i, broker_id in enumerate(cluster.broker_ids.tolist())}
    for row in np.flatnonzero(np.array(pc.is_valid(replaces))).tolist():
        old = replaces[row].as_py()
        at = ("brokers", row, "replaces")
        if old not in index:
            raise InvalidQuestion(f"Unknown broker {old}.", *at)
        if closed[row] or old == cluster.broker_ids[row]:
            raise InvalidQuestion(
                "A broker that replaces another must be a destination, and neither fenced nor draining nor cordoned.", *at
            )
        if replaced_by[index[old]] != NONE:
            raise InvalidQuestion(f"Broker {old} is replaced twice.", *at)
        replaced_by[index[old]] = row
    replaced = np.flatnonzero(replaced_by != NONE)
    for row in replaced[np.isin(replaced, replaced_by)][:1].tolist():
        new = int(np.flatnonzero(replaced_by == row)[0])
        raise InvalidQuestion(
            f"Broker {cluster.broker_ids[row]} replaces broker {cluster.broker_ids[new]}, so nothing can replace it.",
            "brokers", int(replaced_by[row]), "replaces",
        )  # fmt: skip
    return replaced_by


def read_placements(
    rows: pa.StructArray, brokers: Brokers, factor: int | None, excluded: Bools, min_in_sync: int | None = None
) -> Placements:
    """The placements of these rows of type PLACED_TOPIC, no topic twice.

    factor : the replication factor of topics that give none; None: as now
    excluded : bool[topics], those that stay as they are
    min_in_sync : ``min.insync.replicas`` of topics that give none

    Raises InvalidQuestion for duplicates in a topic.
    """
    names = tuple(rows.field("topic_name").to_pylist())
    counts = np.array(pc.list_value_length(rows.field("placements")), np.int64)
    topics = np.repeat(np.arange(len(names), dtype=np.int32), counts)
    inner, broker_ids = rows.field("placements").flatten(), brokers.cluster.broker_ids
    ids = np.array(inner.field("partition_id"), np.int32)
    starts = offsets_of(counts)
    _check_partitions(topics, ids, starts)
    replicas, adding, leaving = (_brokers_of(inner.field(name), broker_ids) for name in _LISTS)
    values = broker_ids[replicas.values]
    repeat = first_repeat(replicas, len(brokers))
    if repeat != NONE:
        partition = int(np.searchsorted(replicas.offsets, repeat, "right")) - 1
        topic = int(topics[partition])
        inner_place = partition - int(starts[topic]), "replicas", repeat - int(replicas.offsets[partition])
        raise InvalidQuestion(f"Duplicate broker {values[repeat]}.", "topics", topic, "placements", *inner_place)
    replicas = _without(replicas, leaving, len(brokers))
    in_sync = _in_sync(inner.field("in_sync_replicas"), replicas, broker_ids)
    if in_sync is not None and len(adding.values):  # those of a reassignment that is taken as done
        in_sync = in_sync | _are_in(adding, replicas, len(brokers))
    lengths = replicas.lengths()
    factors = np.array(pc.fill_null(rows.field("replication_factor"), factor or 0), np.int32)[topics]
    return Placements(
        names,
        topics,
        ids,
        replicas,
        np.where(factors == 0, lengths, factors).astype(np.int32),
        _of_partitions(rows, "partition_bytes", counts, np.int64),
        _of_partitions(rows, RATES[0], counts, np.float64),
        excluded[topics],
        in_sync,
        None
        if min_in_sync is None and rows.field("min_insync_replicas").null_count == len(rows)
        else np.array(pc.fill_null(rows.field("min_insync_replicas"), min_in_sync or 0), np.int32)[topics],
        read_rates=_of_partitions(rows, RATES[1], counts, np.float64),
        leaders=_leaders(inner, replicas, broker_ids),
        leaving=leaving if len(leaving.values) else None,
        in_progress=None if not len(adding.values) + len(leaving.values) else (adding.lengths() > 0) | (leaving.lengths() > 0),
    )


_LISTS: Final = ("replicas", "adding_replicas", "removing_replicas")
"""The lists of brokers of a placement."""


def mentioned_brokers(placements: pa.StructArray) -> Int32s:
    """int32[...], the ids of the brokers that rows of type PLACEMENT name, ascending."""
    lists = [np.array(placements.field(name).flatten(), np.int32) for name in _LISTS]
    leaders = np.array(placements.field("leader").drop_null(), np.int32)
    return np.unique(np.concatenate([*lists, leaders[leaders != NO_LEADER]]))


def _brokers_of(lists: pa.ListArray, broker_ids: Int32s) -> Ragged:
    """Ragged row → brokers, of lists of ids, none for null."""
    lengths = np.array(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    return Ragged.of_lengths(lengths, indices_in(broker_ids, np.array(lists.flatten(), np.int32)))


def _without(replicas: Ragged, leaving: Ragged, width: int) -> Ragged:
    """The replicas without those that are being removed; a row that would be left empty stays as it is."""
    if not len(leaving.values):
        return replicas
    rows, gone = replicas.row_of_each_value(), _are_in(leaving, replicas, width)
    stays = ~gone | (np.bincount(rows[~gone], minlength=len(replicas)) == 0)[rows]
    return replicas.where(stays)


def _are_in(lists: Ragged, replicas: Ragged, width: int) -> Bools:
    """bool[replicas], those that the list of their row has too. width : of the brokers"""
    keys, others = (each.row_of_each_value().astype(np.int64) * (width + 1) + each.values + 1 for each in (replicas, lists))
    among: Bools = np.isin(keys, others)
    return among


def _leaders(rows: pa.StructArray, replicas: Ragged, broker_ids: Int32s) -> Int32s | None:
    """int32[partitions], the broker that leads each, NONE for none; None where no leader is given.

    Of rows with neither a leader nor replicas in sync nothing is known: the first replica is taken for the leader.
    """
    ids = rows.field("leader")
    if ids.null_count == len(ids):
        return None
    given = indices_in(broker_ids, np.array(pc.fill_null(ids, NO_LEADER), np.int32))
    unknown = np.array(pc.and_(pc.is_null(ids), pc.is_null(rows.field("in_sync_replicas"))))
    return np.where(unknown, replicas.firsts(), given).astype(np.int32)


def room_for(rows: pa.StructArray, capacities: Int64s, replicas: Ragged, sizes: Int64s, threshold: float) -> Int64s:
    """int64[brokers]: the bytes of replicas that a broker may have, NO_LIMIT where it has no capacity.

    rows : the brokers of the request, of type TARGET_BROKER; their ``used_bytes`` are those of their replicas and of what else is
        on their disks, which stays there
    capacities : int64[brokers], whole, NO_LIMIT for none
    replicas, sizes : the brokers of each partition, and int64[partitions]
    threshold : the share of its capacity that a broker may use
    """
    of_replicas = bytes_on(replicas, sizes, len(capacities))
    used = np.zeros(len(capacities), np.int64)
    used[: len(rows)] = pc.fill_null(rows.field("used_bytes"), 0)
    room = np.floor(capacities * threshold).astype(np.int64) - np.maximum(used - of_replicas, 0)
    return np.where(capacities == NO_LIMIT, NO_LIMIT, np.maximum(room, 0))


def _in_sync(lists: pa.ListArray, replicas: Ragged, ids: Int32s) -> Bools | None:
    """bool[replicas], which of them are in the lists, one of each partition; None if there are none. ids : of the brokers"""
    if lists.null_count == len(lists):
        return None
    at = indices_in(ids, np.array(lists.flatten(), np.int32))
    rows = np.repeat(np.arange(len(lists)), np.array(pc.fill_null(pc.list_value_length(lists), 0), np.int64))
    keys = (rows * len(ids) + at)[at != NONE]
    row_of_each = replicas.row_of_each_value()
    unknown = np.array(pc.is_null(lists))[row_of_each]
    return unknown | np.isin(row_of_each.astype(np.int64) * len(ids) + replicas.values, keys)


def _check_partitions(topics: Int32s, ids: Int32s, starts: Int32s) -> None:
    order = np.lexsort((ids, topics))
    same = (np.diff(topics[order]) == 0) & (np.diff(ids[order]) == 0)
    if same.any():
        row = int(order[1:][same].min())
        topic = int(topics[row])
        raise InvalidQuestion(
            f"Duplicate partition_id {ids[row]}.", "topics", topic, "placements", row - int(starts[topic]), "partition_id"
        )


def _of_partitions(rows: pa.StructArray, name: str, counts: Int64s, dtype: Any) -> Any:
    """A number for each partition; None if no topic gives them. Raises InvalidQuestion if a topic gives none, or too few."""
    lists = rows.field(name)
    if lists.null_count == len(lists) > 0:
        return None
    lengths = np.array(pc.fill_null(pc.list_value_length(lists), NONE), np.int64)
    wrong = np.flatnonzero(lengths != counts)
    if len(wrong):
        row = int(wrong[0])
        detail = (
            "Required, because another topic has it."
            if lengths[row] == NONE
            else f"Must have one number for each of the {counts[row]} placements."
        )
        raise InvalidQuestion(detail, "topics", row, name)
    return np.array(lists.flatten(), dtype)
