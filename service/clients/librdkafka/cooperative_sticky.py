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

Source: rd_kafka_sticky_assignor_assign_cb, rd_kafka_cooperative_protocol_adjust_assignment (librdkafka 1.6.0, 1.9.2, 2.12.1,
2.15.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from service.clients.librdkafka import ranks
from service.clients.librdkafka.balance import (
    ASSERTION,
    ENDLESS,
    FREED,
    NULL,
    Balancing,
    Claimants,
    Ends,
    claims,
    claims_without_generations,
    owned_first,
)
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.sticky.cooperative import parted
from service.core.budget import reserve_in_turn
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped, transposed


@dataclass(frozen=True)
class StickyRelease:
    """What differs between releases.

    racks, generations : do racks and generations count?
    clobbered : does one index serve two loops of isBalanced?
    blind : does the leader balance as if members owned nothing, and with other numbers (``Balancing``)?
    """

    racks: bool = True
    generations: bool = True
    clobbered: bool = False
    blind: bool = False


PRESENT: Final = StickyRelease()

PARTITION_BYTES: Final = 330
SUBSCRIPTION_BYTES: Final = 110
"""Memory of the state for each partition and subscription, beyond that of any assignment. Measured: 286 and 95."""


def assign(group: Group, release: StickyRelease = PRESENT) -> Assignment:
    """Ragged member → partitions. Raises KafkaAssignorFails where librdkafka ends its own process."""
    if len(group) == 0:
        raise _failure(group, Ends(NULL))
    reserve_in_turn(PARTITION_BYTES * group.topics.partitions_count + SUBSCRIPTION_BYTES * len(group.subscriptions.values))
    claimed = _claims(group, release)
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    racked = release.racks and _racks_count(group, subscribers)
    racks = (group.racks, group.topics.racks) if racked and group.topics.racks is not None else None
    order = _order(group, subscribers, claimed)
    kept, revoked = _kept(group, subscribers, claimed.holders[: group.topics.partitions_count], racks)
    balancing = Balancing(group, subscribers, claimed, kept, clobbered=release.clobbered, blind=release.blind)
    try:
        final = balancing.run(order[kept[order] == NONE], order, racks, revoked=revoked)
    except Ends as end:
        raise _failure(group, end) from None
    here, later = _adjusted(final, claimed.last)
    return Assignment(grouped(here, len(group)), withheld=grouped(later, len(group)))


assign_until_2_6_0 = partial(assign, release=StickyRelease(clobbered=True))
"""As from 2.2.0 on, where it may also never end."""
assign_until_2_1_1 = partial(assign, release=StickyRelease(racks=False, generations=False, clobbered=True))
assign_until_1_6_1 = partial(assign, release=StickyRelease(racks=False, generations=False, clobbered=True, blind=True))


def _claims(group: Group, release: StickyRelease) -> Claimants:
    """Who claims each partition, existing or not."""
    claimants = transposed(group.owned, group.total_partitions)
    if release.generations:
        return claims(claimants, group.generations)
    claimed = claims_without_generations(claimants)
    if not release.blind:
        return claimed
    nobody = np.full(len(claimed.last), NONE, np.int32)
    return Claimants(nobody, nobody, nobody, claimed.last)


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
    return owned_first(
        holders, claimed.previous[: topics.partitions_count], of_ids, np.concatenate([np.empty(0, np.int32), *runs])
    )


def _kept(group: Group, subscribers: Ragged, holders: Int32s, racks: tuple[Int32s, Ragged] | None) -> tuple[Int32s, bool]:
    """Who keeps each partition, int32[partitions], else NONE, and whether one that has subscribers was taken from its holder.

    holders : int32[partitions]           the member that has each, or NONE
    racks : the rack of each member, and partition → racks of its replicas; None: racks do not count
    """
    held = np.flatnonzero(holders != NONE)
    topics, members = group.topics.topic_of[held].astype(np.int64), holders[held]
    pairs = subscribers.row_of_each_value() * np.int64(len(group)) + subscribers.values
    keeps = np.isin(topics * len(group) + members, pairs)
    if racks is not None:
        of_members, of_partitions = racks
        count = np.int64(len(group.rack_ids))
        on_racks = of_partitions.row_of_each_value() * count + of_partitions.values
        keeps &= (of_members[members] != NONE) & np.isin(held * count + of_members[members], on_racks)
    kept = np.full(len(holders), NONE, np.int32)
    kept[held[keeps]] = members[keeps]
    return kept, bool((subscribers.lengths()[topics[~keeps]] > 0).any())


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


def _failure(group: Group, end: Ends) -> KafkaAssignorFails:
    """How the library's process ends, or does not."""
    signal, how, cause = _CAUSES[end.status]
    if end.partition == NONE:
        cause, remedy = "the group has no members (/members is empty)", "name at least one member"
    else:
        topics, ids = group.topic_partitions(np.array([end.partition], np.int32))
        cause = cause.format(f"partition {ids[0]} of topic {group.topics.names[topics[0]]!r}")
        remedy = "let members that claim the same partitions, or subscribe to different topics, join without partitions"
    does = f"ends its own process ({signal}: {how})" if signal else "never returns"
    return KafkaAssignorFails(None, signal, cause=cause, remedy=remedy, library="librdkafka", does=does)
