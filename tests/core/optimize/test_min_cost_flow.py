"""Flows of least cost."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from service.core.optimize.min_cost_flow import least_cost

EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=20)


@given(EDGES)
@settings(max_examples=100, deadline=None)
def test_no_flow_is_larger_and_none_as_large_is_cheaper(edges):
    """SciPy's linear programmes say the same: first the largest flow, then the cheapest of that size."""
    edges = [edge for edge in edges if edge[0] != edge[1]] or [(0, 6, 1, 1)]
    tails, heads, capacities, costs = (np.array(column) for column in zip(*edges, strict=True))
    flow, cost = least_cost(
        7, tails.astype(np.int32), heads.astype(np.int32), capacities.astype(np.int64), costs.astype(np.int32)
    )
    balance = np.zeros((7, len(edges)))
    balance[heads, np.arange(len(edges))] += 1
    balance[tails, np.arange(len(edges))] -= 1
    bounds = [(0, capacity) for capacity in capacities]
    largest = linprog(-balance[6], A_eq=balance[1:6], b_eq=np.zeros(5), bounds=bounds)
    assert flow == round(-largest.fun)
    cheapest = linprog(costs, A_eq=balance[1:], b_eq=[0] * 5 + [flow], bounds=bounds)
    assert cost == round(cheapest.fun)
