"""What a group coordinator hands to its assignors: the order of its members, topic ids, and whether all subscribe alike.

A consumer group (KIP-848) or share group (KIP-932) is taken to be loaded as a coordinator loads it: all members, then their
target assignments, in request order; then the target is computed anew. ``owned_partitions`` are a member's current target.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.jvm.hashing import java_hash_codes, long_hash_codes, member_hash_codes, text_bytes
from service.core.jvm.ordering import DEFAULT_CAPACITY, LONGEST_CHAIN, capacity_for_set, hash_order, iteration_order
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Topics, distinct, java_order, ranks_of
from service.core.ragged import alike, grouped_arrays, put

# The iteration order of Kafka's TimelineHashMap, which holds the members of a group in the group coordinator.


def timeline_order(hashes: Int32s) -> Int32s:
    """The keys of a TimelineHashMap in the order of its iterator.

    hashes : int32[keys]   hashCode() of each key, in the order in which the keys were entered; no two keys are equal

    The table begins with 2 slots and doubles before it would have more than 4/3 as many keys as slots. A key's slot is the top
    bits of its hash times the golden ratio, so a doubling splits each slot in two and keeps its order: only the last table
    matters. Iteration goes up the slots, and within a slot from the last key to the first.

    Returns int32[keys].

    Reproduces org.apache.kafka.timeline.BaseHashTable and SnapshottableHashTable.
    """
    bits = 1
    while len(hashes) * 0.75 > 1 << bits:
        bits += 1
    scattered = hashes.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    slots = scattered >> np.uint64(64 - bits)
    last_first = np.arange(len(hashes), dtype=np.int32)[::-1]
    return last_first[np.argsort(slots[::-1], kind="stable")]


_URL_SAFE = bytes.maketrans(b"-_+/", b"+/??")
"""The alphabet of URLs as that of ``binascii``; what is of the latter alone becomes wrong."""


class TopicArrays(NamedTuple):
    """Topics with their Uuids, as kernels, hash tables and sorts see them.

    first : int32[topics + 1]       the first partition of each topic
    topic_of : int32[partitions]    the topic of each partition
    hashes : int32[topics]          Uuid.hashCode()
    ranks : int32[topics]           the place of each Uuid among all of them by Uuid.compareTo, which compares signed halves
    """

    first: Int32s
    topic_of: Int32s
    hashes: Int32s
    ranks: Int32s


def topic_arrays(topics: Topics) -> TopicArrays:
    """The topics with their ids; a topic without one gets the Uuid that its name stands for.

    That is ``UUID.nameUUIDFromBytes(name.getBytes(UTF_8))`` of Java, an RFC 9562 UUID of version 3: the name alone decides it, so
    that a group's answer does not depend on which other topics are in the request. Kafka draws its ids at random.

    Raises InvalidQuestion for an id that is not a base64 Uuid, and for duplicate ids.
    """
    raw = _all_decoded(topics.ids)
    if raw is None:
        raw = b"".join(
            _name_uuid(name) if topic_id is None else _decoded(name, topic_id)
            for name, topic_id in zip(topics.names, topics.ids, strict=True)
        )
    halves = np.frombuffer(raw, ">i8").astype(np.int64).reshape(-1, 2)
    most, least = halves[:, 0].copy(), halves[:, 1].copy()
    order = np.argsort(most)
    ascending = most[order]
    if (ascending[1:] == ascending[:-1]).any():
        order = np.lexsort((least, most))
        same = np.flatnonzero((np.diff(most[order]) == 0) & (np.diff(least[order]) == 0))
        if len(same):
            one, other = topics.names[order[same[0]]], topics.names[order[same[0] + 1]]
            raise InvalidQuestion(f"Duplicate topic_id: the topics {one!r} and {other!r} have the same one.", "topics")
    return TopicArrays(topics.first, topics.topic_of, long_hash_codes(most ^ least), ranks_of(order))


def _name_uuid(name: str) -> bytes:
    raw = bytearray(hashlib.md5(text_bytes(name), usedforsecurity=False).digest())
    raw[6] = raw[6] & 0x0F | 0x30
    raw[8] = raw[8] & 0x3F | 0x80
    return bytes(raw)


def _all_decoded(ids: tuple[str | None, ...]) -> bytes | None:
    """The Uuids, 16 bytes each, in one go; None unless all of them are plainly well-formed."""
    texts = [topic_id for topic_id in ids if topic_id is not None]
    if len(texts) < len(ids) or set(map(len, texts)) != {22}:
        return None
    text = "AA".join((*texts, ""))  # 24 characters each are 18 bytes, the last two of which are no part of it
    try:
        raw = binascii.a2b_base64(text.encode("ascii").translate(_URL_SAFE), strict_mode=True)
    except ValueError:  # binascii.Error and UnicodeEncodeError are such
        return None
    return np.frombuffer(raw, np.uint8).reshape(-1, 18)[:, :16].tobytes()


def _decoded(name: str, topic_id: str) -> bytes:
    """Uuid.fromString."""
    try:
        raw = base64.b64decode(topic_id.encode() + b"=" * (-len(topic_id) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 16:
        detail = f"The topic_id {topic_id!r} of the topic {name!r} is not a Kafka Uuid: 22 characters of URL-safe base64."
        raise InvalidQuestion(detail, "topics")
    return raw


def member_order(group: Group) -> Int32s:
    """int32[members], the members as the assignor meets them.

    The coordinator keeps them in a TimelineHashMap, filled in request order; the assignor gets a HashMap filled in that order,
    and then with members of epoch 0: they join with the heartbeat that the target is computed for, and are not in the map yet.

    Reproduces TargetAssignmentBuilder.build and GroupSpecImpl.memberIds.
    """
    hashes, joining = member_hash_codes(group), group.generations == 0
    present = np.flatnonzero(~joining).astype(np.int32)
    learnt = np.append(present[timeline_order(hashes[present])], np.flatnonzero(joining).astype(np.int32))
    return learnt[iteration_order(hashes[learnt], ranks=_ranks(hashes[learnt], group.member_ids, learnt))]


def topic_order(group: Group, member: int) -> Int32s:
    """int32[...], the topics that a member subscribes to, as its HashSet of names gives them, without those that do not exist."""
    topics, names = group.subscriptions.row(member), group.topic_names
    hashes = java_hash_codes(names)[topics]
    topics = topics[iteration_order(hashes, capacity=capacity_for_set(len(topics)), ranks=_ranks(hashes, names, topics))]
    return topics[topics < len(group.topics)]


def _ranks(hashes: Int32s, names: Sequence[str], chosen: Int32s) -> Int32s | None:
    """The natural order of the names chosen, which HashMap asks for only where hash codes are equal."""
    ascending = np.sort(hashes)
    if (ascending[1:] != ascending[:-1]).all():
        return None
    return ranks_of(java_order([names[i] for i in chosen]))


def changes(group: Group, assignment: Assignment, limit: int) -> tuple[list[dict[str, Any]], int, int]:
    """What each of the first members in order kept, gave up and got; how many partitions all members kept, and gave up."""
    entries, kept_in_all, revoked_in_all, count = [], 0, 0, group.topics.partitions_count
    for at, member in enumerate(member_order(group).tolist()):
        assigned, owned = assignment.rows.row(member), distinct(group.owned.row(member))
        kept = int(np.isin(assigned, owned, kind="table").sum()) if len(owned) and len(assigned) else 0
        revoked = int((owned < count).sum()) - kept
        kept_in_all, revoked_in_all = kept_in_all + kept, revoked_in_all + revoked
        if at < limit:
            parts = {"kept": kept, "revoked": revoked, "assigned": len(assigned) - kept, "partitions": len(assigned)}
            entries.append({"member_id": group.member_ids[member], **parts})
    return entries, kept_in_all, revoked_in_all


def is_homogeneous(group: Group) -> bool:
    """Do all members subscribe to the same names, those that do not exist included?

    Reproduces ModernGroup.subscriptionType.
    """
    if alike(group.subscriptions.offsets, group.subscriptions.values):
        return True
    counts = np.bincount(group.subscriptions.values)
    return bool(np.all((counts == 0) | (counts == len(group))))


def partition_beyond_the_end(group: Group, subscribed: Bools) -> tuple[int, int, int] | None:
    """(member, topic, partition_id) of an owned partition that a ``subscribed`` topic does not have; None if there is none.

    subscribed : bool[topics]
    """
    topics = group.unknown_partitions[:, 0]
    exists = topics < len(group.topics)
    beyond = np.zeros(len(topics), np.bool_)
    beyond[exists] = subscribed[topics[exists]]
    if not beyond.any():
        return None
    count = group.topics.partitions_count
    unknown = group.owned.values >= count
    at = np.flatnonzero(unknown)[beyond[group.owned.values[unknown] - count]][0]
    topic, partition_id = group.unknown_partitions[group.owned.values[at] - count]
    return int(np.searchsorted(group.owned.offsets, at, "right")) - 1, int(topic), int(partition_id)


@inner_kernel
def target_order(partitions: Int32s, table: TopicArrays, place: Int32s) -> Int32s:
    """One member's target assignment in Java's order: a HashMap of topic ids, in each a HashSet of partition ids.

    partitions : int32[...]   what the member owns, in the order of its list: one at least, none twice, all existing
    place : int32[topics]   scratch, all NONE; left so

    Reproduces Assignment.fromRecord. Plain-Python twin: tests/reference/server_assignors.py.
    """
    first, n = table.first, len(partitions)
    only = table.topic_of[partitions[0]]
    largest = partitions[n - 1]
    if largest < first[only + 1] and largest - first[only] < min(_capacity(n), 1 << 16) and is_ascending(partitions):
        return partitions  # of one topic, and all have a bucket of their own
    sets, topics, sizes = _sets(partitions, table.topic_of, place)
    bases = first[topics]
    order = hash_order(table.hashes[topics], table.ranks[topics], int(DEFAULT_CAPACITY), False, topics[:0])
    # Number the buckets of all sets, set after set, and sort by them once: a member may have a thousand small sets.
    starts, lengths = np.empty(len(topics), np.int32), np.empty(len(topics), np.int32)
    end = 0
    for i in order:
        starts[i], lengths[i] = end, _capacity(sizes[i]) if sizes[i] > 1 else 1
        end += lengths[i]
    buckets, ends = np.empty(n, np.int32), np.zeros(end + 1, np.int32)
    for i in range(n):
        of = sets[i]
        number = partitions[i] - bases[of]
        buckets[i] = starts[of] + ((number ^ (number >> 16)) & (lengths[of] - 1))
        ends[buckets[i] + 1] += 1
    longest = 0
    for bucket in range(end):
        longest = max(longest, ends[bucket + 1])
        ends[bucket + 1] += ends[bucket]
    ordered = np.empty(n, np.int32)
    if longest <= LONGEST_CHAIN:
        for i in range(n):  # grouped_arrays would take twice the memory, and small sets have eight buckets a partition
            ordered[ends[buckets[i]]] = partitions[i]
            ends[buckets[i]] += 1
        return ordered
    set_of, places = grouped_arrays(sets, len(topics))
    end = 0
    for i in order:
        of_set = partitions[places[set_of[i] : set_of[i + 1]]]
        ids = of_set - bases[i]
        end = put(of_set[hash_order(ids, ids, _capacity(sizes[i]), False, ids[:0])], ordered, end)
    return ordered


@inner_kernel
def _sets(partitions: Int32s, topic_of: Int32s, place: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """The set of each partition, int32[partitions], and each set's topic and size, int32[sets] both, in the order of entry.

    place : see ``target_order``
    """
    sets = np.empty(len(partitions), np.int32)
    topics, sizes = np.empty(len(partitions), np.int32), np.zeros(len(partitions), np.int32)
    count = 0
    for i in range(len(partitions)):
        topic = topic_of[partitions[i]]
        if place[topic] == NONE:
            place[topic] = count
            topics[count] = topic
            count += 1
        sets[i] = place[topic]
        sizes[sets[i]] += 1
    place[topics[:count]] = NONE
    return sets, topics[:count], sizes[:count]


@kernel
def _capacity(size: int) -> int:
    """The length of the table of a HashSet of this size, made from a list: the power of two from trunc(size / 0.75) + 1 on."""
    capacity = DEFAULT_CAPACITY
    while capacity * 3 < size * 4 + 3:
        capacity *= 2
    return capacity


@inner_kernel
def is_ascending(partitions: Int32s) -> bool:
    """Is each one larger than the one before? So that none occurs twice."""
    descents = 0
    for i in range(1, len(partitions)):
        descents += partitions[i] <= partitions[i - 1]
    return descents == 0
