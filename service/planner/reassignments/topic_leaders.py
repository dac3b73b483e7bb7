"""The least number of leaders of a topic on each of its brokers, as Cruise Control's MinTopicLeadersPerBrokerGoal wants them.

*Question*: of replicas that allow it, which partitions does each broker lead, with the fewest changes?

*Algorithm*: a minimum-cost flow, source → partition → pair of topic and broker → sink, of which each pair takes its least number.
If the largest flow is less than all of them, no choice of leaders does it. ``pins`` brings the replicas where they are needed.
"""

from collections.abc import Callable

import numpy as np

from service.core.model import NONE, Int32s, Int64s, Ragged, indices_in
from service.planner.flows import Edges, fill
from service.planner.reassignments.model import NO_LIMIT, Brokers, Placements, TopicLeaders


def enough(placements: Placements, leaders: Int32s) -> bool:
    """Does each broker lead as many partitions of each topic as it is to? leaders : int32[partitions]"""
    least = placements.topic_leaders
    if least is None:
        return True
    pairs = pairs_of(least, placements.topics, leaders)
    return bool((np.bincount(pairs[pairs != NONE], minlength=len(least.least)) >= least.least).all())


def spare_leaders(brokers: Brokers, placements: Placements, chosen: Int32s, replicas: Ragged) -> tuple[Int32s, Int64s]:
    """int32[chosen], the topic of each of these partitions, and int64[topics, brokers], the leaders that each broker has beyond
    those that it is to have. replicas : leaders first

    Where no number is given, all partitions are of one topic, and all brokers have many.
    """
    least = placements.topic_leaders
    if least is None:
        return np.zeros(len(chosen), np.int32), np.full((1, len(brokers)), NO_LIMIT, np.int64)
    spare = np.zeros((len(placements.topic_names), len(brokers)), np.int64)
    np.add.at(spare, (placements.topics, replicas.firsts()), 1)
    spare[least.topics, least.brokers] -= least.least
    return placements.topics[chosen], spare


def held(placements: Placements, choices: Ragged, leaders: Int32s, check: Callable[[], None]) -> Int32s | None:
    """int32[partitions]: the broker that is to lead each, NONE where any may; None if the choices do not allow it.

    choices : Ragged partition → the brokers that may lead it; leaders : int32[partitions], those that need no change
    """
    least = placements.topic_leaders
    if least is None:
        return None
    row = choices.row_of_each_value()
    pairs = pairs_of(least, placements.topics[row], choices.values)
    row, brokers, pairs = row[pairs != NONE], choices.values[pairs != NONE], pairs[pairs != NONE]
    edges = Edges.joined([Edges(row, len(placements) + pairs, 1, brokers != leaders[row])])
    flow = flow_to_pairs(len(placements), 0, edges, least.least, check)
    if flow is None:
        return None
    chosen = np.full(len(placements), NONE, np.int32)
    chosen[row[flow > 0]] = brokers[flow > 0]
    return chosen


def pairs_of(least: TopicLeaders, topics: Int32s, brokers: Int32s) -> Int64s:
    """int64[...], the place in ``least`` of each topic and broker, NONE where it has none."""
    width = 1 + int(max(least.brokers.max(initial=0), brokers.max(initial=0)))
    known = least.topics.astype(np.int64) * width + least.brokers  # ascending
    wanted = topics.astype(np.int64) * width + brokers
    return indices_in(known, wanted).astype(np.int64)


def flow_to_pairs(partitions: int, between: int, edges: Edges, least: Int32s, check: Callable[[], None]) -> Int64s | None:
    """int64[edges], a cheapest flow in which every pair gets its least; None if there is none.

    edges : joined, among the nodes, which are the partitions, the pairs, and ``between`` more
    """
    needed = int(least.sum(dtype=np.int64))
    inner, pairs = partitions + len(least) + between, np.arange(len(least))
    sent_by = np.unique(edges.tails[edges.tails < partitions])
    sorts = [  # node 0 is the source; the sink is the last
        Edges(1 + edges.tails, 1 + edges.heads, edges.capacities, edges.prices),
        Edges(0, 1 + sent_by, 1, 0),
        Edges(1 + partitions + pairs, inner + 1, least, 0),
    ]
    through = Edges.joined(sorts).network(inner + 2)
    if fill(through, check) < needed:
        return None
    return through.flow()[: len(edges.tails)]
