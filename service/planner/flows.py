"""Flows through a network that is kept: which edge carries how much, and a proof that no flow is cheaper.

*Algorithm*: Ford and Fulkerson's primal-dual method. Each round has two parts, which the caller repeats and between which it may
look at the time: ``reach`` finds the distances from node 0 (Dijkstra's, on reduced prices) and adds them to the potentials;
``augment`` sends a blocking flow (Dinic's) along edges of reduced price 0. The flow is at all times a cheapest one of its size.

*Proof*: for any potentials, ``dual_bound`` is at most the cost of any flow of this size (weak duality of linear programmes).

Source: Ahuja, Magnanti and Orlin, "Network Flows", chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.budget import check_time
from service.core.heap import sift_down, sift_up
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s, Int64s

FAR: Final = np.int64(1) << np.int64(60)
"""Beyond any distance."""

MOST_STEPS: Final = 50_000_000
"""Steps of a blocking flow, besides four for each arc, after which it ends though it may not block yet: about half a second."""


class Network(NamedTuple):
    """Each edge as two arcs, there and back; the arcs of a node stand together.

    first : int32[nodes + 1]   the arcs ``first[node]`` to ``first[node + 1]`` leave the node
    ends : int32[arcs]         where each ends
    back : int32[arcs]         the arc of the same edge in the other direction
    left : int64[arcs]         its residual capacity; written by ``augment``
    price : int64[arcs]        per unit; that of an edge is not negative
    place : int32[edges]       the arc of each edge
    potential : int64[nodes]   written by ``reach``
    """

    first: Int32s
    ends: Int32s
    back: Int32s
    left: Int64s
    price: Int64s
    place: Int32s
    potential: Int64s

    def flow(self) -> Int64s:
        """int64[edges], what each edge carries."""
        return self.left[self.back[self.place]]


class Edges(NamedTuple):
    """Edges from ``tails`` to ``heads``, nodes: of one sort, in scalars or arrays; or ``joined``, int64[edges] each."""

    tails: Any
    heads: Any
    capacities: Any
    prices: Any

    @classmethod
    def joined(cls, sorts: Sequence[Edges]) -> Edges:
        """Those of one sort after those of another."""
        columns = zip(*(np.broadcast_arrays(*each) for each in sorts), strict=True)
        return cls(*(np.concatenate([part.astype(np.int64).ravel() for part in column]) for column in columns))

    def network(self, nodes: int) -> Network:
        """The network of these, once they are joined."""
        return network(nodes, self.tails.astype(np.int32), self.heads.astype(np.int32), self.capacities, self.prices)


@kernel
def network(nodes: int, tails: Int32s, heads: Int32s, capacities: Int64s, prices: Int64s) -> Network:
    """The network of these edges, without any flow.

    tails, heads : int32[edges]   where each edge begins and ends
    capacities, prices : int64[edges], not negative
    """
    edges = len(tails)
    first = np.zeros(nodes + 1, np.int32)
    for edge in range(edges):
        first[tails[edge] + 1] += 1
        first[heads[edge] + 1] += 1
    for node in range(nodes):
        first[node + 1] += first[node]
    cursor = first[:-1].copy()
    ends = np.empty(2 * edges, np.int32)
    back = np.empty(2 * edges, np.int32)
    left = np.zeros(2 * edges, np.int64)
    price = np.empty(2 * edges, np.int64)
    place = np.empty(edges, np.int32)
    for edge in range(edges):
        there = cursor[tails[edge]]
        cursor[tails[edge]] += 1
        again = cursor[heads[edge]]
        cursor[heads[edge]] += 1
        place[edge] = there
        ends[there], ends[again] = heads[edge], tails[edge]
        back[there], back[again] = again, there
        left[there] = capacities[edge]
        price[there], price[again] = prices[edge], -prices[edge]
    return Network(first, ends, back, left, price, place, np.zeros(nodes, np.int64))


def fill(through: Network) -> int:
    """Send the largest flow at the least cost from node 0 to the last node, on top of what flows; returns how much."""
    sent = 0
    while reach(through):
        more = 1
        while more:
            check_time()
            more, _ = augment(through)
            sent += more
    return sent


@kernel
def reach(through: Network) -> bool:
    """Add to the potentials the distances from node 0, up to that of the last node; False if the last cannot be reached.

    Dijkstra's, with a heap of nodes. Plain-Python twin: ``scipy.optimize.linprog``, in tests/planner/test_flows.py.
    """
    first, ends, left, price, potential = through.first, through.ends, through.left, through.price, through.potential
    nodes = len(potential)
    sink = nodes - 1
    distance = np.full(nodes, FAR, np.int64)
    heap = np.empty(nodes, np.int32)
    where = np.full(nodes, NONE, np.int32)  # the place of each node in the heap
    distance[0] = 0
    heap[0] = 0
    where[0] = 0
    size = 1
    while size > 0:
        node = heap[0]
        if node == sink:
            break
        size -= 1
        heap[0] = heap[size]
        where[heap[0]] = 0
        where[node] = NONE
        if size > 0:
            sift_down(heap, size, where, distance, 0)
        so_far = distance[node] + potential[node]
        for arc in range(first[node], first[node + 1]):
            other = ends[arc]
            if left[arc] > 0:
                along = so_far + price[arc] - potential[other]
                if along < distance[other]:
                    distance[other] = along
                    if where[other] == NONE:
                        heap[size] = other
                        where[other] = size
                        size += 1
                    sift_up(heap, where, distance, where[other])
    if distance[sink] == FAR:
        return False
    for node in range(nodes):
        potential[node] += min(distance[node], distance[sink])
    return True


@kernel
def augment(through: Network) -> tuple[int, Int32s]:  # noqa: C901, PLR0912, PLR0915 (a kernel)
    """Send a blocking flow along shortest paths of edges whose reduced price is 0; returns how much, 0 if there is no path.

    Also returns int32[nodes], the edges on the way from node 0 to each node, or NONE. If nothing was sent, these are all nodes
    that can be reached: the source's side of a cut.
    """
    first, ends, back, left, potential = through.first, through.ends, through.back, through.left, through.potential
    nodes = len(potential)
    sink = nodes - 1
    level = np.full(nodes, NONE, np.int32)  # the fewest edges of reduced price 0 from node 0; NONE beyond the sink
    queue = np.empty(nodes, np.int32)
    level[0] = queue[0] = 0
    at, end = 0, 1
    while at < end and level[sink] == NONE:
        source = queue[at]
        at += 1
        for arc in range(first[source], first[source + 1]):
            target = ends[arc]
            if left[arc] > 0 and level[target] == NONE and _is_tight(through.price[arc], potential, source, target):
                level[target] = level[source] + 1
                queue[end] = target
                end += 1
    sent = np.int64(0)
    if level[sink] == NONE:
        return int(sent), level
    following = first[:-1].copy()  # the next arc to try from each node
    path = np.empty(level[sink], np.int32)
    node, depth = 0, 0
    steps = 4 * len(ends) + MOST_STEPS
    while steps > 0 or sent == 0:
        steps -= 1
        if node == sink:
            steps -= 2 * depth
            fits, full = left[path[0]], depth
            for i in range(depth):
                fits = min(fits, left[path[i]])
            for i in range(depth - 1, -1, -1):
                left[path[i]] -= fits
                left[back[path[i]]] += fits
                if left[path[i]] == 0:
                    full = i
            sent += fits
            depth = full
            node = ends[back[path[depth]]]
            continue
        arc, stop = following[node], first[node + 1]
        while arc < stop:
            other = ends[arc]
            if left[arc] > 0 and level[other] == level[node] + 1 and _is_tight(through.price[arc], potential, node, other):
                break
            arc += 1
        steps -= arc - following[node]
        following[node] = arc
        if arc < stop:
            path[depth] = arc
            depth += 1
            node = ends[arc]
        elif depth == 0:
            break
        else:
            depth -= 1
            node = ends[back[path[depth]]]
            following[node] += 1
    return int(sent), level


@inner_kernel
def _is_tight(price: int, potential: Int64s, tail: int, head: int) -> bool:
    """Is the reduced price of an arc 0?"""
    return bool(price + potential[tail] == potential[head])


def cost(through: Network, prices: Int64s) -> int:
    """What the flow costs. prices : int64[edges]"""
    return _product(through.flow(), prices)


def dual_bound(through: Network, capacities: Int64s, prices: Int64s, size: int) -> int:
    """What any flow of this size from node 0 to the last node costs at least, by the potentials alone.

    capacities, prices : int64[edges], those of the network's edges
    """
    tails, heads = through.ends[through.back[through.place]], through.ends[through.place]
    reduced = prices + through.potential[tails] - through.potential[heads]
    height = int(through.potential[-1] - through.potential[0])
    return height * size + _product(capacities, np.minimum(reduced, 0))


def _product(units: Int64s, prices: Int64s) -> int:
    """The sum of units × prices, which may be beyond an int64."""
    upper, lower = prices >> 31, prices & 0x7FFFFFFF
    return (int(units @ upper) << 31) + int(units @ lower)
