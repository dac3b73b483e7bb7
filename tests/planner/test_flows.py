"""Flows that are kept, and the proof that none is cheaper."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from service.planner.flows import augment, cost, dual_bound, fill, network

EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=20)


@given(EDGES)
def test_no_flow_is_larger_and_none_as_large_is_cheaper(edges):
    """SciPy's linear programmes say the same; the flow is one, and its potentials prove the cost, which others do not."""
    edges = [edge for edge in edges if edge[0] != edge[1]] or [(0, 6, 1, 1)]
    tails, heads, capacities, prices = (np.array(column) for column in zip(*edges, strict=True))
    through = network(7, tails.astype(np.int32), heads.astype(np.int32), capacities.astype(np.int64), prices.astype(np.int64))
    sent = fill(through)
    flow = through.flow()
    balance = np.zeros((7, len(edges)))
    balance[heads, np.arange(len(edges))] += 1
    balance[tails, np.arange(len(edges))] -= 1
    assert (balance @ flow).tolist() == [-sent, 0, 0, 0, 0, 0, sent]
    assert ((flow >= 0) & (flow <= capacities)).all()
    bounds = [(0, capacity) for capacity in capacities]
    largest = linprog(-balance[6], A_eq=balance[1:6], b_eq=np.zeros(5), bounds=bounds)
    assert sent == round(-largest.fun)
    cheapest = linprog(prices, A_eq=balance[1:], b_eq=[0] * 5 + [sent], bounds=bounds)
    assert cost(through, prices) == dual_bound(through, capacities, prices, sent) == round(cheapest.fun)
    through.potential[1:6] = 0
    assert dual_bound(through, capacities, prices, sent) <= round(cheapest.fun)


def test_the_nodes_that_nothing_more_reaches_are_a_cut():
    tails, heads = np.array([0, 0, 1, 2], np.int32), np.array([1, 2, 3, 3], np.int32)
    through = network(4, tails, heads, np.array([5, 1, 2, 9], np.int64), np.zeros(4, np.int64))
    assert fill(through) == 3
    sent, steps = augment(through)
    assert (sent, steps.tolist()) == (0, [0, 1, -1, -1])
