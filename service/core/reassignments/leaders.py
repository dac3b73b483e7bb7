"""The preferred leader of each partition: one of its replicas, so that leaders are even, then with the fewest changes.

Leaders are sets of one that are exchanged along paths, as replicas are; see ``paths``. The result is proven optimal.
"""

from collections.abc import Callable

import numpy as np

from service.core.kernels import kernel
from service.core.model import NONE, Bools, Int32s, Int64s, Ragged
from service.core.reassignments.exchanges import ReplicaSets, link, list_exchanges
from service.core.reassignments.improvement import improve
from service.core.reassignments.model import Brokers, Placements
from service.core.reassignments.sets import leader_state, rows_of
from service.core.reassignments.topic_balance import even_out_topics


def elect(
    brokers: Brokers,
    placements: Placements,
    replicas: Ragged,
    rule: str,
    check: Callable[[], None],
    *,
    per_topic: bool = False,
) -> Ragged:
    """These replicas with the preferred leader first, the others in their order.

    rule : as in Goal; with "keep", only partitions whose leader's broker leaves them get another leader
    per_topic : also even out the leaders of each topic, by partitions of two topics that swap leaders, whatever that changes
    """
    now = placements.replicas.values[placements.replicas.offsets[:-1]]
    may_lead = brokers.usable
    stays, possible = _leaders_that_stay(replicas.offsets, replicas.values, now, may_lead)
    free = possible & ~placements.excluded
    if rule == "keep":
        free &= ~stays
    chosen = np.flatnonzero(free).astype(np.int32)
    fixed = np.where(stays, now, replicas.values[replicas.offsets[:-1]])
    loads = np.bincount(fixed[~free], minlength=len(brokers))
    choices = rows_of(replicas, chosen)
    state = leader_state(brokers, choices, np.where(stays[chosen], now[chosen], NONE).astype(np.int32), loads)
    _start(state)
    link(state)
    list_exchanges(state, check)
    improve(state, even_first=True, check=check)
    leaders, led, loads = fixed.astype(np.int32), state.members, state.loads
    if per_topic:
        del state  # its matrices
        led = _swapped(brokers, choices, led, loads, placements.topics[chosen], check)
    leaders[chosen] = led
    return to_front(replicas, leaders)


def to_front(replicas: Ragged, leaders: Int32s) -> Ragged:
    """The replicas with these leaders first, the others in their order. leaders : int32[partitions]"""
    values = replicas.values.copy()
    _to_front(replicas.offsets, values, leaders)
    return Ragged(replicas.offsets, values)


def _swapped(
    brokers: Brokers, choices: Ragged, leaders: Int32s, loads: Int64s, topics: Int32s, check: Callable[[], None]
) -> Int32s:
    """The leaders after partitions of different topics have swapped brokers, as long as that evens out the topics."""
    state = leader_state(brokers, choices, np.full(len(leaders), NONE, np.int32), loads)  # no change of a leader counts
    state.members[:] = leaders
    link(state)
    even_out_topics(state, topics, check)
    return state.members


@kernel
def _leaders_that_stay(offsets: Int32s, values: Int32s, leaders: Int32s, may_lead: Bools) -> tuple[Bools, Bools]:
    """bool[partitions] twice: can the current leader stay the leader; can any replica lead?"""
    stays, possible = np.zeros(len(leaders), np.bool_), np.zeros(len(leaders), np.bool_)
    for partition in range(len(leaders)):
        for i in range(offsets[partition], offsets[partition + 1]):
            if may_lead[values[i]]:
                possible[partition] = True
                stays[partition] |= values[i] == leaders[partition]
    return stays, possible


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


@kernel
def _to_front(offsets: Int32s, values: Int32s, leaders: Int32s) -> None:
    for partition in range(len(leaders)):
        start = offsets[partition]
        at = start
        while values[at] != leaders[partition]:
            at += 1
        while at > start:
            values[at] = values[at - 1]
            at -= 1
        values[start] = leaders[partition]
