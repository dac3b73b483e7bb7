"""The sets to start from: each partition keeps as many replicas as it can, and the rest fill the least loaded brokers.

So every partition has the fewest copies that it could have if it were alone, and together they have the fewest of all, unless
``max_replicas`` of a broker is in the way.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged, indices_in
from service.core.ragged import taken
from service.planner.flows import Edges, fill
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Pins, Placements, TopicLeaders
from service.planner.reassignments.search.exchanges import (
    COMES,
    DONE,
    EVERY_RACK,
    LIMITED,
    MORE,
    ONE_PER_RACK,
    STUCK,
    TURN,
    ReplicaSets,
    in_turns,
    rack_limit,
)
from service.planner.reassignments.sets import added, replica_state

_KEEP, _FILL = 0, 1
"""Steps."""


class _Partition(NamedTuple):
    """The partition that is being filled.

    holds : bool[brokers], whether its set has the broker
    on_rack, homes_on_rack : int32[racks], its replicas, and its homes that may stay, on each rack
    covered : int64[1], the racks that it is on
    """

    holds: Bools
    on_rack: Int32s
    homes_on_rack: Int32s
    covered: Int64s


def keep_and_fill(s: ReplicaSets, copies: Int64s) -> bool:
    """Fill ``members`` and add to ``loads`` and ``copies``; False if there is no broker for a partition.

    copies : int64[partitions]   the replicas of each that are copied, so far those pinned to another broker
    """
    racks = int(s.racks.max(initial=NONE)) + 1
    one = _Partition(
        np.zeros(len(s.loads), np.bool_), np.zeros(racks, np.int32), np.zeros(racks, np.int32), np.zeros(1, np.int64)
    )
    kept = np.zeros(len(s.offsets) - 1, np.int32)
    for step in (_KEEP, _FILL):
        following = np.zeros(1, np.int64)
        if in_turns(s, lambda: _each(s, one, step, kept, copies, following)) != DONE:  # noqa: B023
            return False
    return True


@kernel
def _each(s: ReplicaSets, one: _Partition, step: int, kept: Int32s, copies: Int64s, following: Int64s) -> int:
    """Take a step with the partitions from ``following`` on; STUCK at one for which there is no broker.

    kept : int32[partitions], how many replicas are kept, which _KEEP writes
    """
    for partition in range(following[0], len(s.offsets) - 1):
        if s.work[0] > TURN:
            following[0] = partition
            return MORE
        start, end = s.offsets[partition], s.offsets[partition + 1]
        if step == _KEEP:
            _keep(s, one, partition, kept)
            end = start + kept[partition]
            s.work[0] += 1 + 3 * (s.home_offsets[partition + 1] - s.home_offsets[partition])
        elif not _fill(s, one, partition, start + kept[partition], copies):
            return STUCK
        else:
            s.work[0] += 1 + (end - start - kept[partition]) * len(s.loads)
        for place in range(start, end):
            one.holds[s.members[place]] = False
            one.on_rack[s.racks[s.members[place]]] = 0
        one.covered[0] = 0
    return DONE


@borrowing_kernel
def _fill(s: ReplicaSets, one: _Partition, partition: int, first: int, copies: Int64s) -> bool:  # noqa: C901 (a kernel)
    """Fill the places from ``first`` on; False if the rules leave no broker for one.

    Each gets the broker for which one more replica weighs least, of those with room if any.
    """
    end, rule = s.offsets[partition + 1], s.rules[partition]
    homes = range(s.home_offsets[partition], s.home_offsets[partition + 1])
    for i in homes:
        one.homes_on_rack[s.racks[s.homes[i]]] += s.keeps[s.sets[partition], s.homes[i]] and s.holds[i] != COMES
    for place in range(s.offsets[partition], first):
        _add(s, one, s.members[place])
    for place in range(first, end):
        new_rack_only = rule == ONE_PER_RACK or (rule == EVERY_RACK and end - place <= s.racks_usable[partition] - one.covered[0])
        best = NONE
        for broker in range(len(s.loads)):
            if not s.receives[s.sets[partition], broker] or one.holds[broker]:
                continue
            if best != NONE:
                room, best_room = s.loads[broker] < s.most[broker], s.loads[best] < s.most[best]
                weighs, best_weighs = (2 * s.loads[broker] + 1) * s.weights[best], (2 * s.loads[best] + 1) * s.weights[broker]
                if not room if room != best_room else weighs >= best_weighs:
                    continue
            on_rack, limit = one.on_rack[s.racks[broker]], max(one.homes_on_rack[s.racks[broker]], s.levels[partition])
            if (new_rack_only and on_rack > 0) or (rule == LIMITED and on_rack >= limit):
                continue
            best = broker
        if best == NONE:
            return False
        s.members[place] = best
        s.loads[best] += 1
        copies[partition] += 1
        _add(s, one, best)
    for i in homes:
        one.homes_on_rack[s.racks[s.homes[i]]] = 0
    return True


@borrowing_kernel
def _add(s: ReplicaSets, one: _Partition, broker: int) -> None:
    one.holds[broker] = True
    one.covered[0] += one.on_rack[s.racks[broker]] == 0
    one.on_rack[s.racks[broker]] += 1


@borrowing_kernel
def _keep(s: ReplicaSets, one: _Partition, partition: int, kept: Int32s) -> None:
    """Keep as many homes as the rack rule allows: first those pinned, then those on further racks, then any."""
    start, end = s.offsets[partition], s.offsets[partition + 1]
    rule = s.rules[partition]
    for turn in range(3):
        for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
            home, place = s.homes[i], start + kept[partition]
            if place == end or not s.keeps[s.sets[partition], home] or (turn == 0) != (s.holds[i] > 0) or one.holds[home]:
                continue
            new_rack = one.on_rack[s.racks[home]] == 0
            if turn == 1 and not new_rack:
                continue
            if turn == 2 and rule == ONE_PER_RACK:
                continue
            if rule == EVERY_RACK and not new_rack and end - place <= s.racks_usable[partition] - one.covered[0]:
                continue
            if rule == LIMITED and turn > 0 and one.on_rack[s.racks[home]] >= rack_limit(s, partition, s.racks[home]):
                continue
            s.members[place] = home
            s.loads[home] += 1
            kept[partition] += 1
            _add(s, one, home)


# The least number of leaders of a topic on each of its brokers, as Cruise Control's MinTopicLeadersPerBrokerGoal wants them.
#
# *Question*: of replicas that allow it, which partitions does each broker lead, with the fewest changes?
#
# *Algorithm*: a minimum-cost flow, source → partition → pair of topic and broker → sink, of which each pair takes its least
# number. If the largest flow is less than all of them, no choice of leaders does it, and replicas are pinned to the brokers
# that are to lead them. A partition leads for one pair at most, and what it copies for that is its own affair: so that is the
# same flow with edges that cost. A partition reaches the pairs of its own brokers for nothing; those on racks where it lacks a
# replica anyway for nothing; and all others for a copy. No plan copies less than that flow and the copies that each partition
# needs by itself.


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


def pin(brokers: Brokers, placements: Placements, goal: Goal) -> tuple[Placements, int] | None:
    """The placements with replicas pinned to brokers, and what any that let the brokers lead enough copy at least, in replicas
    or, if these are balanced, bytes; None if none do. Of limits, only those below what a broker is to lead are considered.
    """
    least, placements = placements.topic_leaders, replace(placements, pins=None)
    if least is None:
        return placements, 0
    needed = np.bincount(least.brokers, least.least, len(brokers))
    if not goal.only_leaders and (needed > brokers.max_replicas).any():
        return None
    chosen = placements.chosen()
    state, copies = replica_state(brokers, placements, chosen, goal.racks, hold=False)
    if not goal.only_leaders and not keep_and_fill(state, copies):
        return None
    sizes = placements.amounts(goal.balance)
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
        return placements, 0
    bound = int(copies @ sizes[chosen]) + int(flow @ joined.prices)
    return replace(placements, pins=_pins(placements, least, joined, flow)), bound


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


def _vacancies(s: ReplicaSets, rows: Int32s, racks: int) -> Bools:
    """bool[rows, racks], where each of these partitions lacks a replica anyway, beside those at home."""
    members, homes = (taken(Ragged(*some), rows) for some in ((s.offsets, s.members), (s.home_offsets, s.homes)))
    comes, row = added(homes, members), members.row_of_each_value()
    missing, on_rack = members.count(comes), np.zeros((len(rows), racks), np.int32)
    np.add.at(on_rack, (row[~comes], s.racks[members.values[~comes]]), 1)
    rule, covered = s.rules[rows], np.count_nonzero(on_rack, axis=1)
    new_rack_only = (rule == ONE_PER_RACK) | ((rule == EVERY_RACK) & (missing <= s.racks_usable[rows] - covered))
    within = (rule != LIMITED)[:, None] | (on_rack < s.levels[rows, None])
    vacant: Bools = (missing > 0)[:, None] & np.where(new_rack_only[:, None], on_rack == 0, within)
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
