"""Tasks in the racks of their partitions (KIP-925): what the leader of a classic group changes once it has assigned.

Clients exchange tasks of one kind, each keeps as many as it had. The flow of least cost through a network decides which: each
partition of a task without a replica in the client's rack costs ``traffic``, a task that the client did not have ``non_overlap``.

=================== =========================================================================================================
min_traffic         tasks → clients
balance_subtopology tasks → clients within each subtopology, of which no client has more than its share → clients
=================== =========================================================================================================

Standby tasks are exchanged between two clients at a time, by ``min_traffic`` with either strategy, in at most four rounds.

Source: RackAwareTaskAssignor, MinTrafficGraphConstructor, BalanceSubtopologyGraphConstructor (kafka-streams 4.3.1).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Final, NamedTuple

import numpy as np

from service.clients.streams.classic.client import Client
from service.clients.streams.model import TASK_BITS
from service.core.budget import OUT_OF_TIME, Deadline, check_time, current_deadline, in_time, is_over
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Int32s, Int64s, offsets_of, ranks_of

# The minimum-cost flow of Streams' racks: among flows of equal cost, the very one that Kafka finds.
#
# Edges of a node are looked at in the order of the nodes where they end, nodes in their own order. Kafka looks at all edges in
# every pass; these kernels skip nodes whose distance has not changed since they were looked at last, as their edges relax
# nothing.
#
# Source: org.apache.kafka.streams.processor.internals.assignment.Graph (4.3.1).

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


MIN_TRAFFIC, BALANCE_SUBTOPOLOGY = "min_traffic", "balance_subtopology"
STRATEGIES: Final = (MIN_TRAFFIC, BALANCE_SUBTOPOLOGY)
STATELESS: Final = (1, 0)
"""What traffic and a task of another client cost for tasks without state."""
MOST_ROUNDS: Final = 4
"""RackAwareTaskAssignor.STANDBY_OPTIMIZER_MAX_ITERATION."""


@dataclass(frozen=True)
class RackCosts:
    """What decides where tasks cost least.

    strategy : one of STRATEGIES
    traffic, non_overlap : ``rack.aware.assignment.traffic_cost`` and ``non_overlap_cost``; None: as the assignor has them
    rack_of : int32[clients], of each client by its number
    rows : task → its row in sources and changelogs
    sources, changelogs : int32[tasks × racks], how many partitions of a task's topics have no replica in a rack
    """

    strategy: str
    traffic: int | None
    non_overlap: int | None
    rack_of: Int32s
    rows: Mapping[int, int]
    sources: Int32s
    changelogs: Int32s

    def stateful(self, traffic: int, non_overlap: int) -> tuple[int, int]:
        """The costs of tasks with state, where these are the assignor's own."""
        return (
            traffic if self.traffic is None else self.traffic,
            non_overlap if self.non_overlap is None else self.non_overlap,
        )

    def remote(self, client: Client, tasks: set[int], misses: Int32s) -> int:
        """How many partitions of a client's tasks have no replica in its rack. misses : sources or changelogs"""
        return int(misses[[self.rows[task] for task in tasks], self.rack_of[client.number]].sum())


def optimize_active(racks: RackCosts, clients: Sequence[Client], tasks: Sequence[int], costs: tuple[int, int]) -> None:
    """Exchange active tasks between clients.

    clients : by number; tasks : those to exchange, ascending; costs : of traffic, and of a task of another client
    """
    if tasks:
        network = _Network(clients, tasks, [client.active for client in clients])
        by_subtopology = racks.strategy == BALANCE_SUBTOPOLOGY
        _exchange(network, network.costs(racks, racks.sources, costs), by_subtopology=by_subtopology)


def optimize_standbys(
    racks: RackCosts, clients: Sequence[Client], costs: tuple[int, int], may: Callable[[Client, Client, int], bool]
) -> None:
    """Exchange standby tasks between clients. may : may the first client's task go to the second?"""
    for _ in range(MOST_ROUNDS):
        moved = False
        for pair in combinations(clients, 2):
            check_time()
            if racks.rack_of[pair[0].number] == racks.rack_of[pair[1].number]:
                continue
            movable = [_movable(*each, may) for each in (pair, pair[::-1])]
            if all(movable):
                network = _Network(pair, sorted(movable[0] + movable[1]), [client.standby for client in pair])
                of_pair = network.costs(racks, racks.changelogs, costs)
                moved |= _exchange(network, of_pair, by_subtopology=False)
        if not moved:
            return


