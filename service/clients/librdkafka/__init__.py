"""librdkafka, and the clients made of it: confluent-kafka for Python, Go, .NET and JavaScript, rust-rdkafka, php-rdkafka.

Source: rdkafka_assignor.c, rdkafka_range_assignor.c, rdkafka_roundrobin_assignor.c of each of RELEASES. Racks count since 2.2.0.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from service.clients.names import byte_ranks
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.range import co_partitioned, in_ranges, owners_on_racks, where_racks_matter
from service.core.assignors.model import Assignor
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped
from service.core.registry import Implementation, Later

# In which order librdkafka's members stand.
#
# Two static members are compared by instance_id, all others by member_id (rd_kafka_group_member_cmp). Where static and dynamic
# members meet, that need not be an order: with member_ids a < d < b, d dynamic and the instance_id of b before that of a, each
# comes before the next in a circle. What the C library's qsort then makes of the members depends on its algorithm and on the
# order in which they joined. Here it is glibc's merge sort, that of most machines with Linux; another (musl in Alpine's images,
# macOS, Windows) may differ.

NO_ORDER: Final = (
    "librdkafka compares two static members by instance_id and all others by member_id, which puts these members in no order. "
    "This is the answer with glibc's qsort; with another C library it may differ."
)


def ranks(group: Group) -> tuple[Int32s, Int32s]:
    """The place of each member among the member_ids, and among the instance_ids, NONE for a dynamic one: int32[members] each."""
    of_instances = np.full(len(group), NONE, np.int32)
    static = [member for member, instance_id in enumerate(group.instance_ids) if instance_id is not None]
    of_instances[np.array(static, np.int32)] = byte_ranks([group.instance_ids[member] or "" for member in static])
    return byte_ranks(group.member_ids), of_instances


def members_in_order(group: Group) -> Int32s:
    """int32[members], all members as qsort leaves them."""
    of_ids, of_instances = ranks(group)
    return np.array(_sorted([*range(len(group))], of_ids.tolist(), of_instances.tolist()), np.int32)


def subscribers_in_order(group: Group) -> tuple[Int32s, Ragged]:
    """int32[members], an order of the members, and Ragged topic → positions in it of its subscribers, as qsort leaves them.

    Topics that do not exist have no row. Where the comparison is no order, each topic's subscribers fall into one of their own.
    """
    of_ids, of_instances = ranks(group)
    if is_order(of_ids, of_instances):
        order = members_in_order(group)
        return order, topic_subscribers(group, order)
    order = np.arange(len(group), dtype=np.int32)
    subscribers = topic_subscribers(group, order)
    rows = {row.tobytes(): row for row in map(subscribers.row, range(len(subscribers)))}
    both = of_ids.tolist(), of_instances.tolist()
    in_order = {key: np.array(_sorted(row.tolist(), *both), np.int32) for key, row in rows.items()}
    return order, Ragged.of_rows([in_order[subscribers.row(topic).tobytes()] for topic in range(len(subscribers))])


def warnings(group: Group) -> list[str]:
    """A sentence if the members' comparisons are no order, so that the machine's qsort decides."""
    return [] if is_order(*ranks(group)) else [NO_ORDER]


def is_order(of_ids: Int32s, of_instances: Int32s) -> bool:
    """Is the comparison of these members an order? Only if static members between which a dynamic one stands agree in both."""
    by_id = of_instances[np.argsort(of_ids)]
    static = by_id != NONE
    before_dynamic = np.where(static, NONE, np.maximum.accumulate(by_id))  # the highest instance_id before a dynamic member
    return bool((by_id[static] > np.maximum.accumulate(before_dynamic)[static]).all())


def _sorted(members: list[int], of_ids: list[int], of_instances: list[int]) -> list[int]:
    """Members sorted by rd_kafka_group_member_cmp (librdkafka 2.12.1), and with the merges of glibc's qsort.

    of_ids, of_instances : see ``ranks``

    qsort halves the members, the first half the smaller one, and merges the sorted halves; of two equal members the one of the
    first half comes first.
    """
    if len(members) < 2:
        return members
    middle = len(members) // 2
    one, other = (_sorted(half, of_ids, of_instances) for half in (members[:middle], members[middle:]))
    merged: list[int] = []
    i = j = 0
    while i < len(one) and j < len(other):
        static = of_instances[one[i]] != NONE and of_instances[other[j]] != NONE
        places = of_instances if static else of_ids
        if places[one[i]] <= places[other[j]]:
            merged.append(one[i])
            i += 1
        else:
            merged.append(other[j])
            j += 1
    return merged + one[i:] + other[j:]


# librdkafka's range: Kafka's algorithm, over members in an order of its own (``order``), and with other rules for racks.
#
# *Racks* (since 2.2.0): topics with the same subscribers and the same number of partitions are always matched together, and
# then a subscriber without a rack fits nowhere; in Kafka's own it fits everywhere. Where a topic stands alone the rules are
# Kafka's.
#
# Source: rdkafka_range_assignor.c (librdkafka 1.9.2, 2.12.1). The previous assignment plays no part.

# librdkafka's roundrobin before 1.5.3, which takes places in the circle of all members for places among a topic's subscribers.
#
# Of a topic with n subscribers only those get partitions that are among the first n of all members. The next such member gets
# the next partition. In 1.5.0 an assertion fails where the last of them is not the n-th member, and had its turn; from 1.5.2 on
# the first of them follows. If there is none at all, 1.5.2 looks for one forever.
#
# Source: rd_kafka_roundrobin_assignor_assign_cb (librdkafka 1.5.0, 1.5.2). Racks and the previous assignment play no part.


def assign_in_turn(group: Group, *, asserts: bool) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails where there is no answer. asserts : as in 1.5.0?"""
    order = members_in_order(group)
    subscribers = topic_subscribers(group, order)
    first = group.topics.first
    owners = np.full(group.topics.partitions_count, NONE, np.int32)
    last = NONE
    for topic in np.flatnonzero((subscribers.lengths() > 0) & (np.diff(first) > 0)).tolist():
        count, length = int(first[topic + 1] - first[topic]), len(subscribers.row(topic))
        able = subscribers.row(topic)
        able = able[able < length]
        begin = int(np.searchsorted(able, (last + 1) % length))
        if len(able) == 0 or (asserts and able[-1] != length - 1 and begin + count > len(able)):
            raise _failure(group, topic, asserts=asserts)
        turns = able[(begin + np.arange(count)) % len(able)]
        owners[first[topic] : first[topic + 1]] = order[turns]
        last = int(turns[-1])
    return Assignment(grouped(owners, len(group)))


