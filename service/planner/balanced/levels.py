"""How much each member must read in the most even assignment.

*Levels*: subscriptions split the members into classes. In every most even assignment (the least majorised: for every k, the k
most loaded members together have as little as can be) a member of level l has l or l - 1 partitions, and the partitions of a
topic go to the subscribers of the lowest level only. Conversely, every assignment that obeys this is a most even one. So the
levels turn "as even as can be" into bounds, and what is left to decide is a matter of cost.

*Algorithm*: if no member may have more than c, the members that the partitions left over could reach, perhaps by way of others,
are those of levels above c (the source's side of a least cut). So a largest flow splits a class in two; each round splits all
classes at once, at their averages, and every third time in the middle, which bounds the rounds.

Example: A and B subscribe to t, with 5 partitions, B and C to u, with 1. A and B share t: their level is 3. C gets u, which B,
who has more, leaves to it: the level of C and of u is 1.

Source: Frank and Murota, "Decreasing minimization on M-convex sets" (2022), on the canonical partition.
"""

from dataclasses import dataclass

import numpy as np

from service.core.clock import check_time
from service.core.model import Int64s, Ragged
from service.planner.flows import augment, network


@dataclass(frozen=True)
class Levels:
    """The levels of kinds of topics and of members.

    topics : int64[kinds of topics]     that of the subscribers that get its partitions
    members : int64[kinds of members]   0 for a kind without topics
    """

    topics: Int64s
    members: Int64s


def levels(sizes: Int64s, counts: Int64s, subscribers: Ragged) -> Levels:
    """The levels.

    sizes : int64[kinds of topics]     partitions of each kind, at least 1
    counts : int64[kinds of members]   members of each kind, at least 1
    subscribers : Ragged kind of topic → kinds of members, at least one
    """
    topics, members = len(sizes), len(counts)
    of_topics, of_members = subscribers.row_of_each_value(), subscribers.values
    tails = np.concatenate([np.zeros(topics), 1 + of_topics, 1 + topics + np.arange(members)]).astype(np.int32)
    heads = np.concatenate([1 + np.arange(topics), 1 + topics + of_members, np.full(members, 1 + topics + members)])
    open_edges = np.full(len(of_topics), sizes.sum())
    # A level lies above `low` and is at most `high`; a class is what has the same two.
    low = np.zeros(topics + members, np.int64)
    high = np.full(topics + members, sizes.sum())
    high[topics:][np.bincount(of_members, minlength=members) == 0] = 0
    nothing = np.zeros(len(tails), np.int64)
    through = network(topics + members + 2, tails, heads.astype(np.int32), nothing, nothing)
    rounds = 0
    while (undecided := high - low > 1).any():
        most = _most(sizes, counts, low, high, bisect=rounds % 3 == 2)
        same = low[of_topics] == low[topics + of_members]
        through.left[:] = 0
        from_source = np.where(undecided[:topics], sizes, 0)
        through.left[through.place] = np.concatenate([from_source, np.where(same, open_edges, 0), most[topics:] * counts])
        sent = 1
        while sent:
            check_time()
            sent, steps = augment(through)
        above = steps[1:-1] >= 0
        low[above & undecided] = most[above & undecided]
        high[~above & undecided] = most[~above & undecided]
        rounds += 1
    return Levels(high[:topics], high[topics:])


def _most(sizes: Int64s, counts: Int64s, low: Int64s, high: Int64s, *, bisect: bool) -> Int64s:
    """int64[kinds of topics, then of members], the most that a member of its class may have in this round."""
    undecided = high - low > 1
    if bisect:
        return np.where(undecided, (low + high) // 2, high)
    classes, of_each = np.unique(low, return_inverse=True)
    topics = len(sizes)
    partitions = np.bincount(of_each[:topics], sizes, len(classes)).astype(np.int64)
    members = np.bincount(of_each[topics:], np.where(high[topics:] > 0, counts, 0), len(classes)).astype(np.int64)
    average = -(-partitions // np.maximum(members, 1))[of_each]
    return np.where(undecided, np.minimum(average, high - 1), high)