def _movable(source: Client, destination: Client, may: Callable[[Client, Client, int], bool]) -> list[int]:
    """The standby tasks of a client that another one may get."""
    tasks = []
    for task in source.standby:
        check_time()
        if task not in destination and may(source, destination, task):
            tasks.append(task)
    return tasks


class _Network:
    """Tasks, clients, and who has which task.

    has : bool[tasks × clients]; counts : int64[clients], how many of the tasks it has
    """

    def __init__(self, clients: Sequence[Client], tasks: Sequence[int], held: Sequence[set[int]]) -> None:
        self.clients, self.tasks, self.held = clients, tasks, held
        self.has = np.zeros((len(tasks), len(clients)), np.bool_)
        places = {task: i for i, task in enumerate(tasks)}
        for client, of_client in enumerate(held):
            self.has[[places[task] for task in of_client if task in places], client] = True
        self.counts = self.has.sum(axis=0, dtype=np.int64)

    def costs(self, racks: RackCosts, misses: Int32s, costs: tuple[int, int]) -> Int32s:
        """int32[tasks × clients], as Java's int: what each task costs at each client."""
        traffic, non_overlap = costs
        rows = [racks.rows[task] for task in self.tasks]
        remote = misses[rows][:, racks.rack_of[[client.number for client in self.clients]]].astype(np.int64)
        return (remote * traffic + np.where(self.has, 0, non_overlap)).astype(np.int32)


def _exchange(network: _Network, costs: Int32s, *, by_subtopology: bool) -> bool:
    """Give each task to the client to which the cheapest flow takes it; returns whether any has moved."""
    tails, heads, capacities, flow = _by_subtopology(network) if by_subtopology else _plain(network)
    of_edges = np.zeros(len(tails), np.int32)
    of_edges[: costs.size] = costs.ravel()
    solved = solve(tails, heads, capacities, of_edges, flow)
    to = np.argmax(solved[: costs.size].reshape(costs.shape) > 0, axis=1)
    held = np.argmax(network.has, axis=1)
    for i in np.flatnonzero(to != held).tolist():
        network.held[held[i]].discard(network.tasks[i])
        network.held[to[i]].add(network.tasks[i])
    return bool((to != held).any())


def _plain(network: _Network) -> tuple[Int32s, Int32s, Int64s, Int64s | None]:
    """Where edges begin and end, their capacities, and the flow that is there: tasks → clients, task by task; then the others."""
    tasks, clients = network.has.shape
    each_task, each_client = np.arange(tasks), tasks + np.arange(clients)
    tails = np.concatenate((np.repeat(each_task, clients), np.full(tasks, SOURCE), each_client))
    heads = np.concatenate((np.tile(each_client, tasks), each_task, np.full(clients, tasks + clients)))
    capacities = np.concatenate((np.ones(tasks * (clients + 1), np.int64), network.counts))
    flow = np.concatenate((network.has.ravel().astype(np.int64), np.ones(tasks, np.int64), network.counts))
    return tails.astype(np.int32), heads.astype(np.int32), capacities, flow


def _by_subtopology(network: _Network) -> tuple[Int32s, Int32s, Int64s, Int64s | None]:
    """Likewise, with a node for each client in each subtopology, by which as many tasks go as are the client's share there."""
    tasks, clients = network.has.shape
    sizes = [len(list(of_one)) for _, of_one in groupby(network.tasks, lambda task: task >> TASK_BITS)]
    each_task, each_client, groups = np.arange(tasks), np.arange(clients), len(sizes)
    second = tasks + clients * groups
    first = tasks + clients * np.repeat(np.arange(groups), sizes)
    between = tasks + np.arange(clients * groups)
    counts = network.counts.tolist()
    shares = [math.ceil(count * 1.0 / tasks * size) for size in sizes for count in counts]
    tails = np.concatenate((np.repeat(each_task, clients), between, np.full(tasks, SOURCE), second + each_client))
    to_clients = (first[:, None] + each_client).ravel()
    heads = np.concatenate((to_clients, second + np.tile(each_client, groups), each_task, np.full(clients, second + clients)))
    ones = np.ones(tasks, np.int64)
    capacities = np.concatenate((np.ones(tasks * clients, np.int64), np.array(shares, np.int64), ones, network.counts))
    return tails.astype(np.int32), heads.astype(np.int32), capacities, None
