"""The rows of a group: what one may hold, what is wrong between them, and how their names become indices.

The service reads bodies into these rows, the pipeline tables; both then hold a million owned partitions without an object each.

The rows of an expected assignment, too.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.errors import MAX_ERRORS, InvalidQuestion
from service.core.kernels import kernel
from service.core.model import (
    LARGEST,
    NONE,
    SMALLEST,
    Bools,
    Float64s,
    Group,
    Int32s,
    Int64s,
    Ragged,
    Topics,
    distinct,
    java_order,
    offsets_of,
    ranks_of,
)
from service.core.printable import counted
from service.core.ragged import first_repeat
from service.decisions.rows import (
    LONGEST_TOPIC_NAME,
    NAME,
    duplicates_in_column,
    duplicates_in_rows,
    in_range,
    names_bytes,
    plain_names,
    plain_rates,
    raise_all,
    with_columns,
)

LAG = pa.struct({name: pa.list_(pa.int64()) for name in ("committed_offsets", "log_end_offsets", "log_start_offsets")})
TOPIC = pa.struct(
    {
        "topic_name": NAME,
        "topic_id": NAME,
        "partitions_count": pa.int32(),
        "partition_racks": pa.list_(pa.list_(NAME)),
        "partition_weights": pa.list_(pa.float64()),
        "lag": LAG,
    }
)
TOPIC_PARTITIONS = pa.struct({"topic_name": NAME, "partition_ids": pa.list_(pa.int32())})
MEMBER = pa.struct(
    {
        "member_id": NAME,
        "instance_id": NAME,
        "rack_id": NAME,
        "topic_names": pa.list_(NAME),
        "generation_id": pa.int32(),
        "owned_partitions": pa.list_(TOPIC_PARTITIONS),
        "capacity": pa.float64(),
    }
)

TOPIC_ID = "^[A-Za-z0-9_+/-]{22}$"
"""A Kafka Uuid as text: base64 for URLs, as Java writes it, or standard base64, as confluent-kafka does."""


# ---- what a row may hold -----------------------------------------------------------------------------------------------


def plain_topics(topics: pa.StructArray) -> bool:
    """Is every row of type TOPIC, none null, well-formed by itself?"""
    names, counts, racks = topics.field("topic_name"), topics.field("partitions_count"), topics.field("partition_racks")
    weights, lag, ids = topics.field("partition_weights").values, topics.field("lag"), topics.field("topic_id")
    return bool(
        names.null_count == counts.null_count == racks.values.null_count == racks.values.values.null_count == 0
        and weights.null_count == 0
        and all(lists.null_count == lag.null_count for lists in lag.flatten()[:2])
        and all(in_range(lists.values, NONE) for lists in lag.flatten())
        and plain_rates(weights)
        and plain_names(names, LONGEST_TOPIC_NAME)
        and plain_names(racks.values.values, shortest=0)
        and (ids.null_count == len(ids) or pc.all(pc.match_substring_regex(ids, TOPIC_ID), min_count=0).as_py())
        and in_range(counts, 1)
    )


def plain_members(members: pa.StructArray) -> bool:
    """Is every row of type MEMBER, none null, well-formed by itself?"""
    ids, names, rows = members.field("member_id"), members.field("topic_names").values, members.field("owned_partitions").values
    owned_names, owned_ids = rows.field("topic_name"), rows.field("partition_ids")
    return bool(
        ids.null_count == names.null_count == rows.null_count == 0
        and owned_names.null_count == owned_ids.null_count == owned_ids.values.null_count == 0
        and plain_names(ids)
        and plain_names(members.field("instance_id"))
        and plain_names(members.field("rack_id"), shortest=0)
        and plain_names(names, LONGEST_TOPIC_NAME)
        and plain_names(owned_names, LONGEST_TOPIC_NAME)
        and in_range(members.field("generation_id"), NONE)
        and in_range(owned_ids.values, 0)
        and in_range(members.field("capacity"), SMALLEST, LARGEST)
    )


# ---- names become indices ----------------------------------------------------------------------------------------------


def partitions_total(topics: pa.StructArray) -> int:
    """The number of partitions of all topics together."""
    return int(pc.sum(topics.field("partitions_count"), min_count=0).as_py())


def subscriptions_total(topics: pa.StructArray, members: pa.StructArray) -> int:
    """The number of (member, topic) subscriptions, those of members that omit ``topic_names`` included."""
    named = members.field("topic_names")
    return int(len(named.values) + named.null_count * len(topics))


def topic_names_bytes(topics: pa.StructArray, members: pa.StructArray) -> int:
    """``names_bytes`` of the topics, with those that only members name."""
    named = members.field("topic_names").values, members.field("owned_partitions").values.field("topic_name")
    known = topics.field("topic_name")
    unknown = pa.chunked_array([names.filter(pc.invert(pc.is_in(names, known))) for names in named], NAME).unique()
    return names_bytes(known) + names_bytes(unknown)


def read_group(topics: pa.StructArray, members: pa.StructArray) -> Group:
    """The group of a body whose ``topics`` and ``members`` are well-formed, row by row.

    Raises InvalidQuestion for what a single row does not show: duplicate names and ids, and lists of racks or weights whose
    length is not the topic's number of partitions. The caller has checked that there are fewer than 2³¹ partitions and
    subscriptions.
    """
    topics = _with_url_safe_ids(topics)
    raise_all(chain(topic_faults(topics), member_faults(members)))

    names: list[str] = topics.field("topic_name").to_pylist()
    order = java_order(names)
    if (np.diff(order) < 0).any():
        topics = topics.take(pa.array(order))
    known = topics.field("topic_name")
    subscribed, owned_rows = members.field("topic_names"), members.field("owned_partitions").values
    subscribed_topics, owned_topics, unknown = _topic_indices(known, subscribed.values, owned_rows.field("topic_name"))
    rank = ranks_of(order)
    subscriptions = _with_default_rows(subscribed, subscribed_topics, rank)
    repeat = first_repeat(subscriptions, len(order) + len(unknown)) if len(subscribed_topics) else NONE
    if repeat != NONE:
        member = int(np.searchsorted(subscriptions.offsets, repeat, "right")) - 1
        at = repeat - int(subscriptions.offsets[member])
        name = members.field("topic_names")[member][at].as_py()
        raise InvalidQuestion(f"Duplicate topic name {name!r}.", "members", member, "topic_names", at)

    first = offsets_of(topics.field("partitions_count").to_numpy(zero_copy_only=False))
    rack_ids, member_racks, partition_racks, leader_racks = _racks(
        members.field("rack_id"), topics.field("partition_racks"), np.diff(first)
    )
    owned, unknown_partitions = _owned(members.field("owned_partitions"), owned_topics, first)
    offsets = lag_offsets(topics) if has_lag(topics) else None
    return Group(
        topics=Topics(
            tuple(known.to_pylist()),
            first,
            partition_racks,
            tuple(topics.field("topic_id").to_pylist()),
            _weights(topics, offsets),
            rank,
            leader_racks,
            offsets,
            None if offsets is None else unknown_lags(offsets),
        ),
        member_ids=tuple(members.field("member_id").to_pylist()),
        instance_ids=tuple(members.field("instance_id").to_pylist()),
        rack_ids=rack_ids,
        racks=member_racks,
        subscriptions=subscriptions,
        generations=_int32s(members.field("generation_id")),
        owned=owned,
        unknown_topic_names=unknown,
        unknown_partitions=unknown_partitions,
        capacities=_capacities(members),
    )


def _with_url_safe_ids(topics: pa.StructArray) -> pa.StructArray:
    """The topics with ids in base64 for URLs."""
    ids = topics.field("topic_id")
    if ids.null_count == len(ids):
        return topics
    ids = pc.replace_substring(pc.replace_substring(ids, "+", "-"), "/", "_")
    return with_columns(topics, {"topic_id": ids})


def topic_faults(topics: pa.StructArray) -> Iterator[InvalidQuestion]:
    """What is wrong between the rows of topics, or between the members of one."""
    yield from duplicates_in_column("topics", topics, "topic_name")
    yield from duplicates_in_column("topics", _with_url_safe_ids(topics), "topic_id")
    counts, weights, lag = (topics.field(name) for name in ("partitions_count", "partition_weights", "lag"))
    of_lag = [(("lag", field.name), lists) for field, lists in zip(LAG, lag.flatten(), strict=True)]
    for path, lists in ((("partition_racks",), topics.field("partition_racks")), (("partition_weights",), weights), *of_lag):
        if lists.null_count == len(lists):
            continue
        wrong = pc.fill_null(pc.not_equal(pc.list_value_length(lists), counts), False)
        for at in np.flatnonzero(wrong.to_numpy(zero_copy_only=False))[:MAX_ERRORS].tolist():
            detail = f"Must have {counted(counts[at].as_py(), 'entry', 'entries')}, one for each partition, not {len(lists[at])}."
            yield InvalidQuestion(detail, "topics", at, *path)
    if 0 < weights.null_count < len(weights) and lag.null_count == len(lag):
        for at in np.flatnonzero(_nulls(weights))[:MAX_ERRORS].tolist():
            yield InvalidQuestion("Required, because another topic has partition_weights.", "topics", at, "partition_weights")
    elif weights.null_count < len(weights) and lag.null_count < len(lag):
        for at in np.flatnonzero(_nulls(lag) & ~_nulls(weights))[:MAX_ERRORS].tolist():
            yield InvalidQuestion("Give lag or partition_weights, the same for all topics.", "topics", at, "partition_weights")
    for at in np.flatnonzero(~_nulls(weights) & ~_nulls(lag))[:MAX_ERRORS].tolist():
        yield InvalidQuestion("Give either lag or partition_weights, not both.", "topics", at, "lag")


def member_faults(members: pa.StructArray) -> Iterator[InvalidQuestion]:
    """What is wrong between the rows of members."""
    yield from duplicates_in_column("members", members, "member_id")
    yield from duplicates_in_column("members", members, "instance_id")  # Kafka would fence the member


def _int32s(array: pa.Array) -> Int32s:
    """A copy as int32, nulls as NONE. (A view of Arrow's buffer is read-only, for which kernels would compile again.)"""
    return np.array((pc.fill_null(array, NONE) if array.null_count else array).to_numpy(zero_copy_only=False), np.int32)


def _topic_indices(known: pa.Array, *columns: pa.Array) -> tuple[Int32s, Int32s, tuple[str, ...]]:
    """Two columns of topic names as topics, and the unknown names, which are the topics after the known ones, in Java's order."""
    topics = [_int32s(pc.index_in(column, known)) for column in columns]
    if not any((of_column == NONE).any() for of_column in topics):
        return topics[0], topics[1], ()
    unknown_names = [column.filter(pa.array(of_column == NONE)) for column, of_column in zip(columns, topics, strict=True)]
    names: list[str] = pa.chunked_array(unknown_names, NAME).unique().to_pylist()
    unknown = tuple(names[i] for i in java_order(names))
    for of_column, column in zip(topics, unknown_names, strict=True):
        of_column[of_column == NONE] = len(known) + _int32s(pc.index_in(column, pa.array(unknown, NAME)))
    return topics[0], topics[1], unknown


def _with_default_rows(lists: pa.ListArray, values: Int32s, default: Int32s) -> Ragged:
    """The rows of ``lists`` with these ``values``, and ``default`` where a list is null."""
    absent = _nulls(lists)
    lengths = _lengths(lists)
    lengths[absent] = len(default)
    offsets = offsets_of(lengths)
    if absent.all():
        return Ragged(offsets, np.tile(default, len(lists)))
    if absent.any():
        from_default = np.repeat(absent, lengths)
        filled = np.empty(offsets[-1], np.int32)
        filled[from_default] = np.tile(default, int(absent.sum()))
        filled[~from_default] = values
        values = filled
    return Ragged(offsets, values)


def _nulls(array: pa.Array) -> Bools:
    return np.array(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _lengths(lists: pa.ListArray) -> Int32s:
    """The length of each list; 0 for null."""
    lengths = pc.list_value_length(lists)
    return np.array((pc.fill_null(lengths, 0) if lists.null_count else lengths).to_numpy(zero_copy_only=False), np.int32)


def _racks(
    of_members: pa.Array, of_topics: pa.ListArray, counts: Int32s
) -> tuple[tuple[str, ...], Int32s, Ragged | None, Int32s | None]:
    """The racks' ids, each member's rack, each partition's racks, and that of its leader (None when no partition has any).

    of_members : the members' rack_id; of_topics : the topics' partition_racks, in the topics' order
    counts : int32[topics]
    """
    if of_members.null_count == len(of_members) and of_topics.null_count == len(of_topics):
        return (), np.full(len(of_members), NONE, np.int32), None, None
    of_replicas = of_topics.flatten().flatten()
    names: list[str] = pa.chunked_array([of_members, of_replicas], NAME).unique().drop_null().to_pylist()
    names = [name for name in names if name]
    rack_ids = tuple(names[i] for i in java_order(names))
    ids = pa.array(rack_ids, NAME)
    member_racks = _int32s(pc.index_in(of_members, ids))
    replica_racks = _int32s(pc.index_in(of_replicas, ids))
    if not (replica_racks != NONE).any():
        return rack_ids, member_racks, None, None
    # The partitions that have a list, then each of their replicas' partition; equal pairs of partition and rack fall together.
    listed = np.flatnonzero(np.repeat(~_nulls(of_topics), counts))
    replicas = _lengths(of_topics.flatten())
    leader_racks = np.full(int(counts.sum()), NONE, np.int32)
    leader_racks[listed[replicas > 0]] = replica_racks[offsets_of(replicas)[:-1][replicas > 0]]
    partitions = np.repeat(listed, replicas)[replica_racks != NONE]
    pairs = distinct(partitions * len(rack_ids) + replica_racks[replica_racks != NONE])
    partitions, racks = np.divmod(pairs, len(rack_ids))
    lengths = np.bincount(partitions, minlength=len(leader_racks))
    return rack_ids, member_racks, Ragged.of_lengths(lengths, racks.astype(np.int32)), leader_racks


def lag_offsets(topics: pa.StructArray) -> Int64s:
    """int64[3, partitions], committed offset, log end and log start of each, in the order of the rows; NONE: not known."""
    counts = topics.field("partitions_count").to_numpy(zero_copy_only=False)
    found = np.full((3, int(counts.sum())), NONE, np.int64)
    for offsets, lists in zip(found, topics.field("lag").flatten(), strict=True):
        offsets[np.repeat(~_nulls(lists), counts)] = pc.fill_null(lists.flatten(), NONE).to_numpy()
    return found


def unknown_lags(offsets: Int64s) -> Bools | None:
    """bool[partitions], those whose lag is not known, for want of an offset; None if there are none. offsets : see Topics"""
    committed, ends, _ = offsets
    unknown = (ends < 0) | ((committed < 0) & (ends > 0))
    return unknown if unknown.any() else None


def _weights(topics: pa.StructArray, offsets: Int64s | None) -> Float64s | None:
    """float64[partitions], the load, or the least that the lag of each can be; None where no topic has any."""
    weights = topics.field("partition_weights")
    if offsets is not None:
        committed, ends, _ = offsets
        known = (committed >= 0) & (ends >= 0)
        return np.where(known, np.maximum(ends - committed, 0), 0).astype(np.float64)
    return None if weights.null_count else weights.flatten().to_numpy(zero_copy_only=False)


def _capacities(members: pa.StructArray) -> Float64s | None:
    """float64[members], 1 where none is given; None where no member has any."""
    capacities = members.field("capacity")
    if capacities.null_count == len(capacities):
        return None
    return np.array(pc.fill_null(capacities, 1.0).to_numpy(zero_copy_only=False), np.float64)


def has_lag(topics: pa.StructArray) -> bool:
    """Are the weights of these topics lags?"""
    lag = topics.field("lag")
    return bool(lag.null_count < len(lag))


def _owned(rows_of: pa.ListArray, topic_of_row: Int32s, first: Int32s) -> tuple[Ragged, Int32s]:
    """The partitions each member owns, and (topic, partition_id) of those among them that do not exist.

    rows_of : member → rows {topic_name, partition_ids}; topic_of_row : int32[rows]
    first : int32[topics + 1]
    """
    ids_of = rows_of.values.field("partition_ids")
    ids = _int32s(ids_of.values)
    ids_before_row = offsets_of(_lengths(ids_of))
    offsets = ids_before_row[offsets_of(_lengths(rows_of))]
    partitions, all_exist = _partitions(ids_before_row, ids, topic_of_row, first)
    if all_exist:
        return Ragged(offsets, partitions), np.empty((0, 2), np.int32)
    topics = np.repeat(topic_of_row, np.diff(ids_before_row))
    counts = np.append(np.diff(first), np.int32(0))
    beyond = np.int32(len(first) - 1)
    exists = ids < counts[np.minimum(topics, beyond)]
    partitions = np.where(exists, first[np.minimum(topics, beyond)] + np.where(exists, ids, 0), NONE)
    keys, ranks = np.unique((topics[~exists].astype(np.int64) << 32) | ids[~exists], return_inverse=True)
    partitions[~exists] = first[-1] + ranks
    return Ragged(offsets, partitions.astype(np.int32)), np.stack([keys >> 32, keys & 0x7FFFFFFF], axis=1).astype(np.int32)


@kernel
def _partitions(ids_of: Int32s, ids: Int32s, topic_of_row: Int32s, first: Int32s) -> tuple[Int32s, bool]:
    """The partition of each id, int32[ids], and True if all exist; False as soon as one does not, the partitions incomplete.

    ids_of, ids : row → ids; topic_of_row : int32[rows]
    first : int32[topics + 1]
    """
    partitions = np.empty(len(ids), np.int32)
    for row in range(len(topic_of_row)):
        topic, start, stop = topic_of_row[row], ids_of[row], ids_of[row + 1]
        count = first[topic + 1] - first[topic] if topic < len(first) - 1 else 0
        beyond = 0
        for i in range(start, stop):
            beyond += ids[i] >= count
        if beyond:
            return partitions, False
        for i in range(start, stop):
            partitions[i] = first[topic] + ids[i]
    return partitions, True


MAX_COMBINATIONS: Final = 64
"""Most combinations of partition counts that are tried."""


def expected_group(topics: pa.StructArray, members: pa.StructArray, expected: list[dict[str, Any]]) -> Group:
    """The group whose members own what they are expected to get."""
    ids = members.field("member_id").to_pylist()
    rows = {each["member_id"]: each["partitions"] for each in expected}
    owning = [{"member_id": member_id, "owned_partitions": rows.get(member_id, [])} for member_id in ids]
    return read_group(topics, pa.array(owning, MEMBER))


def expected_faults(members: pa.StructArray, expected: list[dict[str, Any]]) -> Iterator[InvalidQuestion]:
    """Members that are expected twice, or that the group does not have."""
    known = set(members.field("member_id").to_pylist()) if expected else set()
    yield from duplicates_in_rows(expected, "member_id", "expected")
    for i, each in enumerate(expected):
        if each["member_id"] not in known:
            yield InvalidQuestion(f"{each['member_id']!r} is not in `members`.", "expected", i, "member_id")


def largest_counts(topics: pa.StructArray, combinations: Sequence[dict[str, int]]) -> dict[str, int]:
    """The combination with the most partitions."""
    if len(combinations) == 1:
        return combinations[0]
    return max(combinations, key=lambda counts: sum(_chosen(topics, counts)))


def _chosen(topics: pa.StructArray, counts: dict[str, int]) -> list[int]:
    """The partition count of each topic, that of ``counts`` if it names the topic."""
    current = topics.field("partitions_count").to_pylist()
    return [counts.get(name, count) for name, count in zip(topics.field("topic_name").to_pylist(), current, strict=True)]


def with_counts(topics: pa.StructArray, counts: dict[str, int]) -> pa.StructArray:
    """The topics with these partition counts, and with the racks of these partitions only."""
    if not counts:
        return topics
    chosen = _chosen(topics, counts)
    columns = {"partitions_count": pa.array(chosen, pa.int32())}
    racks = topics.field("partition_racks")
    if racks.null_count < len(racks):
        columns["partition_racks"] = _first_rows(racks, np.array(chosen))
    return with_columns(topics, columns)


def _first_rows(lists: pa.ListArray, lengths: Int64s) -> pa.ListArray:
    """The first values of each list. lengths : the most of each, int64[lists]"""
    parents = np.array(pc.list_parent_indices(lists), np.int64)
    current = np.array(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    ends = np.cumsum(current)
    kept = np.arange(len(parents)) - (ends - current)[parents] < lengths[parents]
    offsets = offsets_of(np.minimum(current, lengths))
    return pa.ListArray.from_arrays(offsets, lists.flatten().filter(pa.array(kept)), lists.type, mask=lists.is_null())
