"""Minimum-cost flow through a network."""

from typing import NamedTuple

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s, Int64s
from service.core.ragged import grouped_arrays

_FAR = np.int64(1) << np.int64(60)


class _Network(NamedTuple):
    """The edges and their reverses, 2 × edges in all: the reverse of edge e is ``e + edges``.

    leaving_of, leaving : node → the edges that leave it
    ends : int32[2 × edges]    where each ends
    left : int64[2 × edges]    its residual capacity
    price : int32[2 × edges]
    """

    leaving_of: Int32s
    leaving: Int32s
    ends: Int32s
    left: Int64s
    price: Int32s


@kernel
def least_cost(nodes: int, tails: Int32s, heads: Int32s, capacities: Int64s, costs: Int32s) -> tuple[int, int]:
    """The maximum flow from node 0 to the last node, and its minimum cost.

    nodes : their number, at least 2
    tails, heads : int32[edges]   where each edge begins and ends
    capacities : int64[edges]
    costs : int32[edges]          per unit, not negative

    Ford and Fulkerson's primal-dual method: as long as the sink can be reached, send flow along cheapest paths only. The cost of
    the cheapest path rises from round to round, so small costs make few rounds. Each round uses Dinic's blocking flows.

    Plain-Python twin: ``scipy.optimize.linprog``, in tests/core/optimize/test_min_cost_flow.py.
    """
    edges = len(tails)
    ends = np.concatenate((heads, tails))
    left = np.concatenate((capacities, np.zeros(edges, np.int64)))
    price = np.concatenate((costs, -costs))
    leaving_of, leaving = grouped_arrays(np.concatenate((tails, heads)), nodes)
    network = _Network(leaving_of, leaving, ends, left, price)

    sink = nodes - 1
    flow = cost = np.int64(0)
    queue = np.empty(nodes, np.int32)
    path = np.empty(nodes, np.int32)
    while True:
        distance = _cheapest(nodes, network)
        if distance[sink] == _FAR:
            return int(flow), int(cost)
        while True:
            level = np.full(nodes, NONE, np.int32)
            level[0] = 0
            queue[0] = 0
            at, end = 0, 1
            while at < end and level[sink] == NONE:
                node = queue[at]
                at += 1
                for i in range(leaving_of[node], leaving_of[node + 1]):
                    edge = leaving[i]
                    other = ends[edge]
                    if left[edge] > 0 and level[other] == NONE and distance[other] == distance[node] + price[edge]:
                        level[other] = level[node] + 1
                        queue[end] = other
                        end += 1
            if level[sink] == NONE:
                break
            sent = _block(network, distance, level, path)
            flow += sent
            cost += sent * distance[sink]


@inner_kernel
def _cheapest(nodes: int, network: _Network) -> Int64s:
    """int64[nodes], the least cost from node 0 to each node: Bellman and Ford's, with a queue."""
    leaving_of, leaving, ends, left, price = network
    distance = np.full(nodes, _FAR, np.int64)
    waiting = np.zeros(nodes, np.bool_)
    queue = np.empty(nodes, np.int32)  # a ring, without duplicates
    distance[0] = 0
    queue[0] = 0
    at, size = 0, 1
    while size > 0:
        node = queue[at]
        at = (at + 1) % nodes
        size -= 1
        waiting[node] = False
        for i in range(leaving_of[node], leaving_of[node + 1]):
            edge = leaving[i]
            other = ends[edge]
            if left[edge] > 0 and distance[node] + price[edge] < distance[other]:
                distance[other] = distance[node] + price[edge]
                if not waiting[other]:
                    waiting[other] = True
                    queue[(at + size) % nodes] = other
                    size += 1
    return distance


@inner_kernel
def _block(network: _Network, distance: Int64s, level: Int32s, path: Int32s) -> int:
    """Send flow along cheapest paths by level until every path is blocked; returns the flow. ``network.left`` is updated.

    path : int32[nodes]   scratch: the edges from node 0 to the current node
    """
    leaving_of, leaving, ends, left, price = network
    back = len(ends) // 2
    sink = len(level) - 1
    following = leaving_of[:-1].copy()  # the next edge to try from each node
    sent = np.int64(0)
    node, depth = 0, 0
    while True:
        if node == sink:
            fits = left[path[0]]
            for i in range(1, depth):
                fits = min(fits, left[path[i]])
            full = depth
            for i in range(depth - 1, -1, -1):
                edge = path[i]
                left[edge] -= fits
                left[edge - back if edge >= back else edge + back] += fits
                if left[edge] == 0:
                    full = i
            sent += fits
            depth = full
            edge = path[depth]
            node = ends[edge - back if edge >= back else edge + back]
            continue
        open_edge = False
        while following[node] < leaving_of[node + 1]:
            edge = leaving[following[node]]
            other = ends[edge]
            if left[edge] > 0 and level[other] == level[node] + 1 and distance[other] == distance[node] + price[edge]:
                open_edge = True
                break
            following[node] += 1
        if open_edge:
            path[depth] = edge
            depth += 1
            node = other
        elif depth == 0:
            return int(sent)
        else:
            depth -= 1
            edge = path[depth]
            node = ends[edge - back if edge >= back else edge + back]
            following[node] += 1
