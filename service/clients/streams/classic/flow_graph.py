"""The minimum-cost flow of Streams' racks: among flows of equal cost, the very one that Kafka finds.

Edges of a node are looked at in the order of the nodes where they end, nodes in their own order. Kafka looks at all edges in
every pass; these kernels skip nodes whose distance has not changed since they were looked at last, as their edges relax nothing.

Source: org.apache.kafka.streams.processor.internals.assignment.Graph (4.3.1).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from service.core.clock import OUT_OF_TIME, Deadline, current_deadline, in_time, is_over
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s, offsets_of, ranks_of

SOURCE: Final = -1
"""The number of the source's node; the sink has the largest."""


class FlowGraph(NamedTuple):
    """A residual graph: each edge and its counterpart, by the node that they leave and then by the node where they end.

    first : int32[nodes + 1]    where the edges of each node begin
    ends, counterparts : int32[edges]
    costs, left, flow : int64[edges]    left : residual flow; flow : only of forward edges
    forward : bool[edges]
    """

    first: Int32s
    ends: Int32s
    counterparts: Int32s
    costs: Int64s
    left: Int64s
    flow: Int64s
    forward: Bools


def solve(tails: Int32s, heads: Int32s, capacities: Int64s, costs: Int32s, flow: Int64s | None) -> Int64s:
    """The flow of least cost through each edge, int64[edges].

    tails, heads : int32[edges], the numbers of nodes; no two edges join the same nodes
    capacities, costs : of each edge
    flow : that it is to begin from, which is a maximum flow; None: Ford and Fulkerson's

    Source: Graph.residualGraph, calculateMaxFlow, solveMinCostFlow. Plain-Python twin: tests/reference/flow_graph.py.
    """
    nodes, numbered = np.unique(np.concatenate((tails, heads)), return_inverse=True)
    edges = len(tails)
    begin, end = numbered[:edges], numbered[edges:]
    order = np.lexsort((np.concatenate((end, begin)), np.concatenate((begin, end))))
    place = ranks_of(order)
    counts = np.bincount(np.concatenate((begin, end)), minlength=len(nodes))
    started = np.zeros(edges, np.int64) if flow is None else flow
    graph = FlowGraph(
        first=offsets_of(counts),
        ends=np.concatenate((end, begin))[order].astype(np.int32),
        counterparts=place[(order + edges) % (2 * edges)],
        costs=np.concatenate((costs, -costs))[order].astype(np.int64),
        left=np.concatenate((capacities - started, started))[order],
        flow=np.concatenate((started, np.zeros(edges, np.int64)))[order],
        forward=order < edges,
    )
    if flow is None:
        in_time(_fill(graph, current_deadline()))
    in_time(_cancel_cycles(graph, current_deadline()))
    return graph.flow[place[:edges]]


@kernel
def _fill(graph: FlowGraph, deadline: Deadline) -> int:
    """Send flow along paths of the fewest edges while there is one. Returns 0 or OUT_OF_TIME. Source: Graph.fordFulkson."""
    nodes = len(graph.first) - 1
    sink = nodes - 1
    through = np.empty(nodes, np.int32)  # the edge by which a node was reached
    queue = np.empty(nodes, np.int32)
    while _reach(graph, through, queue):
        if is_over(deadline):
            return OUT_OF_TIME
        sent = 2**31 - 1
        node = sink
        while node != 0:
            sent = min(sent, int(graph.left[through[node]]))
            node = graph.ends[graph.counterparts[through[node]]]
        node = sink
        while node != 0:
            edge = through[node]
            node = graph.ends[graph.counterparts[edge]]
            _send(graph, edge, sent)
    return 0


@inner_kernel
def _reach(graph: FlowGraph, through: Int32s, queue: Int32s) -> bool:
    """Is there a path from the source to the sink? through : the edge to each of its nodes"""
    sink = len(graph.first) - 2
    through[:] = NONE
    queue[0] = 0
    at, count = 0, 1
    while at < count:
        node = queue[at]
        at += 1
        for edge in range(graph.first[node], graph.first[node + 1]):
            other = graph.ends[edge]
            if other == 0 or through[other] != NONE or graph.left[edge] <= 0:
                continue
            through[other] = edge
            if other == sink:
                return True
            queue[count] = other
            count += 1
    return False


@kernel
def _cancel_cycles(graph: FlowGraph, deadline: Deadline) -> int:
    """Send flow around cycles of negative cost while there is one. Returns 0 or OUT_OF_TIME.

    Source: Graph.cancelNegativeCycles.
    """
    nodes = len(graph.first) - 1
    through = np.empty(nodes, np.int32)
    visited = np.empty(nodes, np.bool_)
    while True:
        node = _relax(graph, through, deadline)
        if node < 0:
            return OUT_OF_TIME if node == OUT_OF_TIME else 0
        visited[:] = False
        while not visited[node]:
            visited[node] = True
            node = graph.ends[graph.counterparts[through[node]]]
        start, sent = node, int(graph.left[through[node]])
        node = graph.ends[graph.counterparts[through[start]]]
        while node != start:
            sent = min(sent, int(graph.left[through[node]]))
            node = graph.ends[graph.counterparts[through[node]]]
        node = start
        while True:
            edge = through[node]
            node = graph.ends[graph.counterparts[edge]]
            _send(graph, edge, sent)
            if node == start:
                break


_NO_CYCLE: Final = -2


@inner_kernel
def _relax(graph: FlowGraph, through: Int32s, deadline: Deadline) -> int:
    """A node behind which there is a cycle of negative cost, or _NO_CYCLE, or OUT_OF_TIME.

    through : the edge by which the distance to each node was found last

    Source: Graph.detectNegativeCycles, whose dummy source is at a distance of 0 from every node.
    """
    nodes = len(graph.first) - 1
    distance = np.zeros(nodes, np.int64)
    changed = np.ones(nodes, np.bool_)
    through[:] = NONE
    for passed in range(nodes + 1):
        if is_over(deadline):
            return OUT_OF_TIME
        any_changed = False
        for node in range(nodes):
            if not changed[node]:
                continue
            changed[node] = False
            for edge in range(graph.first[node], graph.first[node + 1]):
                other, at = graph.ends[edge], distance[node] + graph.costs[edge]
                if graph.left[edge] == 0 or distance[other] <= at:
                    continue
                distance[other] = at
                through[other] = edge
                if passed == nodes:
                    return int(other)
                changed[other] = any_changed = True
        if not any_changed:
            break
    return _NO_CYCLE


@inner_kernel
def _send(graph: FlowGraph, edge: int, sent: int) -> None:
    counterpart = graph.counterparts[edge]
    graph.left[edge] -= sent
    graph.left[counterpart] += sent
    if graph.forward[edge]:
        graph.flow[edge] += sent
    if graph.forward[counterpart] and graph.flow[counterpart] >= sent:
        graph.flow[counterpart] -= sent
