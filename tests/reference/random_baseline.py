"""Plain twins: the keys thrown on the partitions, every one of them, as often as wanted; and placed as well as possible."""

from __future__ import annotations

from itertools import product

import numpy as np


def skews(weights: list[float], partitions_count: int, throws: int, seed: int) -> list[float]:
    """Max ÷ mean of each throw."""
    generator = np.random.default_rng(seed)
    sizes, total = np.array(weights, np.float64), sum(weights)
    result = []
    for _ in range(throws):
        partitions = generator.integers(0, partitions_count, len(sizes))
        loads = np.bincount(partitions, sizes, partitions_count)
        result.append(float(loads.max() * partitions_count / total))
    return result


def least_maximum(weights: list[int], partitions_count: int) -> int:
    """The largest bound: of the first j × partitions_count + 1 keys, descending, the sum of the last j + 1."""
    weights = sorted(weights, reverse=True)
    bounds = [0]
    for j in range(len(weights)):
        heaviest = weights[: j * partitions_count + 1]
        if len(heaviest) == j * partitions_count + 1:
            bounds.append(sum(heaviest[-(j + 1) :]))
    return max(bounds)


def best_maximum(weights: list[int], partitions_count: int) -> int:
    """The fullest partition's load in the best of all placements."""
    best = sum(weights)
    for placement in product(range(partitions_count), repeat=len(weights)):
        loads = [0] * partitions_count
        for weight, partition in zip(weights, placement, strict=True):
            loads[partition] += weight
        best = min(best, max(loads))
    return best
