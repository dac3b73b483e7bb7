"""franz-go's sticky and cooperative-sticky: an algorithm of its own, in the order in which Go happens to go through the topics.

*Algorithm*: members keep what they claim of the topics they subscribe to; of several claims to a partition the newest counts, and
of equal ones that of the first member. An older claimant takes it back from a member that has at least two more. What is free is
given out (``fill``), the numbers are evened out (``balance``), and partitions change places so that more are on their racks, with
``BalanceRacks``, and more where they were (``repair``). In the cooperative protocol a partition that somebody else claims is
withheld until he has revoked it.

*Chance*: Go goes through a map in another order each time. That decides how topics are numbered, and so whose partitions come
first in every step; in which order older claimants take back; and how racks are numbered that no member is on. This module works
out what is certain all the same:

* If all members subscribe to all topics, and racks do not count, it is certain who keeps and who gives up what, and who gets the
  first, the second … of what is free (``dealt``).
* If no step depends on the order, one run is the answer.
* If there are few orders, all are tried.
* Every run ends with the same sorted numbers of partitions and, these given, the same number of racks crossed and of moves, both
  the least. So if in one run all keep what they came in with, they do in every run.
* Otherwise a partition with one subscriber goes to it; only that is called certain, though more may be.

Source: sticky.go, graph.go, repair.go, stickyBalancer in group_balancer.go (franz-go 1.22.2).
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Final

import numpy as np
import numpy.typing as npt

from service.clients.franz_go.balance import even_out, every_run, one_run, settled
from service.clients.franz_go.state import OPEN, SURE, Given, heapify, sift_down
from service.clients.names import static_first
from service.core.assignors.classic.members import only_subscribers, topic_subscribers
from service.core.budget import current_deadline, in_time
from service.core.errors import KafkaAssignorFails
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Assignment, Group, Int32s, LeftOpen, Ragged
from service.core.ragged import grouped

# Who certainly gets which free partition if all members subscribe to all topics, and racks do not count.
#
# It is certain who gets the first, the second … of what is free, but the topics come in any order. The n-th free partition of a
# topic gets the place n plus a sum of what other topics have free; all multiples of their greatest common divisor are taken for
# such sums, which they mostly are. It is certain whose the partition is if all places that it may get are the same member's.
#
# Source: newBalancer, assignUnassignedAndInitGraph in sticky.go (franz-go 1.22.2).


def deal(owners: Int32s, topics: Int32s, topic_of: Int32s, first: Int32s, sizes: Int32s) -> None:
    """Give members what is free, or OPEN where it is not certain who gets it; updates ``owners`` and ``sizes``.

    owners : int32[partitions]   who keeps each, or NONE
    topics : int32[...]          the topics with subscribers
    topic_of : int32[partitions]; first : int32[topics + 1]
    sizes : int32[members]       how many each keeps
    """
    counts = np.bincount(topic_of[owners == NONE], minlength=len(first) - 1)[topics]
    takers = _takers(sizes, int(counts.sum()))
    # Of topics that have as many free as others, all see the same sums.
    steps = {count: _step(counts[counts > 0], count) for count in np.unique(counts[counts > 0]).tolist()}
    ends = {step: _ends(takers, max(1, step)) for step in set(steps.values())}
    for topic, count in zip(topics.tolist(), counts.tolist(), strict=True):
        if count:
            _settle(owners[first[topic] : first[topic + 1]], takers, ends[steps[count]], len(takers) - count)


def _step(counts: np.ndarray[tuple[int], np.dtype[np.int64]], count: int) -> int:
    """The greatest common divisor of what topics have free but one that has so many; 0 without any other."""
    others = np.delete(counts, np.flatnonzero(counts == count)[0])
    return int(np.gcd.reduce(others))


@kernel
def _takers(sizes: Int32s, count: int) -> Int32s:
    """Who gets the first, the second … of so many: int32[count]; updates ``sizes``."""
    heap = np.arange(len(sizes)).astype(np.int32)
    heapify(heap, sizes)
    takers = np.empty(count, np.int32)
    for i in range(count):
        takers[i] = heap[0]
        sizes[heap[0]] += 1
        sift_down(heap, sizes, 0)
    return takers


def _ends(takers: Int32s, step: int) -> Int32s:
    """From each place on, the last in steps of this length up to which all are the same member's: int32[places]."""
    rows = -(-len(takers) // step)
    padded = np.full(rows * step, NONE, np.int32)
    padded[: len(takers)] = takers
    grid = padded.reshape(rows, step)
    places = np.arange(rows * step, dtype=np.int32).reshape(rows, step)
    places[:-1][grid[:-1] == grid[1:]] = rows * step
    return np.minimum.accumulate(places[::-1])[::-1].ravel()[: len(takers)]


@kernel
def _settle(owners: Int32s, takers: Int32s, ends: Int32s, most_before: int) -> None:
    """Write the certain takers of a topic's free partitions, or OPEN.

    owners : int32[partitions of the topic]; takers, ends : int32[places] each
    most_before : how many free partitions other topics have
    """
    place = 0
    for partition in range(len(owners)):
        if owners[partition] == NONE:
            owners[partition] = takers[place] if ends[place] >= place + most_before else OPEN
            place += 1


# What the members of a group claim, as franz-go's sticky balancers take it, and what they withhold.
#
# Source: parseMemberMetadata, dropUnwantedPartitions in sticky.go, AdjustCooperative in group_balancer.go (franz-go 1.22.2).
# Plain-Python twin: tests/reference/clients/franz_go.py.


@kernel
def claimed(
    order: Int32s,
    owned_of: Int32s,
    owned: Int32s,
    generations: Int32s,
    topic_of: Int32s,
    subscribers_of: Int32s,
    subscribers: Int32s,
) -> tuple[Int32s, Int32s]:
    """Who has each partition at first, and, if two claim it, who does under an older generation, or as the second.

    order : int32[members]               the member at each position
    owned_of, owned : member → partitions that it claims, existing or not
    generations : int32[members]         one below 0 counts as 0
    topic_of : int32[partitions]
    subscribers_of, subscribers : topic → positions of its subscribers, ascending

    Returns positions, or NONE, int32[partitions] each: only of members that subscribe to the partition's topic.
    """
    partitions = len(topic_of)
    newest, older = np.full(partitions, NONE, np.int32), np.full(partitions, NONE, np.int32)
    newest_generation, older_generation = np.full(partitions, NONE, np.int32), np.full(partitions, NONE, np.int32)
    for position in range(len(order)):
        member = order[position]
        generation = max(generations[member], 0)
        for partition in owned[owned_of[member] : owned_of[member + 1]]:
            if partition >= partitions:
                continue
            if generation > newest_generation[partition]:
                older[partition], older_generation[partition] = newest[partition], newest_generation[partition]
                newest[partition], newest_generation[partition] = position, generation
            elif generation > older_generation[partition]:
                older[partition], older_generation[partition] = position, generation
    for partition in range(partitions):
        topic = topic_of[partition]
        members = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        if newest[partition] != NONE and not _among(members, newest[partition], len(order)):
            newest[partition] = NONE
        if older[partition] != NONE and not _among(members, older[partition], len(order)):
            older[partition] = NONE
    return newest, older


@inner_kernel
def _among(members: Int32s, member: int, members_count: int) -> bool:
    """Is the member among these, which ascend?"""
    if len(members) == members_count:
        return True
    place = np.searchsorted(members, np.int32(member))
    return bool(place < len(members) and members[place] == member)


@kernel
def parted(owners: Int32s, owned_of: Int32s, owned: Int32s, generations: Int32s) -> tuple[Int32s, Int32s]:
    """Who gets each partition now, and who once others have revoked it: int32[partitions] each, or NONE (AdjustCooperative).

    owners : int32[partitions]           who is to have each; below 0: no member, or unknown
    owned_of, owned : member → partitions that it claims, existing or not
    generations : int32[members]

    A partition is withheld if somebody else claims it, unless its new owner claims it under no older generation than anybody.
    """
    newest = np.full(len(owners), np.iinfo(np.int32).min, np.int32)
    by_owner = np.full(len(owners), np.iinfo(np.int32).min, np.int32)
    by_others = np.zeros(len(owners), np.bool_)
    for member in range(len(owned_of) - 1):
        for partition in owned[owned_of[member] : owned_of[member + 1]]:
            if partition < len(owners):
                newest[partition] = max(newest[partition], generations[member])
                if owners[partition] == member:
                    by_owner[partition] = generations[member]
                else:
                    by_others[partition] = True
    here, later = owners.copy(), np.full(len(owners), NONE, np.int32)
    for partition in range(len(owners)):
        if owners[partition] >= 0 and by_others[partition] and by_owner[partition] < newest[partition]:
            here[partition], later[partition] = NONE, owners[partition]
    return here, later


BECAUSE: Final = "Go iterates over the map of topics in a random order"

MOST_MEMBERS: Final = 65_533
"""franz-go numbers members in 16 bits."""

MOST_WORK: Final = 2_000_000
"""All orders are tried if runs × (partitions + subscriptions + what a run takes besides) is not more; a tenth of a second."""

OF_A_RUN: Final = 200

MOST_PERMUTED: Final = 4
"""The most stale claims, and racks without members, whose orders are all tried."""


def assign(group: Group, *, balance_racks: bool = False) -> Assignment:
    """Ragged member → partitions, ascending: those of every run. balance_racks : with ``BalanceRacks``?"""
    return _assignment(group, lambda owners: Assignment(grouped(owners, len(group))), balance_racks=balance_racks)


def assign_cooperatively(group: Group, *, balance_racks: bool = False) -> Assignment:
    """As ``assign``, but what others must revoke first is withheld."""

    def withholding(owners: Int32s) -> Assignment:
        here, later = parted(owners, group.owned.offsets, group.owned.values, group.generations)
        return Assignment(grouped(here, len(group)), grouped(later, len(group)))

    return _assignment(group, withholding, balance_racks=balance_racks)


def _assignment(group: Group, made_of: Callable[[Int32s], Assignment], *, balance_racks: bool) -> Assignment:
    """What all runs have in common, and one run of them.

    made_of : who has each partition in the end, int32[partitions], NONE or OPEN: nobody
    """
    if len(group) > MOST_MEMBERS:
        raise KafkaAssignorFails(
            None,
            None,
            cause=f"it numbers members in 16 bits, and there are more than {MOST_MEMBERS}",
            remedy="have fewer members",
            library="franz-go",
            does="mixes members up",
        )
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    topics = np.flatnonzero(subscribers.lengths()).astype(np.int32)
    if len(topics) == 0:
        return made_of(np.full(group.topics.partitions_count, NONE, np.int32))
    given = _given(group, order, subscribers, topics, balance_racks=balance_racks)
    owners = _certain(given, subscribers, topics, len(group))
    common = made_of(np.where(owners >= 0, order[owners], owners))
    left_open = np.flatnonzero(owners == OPEN).astype(np.int32)
    if not len(left_open):
        return common

    def of_run(seed: int) -> Assignment:
        owners = _one_of_many(given, subscribers, topics, len(group), np.random.default_rng(seed))
        return made_of(np.where(owners >= 0, order[owners], owners))

    return replace(common, left_open=LeftOpen(left_open, BECAUSE, of_run))


def _one_of_many(given: Given, subscribers: Ragged, topics: Int32s, members_count: int, random: np.random.Generator) -> Int32s:
    """The owners that one run leads to, with all orders drawn: positions of members, int32[partitions], or NONE."""
    alike = bool((subscribers.lengths()[topics] == members_count).all())
    of_members = int(given.member_racks.max(initial=0))
    numbers = np.arange(given.racks_count[0] + 1, dtype=np.int32)
    numbers[of_members + 1 :] = random.permutation(numbers[of_members + 1 :])
    stale_order = random.permutation(np.arange(len(given.stale), dtype=np.int32))
    drawn = given._replace(leader_racks=numbers[given.leader_racks])
    deadline = current_deadline()
    owners, status = one_run(drawn, random.permutation(topics), stale_order, members_count, alike, False, deadline)
    in_time(status)
    return owners


def _given(group: Group, order: Int32s, subscribers: Ragged, topics: Int32s, *, balance_racks: bool) -> Given:
    topic_of = group.topics.topic_of
    newest, older = claimed(order, *group.owned.arrays(), group.generations, topic_of, *subscribers.arrays())
    stale = np.flatnonzero((older != NONE) & (older != newest)).astype(np.int32)
    classes: dict[bytes, int] = {}
    class_of = [classes.setdefault(subscribers.row(topic).tobytes(), topic) for topic in range(len(subscribers))]
    member_racks = leader_racks = np.empty(0, np.int32)
    numbers: dict[int, int] = {NONE: 0}
    if balance_racks and group.topics.leader_racks is not None:
        wanted = np.isin(topic_of, topics)
        leaders = np.where(wanted, group.topics.leader_racks, np.int32(NONE))
        members = group.racks[order]
        if (members != NONE).any() and (leaders != NONE).any():
            of_members = [numbers.setdefault(rack, len(numbers)) for rack in members.tolist()]
            of_leaders = [numbers.setdefault(rack, len(numbers)) for rack in leaders.tolist()]
            member_racks, leader_racks = np.array(of_members, np.int32), np.array(of_leaders, np.int32)
    return Given(
        group.topics.first,
        topic_of,
        *subscribers.arrays(),
        np.array(class_of, np.int32),
        newest,
        stale,
        older[stale],
        member_racks,
        leader_racks,
        np.array([len(numbers) - 1], np.int32),
    )


def _certain(given: Given, subscribers: Ragged, topics: Int32s, members_count: int) -> Int32s:
    """The owners that every run leads to, as positions of members; NONE: without subscribers; OPEN."""
    alike = bool((subscribers.lengths()[topics] == members_count).all())
    sizes = np.bincount(given.kept[given.kept != NONE], minlength=members_count).astype(np.int32)
    deadline = current_deadline()
    goes_back, status = settled(given, sizes, deadline)
    sure = in_time(status) == SURE
    if alike and not len(given.member_racks) and sure:
        return _alike(given, topics, goes_back, members_count)
    any_order = np.arange(len(given.stale), dtype=np.int32)
    owners, status = one_run(given, topics, any_order, members_count, alike, len(topics) > 1, deadline)
    if in_time(status) == SURE and sure and (len(topics) > 1 or len(given.stale) < 2):
        return owners
    only = only_subscribers(subscribers)
    stale_orders, rack_numbers = _stale_orders(given), _rack_numbers(given)
    runs = factorial(min(len(topics), 20)) * len(stale_orders) * len(rack_numbers)
    if 0 < runs * (len(given.kept) + len(given.subscribers) + OF_A_RUN) <= MOST_WORK:
        return every_run(given, topics, stale_orders, rack_numbers, members_count, alike, only)
    owners = np.where(subscribers.lengths() > 1, np.int32(OPEN), only)[given.topic_of]
    came = _came_in_with(given, goes_back)
    if sure and (came != NONE).any():
        of_one_run, status = one_run(given, topics, any_order, members_count, alike, False, deadline)
        in_time(status)
        if (of_one_run[came != NONE] == came[came != NONE]).all():
            return np.where(came == NONE, owners, came)
    return owners


def _came_in_with(given: Given, goes_back: npt.NDArray[np.bool_]) -> Int32s:
    """The member that comes in with each partition, int32[partitions], or NONE. goes_back : bool[stale]"""
    came = given.kept.copy()
    came[given.stale[goes_back]] = given.claimant[goes_back]
    return came


def _alike(given: Given, topics: Int32s, goes_back: npt.NDArray[np.bool_], members_count: int) -> Int32s:
    """The owners if all members subscribe to all topics, and racks do not count. goes_back : bool[stale]"""
    owners = _came_in_with(given, goes_back)
    sizes = np.bincount(owners[owners != NONE], minlength=members_count).astype(np.int32)
    deal(owners, topics, given.topic_of, given.first, sizes)
    even_out(given, topics, owners, sizes)
    return owners


def _stale_orders(given: Given) -> npt.NDArray[np.int32]:
    """All orders in which Go may go through the stale claims, int32[..., stale]; none if there are too many."""
    count = len(given.stale)
    orders = list(permutations(range(count))) if count <= MOST_PERMUTED else []
    return np.array(orders, np.int32).reshape(len(orders), count)


def _rack_numbers(given: Given) -> npt.NDArray[np.int32]:
    """All numbers that Go may give to racks: int32[..., racks + 1]; none if there are too many.

    Those that members are on come first, in the members' order.
    """
    count = int(given.racks_count[0])
    of_members = int(given.member_racks.max()) if len(given.member_racks) else 0
    rest = list(permutations(range(of_members + 1, count + 1))) if count - of_members <= MOST_PERMUTED else []
    return np.array([(*range(of_members + 1), *order) for order in rest], np.int32).reshape(len(rest), count + 1)
