"""How franz-go's sticky balancers begin a run: who keeps what, and who gets what is free.

*What is free* goes, topic by topic in Go's order, to the subscriber with the fewest. Of equals a binary heap decides; it is made
anew for each topic unless all members subscribe to all topics.

*Racks*: if all members subscribe to all topics, a free partition goes to the member on its leader's rack with the fewest, until
that one has an even share; otherwise one on the rack is preferred among those with the fewest.

Source: tryRestickyStales, assignUnassignedAndInitGraph, assignUnassignedComplex, assignRackAware, membersByPartitions in
sticky.go (franz-go 1.22.2). Plain-Python twin: tests/reference/clients/franz_go.py.
"""

import numpy as np

from service.clients.bags import add, no_items, replace_by_last
from service.clients.franz_go.state import Given, Run
from service.core.kernels import inner_kernel
from service.core.model import NONE, Int32s
from service.core.ragged import grouped_arrays


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
