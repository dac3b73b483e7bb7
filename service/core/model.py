"""The flat forms that every question is asked in.

Names live at the edge: ``topic_name``, ``member_id``, ``broker_id``, ``rack_id`` are the outside world's, while ``topic``,
``member``, ``broker``, ``rack`` and ``partition`` are indices into the arrays of one request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from service.core.frozen import frozen
from service.core.kafka_versions import LATEST
from service.core.printable import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.core.certificate import Certificate

Int32s = npt.NDArray[np.int32]
Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

NONE: Final = -1
"""The index that means "none": a member without a rack, a partition without an owner."""

SMALLEST, LARGEST = 1e-100, 1e100
"""Between these lies a load or rate that is not an integer, or it is 0: its squares and sums neither overflow nor vanish."""


def offsets_of(lengths: npt.ArrayLike) -> Int32s:
    """int32[n + 1], the offsets of rows of these lengths, from 0."""
    lengths = np.asarray(lengths)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranks_of(order: npt.NDArray[np.integer[Any]]) -> Int32s:
    """int32[n], the place of each index in an order of all of them."""
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def utf16(name: str) -> bytes:
    """A key by which Python sorts as Java does, by UTF-16 code units (``String.compareTo``).

    Half a surrogate pair is a code unit like any other.
    """
    return name.encode("utf-16-be", "surrogatepass")


def java_order(names: Sequence[str]) -> npt.NDArray[np.int32]:
    """int32[names], the positions of ``names`` in ascending order; equal names keep their order.

    Code points and UTF-16 units sort differently only where a character above U+FFFF meets one of U+E000 … U+FFFF.
    """
    keys: Sequence[str | bytes] = names if "".join(names).isascii() else [utf16(name) for name in names]
    return np.fromiter(sorted(range(len(names)), key=keys.__getitem__), np.int32, len(names))


def indices_in(known: npt.NDArray[np.integer[Any]], values: npt.NDArray[np.integer[Any]]) -> Int32s:
    """int32[values], the index of each value in ``known``, which has none twice, or NONE."""
    if not len(known):
        return np.full(len(values), NONE, np.int32)
    order = np.argsort(known, kind="stable").astype(np.int32)
    at = order[np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)]
    return np.where(known[at] == values, at, np.int32(NONE))


def distinct(values: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
    """The distinct values, ascending.

    np.unique puts them into a hash table, which takes 25 times as long as sorting where millions differ.
    """
    if len(values) and not np.count_nonzero(values != values[0]):
        return values[:1].copy()
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def first_occurrences(values: Int32s) -> Int32s:
    """The values without duplicates, in the order in which each first occurs. values : at least 0"""
    places = np.arange(len(values), dtype=np.int32)
    first = np.empty(int(values.max(initial=NONE)) + 1, np.int32)
    first[values[::-1]] = places[::-1]  # of several places the one that is written last stays
    occurrences: Int32s = values[first[values] == places]
    return occurrences


@dataclass(frozen=True)
class Ragged:
    """Rows of integers, end to end; also Arrow's list layout.

    offsets : int32[rows + 1]   row i is ``values[offsets[i]:offsets[i + 1]]``
    values : int32[...]
    """

    offsets: Int32s
    values: Int32s

    @classmethod
    def of_lengths(cls, lengths: npt.ArrayLike, values: Int32s) -> Ragged:
        """Rows of these lengths."""
        return cls(offsets_of(lengths), values)

    @classmethod
    def of_rows(cls, rows: Sequence[Int32s]) -> Ragged:
        """A list of rows."""
        return cls.of_lengths([len(row) for row in rows], np.concatenate([np.empty(0, np.int32), *rows]))

    @classmethod
    def of_pairs(cls, rows: Int32s, values: npt.NDArray[np.integer[Any]], count: int) -> Ragged:
        """``count`` rows, of pairs of a row and a value in any order; values of one row keep theirs."""
        ordered = values[np.argsort(rows, kind="stable")].astype(np.int32)
        return cls.of_lengths(np.bincount(rows, minlength=count), ordered)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, i: int) -> Int32s:
        """Row i, a view."""
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def first_rows(self, count: int) -> Ragged:
        """The first rows, views."""
        return Ragged(self.offsets[: count + 1], self.values[: self.offsets[count]])

    def firsts(self) -> Int32s:
        """int32[rows], the first value of each row, none of which is empty."""
        return self.values[self.offsets[:-1]]

    def lengths(self) -> Int32s:
        """int32[rows], the length of each row."""
        return self.offsets[1:] - self.offsets[:-1]

    def row_of_each_value(self) -> Int32s:
        """int32[values], for each value the row in which it stands."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.lengths())

    def count(self, which: Bools) -> Int64s:
        """int64[rows], how many of these values each row has. which : bool[values]"""
        return np.bincount(self.row_of_each_value()[which], minlength=len(self))

    def where(self, kept: Bools) -> Ragged:
        """The rows with some of their values only. kept : bool[values]"""
        return self if kept.all() else Ragged(offsets_of(kept)[self.offsets], self.values[kept])

    def below(self, limit: int) -> Ragged:
        """The rows without values of ``limit`` and above."""
        return self.where(self.values < limit)

    def arrays(self) -> RaggedArrays:
        """For a kernel."""
        return RaggedArrays(self.offsets, self.values)


