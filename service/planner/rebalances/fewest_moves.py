"""The fewest partitions that an assignment must move; an assignor's excess is the cost of its heuristics.

*Question*: of all assignments that assign every partition to a subscriber and are at least as even as this one, what is the least
number of claimed partitions that go to a member that did not claim them? *At least as even* is majorization: for every k, the k
most loaded members together have no more than the k most loaded have here.

*Algorithm*: if all members have the same subscription and no partition is claimed twice, a member can keep its claims as far as
its load allows, and the most that all members keep is ``min over k of (L[k] + all claims - C[k])``: L[k] is the sum of the k
largest loads, C[k] that of the k largest claims (the rank formula of a polymatroid). Otherwise it is a minimum-cost flow:

    source → partitions claimed by the same members → ─────────────────── cost 0 ──────────────────→ member → steps → sink
                                    └─ cost 1 if claimed → topics alike → members subscribed alike ───↗

Interchangeable partitions, topics and members share a node, which keeps the network small. The *steps* keep the loads even: with
loads sorted l[1] ≥ l[2] ≥ …, step j takes ``j × (l[j] - l[j + 1])`` in all, ``l[j] - l[j + 1]`` from each member.

Example: A and B subscribe to t and u, C to u; t and u have 2 partitions each, all owned by A. B and C get one each, A keeps two:
the loads are 2, 1, 1, and at least 2 partitions must move.

Source: Hardy, Littlewood and Pólya on majorization; Ford and Fulkerson's primal-dual method, with Dinic's blocking flows.
"""

from typing import Final

import numpy as np

from service.core.measures.skew import occurrences
from service.core.model import Group, Int32s
from service.planner.flows import Edges, cost, fill
from service.planner.kinds import Claimed, Kinds, claimed_once, claims_of

LARGEST_NETWORK: Final = 500_000
"""Most edges. Thousands of members with as many distinct subscriptions would make a larger one, and delay the answer."""


def fewest_possible_moves(group: Group, loads: Int32s) -> int | None:
    """The least number of claimed partitions that any assignor must assign to another member.

    loads : int32[members]   partitions assigned to each member; an assignment is as even as this one if, for every k, its k
        most loaded members together have no more than the k most loaded have here

    None if the loads are not those of an assignment of each partition to one subscriber (share groups with several
    members to a partition), and if the network is larger than LARGEST_NETWORK.
    """
    topics = len(group.topics)
    subscribed = group.subscriptions.below(topics)
    subscriber_counts = occurrences(subscribed.values, topics)
    counts = group.topics.partitions_counts()
    offered = subscriber_counts > 0
    if loads.sum() != counts[offered].sum():
        return None
    alike = bool((~offered | (subscriber_counts == len(group))).all())
    if alike:
        claims_of_each = claimed_once(group.owned, np.repeat(offered, counts))
        if claims_of_each is not None:
            return _least_for_loads(claims_of_each, loads)
        claims, claimed = claims_of(group.owned, subscribed, group.topics.topic_of)
        if len(claims.values) == np.count_nonzero(claimed & np.repeat(offered, counts)):
            return _least_for_loads(claims.lengths(), loads)
    every_member = np.arange(len(group), dtype=np.int32)
    kinds = Kinds.of(group, every_member, racks_matter=False)
    return _cheapest_flow(kinds, Claimed.of(group, every_member, kinds, None, racks_matter=False), loads)


def _least_for_loads(claimed: Int32s, loads: Int32s) -> int:
    """The least if all members have the same subscription and claims are unique. claimed : int32[members], claims per member"""
    more = np.cumsum(np.sort(claimed)[::-1]) - np.cumsum(np.sort(loads)[::-1])
    return max(0, int(more.max(initial=0)))


def _cheapest_flow(kinds: Kinds, some: Claimed, loads: Int32s) -> int | None:
    """The cost of the flow described above; None if the network is too large or cannot carry all partitions."""
    loads = np.sort(loads)[::-1].astype(np.int64)
    drops = loads - np.append(loads[1:], 0)
    steps = np.flatnonzero(drops)
    sizes, claimants, subscribers = some.sizes, some.claimants, kinds.subscribers
    members = len(loads)
    if members * (1 + len(steps)) + len(subscribers.values) + len(claimants.values) + 2 * len(sizes) > LARGEST_NETWORK:
        return None

    source, first_partitions = 0, 1
    first_topic = first_partitions + len(sizes)
    first_member_kind = first_topic + len(subscribers)
    first_member = first_member_kind + len(kinds.counts)
    first_step = first_member + members
    sink = first_step + len(steps)
    each_kind, each_member = first_partitions + np.arange(len(sizes)), first_member + np.arange(members)
    each_step = first_step + np.arange(len(steps))
    total = loads.sum()
    sorts = [
        Edges(source, each_kind, sizes, 0),
        Edges(
            first_partitions + claimants.row_of_each_value(),
            first_member + claimants.values,
            np.repeat(sizes, claimants.lengths()),
            0,
        ),
        Edges(each_kind, first_topic + some.topics[some.pools], sizes, some.claimed),
        Edges(first_topic + subscribers.row_of_each_value(), first_member_kind + subscribers.values, total, 0),
        Edges(first_member_kind + kinds.members, each_member, total, 0),
        Edges(np.repeat(each_member, len(steps)), np.tile(each_step, members), np.tile(drops[steps], members), 0),
        Edges(each_step, sink, (steps + 1) * drops[steps], 0),
    ]
    edges = Edges.joined(sorts)
    through = edges.network(sink + 1)
    return cost(through, edges.prices) if fill(through) == total else None
