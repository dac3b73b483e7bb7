"""The inverse of a placer: what it places is explained, and nothing else is."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.jvm.random import JavaRandom
from service.core.model import Cluster, Int32s, PlacementRequest
from service.core.placers.draws import Draws, find_seed
from service.strategies import PLACERS
from tests.core.placers.test_audit import cluster_of
from tests.reference import every_draw


def draws_of(name: str, cluster: Cluster, placement: Int32s, first_id: int = 0) -> Draws:
    random_draws = PLACERS[name].draws
    assert random_draws is not None
    return random_draws.of_placement(cluster, placement, first_id, None)


def documents(cluster: Cluster) -> list[dict[str, Any]]:
    """The brokers as the twins take them, by index."""
    return [
        {"broker_id": i, "rack_id": None if rack < 0 else cluster.rack_ids[rack], "fenced": bool(fenced)}
        for i, (rack, fenced) in enumerate(zip(cluster.racks.tolist(), cluster.fenced.tolist(), strict=True))
    ]


clusters = st.builds(
    lambda racks, fenced: cluster_of(racks, tuple(fenced)), st.text("abc-", min_size=1, max_size=8), st.sets(st.integers(0, 7))
)


@given(clusters, st.integers(1, 40), st.integers(1, 8), st.integers(-(2**63), 2**63 - 1))
def test_what_striped_places_is_explained(cluster: Cluster, partitions: int, factor: int, seed: int) -> None:
    """Also after shuffles, with fenced brokers and with brokers without a rack; and the offsets are those drawn."""
    assume(not cluster.fenced.all())
    factor = min(factor, len(cluster))
    placement = PLACERS["striped"].run(cluster, PlacementRequest(partitions, factor), JavaRandom(seed))
    draws = draws_of("striped", cluster, placement)
    assert draws.rows == partitions
    random = JavaRandom(seed)
    for bound, value in draws.sequence[:-1]:
        assert random.next_int(bound) in ({value} if value >= 0 else range(bound))


@pytest.mark.parametrize(
    ("racks", "fenced", "partitions", "factor"),
    [
        ("ab", (), 5, 1),
        ("ab", (), 4, 2),
        ("aab", (), 4, 1),
        ("aab", (), 3, 2),
        ("aab", (0,), 3, 2),
        ("ab-", (2,), 3, 2),
        ("abc", (2,), 3, 2),
        ("abc", (1, 2), 3, 2),
        ("aabb", (1, 3), 3, 2),
        ("aa", (), 4, 2),
    ],
)
def test_nothing_else_is_explained(racks: str, fenced: tuple[int, ...], partitions: int, factor: int) -> None:
    """Beside every outcome of every draw of the twin: each placement, and how many partitions are possible."""
    cluster = cluster_of(racks, fenced)
    possible = set(every_draw.placements(documents(cluster), partitions, factor))
    prefixes = {placement[:length] for placement in possible for length in range(partitions + 1)}
    rows = [row for row in product(range(len(racks)), repeat=factor) if len(set(row)) == factor]
    for placement in product(rows, repeat=partitions):
        longest = max(length for length in range(partitions + 1) if placement[:length] in prefixes)
        assert draws_of("striped", cluster, np.array(placement, np.int32)).rows == longest, placement


@given(
    st.sampled_from(["rack-unaware", "rack-aware"]),
    st.text("abc", min_size=1, max_size=6),
    st.integers(1, 20),
    st.integers(1, 4),
    st.integers(0, 12),
    st.data(),
)
def test_admin_utils_beside_all_its_draws(
    name: str, racks: str, partitions: int, factor: int, first_id: int, data: st.DataObject
) -> None:
    """A placement with some brokers exchanged: as many partitions as the best start and shift give, and those draws."""
    factor = min(factor, len(racks))
    assume(factor == 1 or len(racks) > 1)
    cluster, brokers = cluster_of(racks), range(len(racks))

    def placed(start: int, shift: int) -> Int32s:
        return PLACERS[name].run(cluster, PlacementRequest(partitions, factor, first_id, start, shift), JavaRandom(0))

    placement = placed(data.draw(st.sampled_from(brokers)), data.draw(st.sampled_from(brokers))).copy()
    for row in data.draw(st.lists(st.integers(0, partitions - 1), max_size=2)):
        placement[row] = data.draw(st.permutations(placement[row].tolist()))
    lengths = {}
    for start, shift in product(brokers, repeat=2):
        equal = (placed(start, shift) == placement).all(axis=1)
        lengths[start, shift] = partitions if equal.all() else int(np.flatnonzero(~equal)[0])
    longest = max(lengths.values())
    draws = draws_of(name, cluster, placement, first_id)
    assert draws.rows == longest
    if longest:
        fitting = {pair for pair, length in lengths.items() if length == longest}
        assert fitting == {(draws.drawn["start_index"], shift) for shift in draws.drawn["replica_shifts"]}


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(-1, 39)), min_size=1, max_size=4))
def test_a_seed_gives_the_draws(sequence: list[tuple[int, int]]) -> None:
    """Whatever the bounds, powers of two or not."""
    sequence = [(bound, min(value, bound - 1)) for bound, value in sequence]
    seed = find_seed(sequence, lambda _: True, 1)
    if seed is None:
        assert np.prod([bound for bound, value in sequence[1:] if value >= 0]) > 1_000
        return
    random = JavaRandom(seed)
    for bound, value in sequence:
        assert random.next_int(bound) in ({value} if value >= 0 else range(bound))


@given(clusters, st.integers(1, 8), st.integers(1, 3))
def test_every_draw_once(cluster: Cluster, partitions: int, factor: int) -> None:
    """The placements over all draws are the twin's, each as often."""
    assume(not cluster.fenced.all() and len(cluster) <= 5)
    factor = min(factor, len(cluster))
    random_draws = PLACERS["striped"].draws
    assert random_draws is not None
    every = random_draws.every(cluster, PlacementRequest(partitions, factor))
    assume(every is not None)
    assert every is not None
    placements = sorted(tuple(map(tuple, placement.tolist())) for placement in every[1])
    assert len(placements) == every[0]
    assert placements == sorted(every_draw.placements(documents(cluster), partitions, factor))
