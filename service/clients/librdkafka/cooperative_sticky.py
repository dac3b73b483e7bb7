"""librdkafka's cooperative-sticky: what members own they keep as far as the group can be even, and revoke before others get it.

*Algorithm*, that of Kafka's general sticky assignor before KIP-881, whatever the subscriptions:

1. Members keep what they own of the topics they subscribe to and, if racks count, what has a replica on their rack. Claims to one
   partition count by generation (``claims``).
2. Partitions that are free go to the subscriber with the fewest, of equals the first by member_id: if racks count, to those on
   the partition's racks where there are any.
3. Members and partitions for which there is no choice are set aside. Partitions move while somebody has two fewer than the owner
   of one that he could have: first only those that were free, unless something was taken away in step 1; then all. If that
   makes the group no more even than after step 2, it is undone (``balance``).
4. A partition that changes hands is withheld until its owner has revoked it. What is owned and assigned to no member goes back to
   its owner, even a partition that does not exist.

*Racks* (since 2.2.0) count if any subscriber is on the rack of a replica and some partition is not on all the racks that occur.
A member without a rack is then on no partition's rack: librdkafka sends an empty text.

librdkafka ends its own process in some groups: see ``records`` and ``balance``.

Source: rd_kafka_sticky_assignor_assign_cb, rd_kafka_cooperative_protocol_adjust_assignment (librdkafka 1.9.2, 2.12.1, 2.15.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from service.clients.librdkafka.balance import BalanceState, balance
from service.clients.librdkafka.claims import Claimants, claims, claims_without_generations, owned_first
from service.clients.librdkafka.order import ranks
from service.clients.librdkafka.records import ASSERTION, ENDLESS, FINE, FREED, NULL
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.racks import on_rack
from service.core.assignors.classic.sticky.cooperative import parted
from service.core.clock import UNLIMITED, TimeLimit, in_time, unmetered
from service.core.errors import KafkaAssignorFails
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped, transposed

if TYPE_CHECKING:
    from collections.abc import Callable

NOWHERE: Final = Ragged(np.zeros(1, np.int32), np.zeros(0, np.int32))
"""No racks of any partition: racks do not count."""


@dataclass(frozen=True)
class StickyRelease:
    """What differs between releases.

    racks, generations : do racks and generations count?
    clobbered : does one index serve two loops of isBalanced?
    """

    racks: bool = True
    generations: bool = True
    clobbered: bool = False


PRESENT: Final = StickyRelease()

PARTITION_BYTES: Final = 110
SUBSCRIPTION_BYTES: Final = 30
"""Memory of the state for each partition and subscription, beyond that of any assignment. Measured: 98 and 24."""


def assign(
    group: Group,
    release: StickyRelease = PRESENT,
    check_time: TimeLimit = UNLIMITED,
    reserve: Callable[[int], None] = unmetered,
) -> Assignment:
    """Ragged member → partitions. Raises KafkaAssignorFails where librdkafka ends its own process.

    reserve : takes the bytes that are about to be allocated; raises if there are too few
    """
    if len(group) == 0:
        raise _failure(group, NULL, NONE)
    reserve(PARTITION_BYTES * group.topics.partitions_count + SUBSCRIPTION_BYTES * len(group.subscriptions.values))
    claimed = _claims(group, release)
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    racked = release.racks and _racks_count(group, subscribers)
    racks = group.topics.racks if racked and group.topics.racks is not None else NOWHERE
    order = _order(group, subscribers, claimed)
    topic_of = group.topics.topic_of
    kept, revoked = _kept(claimed.holders, topic_of, *subscribers.arrays(), group.racks, *racks.arrays())
    state = _state(group, subscribers, topic_of, claimed, kept, clobbered=release.clobbered)
    member_racks = group.racks if racked else NOWHERE.values
    free = order[kept[order] == NONE]
    status, at, final = balance(state, free, order, revoked, member_racks, *racks.arrays(), check_time.deadline)
    if in_time(status, check_time) != FINE:
        raise _failure(group, status, at)
    here, later = _adjusted(final, claimed.last)
    return Assignment(grouped(here, len(group)), withheld=grouped(later, len(group)))


assign_until_2_6_0 = partial(assign, release=StickyRelease(clobbered=True))
"""As from 2.2.0 on, where it may also never end."""
assign_until_2_1_1 = partial(assign, release=StickyRelease(racks=False, generations=False, clobbered=True))


def _claims(group: Group, release: StickyRelease) -> Claimants:
    """Who claims each partition, existing or not."""
    claimants = transposed(group.owned, group.total_partitions)
    if release.generations:
        return claims(claimants.offsets, claimants.values, group.generations)
    return claims_without_generations(claimants)


def _racks_count(group: Group, subscribers: Ragged) -> bool:
    """Are racks considered (rd_kafka_use_rack_aware_assignment)? Only topics with subscribers, and these, matter."""
    racks = group.topics.racks
    if racks is None:
        return False
    of_partitions = np.repeat(subscribers.lengths() > 0, group.topics.partitions_counts())
    occur = np.unique(racks.values[np.repeat(of_partitions, racks.lengths())])
    consumer_racks = group.racks[np.unique(subscribers.values)]
    return bool(np.isin(consumer_racks, occur).any() and (racks.lengths()[of_partitions] != len(occur)).any())


def _order(group: Group, subscribers: Ragged, claimed: Claimants) -> Int32s:
    """The partitions with subscribers, int32[...], in the order in which they are given out and moved (sortPartitions)."""
    topics = group.topics
    listed = np.arange(len(topics), dtype=np.int32) if topics.listed is None else topics.listed
    subscribed = subscribers.lengths() > 0
    if (subscribers.lengths()[subscribed] != len(group)).any():
        of_partitions = np.repeat(subscribers.lengths(), topics.partitions_counts())
        order = np.argsort(of_partitions, kind="stable").astype(np.int32)
        return order[of_partitions[order] > 0]
    first = topics.first
    runs = [np.arange(first[topic], first[topic + 1], dtype=np.int32) for topic in listed[subscribed[listed]]]
    holders = claimed.holders[: topics.partitions_count].copy()
    holders[~np.repeat(subscribed, topics.partitions_counts())] = NONE
    of_ids, _ = ranks(group)
    return owned_first(holders, claimed.previous[: topics.partitions_count], of_ids, np.concatenate([NOWHERE.values, *runs]))


def _state(
    group: Group, subscribers: Ragged, topic_of: Int32s, claimed: Claimants, kept: Int32s, *, clobbered: bool
) -> BalanceState:
    """Who has what after step 1. kept : int32[partitions], the member that keeps each, or NONE"""
    count, members = len(kept), len(group)
    subscriptions = group.subscriptions
    exists = subscriptions.values < len(group.topics)
    offsets = np.concatenate([NOWHERE.offsets, np.cumsum(exists, dtype=np.int32)])[subscriptions.offsets]
    topics = subscriptions.values[exists]
    possible = np.bincount(
        np.repeat(np.arange(members), np.diff(offsets)), group.topics.partitions_counts()[topics], members
    ).astype(np.int32)
    entries = np.arange(3 * count + 16, dtype=np.int32)  # a holder that was not the owner stays one, once for each partition
    return BalanceState(
        first=group.topics.first,
        topic_of=topic_of,
        subscribers_of=subscribers.offsets,
        subscribers=subscribers.values,
        topics_of=offsets,
        topics=topics,
        id_rank=ranks(group)[0],
        possible=possible,
        previous=claimed.previous[:count].copy(),
        watched=clobbered or bool((claimed.previous[:count] != NONE).any()),
        clobbered=clobbered,
        owners=claimed.owners[:count].copy(),
        counts=np.bincount(kept[kept != NONE], minlength=members).astype(np.int32),
        order=np.arange(members, dtype=np.int32),
        place=np.arange(members, dtype=np.int32),
        taking_part=np.ones(members, np.bool_),
        size=np.array([members], np.int32),
        head=np.where(kept == NONE, np.int32(NONE), entries[:count]),
        member=np.concatenate([kept, np.full(len(entries) - count, NONE, np.int32)]),
        after=np.concatenate([np.full(count, NONE, np.int32), entries[count + 1 :], np.array([NONE], np.int32)]),
        free=np.array([count], np.int32),
    )


@kernel
def _kept(
    holders: Int32s,
    topic_of: Int32s,
    subscribers_of: Int32s,
    subscribers: Int32s,
    member_racks: Int32s,
    racks_of: Int32s,
    racks: Int32s,
) -> tuple[Int32s, bool]:
    """Who keeps each partition, int32[partitions], else NONE, and whether one that has subscribers was taken from its holder.

    holders : int32[...]                  the member that has each, or NONE
    topic_of : int32[partitions]
    subscribers_of, subscribers : topic → members, ascending
    member_racks : int32[members]
    racks_of, racks : partition → racks; without any partition: racks do not count
    """
    kept = np.full(len(topic_of), NONE, np.int32)
    revoked = False
    for partition in range(len(topic_of)):
        holder, topic = holders[partition], topic_of[partition]
        if holder == NONE or subscribers_of[topic] == subscribers_of[topic + 1]:
            continue
        members = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        place = np.searchsorted(members, holder)
        keeps = place < len(members) and members[place] == holder
        if keeps and len(racks_of) > 1:
            rack = member_racks[holder]
            keeps = rack != NONE and on_rack(racks_of, racks, partition, rack)
        if keeps:
            kept[partition] = holder
        else:
            revoked = True
    return kept, revoked


def _adjusted(final: Int32s, claimants: Int32s) -> tuple[Int32s, Int32s]:
    """Who gets each partition now, and who later, int32[partitions] each, else NONE.

    final : int32[existing partitions]   the member that is to have it, or NONE
    claimants : int32[partitions]        the last member that claims it, or NONE

    Reproduces rd_kafka_cooperative_protocol_adjust_assignment (librdkafka 2.12.1).
    """
    final = np.append(final, np.full(len(claimants) - len(final), NONE, np.int32))
    return parted(np.where(final == NONE, claimants, final), (final != NONE) & (claimants != NONE) & (claimants != final))


_CAUSES: Final = {
    ASSERTION: ("Aborted", "an assertion fails", "what it has recorded of the moves of {} is wrong"),
    FREED: ("Segmentation fault", "it reads freed memory", "{} moves back to a member that it came from"),
    NULL: ("Segmentation fault", "it reads a null pointer", "a member that claims {} cannot get any other partition"),
    ENDLESS: (None, "", "it checks the balance of the same members forever, at {}"),
}


def _failure(group: Group, status: int, partition: int) -> KafkaAssignorFails:
    """How the library's process ends, or does not."""
    signal, how, cause = _CAUSES[status]
    if partition == NONE:
        cause, remedy = "the group has no members (/members is empty)", "name at least one member"
    else:
        topics, ids = group.topic_partitions(np.array([partition], np.int32))
        cause = cause.format(f"partition {ids[0]} of topic {group.topics.names[topics[0]]!r}")
        remedy = "let members that claim the same partitions, or subscribe to different topics, join without partitions"
    does = f"ends its own process ({signal}: {how})" if signal else "never returns"
    return KafkaAssignorFails(None, signal, cause=cause, remedy=remedy, library="librdkafka", does=does)
