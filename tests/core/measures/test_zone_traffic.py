"""What crosses zones in a placement, counted replica by replica."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.measures import placed_traffic
from service.core.model import NONE, Cluster, Ragged


@given(st.data(), st.integers(1, 3), st.integers(1, 6), st.booleans())
def test_a_placement_is_counted_replica_by_replica(data, racks, brokers, rated):
    rack_of = data.draw(st.lists(st.integers(NONE, racks - 1), min_size=brokers, max_size=brokers))
    replicas = st.lists(st.integers(0, brokers - 1), min_size=1, max_size=brokers, unique=True)
    rows = data.draw(st.lists(replicas, max_size=6))
    rates = data.draw(st.lists(st.integers(0, 9), min_size=len(rows), max_size=len(rows)))
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    placement = Ragged(offsets, np.array([broker for row in rows for broker in row], np.int32))
    nothing = np.zeros(brokers, np.bool_)
    cluster = Cluster(np.arange(brokers, dtype=np.int32), tuple("abc"[:racks]), np.array(rack_of, np.int32), nothing)
    traffic = placed_traffic(cluster, placement, np.array(rates, np.float64) if rated else None)

    crossing, near, weight = 0.0, 0.0, 0.0
    in_all = [set(map(rack_of.__getitem__, row)) - {NONE} for row in rows]
    by_rate = rated and any(rate for rate, some in zip(rates, in_all, strict=True) if some)
    for row, rate, some in zip(rows, rates, in_all, strict=True):
        if some:
            each = rate if by_rate else 1
            weight += each
            near += each * len(some) / racks
            crossing += rate * (1 - len(some) / racks)
        if rack_of[row[0]] != NONE:
            crossing += rate * sum(rack_of[broker] not in (NONE, rack_of[row[0]]) for broker in row)
    assert traffic.local_share == (pytest.approx(near / weight) if weight else None)
    assert traffic.crossing == (pytest.approx(crossing) if rated else None)


def test_without_racks_nothing_is_known():
    cluster = Cluster(np.arange(2, dtype=np.int32), (), np.full(2, NONE, np.int32), np.zeros(2, np.bool_))
    assert placed_traffic(cluster, Ragged(np.array([0, 1], np.int32), np.zeros(1, np.int32)), None) is None
