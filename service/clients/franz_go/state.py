"""What franz-go's sticky balancers work on: the group, and one run of theirs.

Members are their positions in order, as Go numbers them. Go numbers the topics in the order in which it happens to go through a
map; ``Run.topics`` is that order.
"""

from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, inner_kernel
from service.core.model import NONE, Int32s
from service.core.ragged import grouped_arrays

# Bags: lists linked both ways, such as Go's slices, from which franz-go takes an element by putting the last in its place.
#
# An item is in at most one bag of its kind.


class Bags(NamedTuple):
    """All bags of a kind.

    head, tail, size : int32[bags] each     the first and last item of each, or NONE, and how many it has
    before, after : int32[items] each       the neighbours of each item, or NONE
    """

    head: Int32s
    tail: Int32s
    size: Int32s
    before: Int32s
    after: Int32s


@inner_kernel
def no_items(bags: int, items: int) -> Bags:
    """Empty bags for a number of items."""
    return Bags(
        np.full(bags, NONE, np.int32),
        np.full(bags, NONE, np.int32),
        np.zeros(bags, np.int32),
        np.full(items, NONE, np.int32),
        np.full(items, NONE, np.int32),
    )


@borrowing_kernel
def add(bags: Bags, bag: int, item: int) -> None:
    """Append the item."""
    _link(bags, bag, bags.tail[bag], item)
    _link(bags, bag, item, NONE)
    bags.size[bag] += 1


@borrowing_kernel
def take(bags: Bags, bag: int, item: int) -> None:
    """Take the item out; those behind it move up."""
    _link(bags, bag, bags.before[item], bags.after[item])
    bags.size[bag] -= 1


@borrowing_kernel
def replace_by_last(bags: Bags, bag: int, item: int) -> None:
    """Take the item out; the last one takes its place."""
    last = bags.tail[bag]
    take(bags, bag, last)
    if last != item:
        after = bags.after[item]
        _link(bags, bag, bags.before[item], last)
        _link(bags, bag, last, after)


@borrowing_kernel
def _link(bags: Bags, bag: int, one: int, other: int) -> None:
    """Let one item come before another; NONE: the bag's start or end."""
    if one == NONE:
        bags.head[bag] = other
    else:
        bags.after[one] = other
    if other == NONE:
        bags.tail[bag] = one
    else:
        bags.before[other] = one


OPEN: Final = -2
"""In place of a member: which one is left to chance."""

UNSURE: Final = 0
SURE: Final = 1
"""How a step of a run ends, beside OUT_OF_TIME: may the order of topics have a part in what it did?"""


class Given(NamedTuple):
    """The group. Topics without subscribers play no part.

    first : int32[topics + 1]            the first partition of each topic
    topic_of : int32[partitions]
    subscribers_of, subscribers : topic → its subscribers, ascending
    class_of : int32[topics]             equal where the subscribers are the same: the first such topic
    kept : int32[partitions]             who has each at first, or NONE
    stale, claimant : int32[...] each    partitions that an older claimant may take back, and that member
    member_racks : int32[members]        1, 2 … in the order of the members, or 0 without a rack; empty: racks do not count
    leader_racks : int32[partitions]     likewise; racks that no member is on come after the others
    racks_count : int32[1]
    """

    first: Int32s
    topic_of: Int32s
    subscribers_of: Int32s
    subscribers: Int32s
    class_of: Int32s
    kept: Int32s
    stale: Int32s
    claimant: Int32s
    member_racks: Int32s
    leader_racks: Int32s
    racks_count: Int32s


class Run(NamedTuple):
    """One run.

    topics : int32[...]                  the topics with subscribers, in order
    interests_of, interests : member → its topics, in that order
    owners : int32[partitions]           who has each, or NONE
    original : int32[partitions]         who came in with each, or NONE
    plan : Bags member → partitions
    """

    topics: Int32s
    interests_of: Int32s
    interests: Int32s
    owners: Int32s
    original: Int32s
    plan: Bags


# How franz-go's sticky balancers begin a run: who keeps what, and who gets what is free.
#
# *What is free* goes, topic by topic in Go's order, to the subscriber with the fewest. Of equals a binary heap decides; it is
# made anew for each topic unless all members subscribe to all topics.
#
# *Racks*: if all members subscribe to all topics, a free partition goes to the member on its leader's rack with the fewest,
# until that one has an even share; otherwise one on the rack is preferred among those with the fewest.
#
# Source: tryRestickyStales, assignUnassignedAndInitGraph, assignUnassignedComplex, assignRackAware, membersByPartitions in
# sticky.go (franz-go 1.22.2). Plain-Python twin: tests/reference/clients/franz_go.py.