NO_ROWS: Final = Ragged(np.zeros(1, np.int32), np.empty(0, np.int32))


class RaggedArrays(NamedTuple):
    """Ragged as a kernel gets it."""

    offsets: Int32s
    values: Int32s


@frozen
class Keys:
    """Record keys as bytes, in Arrow's binary layout, so that an Arrow column reaches a kernel uncopied.

    offsets : int32[keys + 1]   key i is ``data[offsets[i]:offsets[i + 1]]``
    data : uint8[...]           the keys' bytes, end to end
    valid : bool[keys] or None  False where a record has no key; None when every record has one
    """

    offsets: Int32s
    data: Bytes
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def arrays(self) -> KeyArrays:
        """For a kernel that asks of each record whether it has a key."""
        return KeyArrays(self.offsets, self.data, np.ones(len(self), np.bool_) if self.valid is None else self.valid)


class KeyArrays(NamedTuple):
    """Keys as a kernel gets them. valid : bool[keys]; the others as in Keys"""

    offsets: Int32s
    data: Bytes
    valid: Bools


@dataclass(frozen=True)
class Topics:
    """The topics of a request, in the order of their names (UTF-16, as Java sorts), their partitions end to end.

    The partition ``partition_id`` of ``topic`` is the partition ``first[topic] + partition_id``; so partitions in
    ascending order are in Kafka's order of (topic name, partition id).

    names : the topic_name of each topic
    first : int32[topics + 1]   the topic's first partition; ``first[-1]`` is the number of partitions
    racks : Ragged partition → racks of its replicas, ascending, none twice; None when no partition has any
    ids : the topic_id (base64 Uuid) of each topic; None where the request gives none
    weights : float64[partitions]   the load of each partition (lag, bytes/s, records/s); None when the request gives none
    listed : int32[topics]   the topics in the order of the request, which stands for that of the leader's metadata: the answers
        of some clients depend on it; None: they are listed in the order of their names
    leader_racks : int32[partitions]   the rack of each partition's first replica, its leader, or NONE; None where ``racks`` is
    offsets : int64[3, partitions]   where readers of each partition are, where its log ends and where it begins; NONE: not
        known. None when the request gives none
    unknown : bool[partitions]   those whose load is not known, with a weight of 0; None: the load of each is
    """

    names: tuple[str, ...]
    first: Int32s
    racks: Ragged | None
    ids: tuple[str | None, ...]
    weights: Float64s | None = None
    listed: Int32s | None = None
    leader_racks: Int32s | None = None
    offsets: Int64s | None = None
    unknown: Bools | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def partitions_count(self) -> int:
        """The number of partitions of all topics together."""
        return int(self.first[-1])

    def partitions_counts(self) -> Int32s:
        """int32[topics], the number of partitions of each topic."""
        return self.first[1:] - self.first[:-1]

    @cached_property
    def topic_of(self) -> Int32s:
        """int32[partitions], the topic of each partition."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.partitions_counts())

    @cached_property
    def heaviest_first(self) -> Int32s:
        """int32[partitions], the partitions by descending weight, then ascending."""
        if self.weights is None:
            return np.arange(self.partitions_count, dtype=np.int32)
        return np.argsort(-self.weights, kind="stable").astype(np.int32)


@dataclass(frozen=True)
class Group:
    """A group to be assigned: the topics, the members, and what each member says of itself.

    Members are in request order, which for the classic protocol is that of the JoinGroup response. What only members mention
    comes after what exists: the topics ``len(topics) + i`` are subscribed or owned names that the request's topics do not
    hold, and the partitions ``topics.partitions_count + i`` are owned partitions that do not exist.

    member_ids : the member_id of each member, all different
    instance_ids : the instance_id (``group.instance.id``) of each member; None for a dynamic one
    rack_ids : the rack_id of each rack
    racks : int32[members]   each member's rack, or NONE
    subscriptions : Ragged member → topics, in the order of the member's list, none twice
    generations : int32[members]   the generation each member was last in; -1 for none
    owned : Ragged member → partitions it says it owns, in the order of its list, perhaps twice, perhaps another's as well
    unknown_topic_names : the name of each topic that does not exist, in the order of the names
    unknown_partitions : int32[..., 2]   (topic, partition_id) of each partition that does not exist, in that order
    capacities : float64[members]   how much each member can read, relative to the others; None: all alike
    hash_codes : int32[members]   String.hashCode() of each member_id; None: not known yet
    """

    topics: Topics
    member_ids: tuple[str, ...]
    instance_ids: tuple[str | None, ...]
    rack_ids: tuple[str, ...]
    racks: Int32s
    subscriptions: Ragged
    generations: Int32s
    owned: Ragged
    unknown_topic_names: tuple[str, ...]
    unknown_partitions: Int32s
    capacities: Float64s | None = None
    hash_codes: Int32s | None = None

    def __len__(self) -> int:
        return len(self.member_ids)

    @property
    def topic_names(self) -> tuple[str, ...]:
        """The name of each topic, also of those that do not exist."""
        return (*self.topics.names, *self.unknown_topic_names)

    @property
    def total_topics(self) -> int:
        """The number of topics, also of those that do not exist."""
        return len(self.topics) + len(self.unknown_topic_names)

    @property
    def total_partitions(self) -> int:
        """The number of partitions, also of those that do not exist."""
        return self.topics.partitions_count + len(self.unknown_partitions)

    @cached_property
    def by_id(self) -> Int32s:
        """int32[members], the members by member_id, as Java sorts them."""
        return java_order(self.member_ids)

    def first_members(self, count: int) -> Group:
        """The group of the first members alone."""
        first = replace(
            self,
            member_ids=self.member_ids[:count],
            instance_ids=self.instance_ids[:count],
            racks=self.racks[:count],
            subscriptions=self.subscriptions.first_rows(count),
            generations=self.generations[:count],
            owned=self.owned.first_rows(count),
            capacities=None if self.capacities is None else self.capacities[:count],
            hash_codes=None if self.hash_codes is None else self.hash_codes[:count],
        )
        vars(first)["by_id"] = self.by_id[self.by_id < count]  # need not be sorted again
        return first

    def partition_name(self, partition: int) -> str:
        """``orders-3``, existing or not."""
        topics, ids = self.topic_partitions(np.array([partition], np.int32))
        return f"{self.topic_names[topics[0]]}-{ids[0]}"

    def topic_partitions(self, partitions: Int32s) -> tuple[Int32s, Int32s]:
        """The topic and the partition_id of each partition, existing or not: int32[...] each."""
        topics = self.topics
        topic_of = topics.topic_of
        if not len(self.unknown_partitions):
            of_partitions = topic_of[partitions]
            return of_partitions, partitions - topics.first[of_partitions]
        id_of = np.arange(topics.partitions_count, dtype=np.int32) - topics.first[topic_of]
        topic_of = np.concatenate([topic_of, self.unknown_partitions[:, 0]])
        id_of = np.concatenate([id_of, self.unknown_partitions[:, 1]])
        return topic_of[partitions], id_of[partitions]


def static_first(group: Group, in_order: Callable[[Sequence[str]], Int32s] = java_order) -> Int32s:
    """int32[members], the members of a classic group in order: static ones by instance_id, then dynamic ones by member_id.

    in_order : gives the positions of names in ascending order
    Reproduces AbstractPartitionAssignor.MemberInfo.compareTo.
    """
    if in_order is java_order and group.instance_ids.count(None) == len(group):
        return group.by_id
    static = [member for member, instance_id in enumerate(group.instance_ids) if instance_id is not None]
    dynamic = [member for member, instance_id in enumerate(group.instance_ids) if instance_id is None]
    by_instance = in_order([group.instance_ids[member] or "" for member in static])
    by_id = in_order([group.member_ids[member] for member in dynamic])
    return np.concatenate([np.array(static, np.int32)[by_instance], np.array(dynamic, np.int32)[by_id]])


def why_there(group: Group, member: int) -> str:
    """What decides the place of a member in that order."""
    return "dynamic, by member_id" if group.instance_ids[member] is None else "static, by instance_id"


@dataclass(frozen=True)
class LeftOpen:
    """What a library leaves to chance: each run of it on the same group may assign these partitions to other members.

    partitions : int32[...], ascending: those whose member need not be the same in every run
    because : what decides, a clause: "Go goes through a map in a random order"
    run : one run of the library, by a seed from 0 on: the assignment that it gives; None where no run of the library decides, and
        the partitions then are in no row
    """

    partitions: Int32s
    because: str
    run: Callable[[int], Assignment] | None = None

    @property
    def warning(self) -> str:
        """A sentence for a reader of the answer."""
        several = counted(len(self.partitions), "partition")
        shown = "They are unassigned here" if self.run is None else "The assignments are those of one possible run"
        return f"The library leaves to chance who gets {several}: {self.because}. {shown}; the others do not depend on the run."


@dataclass(frozen=True)
class OffsetRanges:
    """What the tasks of one batch read, a range of offsets each.

    partitions : int32[ranges], ascending; one that is divided has several
    starts, ends : int64[ranges]   the first offset of each, and the one after the last
    """

    partitions: Int32s
    starts: Int64s
    ends: Int64s

    def __len__(self) -> int:
        return len(self.partitions)


@dataclass(frozen=True)
class Assignment:
    """A group's partitions, assigned to its members: what every assignor returns.

    rows : Ragged member → partitions, in the order in which the assignor gives them
    withheld : Ragged member → partitions that it gets once their previous owners have revoked them; None from an assignor that
        never withholds any
    left_open : the partitions whose members the library leaves to chance; None if it leaves none. They are in no row of what an
        assignor returns, and in the rows of one run (``of_run``)
    certificate : how good it is, and how good any could be; None from an assignor that does not prove anything
    ranges : what the tasks of a batch read, from a source that makes them of offsets
    """

    rows: Ragged
    withheld: Ragged | None = None
    left_open: LeftOpen | None = None
    certificate: Certificate | None = None
    ranges: OffsetRanges | None = None

    @property
    def follow_up_rebalance(self) -> bool | None:
        """Is a second rebalance needed to assign what is withheld? None for an assignor that never withholds anything."""
        return None if self.withheld is None else len(self.withheld.values) > 0

    def of_run(self, seed: int) -> Assignment:
        """The same if nothing is left to chance; otherwise what one run of the library gives, complete. seed : at least 0"""
        if self.left_open is None or self.left_open.run is None:
            return self
        return replace(self.left_open.run(seed), left_open=self.left_open)

    def final_loads(self) -> Int32s:
        """int32[members], the number of partitions of each member after the follow-up rebalance, if there is one."""
        return self.rows.lengths() if self.withheld is None else self.rows.lengths() + self.withheld.lengths()


@dataclass(frozen=True)
class BrokerLoad:
    """What brokers have already, and are to have.

    weights : float64[brokers]            the share of the load that each is to have, relative to the others
    replicas, leaders : int64[brokers]    what each has
    """

    weights: Float64s
    replicas: Int64s
    leaders: Int64s

    def added(self, placement: Int32s) -> BrokerLoad:
        """The load with this placement, int32[partitions, replication_factor], on top."""
        count = len(self.weights)
        replicas = self.replicas + np.bincount(placement.ravel(), minlength=count)
        return BrokerLoad(self.weights, replicas, self.leaders + np.bincount(placement[:, 0], minlength=count))


@dataclass(frozen=True)
class Cluster:
    """The brokers that replicas are placed on, in request order.

    broker_ids : int32[brokers]   the broker_id of each broker
    rack_ids : the rack_id of each rack, in the order in which they first appear
    racks : int32[brokers]        each broker's rack, or NONE
    fenced : bool[brokers]        registered, but not allowed to lead (KIP-631)
    known_load : what the brokers have already; None: nothing, all with the same weight
    """

    broker_ids: Int32s
    rack_ids: tuple[str, ...]
    racks: Int32s
    fenced: Bools
    known_load: BrokerLoad | None = None

    def __len__(self) -> int:
        return len(self.broker_ids)

    @property
    def load(self) -> BrokerLoad:
        """What the brokers have already."""
        if self.known_load is not None:
            return self.known_load
        nothing = np.zeros(len(self), np.int64)
        return BrokerLoad(np.ones(len(self), np.float64), nothing, nothing)


@dataclass(frozen=True)
class PlacementRequest:
    """What is to be placed: the partitions of one topic, or those added to it. The counts may be wrong; placers check them.

    start_partition_id : the first partition's id; one below 0 counts as 0
    start_index, replica_shift : the two numbers that AdminUtils otherwise draws; ``start_index`` alone stands for both
    partition_0_leader : the broker_id of the topic's first replica of all, from which AdminUtils.addPartitions takes the start
    kafka_version : the release whose answer and words are reproduced
    """

    partitions_count: int
    replication_factor: int
    start_partition_id: int = 0
    start_index: int | None = None
    replica_shift: int | None = None
    partition_0_leader: int | None = None
    kafka_version: str = LATEST

    def partition_ids(self) -> Int32s:
        """int32[partitions], the ids to be placed; beyond Java's largest int they go on at the smallest."""
        first = max(0, self.start_partition_id)
        return np.arange(first, first + self.partitions_count, dtype=np.int64).astype(np.int32)
