"""How even a result is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from service.core.model import Int64s


@dataclass(frozen=True)
class Spread:
    """Evenness of counts over their holders (partitions, members, brokers).

    skew : max ÷ mean; 1.0 is perfectly even, and so is nothing at all.
    """

    min: int
    max: int
    mean: float
    stddev: float
    skew: float


def spread(counts: Int64s, holders: int | None = None) -> Spread:
    """The spread of ``counts``.

    counts : int64[...]   what each holder has
    holders : how many holders there are, when those with nothing are left out of ``counts``; default: ``len(counts)``
    """
    holders = len(counts) if holders is None else holders
    if holders == 0:
        return Spread(0, 0, 0.0, 0.0, 1.0)
    absent = holders - len(counts)
    total = int(counts.sum())
    mean = total / holders
    squares = float(((counts - mean) ** 2).sum()) + absent * mean**2
    most = int(counts.max()) if len(counts) else 0
    least = 0 if absent or not len(counts) else int(counts.min())
    return Spread(least, most, mean, float(np.sqrt(squares / holders)), most / mean if total else 1.0)
