"""The preferred leader of each partition: one of its replicas, so that leaders are even, then with the fewest changes.

Leaders are sets of one that are exchanged along paths, as replicas are; see ``paths``. The result is proven optimal.

A demoted broker leads no partition that another broker can lead, and is the last in each list, for Kafka's controller elects the
first replica of a list that is in sync when a leader fails.
"""

from dataclasses import dataclass

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.core.ragged import taken
from service.planner.reassignments.feasibility.start import enough, held
from service.planner.reassignments.model import Brokers, Goal, Placements
from service.planner.reassignments.search.exchanges import ReplicaSets, link, list_exchanges
from service.planner.reassignments.search.paths import improve
from service.planner.reassignments.search.topic_balance import even_out_topics
from service.planner.reassignments.sets import added, in_sync_after, leader_state

# Who leads each partition, now and once a plan is executed, and what has no leader to copy from.
#
# Kafka copies from the leader and completes a reassignment when the replicas that it adds are in sync. A leader that keeps its
# replica goes on leading until an election; one that loses it is followed by the first replica of the list that is in sync.


@dataclass(frozen=True)
class Leadership:
    """Who leads.

    known : is it given who leads now? If not, the first replica in sync is taken for the leader
    now, after : int32[partitions], the broker that leads now and after all copying and elections; NONE: no broker
    elected : int32[...], the partitions with a preferred leader election after all copying
    refused : int32[...], those that would need one, whose preferred leader is not in sync
    stuck : int32[...], those whose replicas would change, but that have no leader to copy from
    """

    known: bool
    now: Int32s
    after: Int32s
    elected: Int32s
    refused: Int32s
    stuck: Int32s

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, goal: Goal, then: Ragged) -> "Leadership":
        """Who leads before and after a plan. then : Ragged partition → brokers, those of the plan"""
        before, first = placements.replicas, then.firsts()
        now, known = leaders_now(brokers, placements), placements.leaders is not None
        next_leader = first_of(then, in_sync_after(brokers, placements, then) & brokers.live[then.values])
        changes = (then.count(added(before, then)) > 0) | (before.count(added(then, before)) > 0)
        stuck = changes & ((now == NONE) | (next_leader == NONE))
        settled = now
        if placements.leaving is not None:  # once the reassignments in progress are complete
            settled = np.where(has(before, now) | (now == NONE), now, first_of(before, placements.in_sync_now(brokers)))
        leads = np.where(has(then, settled) | stuck | (now == NONE), settled, next_leader)
        wants = before.firsts() != first
        if known:
            asked = ~placements.excluded & ~brokers.demoted[first]
            if goal.leaders not in ("balance", "only"):
                asked &= brokers.demoted[leads]
            wants = (wants | asked) & (leads != first)
        wants &= (leads != NONE) & ~stuck
        elected, refused = (np.flatnonzero(wants & can).astype(np.int32) for can in (next_leader == first, next_leader != first))
        after = leads.astype(np.int32)
        after[elected] = first[elected]
        return cls(known, now, after, elected, refused, np.flatnonzero(stuck).astype(np.int32))

    def counts(self, brokers_count: int) -> tuple[Int64s, Int64s]:
        """int64[brokers] twice, the partitions that each leads now and afterwards."""
        now, after = (np.bincount(leaders[leaders != NONE], minlength=brokers_count) for leaders in (self.now, self.after))
        return now, after


def leaders_now(brokers: Brokers, placements: Placements) -> Int32s:
    """int32[partitions], who leads: as given, or the first replica in sync where that is not known or does not serve; or NONE."""
    following, given = first_of(placements.replicas, placements.in_sync_now(brokers)), placements.leaders
    if given is None:
        return following
    return np.where((given == NONE) | brokers.live[given], given, following).astype(np.int32)


def has(rows: Ragged, values: Int32s) -> Bools:
    """bool[rows], which have a value of their own. values : int32[rows]"""
    result: Bools = rows.count(rows.values == values[rows.row_of_each_value()]) > 0
    return result


def first_of(rows: Ragged, which: Bools) -> Int32s:
    """int32[rows], the first of these values of each row, NONE without any. which : bool[values]"""
    first = np.full(len(rows), NONE, np.int32)
    at = np.flatnonzero(which)[::-1]
    first[rows.row_of_each_value()[at]] = rows.values[at]
    return first


