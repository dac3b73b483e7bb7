"""The twin of ``service/clients/streams/classic/racks.py``: Kafka's Graph, which looks at all edges in every pass."""

from __future__ import annotations

Edge = tuple[int, int]


def solve(edges: dict[Edge, tuple[int, int, int]], *, fill: bool) -> dict[Edge, int]:
    """The flow of least cost through each edge.

    edges : (tail, head) → capacity, cost, and the flow to begin from, which is 0 with fill: then from a maximum flow
    """
    left = {edge: capacity - flow for edge, (capacity, _, flow) in edges.items()}
    left |= {(head, tail): flow for (tail, head), (_, _, flow) in edges.items()}
    cost = {edge: each for edge, (_, each, _) in edges.items()}
    cost |= {(head, tail): -each for (tail, head), (_, each, _) in edges.items()}
    nodes = sorted({node for edge in edges for node in edge})
    leaving = {node: sorted(head for tail, head in left if tail == node) for node in nodes}
    while fill and (path := _path(left, leaving, nodes[0], nodes[-1])):
        _send(left, path)
    while cycle := _cycle(left, cost, leaving, nodes):
        _send(left, cycle)
    return {(tail, head): left[head, tail] for tail, head in edges}


def _send(left: dict[Edge, int], path: list[Edge]) -> None:
    sent = min(left[edge] for edge in path)
    for tail, head in path:
        left[tail, head] -= sent
        left[head, tail] += sent


def _path(left: dict[Edge, int], leaving: dict[int, list[int]], source: int, sink: int) -> list[Edge]:
    parents, queue = {source: source}, [source]
    for node in queue:
        for head in leaving[node]:
            if head not in parents and left[node, head] > 0:
                parents[head] = node
                queue.append(head)
                if head == sink:
                    path = [(node, head)]
                    while path[-1][0] != source:
                        path.append((parents[path[-1][0]], path[-1][0]))
                    return path
    return []


def _cycle(left: dict[Edge, int], cost: dict[Edge, int], leaving: dict[int, list[int]], nodes: list[int]) -> list[Edge]:
    """A cycle of negative cost, by Bellman and Ford's algorithm from a dummy node at a distance of 0 from all; empty: none."""
    distance, parents = dict.fromkeys(nodes, 0), dict.fromkeys(nodes)
    for i in range(len(nodes) + 1):
        for tail in nodes:
            for head in leaving[tail]:
                if left[tail, head] and distance[head] > distance[tail] + cost[tail, head]:
                    distance[head] = distance[tail] + cost[tail, head]
                    parents[head] = tail
                    if i == len(nodes):
                        return _around(parents, head)
    return []


def _around(parents: dict[int, int], node: int) -> list[Edge]:
    seen = set()
    while node not in seen:
        seen.add(node)
        node = parents[node]
    cycle = [(parents[node], node)]
    while cycle[-1][0] != node:
        cycle.append((parents[cycle[-1][0]], cycle[-1][0]))
    return cycle