def _failure(group: Group, topic: int, *, asserts: bool) -> KafkaAssignorFails:
    return KafkaAssignorFails(
        None,
        "Aborted" if asserts else None,
        cause=f"it looks for a subscriber of topic {group.topics.names[topic]!r} among too few of the members",
        remedy="use release 1.5.3 or later, or let all members subscribe to the same topics",
        library="librdkafka",
        does="ends its own process (Aborted: an assertion fails)" if asserts else "never returns",
    )


def assign_in_ranges(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    racks, first = group.topics.racks, group.topics.first
    if racks is None:
        return assign_without_racks(group)
    order, subscribers = subscribers_in_order(group)
    racks_count = len(group.rack_ids)
    matters, _ = where_racks_matter(
        group.racks[order], racks_count, subscribers.offsets, subscribers.values, first, racks.offsets, racks.values
    )
    sets = co_partitioned(group, subscribers)
    together = (sets.lengths() > 1) | matters[sets.firsts()]
    owners = owners_on_racks(
        order, group.racks, subscribers.arrays(), first, racks.arrays(), sets.arrays(), np.array(together), racks_count, False
    )
    return Assignment(grouped(owners, len(group)))


def assign_without_racks(group: Group) -> Assignment:
    """Ragged member → partitions, ascending, as until 2.2."""
    return in_ranges(group, *subscribers_in_order(group))


# Which lists of assignors librdkafka accepts as ``partition.assignment.strategy``.
#
# The list may not mix eager and cooperative assignors: such a client is not created at all. So a group of librdkafka's clients
# cannot go over from ``range`` to ``cooperative-sticky`` by two rolling restarts, as one of Java's clients can (KIP-429): a
# list that has both, through which it would go, is refused. All its members must stop first.
#
# Source: rd_kafka_assignors_init, rd_kafka_assignor_rebalance_protocol_check in rdkafka_assignor.c (librdkafka 1.9.2 to
# 2.15.1).

SETTING: Final = "partition.assignment.strategy"


def check_list(assignors: tuple[Assignor, ...]) -> None:
    """Raise InvalidQuestion, in librdkafka's words, if no client is created with these assignors."""
    if len({assignor.is_cooperative for assignor in assignors}) > 1:
        raise InvalidQuestion(
            f"All {SETTING} ({','.join(each.protocol_name for each in assignors)}) assignors must have the same protocol type, "
            "online migration between assignors with different protocol types is not supported",
            SETTING,
        )


classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
cooperative_sticky = Later("service.clients.librdkafka.cooperative_sticky")

RELEASES: Final = ("1.5.0", "1.5.2", "1.6.0", "1.7.0", "1.9.2", "2.2.0", "2.6.0", "2.12.1", "2.15.1")

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="librdkafka:range",
        run=assign_in_ranges,
        implementation=Implementation("librdkafka", RELEASES[-1], "rd_kafka_range_assignor_assign_cb"),
        client_releases=RELEASES,
        forms={"2.2.0": {}, "1.5.0": {"run": assign_without_racks}},
        summary="Kafka's range, but static members do not come first: members are sorted by member_id.",
        warnings=warnings,
        setting="partition.assignment.strategy=range",
        is_default=True,
    ),
    Assignor(
        name="librdkafka:roundrobin",
        run=partial(classic_roundrobin.turns_by, members_in_order),
        implementation=Implementation("librdkafka", RELEASES[-1], "rd_kafka_roundrobin_assignor_assign_cb"),
        client_releases=RELEASES,
        forms={
            "1.5.3": {},
            "1.5.2": {"run": partial(assign_in_turn, asserts=False)},
            "1.5.0": {"run": partial(assign_in_turn, asserts=True)},
        },
        summary="Kafka's roundrobin, but static members do not come first: members are sorted by member_id.",
        warnings=warnings,
        setting="partition.assignment.strategy=roundrobin",
    ),
    Assignor(
        name="librdkafka:cooperative-sticky",
        run=cooperative_sticky.assign,
        implementation=Implementation("librdkafka", RELEASES[-1], "rd_kafka_sticky_assignor_assign_cb"),
        client_releases=RELEASES[2:],
        forms={
            "2.6.1": {},  # isBalanced passed over members until then
            # racks, and claims by generation (#4252) since then
            "2.2.0": {"run": cooperative_sticky.assign_until_2_6_0},
            "1.7.0": {"run": cooperative_sticky.assign_until_2_1_1},
            "1.6.0": {"run": cooperative_sticky.assign_until_1_6_1},
        },
        summary="Members keep what they own as far as the group can be even; what moves stays unassigned until it is revoked.",
        setting="partition.assignment.strategy=cooperative-sticky",
        drops_deleted=True,
    ),
)