def elect(brokers: Brokers, placements: Placements, replicas: Ragged, rule: str, *, per_topic: bool = False) -> Ragged:
    """These replicas with the preferred leader first, the others in their order.

    rule : as in Goal; with "keep" and "demote", only partitions whose leader's broker leaves them, or is
        demoted, get another leader
    per_topic : also even out the leaders of each topic, by partitions of two topics that swap leaders, whatever that changes
    """
    now = placements.replicas.firsts()
    can_lead = _may_lead(brokers, replicas)
    open_to = replicas.where(can_lead)
    stays, possible = has(open_to, now), open_to.lengths() > 0
    free = possible & ~placements.excluded
    if rule in ("keep", "demote"):
        if placements.in_sync is not None:  # only what is in sync can be elected
            can_lead = _where_any(replicas, can_lead, can_lead & in_sync_after(brokers, placements, replicas))
        stays &= ~_led_by_demoted(brokers, placements, replicas, can_lead)
        free &= ~stays
    chosen = np.flatnonzero(free).astype(np.int32)
    fixed = np.where(stays, now, replicas.firsts())
    loads = np.bincount(fixed[~free], minlength=len(brokers))
    leaders, open_to = fixed.astype(np.int32), replicas.where(can_lead)
    topics = placements.topics[chosen] if per_topic else None
    same = np.where(stays[chosen], now[chosen], NONE).astype(np.int32)
    leaders[chosen] = _evened(brokers, taken(open_to, chosen), same, loads, topics)
    holds = _holds(placements, replicas, can_lead, leaders)
    if holds is not None:
        leaders = np.where(holds != NONE, holds, leaders).astype(np.int32)
        if rule not in ("keep", "demote"):  # as even as the others allow
            same = np.where((holds[chosen] == NONE) | (holds[chosen] == same), same, NONE).astype(np.int32)
            choices = taken(_where_led(replicas, can_lead, holds), chosen)
            leaders[chosen] = _evened(brokers, choices, same, loads, topics)
    return _demoted_last(brokers, placements, to_front(replicas, leaders))


def _holds(placements: Placements, replicas: Ragged, can_lead: Bools, leaders: Int32s) -> Int32s | None:
    """``held`` of these leaders; None if they are enough. can_lead : bool[replicas]; excluded partitions keep their leader"""
    if enough(placements, leaders):
        return None
    may_lead = can_lead | placements.excluded[replicas.row_of_each_value()]
    return held(placements, _where_led(replicas, may_lead, np.where(placements.excluded, leaders, NONE)), leaders)


def _evened(brokers: Brokers, choices: Ragged, same: Int32s, loads: Int64s, topics: Int32s | None) -> Int32s:
    """int32[partitions], leaders that are even, then with the fewest changes.

    same : int32[partitions], the leaders that need no change, or NONE; loads : of other partitions
    topics : int32[partitions], whose leaders are evened out too; None: those of no topic
    """
    state = leader_state(brokers, choices, same, loads)
    _start(state)
    link(state)
    list_exchanges(state)
    improve(state, even_first=True)
    led, loads = state.members, state.loads
    if topics is None:
        return led
    del state  # its matrices
    state = leader_state(brokers, choices, np.full(len(led), NONE, np.int32), loads)  # no change of a leader counts
    state.members[:] = led
    link(state)
    even_out_topics(state, topics)
    return state.members


def leading(brokers: Brokers, placements: Placements, replicas: Ragged, *, per_topic: bool) -> tuple[float, ...]:
    """How good the leaders of these lists are, less being better: demoted ones, evenness, that of topics, changes.

    Evenness is the sum of (leaders on a usable broker)² ÷ weight. per_topic : whether the leaders of each topic count
    """
    now = placements.replicas.firsts()
    leaders, count = replicas.firsts(), len(brokers)
    usable = brokers.usable
    squares = (np.bincount(leaders, minlength=count)[usable] ** 2 / brokers.weights[usable]).sum()
    of_topics = 0.0
    if per_topic:
        pairs, counts = np.unique(placements.topics.astype(np.int64) * count + leaders, return_counts=True)
        brokers_of = pairs % count
        of_topics = float((counts**2 / brokers.weights[brokers_of])[usable[brokers_of]].sum())
    changes = np.count_nonzero(leaders != now)
    return float(np.count_nonzero(brokers.demoted[leaders])), round(float(squares), 9), round(of_topics, 9), float(changes)


