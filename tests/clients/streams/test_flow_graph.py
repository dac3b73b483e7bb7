"""The flow that puts tasks into racks, beside its twin. Both beside Kafka's own in ``test_classic.py``."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.clients.streams.classic.racks import SOURCE, solve
from tests.reference import flow_graph

SIZES = st.tuples(st.integers(1, 9), st.integers(1, 5))


@given(
    SIZES.flatmap(
        lambda size: st.tuples(st.just(size), *(st.lists(st.integers(0, most), min_size=45, max_size=45) for most in (3, 99)))
    )
)
def test_of_equal_flows_the_same_is_found(drawn):
    (tasks, clients), costs, owners = drawn
    owner = [owners[task] % clients for task in range(tasks)]
    counts = [owner.count(client) for client in range(clients)]
    edges = {}
    for task in range(tasks):
        for client in range(clients):
            has = owner[task] == client
            edges[task, tasks + client] = (1, costs[task * clients + client] + (not has), int(has))
    edges |= {(SOURCE, task): (1, 0, 1) for task in range(tasks)}
    edges |= {(tasks + client, tasks + clients): (count, 0, count) for client, count in enumerate(counts)}
    tails, heads = (np.array(ends, np.int32) for ends in zip(*edges, strict=True))
    capacities, price, flow = (np.array(values, np.int64) for values in zip(*edges.values(), strict=True))
    for begin in (flow, None):
        found = solve(tails, heads, capacities, price.astype(np.int32), begin)
        empty = {edge: (capacity, cost, 0) for edge, (capacity, cost, _) in edges.items()}
        expected = flow_graph.solve(edges if begin is not None else empty, fill=begin is None)
        assert found.tolist() == [expected[edge] for edge in edges]