@inner_kernel
def begin(given: Given, topics: Int32s, stale_order: Int32s, members_count: int) -> Run:  # noqa: C901 (a kernel)
    """The run after members have kept what they claim, and older claimants have taken back what the others have in excess.

    topics : as ``Run.topics``; stale_order : int32[...], the order in which Go goes through ``Given.stale``
    """
    owners = given.kept.copy()
    plan = no_items(members_count, len(owners))
    for topic in topics:
        for partition in range(given.first[topic], given.first[topic + 1]):
            if owners[partition] != NONE:
                add(plan, owners[partition], partition)
    for i in stale_order:
        partition, claimant = given.stale[i], given.claimant[i]
        owner = owners[partition]
        if owner == NONE or plan.size[claimant] + 1 < plan.size[owner]:
            if owner != NONE:
                replace_by_last(plan, owner, partition)
            add(plan, claimant, partition)
            owners[partition] = claimant
    interests_of = np.zeros(members_count + 1, np.int32)
    for topic in topics:
        for i in range(given.subscribers_of[topic], given.subscribers_of[topic + 1]):
            interests_of[given.subscribers[i] + 1] += 1
    for member in range(members_count):
        interests_of[member + 1] += interests_of[member]
    cursor, interests = interests_of[:-1].copy(), np.empty(interests_of[-1], np.int32)
    for topic in topics:
        for i in range(given.subscribers_of[topic], given.subscribers_of[topic + 1]):
            interests[cursor[given.subscribers[i]]] = topic
            cursor[given.subscribers[i]] += 1
    return Run(topics, interests_of, interests, owners, owners.copy(), plan)


@inner_kernel
def heapify(heap: Int32s, sizes: Int32s) -> None:
    """Make a heap of the members, by size. sizes : int32[members]"""
    for i in range(len(heap) // 2 - 1, -1, -1):
        sift_down(heap, sizes, i)


@inner_kernel
def sift_down(heap: Int32s, sizes: Int32s, node: int) -> None:
    """Let the member at the node sink after its size has grown."""
    while 2 * node + 1 < len(heap):
        child = 2 * node + 1
        if child + 1 < len(heap) and sizes[heap[child + 1]] < sizes[heap[child]]:
            child += 1
        if sizes[heap[node]] <= sizes[heap[child]]:
            break
        heap[node], heap[child] = heap[child], heap[node]
        node = child


@inner_kernel
def fill_alike(given: Given, run: Run) -> None:
    """Give out what is free if all members subscribe to all topics, with racks first what a member is near (AssignRackAware)."""
    members = np.arange(len(run.plan.size)).astype(np.int32)
    if len(given.member_racks) > 0:
        partitions = 0
        for topic in run.topics:
            partitions += given.first[topic + 1] - given.first[topic]
        most = partitions // len(members)
        offsets, heaps = _heaps(members, given, run.plan.size)
        for topic in run.topics:
            for partition in range(given.first[topic], given.first[topic + 1]):
                rack = given.leader_racks[partition]
                heap = heaps[offsets[rack] : offsets[rack + 1]]
                if run.owners[partition] != NONE or rack == 0 or len(heap) == 0 or run.plan.size[heap[0]] >= most:
                    continue
                run.owners[partition] = heap[0]
                add(run.plan, heap[0], partition)
                sift_down(heap, run.plan.size, 0)
    heapify(members, run.plan.size)
    for topic in run.topics:
        for partition in range(given.first[topic], given.first[topic + 1]):
            if run.owners[partition] == NONE:
                run.owners[partition] = members[0]
                add(run.plan, members[0], partition)
                sift_down(members, run.plan.size, 0)


@inner_kernel
def _heaps(members: Int32s, given: Given, sizes: Int32s) -> tuple[Int32s, Int32s]:
    """A heap for each rack: offsets int32[racks + 2] and members. The rack 0 is that of members without one."""
    offsets, places = grouped_arrays(given.member_racks[members], given.racks_count[0] + 1)
    heap = members[places]
    for rack in range(len(offsets) - 1):
        heapify(heap[offsets[rack] : offsets[rack + 1]], sizes)
    return offsets, heap


@inner_kernel
def fill_unlike(given: Given, run: Run) -> None:  # noqa: C901 (a kernel)
    """Give out what is free if subscriptions differ (assignUnassignedComplex)."""
    racked = len(given.member_racks) > 0
    for topic in run.topics:
        members = given.subscribers[given.subscribers_of[topic] : given.subscribers_of[topic + 1]]
        offsets, heaps = np.zeros(1, np.int32), members
        for partition in range(given.first[topic], given.first[topic + 1]):
            if run.owners[partition] != NONE:
                continue
            if len(offsets) == 1:
                if racked:
                    offsets, heaps = _heaps(members, given, run.plan.size)
                else:
                    offsets, heaps = np.array([0, len(members)], np.int32), members.copy()
                    heapify(heaps, run.plan.size)
            best, fewest = NONE, 0
            for rack in range(len(offsets) - 1):
                if offsets[rack] < offsets[rack + 1]:
                    size = run.plan.size[heaps[offsets[rack]]]
                    if best == NONE or size < fewest:
                        best, fewest = rack, size
            if racked:
                rack = given.leader_racks[partition]
                if rack > 0 and offsets[rack] < offsets[rack + 1] and run.plan.size[heaps[offsets[rack]]] == fewest:
                    best = rack
            heap = heaps[offsets[best] : offsets[best + 1]]
            run.owners[partition] = heap[0]
            add(run.plan, heap[0], partition)
            sift_down(heap, run.plan.size, 0)


@inner_kernel
def fill_depends_on_order(given: Given, run: Run) -> bool:
    """May the order of topics decide who gets what is free? Not if no two topics that share subscribers have anything free."""
    seen = np.zeros(len(run.plan.size), np.bool_)
    for topic in run.topics:
        free = False
        for partition in range(given.first[topic], given.first[topic + 1]):
            free |= run.owners[partition] == NONE
        if free:
            for member in given.subscribers[given.subscribers_of[topic] : given.subscribers_of[topic + 1]]:
                if seen[member]:
                    return True
                seen[member] = True
    return False