def with_leaders(brokers: Brokers, placements: Placements, replicas: Ragged, leaders: Int32s, rule: str) -> Ragged:
    """These replicas with other leaders first, as far as they may lead and the rule, as in Goal, lets them.

    leaders : int32[partitions], one of the replicas of each
    """
    now = placements.replicas.firsts()
    kept = elect(brokers, placements, replicas, "keep")
    keeps = kept.firsts()
    demoted = ~brokers.usable[leaders] | brokers.demoted[leaders]
    chosen = np.where(demoted | (keeps == now if rule == "keep" else placements.excluded), keeps, leaders).astype(np.int32)
    holds = _holds(placements, replicas, _may_lead(brokers, replicas), chosen)
    if holds is not None:
        chosen = np.where(holds != NONE, holds, chosen).astype(np.int32)
    return _demoted_last(brokers, placements, to_front(replicas, chosen))


def to_front(replicas: Ragged, leaders: Int32s) -> Ragged:
    """The replicas with these leaders first, the others in their order. leaders : int32[partitions]"""
    row = replicas.row_of_each_value()
    order = np.argsort(2 * row - (replicas.values == leaders[row]), kind="stable")
    return Ragged(replicas.offsets, replicas.values[order])


def _may_lead(brokers: Brokers, replicas: Ragged) -> Bools:
    """bool[replicas], those on brokers that may lead: the demoted ones only where no other may."""
    usable = brokers.usable[replicas.values]
    return _where_any(replicas, usable, usable & ~brokers.demoted[replicas.values])


def _where_any(replicas: Ragged, wide: Bools, narrow: Bools) -> Bools:
    """bool[replicas], ``narrow`` for the partitions that have any of it, else ``wide``."""
    return np.where((replicas.count(narrow) > 0)[replicas.row_of_each_value()], narrow, wide)


def _led_by_demoted(brokers: Brokers, placements: Placements, replicas: Ragged, can_lead: Bools) -> Bools:
    """bool[partitions], those that a demoted broker leads now and whose preferred leader may not, though another replica may."""
    if placements.leaders is None:
        return np.zeros(len(placements), np.bool_)
    others, led = replicas.where(can_lead & ~brokers.demoted[replicas.values]), placements.leaders
    result: Bools = (led != NONE) & brokers.demoted[led] & (others.lengths() > 0) & ~has(others, placements.replicas.firsts())
    return result


def _where_led(replicas: Ragged, may_lead: Bools, leaders: Int32s) -> Ragged:
    """Those of the replicas that may lead, of a partition that has a leader only this. leaders : int32[partitions], or NONE"""
    of_each = leaders[replicas.row_of_each_value()]
    return replicas.where(may_lead & ((of_each == NONE) | (replicas.values == of_each)))


def _demoted_last(brokers: Brokers, placements: Placements, replicas: Ragged) -> Ragged:
    """The lists with the demoted brokers last, behind the leader, those of excluded partitions as they are."""
    if not brokers.demoted.any():
        return replicas
    row = replicas.row_of_each_value()
    last = brokers.demoted[replicas.values] & ~placements.excluded[row]
    last[replicas.offsets[:-1]] = False
    return Ragged(replicas.offsets, replicas.values[np.lexsort((last, row))])


@kernel
def _start(s: ReplicaSets) -> None:
    """Fill ``members`` and add to ``loads``: the current leader, or else the choice with the least load."""
    for partition in range(len(s.members)):
        if s.home_offsets[partition] < s.home_offsets[partition + 1]:
            leader = s.homes[s.home_offsets[partition]]
            s.members[partition] = leader
            s.loads[leader] += 1
    for partition in range(len(s.members)):
        if s.members[partition] != NONE:
            continue
        best = NONE
        for i in range(s.choice_offsets[partition], s.choice_offsets[partition + 1]):
            b = s.choices[i]
            if s.usable[b] and (best == NONE or (2 * s.loads[b] + 1) * s.weights[best] < (2 * s.loads[best] + 1) * s.weights[b]):
                best = b
        s.members[partition] = best
        s.loads[best] += 1
