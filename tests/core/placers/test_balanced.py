"""``balanced`` is the best of all placements by its sums, and the same each time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.errors import InvalidReplicationFactor
from service.core.jvm.random import JavaRandom
from service.core.model import BrokerLoad, PlacementRequest
from service.strategies import PLACERS
from tests.core.placers.test_audit import cluster_of
from tests.reference.balanced import best_leaders, best_replicas, judged

COUNTS = st.lists(st.integers(0, 4), min_size=6, max_size=6)


@given(
    st.text("abc-", min_size=1, max_size=6),
    st.sets(st.integers(0, 5), max_size=2),
    st.lists(st.integers(1, 3), min_size=6, max_size=6),
    COUNTS,
    COUNTS,
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_no_placement_is_more_even(
    racks: str, fenced: set[int], weights: list[int], loads: list[int], led: list[int], partitions: int, factor: int
) -> None:
    """Beside all of them: replicas first, then the leaders that these replicas allow; no fenced broker, no broker twice."""
    count = len(racks)
    cluster = cluster_of(racks, tuple(fenced))
    weights, loads = weights[:count], loads[:count]
    led = [min(pair) for pair in zip(led, loads, strict=False)]
    usable = count - len(fenced & set(range(count)))
    factor = min(factor, usable)
    assume(factor > 0)
    load = BrokerLoad(np.array(weights, np.float64), np.array(loads, np.int64), np.array(led, np.int64))
    run = PLACERS["balanced"].run
    placement = run(replace(cluster, known_load=load), PlacementRequest(partitions, factor), JavaRandom(0))
    rows = placement.tolist()
    assert placement.shape == (partitions, factor)
    assert all(len(set(row)) == factor and not set(row) & fenced for row in rows)
    most_racks = min(factor, len({racks[broker] for broker in range(count) if broker not in fenced}))
    assert all(len({racks[broker] for broker in row}) == most_racks for row in rows)
    totals = load.replicas + np.bincount(placement.ravel(), minlength=count)
    others = [broker for broker in range(count) if broker not in fenced]
    best = best_replicas(cluster.racks.tolist(), fenced, weights, loads, partitions, factor)
    assert judged(totals.tolist(), loads, weights, others) == best
    leaders = load.leaders + np.bincount(placement[:, 0], minlength=count)
    assert judged(leaders.tolist(), led, weights, others)[:2] == best_leaders(rows, fenced, weights, led)
    assert (run(replace(cluster, known_load=load), PlacementRequest(partitions, factor), JavaRandom(9)) == placement).all()


def test_a_new_broker_gets_most() -> None:
    """Three brokers have ten replicas each, the fourth none: half of the replicas go to it, and it leads until near the mean."""
    cluster = cluster_of("aaaa")
    load = BrokerLoad(np.ones(4), np.array([10, 10, 10, 0]), np.array([5, 5, 5, 0]))
    placement = PLACERS["balanced"].run(replace(cluster, known_load=load), PlacementRequest(5, 2), JavaRandom(0))
    assert (placement == 3).any(axis=1).all()
    assert np.count_nonzero(placement[:, 0] == 3) == 4


def test_a_topic_is_spread_as_by_kafka_where_loads_allow_it() -> None:
    """100 brokers with 54 to 66 replicas: 72 more, each on a broker of its own, and so its 24 leaders."""
    loads = 54 + np.arange(100) * 7 % 13
    load = BrokerLoad(np.ones(100), loads, loads // 3)
    cluster = replace(cluster_of("abcdefghij" * 10), known_load=load)
    placement = PLACERS["balanced"].run(cluster, PlacementRequest(24, 3), JavaRandom(0))
    assert len(np.unique(placement)) == 72
    assert len(np.unique(placement[:, 0])) == 24
    striped = PLACERS["striped"].run(cluster, PlacementRequest(24, 3), JavaRandom(0))
    assert len(np.unique(striped)) == 72
    after = loads + np.bincount(placement.ravel(), minlength=100)
    assert (after.min(), after.max()) == (55, 66)


def test_too_few_unfenced_brokers() -> None:
    """Kafka's error."""
    with pytest.raises(InvalidReplicationFactor, match="larger than unfenced brokers: 1"):
        PLACERS["balanced"].run(cluster_of("ab", (0,)), PlacementRequest(1, 2), JavaRandom(0))


def test_brokers_share_partitions_with_many_others() -> None:
    """Nine brokers in three racks, 36 partitions: each pair of brokers in different racks shares some."""
    placement = PLACERS["balanced"].run(cluster_of("abcabcabc"), PlacementRequest(36, 3), JavaRandom(0))
    pairs = {frozenset((a, b)) for row in placement.tolist() for a in row for b in row if a != b}
    assert len(pairs) == 27
