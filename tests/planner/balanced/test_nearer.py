"""Exchanges that read more partitions nearby: as the twin does, within what is reached already, up to the bound."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from service.core.model import NONE
from service.planner.balanced import balanced, weighing
from service.planner.balanced.nearer import Places, draw_near
from tests.planner.balanced.test_balanced import random_group, relations, values
from tests.planner.balanced.test_spread import shares
from tests.reference.balanced_groups import Nearer


def offsets(rows):
    return np.cumsum([0, *map(len, rows)]).astype(np.int32), np.array([each for row in rows for each in row], np.int32)


@st.composite
def places(draw):
    """Items that members hold, on racks, and who claims them."""
    items, may, _ = draw(shares())
    if draw(st.booleans()):
        items = items._replace(weights=items.weights * 20_001)
    members = range(len(items.kinds))
    racks = [draw(st.integers(NONE, 2)) for _ in members]
    there = [sorted(draw(st.sets(st.integers(0, 2), max_size=2)) & {racks[member] for member in some}) for some in may]
    claims = [sorted(draw(st.sets(st.sampled_from(sorted(some)), max_size=2))) for some in may]
    claimed = [bool(some) or draw(st.booleans()) for some in claims]
    holders = np.array([draw(st.sampled_from(sorted(some))) for some in may], np.int32)
    found = Places(*offsets(there), np.array(racks, np.int32), *offsets(claims), np.array(claimed, np.bool_))
    near = [{member for member in members if racks[member] in some} for some in there]
    widths = [len(one) + len(other) for one, other in zip(there, claims, strict=True)]
    could = [bool(some) for some in there]
    weights, capacities, topics = items.weights.tolist(), items.capacities.tolist(), items.topics.tolist()
    twin = Nearer(weights, capacities, may, near, list(map(set, claims)), claimed, could, widths, topics)
    return items, found, holders, twin


def measured(twin, holders, loads):
    """The loads ÷ capacity, largest first, the moves, and what is near."""
    ratios = sorted((load / capacity for load, capacity in zip(loads, twin.capacities, strict=True)), reverse=True)
    moves = sum(twin._moves(item, holder) for item, holder in enumerate(holders))
    return ratios, moves, sum(holder in twin.near[item] for item, holder in enumerate(holders))


@settings(max_examples=50)
@given(drawn=places(), steps=st.sampled_from([0, 200, 5_000]))
def test_the_twin_exchanges_the_same_and_nothing_becomes_worse(drawn, steps):
    items, found, holders, twin = drawn
    loads = np.bincount(holders, items.weights, len(items.kinds)).astype(np.int64)
    before, (theirs, weights) = measured(twin, holders.tolist(), loads.tolist()), (holders.tolist(), loads.tolist())
    twin.run(theirs, weights, steps)
    draw_near(items, found, holders, loads, steps)
    assert (holders.tolist(), loads.tolist()) == (theirs, weights)
    assert loads.tolist() == np.bincount(holders, items.weights, len(loads)).astype(int).tolist()
    after = measured(twin, holders.tolist(), loads.tolist())
    assert after[0][0] <= before[0][0]
    assert all(new <= old * 1.0001 for new, old in zip(after[0], before[0], strict=True))
    assert (-after[1], after[2]) >= (-before[1], before[2])
    assert all(holder in twin.may[item] for item, holder in enumerate(theirs))


def a_group(seed, members, partitions, *, copies=2, owned=0.0):
    """One topic of partitions with lognormal weights, on three racks."""
    draw = random.Random(seed)
    group = random_group(draw, members, [partitions], 0, owned)
    weights = np.floor(np.random.default_rng(seed).lognormal(8, 1.2, partitions))
    bases = [draw.randrange(3) for _ in range(partitions)]
    racks = [sorted({(base + i) % 3 for i in range(copies)}) for base in bases]
    everybody = type(group.subscriptions)(np.arange(members + 1, dtype=np.int32), np.zeros(members, np.int32))
    topics = replace(group.topics, weights=weights, racks=type(group.owned)(*offsets(racks)))
    on_racks = np.arange(members, dtype=np.int32) % 3
    return replace(group, topics=topics, subscriptions=everybody, racks=on_racks, rack_ids=("a", "b", "c"))


@pytest.mark.parametrize(("members", "partitions"), [(9, 900), (6, 70), (6, 100)])
def test_nearly_everything_is_read_nearby_where_loads_are_as_even_without_it(members, partitions):
    """Of three partitions, two happen to go to a member on a rack of theirs."""
    aim = balanced.assign(a_group(1, members, partitions)).certificate.rack_local
    assert aim.bound == partitions
    assert aim.gap < 0.005
    assert aim.method == weighing.BY_EXCHANGES


def most_near(group, largest, moved):
    """By a linear programme, where partitions can be cut: what is read nearby within this load ÷ capacity and these moves."""
    (readers, claims, near), read = relations(group)
    pairs = [(p, m) for p, some in enumerate(readers) for m in sorted(some)]
    rows = np.zeros((len(readers) + len(group) + 1, len(pairs)))
    for column, (p, m) in enumerate(pairs):
        rows[p, column] = 1
        rows[len(readers) + m, column] = group.topics.weights[read][p]
        rows[-1, column] = bool(claims[p]) and m not in claims[p]
    low = np.concatenate([np.ones(len(readers)), np.full(len(group) + 1, -np.inf)])
    high = np.concatenate([np.ones(len(readers)), np.full(len(group), largest), [moved]])
    gains = np.array([m in near[p] for p, m in pairs], float)
    solved = milp(
        -gains,
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(rows, low, high)],
    )
    return -solved.fun


@pytest.mark.parametrize(
    ("seed", "copies", "owned", "share"), [(1, 2, 0.0, 1), (2, 1, 1.0, 0.85), (3, 2, 0.6, 0.95), (4, 1, 0.0, 0.9)]
)
def test_the_search_comes_close_to_a_linear_programme_which_is_below_the_bound(seed, copies, owned, share):
    group = a_group(seed, 7, 200, copies=copies, owned=owned)
    assignment = balanced.assign(group)
    told = values(assignment)
    near, bound = told["rack_local"]
    assert near >= share * bound
    best = most_near(group, told["load"][0] * (1 + 1e-9), told["moves"][0])
    assert near <= best + 1e-6
    assert int(best + 1e-6) <= bound <= best * 1.01 + 1
