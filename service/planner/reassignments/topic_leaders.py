"""The least number of leaders of a topic on each of its brokers, as Cruise Control's MinTopicLeadersPerBrokerGoal wants them.

*Question*: of replicas that allow it, which partitions does each broker lead, with the fewest changes?

*Algorithm*: a minimum-cost flow, source → partition → pair of topic and broker → sink, of which each pair takes its least number.
If the largest flow is less than all of them, no choice of leaders does it, and replicas are pinned to the brokers that are to
lead them. A partition leads for one pair at most, and what it copies for that is its own affair: so that is the same flow with
edges that cost. A partition reaches the pairs of its own brokers for nothing; those on racks where it lacks a replica anyway for
nothing; and all others for a copy. No plan copies less than that flow and the copies that each partition needs by itself.
"""

from dataclasses import dataclass, replace

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged, indices_in
from service.planner.flows import Edges, fill
from service.planner.reassignments.feasibility.start import keep_and_fill
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Pins, Placements, TopicLeaders
from service.planner.reassignments.search.exchanges import EVERY_RACK, LIMITED, ONE_PER_RACK, ReplicaSets, is_home
from service.planner.reassignments.sets import replica_state


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


def held(placements: Placements, choices: Ragged, leaders: Int32s) -> Int32s | None:
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
    flow = flow_to_pairs(len(placements), 0, edges, least.least)
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


def flow_to_pairs(partitions: int, between: int, edges: Edges, least: Int32s) -> Int64s | None:
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
    if fill(through) < needed:
        return None
    return through.flow()[: len(edges.tails)]


@dataclass(frozen=True)
class Pinned:
    """Placements with pins, and the fewest copies of any placement that lets the brokers lead enough.

    lower_bound : in replicas, or in bytes if these are balanced
    """

    placements: Placements
    lower_bound: int


def pin(brokers: Brokers, placements: Placements, goal: Goal) -> Pinned | None:
    """Pin replicas to brokers; None if no replicas let the brokers lead enough. Of limits, only those below what a broker is to
    lead are considered.
    """
    least, placements = placements.topic_leaders, replace(placements, pins=None)
    if least is None:
        return Pinned(placements, 0)
    needed = np.bincount(least.brokers, least.least, len(brokers))
    if not goal.only_leaders and (needed > brokers.max_replicas).any():
        return None
    chosen = placements.chosen()
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=False)
    if not goal.only_leaders and not keep_and_fill(state, copies):
        return None
    sizes = placements.bytes_of_each() if goal.balance == "bytes" else np.ones(len(placements), np.int64)
    excluded = np.flatnonzero(placements.excluded)
    pairs = pairs_of(least, placements.topics[excluded], placements.replicas.firsts()[excluded])
    of_excluded = Edges(excluded[pairs != NONE], len(placements) + pairs[pairs != NONE], 1, 0)
    row = np.repeat(np.arange(len(chosen)), np.diff(state.home_offsets))
    pairs = pairs_of(least, placements.topics[chosen][row], state.homes)
    stays = state.keeps[state.sets[row], state.homes] & (pairs != NONE)
    edges, between = [Edges(chosen[row][stays], len(placements) + pairs[stays], 1, 0), of_excluded], 0
    if not goal.only_leaders:
        copying, between = _copying(placements, least, chosen, state, sizes)
        edges += copying
    joined = Edges.joined(edges)
    flow = flow_to_pairs(len(placements), between, joined, least.least)
    if flow is None:
        return None
    if goal.only_leaders:
        return Pinned(placements, 0)
    bound = int(copies @ sizes[chosen]) + int(flow @ joined.prices)
    return Pinned(replace(placements, pins=_pins(placements, least, joined, flow)), bound)


def _copying(
    placements: Placements, least: TopicLeaders, chosen: Int32s, state: ReplicaSets, sizes: Int64s
) -> tuple[list[Edges], int]:
    """Edges by nodes between (of each topic one for each rack, and one that costs a copy), and their number. state : filled"""
    topics, racks = np.unique(least.topics), int(state.racks.max(initial=0)) + 1
    node = np.full(len(placements.topic_names), NONE, np.int64)  # the first of each topic
    node[topics] = len(placements) + len(least.least) + np.arange(len(topics)) * (racks + 1)
    node_of, count = node[placements.topics[chosen]], len(chosen)
    pinned = np.bincount(np.repeat(np.arange(count), np.diff(state.home_offsets))[state.holds > 0], minlength=count)
    able = np.flatnonzero((node_of != NONE) & (pinned < placements.replication_factors[chosen])).astype(np.int32)
    lacking, on = np.nonzero(_vacancies(state, able, racks))
    vacant = able[lacking]
    set_of = np.zeros(len(placements.topic_names), np.int32)
    set_of[placements.topics[chosen]] = state.sets
    pairs = np.flatnonzero(state.receives[set_of[least.topics], least.brokers])
    at, heads, needs = node[least.topics[pairs]], len(placements) + pairs, least.least[pairs]
    return [
        Edges(chosen[vacant], node_of[vacant] + on, 1, 0),
        Edges(chosen[able], node_of[able] + racks, 1, sizes[chosen][able]),
        Edges(at + state.racks[least.brokers[pairs]], heads, needs, 0),
        Edges(at + racks, heads, needs, 0),
    ], len(topics) * (racks + 1)


@kernel
def _vacancies(s: ReplicaSets, rows: Int32s, racks: int) -> Bools:
    """bool[rows, racks], where each of these partitions lacks a replica anyway, beside those at home."""
    vacant = np.zeros((len(rows), racks), np.bool_)
    on_rack = np.zeros(racks, np.int32)
    for row in range(len(rows)):
        partition = rows[row]
        on_rack[:] = 0
        missing = 0
        for place in range(s.offsets[partition], s.offsets[partition + 1]):
            at_home = is_home(s, partition, s.members[place])
            missing += not at_home
            on_rack[s.racks[s.members[place]]] += at_home
        covered = np.count_nonzero(on_rack)
        rule = s.rules[partition]
        for rack in range(racks):
            fits = True
            if rule == ONE_PER_RACK or (rule == EVERY_RACK and missing <= s.racks_usable[partition] - covered):
                fits = on_rack[rack] == 0
            elif rule == LIMITED:
                fits = on_rack[rack] < s.levels[partition]
            vacant[row, rack] = missing > 0 and fits
    return vacant


def _pins(placements: Placements, least: TopicLeaders, edges: Edges, flow: Int64s) -> Pins:
    """The pins of a flow: of the edges to pairs those of partitions, and by the nodes between each partition with a pair."""
    count = len(placements)
    between = count + len(least.least)
    used = flow > 0
    straight = np.flatnonzero(used & (edges.tails < count) & (edges.heads < between))
    into, out = np.flatnonzero(used & (edges.heads >= between)), np.flatnonzero(used & (edges.tails >= between))
    into = into[np.argsort(edges.heads[into], kind="stable")]
    out = np.repeat(out, flow[out])
    out = out[np.argsort(edges.tails[out], kind="stable")]
    tails, pairs = np.concatenate([straight, into]), edges.heads[np.concatenate([straight, out])] - count
    partitions = edges.tails[tails].astype(np.int32)
    moving = ~placements.excluded[partitions]
    order = np.argsort(partitions[moving], kind="stable")
    brokers = least.brokers[pairs]
    return Pins(partitions[moving][order], brokers[moving][order])
