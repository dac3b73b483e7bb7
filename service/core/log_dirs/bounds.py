"""What no plan for a broker's directories does better."""

from typing import Final

import numpy as np

from service.core.reassignments.model import Brokers, Placements

_ROUNDING: Final = 1e-9
"""A bound from floats is lowered by this share, so that it is one."""


def least_unevenness(brokers: Brokers, placements: Placements) -> float:
    """A bound of the sum of (bytes of a disk)² ÷ weight that knows of large replicas; 0 where disks differ in weight.

    The k fullest disks together have at least as many bytes as the k largest replicas. The least sum under these rules has the
    largest ones alone on a disk each, as long as they are above the mean of the rest, which is divided at will.
    """
    usable = brokers.usable
    weights = brokers.weights[usable]
    if not len(weights) or (weights != weights[0]).any():
        return 0.0
    sizes = placements.bytes_of_each()
    stays_away = placements.excluded & ~usable[placements.replicas.values]
    sizes = np.sort(sizes[~stays_away])[::-1].astype(np.float64)
    rest, left, alone = float(sizes.sum()), len(weights), 0.0
    for size in sizes[: left - 1].tolist():
        if size * left <= rest:
            break
        alone, rest, left = alone + size**2, rest - size, left - 1
    return float((alone + rest**2 / left) / weights[0]) * (1 - _ROUNDING)
