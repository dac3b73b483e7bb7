"""The load of the current placement and of another one, each with the brokers over which it is to be even. And racks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.core.placers.load import Load, load_of

if TYPE_CHECKING:
    from service.core.model import Bools, Int64s, Ragged
    from service.core.reassignments.model import Brokers, Placements


def before_and_after(brokers: Brokers, placements: Placements, replicas: Ragged) -> tuple[Load, Load]:
    """The load now, and with other replicas (Ragged partition → brokers).

    Now, the evenness counts each broker that is live: those to be emptied still have their part. Afterwards it counts the brokers
    that may have replicas.
    """
    weights = {"bytes": placements.sizes, "bytes_per_second": placements.rates}
    known = {name: each for name, each in weights.items() if each is not None}
    return (
        load_of(brokers.cluster, placements.replicas, brokers.live, known),
        load_of(brokers.cluster, replicas, brokers.usable, known),
    )


def unevenness(brokers: Brokers, replicas: Ragged) -> float:
    """The sum of (replicas of a broker)² ÷ weight, over all brokers."""
    return float((load_of(brokers.cluster, replicas).replicas.astype(np.float64) ** 2 / brokers.weights).sum())


def racks_of_rows(brokers: Brokers, rows: Ragged, known: Bools) -> Int64s:
    """int64[rows], on how many racks each row is. known : bool[values], those whose rack counts"""
    count = len(brokers.cluster.rack_ids) + 1
    pairs = np.unique(rows.row_of_each_value()[known].astype(np.int64) * count + brokers.racks()[rows.values[known]])
    return np.bincount(pairs // count, minlength=len(rows)).astype(np.int64)
