"""Plain twin: the keys thrown on the partitions, every one of them, as often as wanted."""

from __future__ import annotations

import numpy as np


def skews(weights: list[float], partitions_count: int, throws: int, seed: int) -> list[float]:
    """Max ÷ mean of each throw."""
    generator = np.random.default_rng(seed)
    result = []
    for _ in range(throws):
        partitions = generator.integers(0, partitions_count, len(weights))
        loads = np.bincount(partitions, weights, partitions_count)
        result.append(float(loads.max() * partitions_count / sum(weights)))
    return result
