"""What is wrong with a placement, and the least that mends it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidReplicationFactor
from service.core.jvm.random import JavaRandom
from service.core.model import NONE, Cluster, PlacementRequest, Ragged
from service.core.placers import striped
from service.core.placers.audit import audit


def cluster_of(racks: str, fenced: tuple[int, ...] = ()) -> Cluster:
    """A broker for each letter, which is its rack; "-" is none."""
    names = tuple(sorted(set(racks) - {"-"}))
    codes = np.array([names.index(rack) if rack != "-" else NONE for rack in racks], np.int32)
    return Cluster(np.arange(len(racks), dtype=np.int32), names, codes, np.isin(np.arange(len(racks)), fenced))


def ragged(rows: list[list[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return Ragged(offsets, np.array([broker for row in rows for broker in row], np.int32))


@given(
    st.text("abc-", min_size=1, max_size=5),
    st.lists(st.lists(st.integers(-1, 4), max_size=4), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_copies_are_the_fewest_that_any_obeying_placement_takes(racks: str, rows: list[list[int]], factor: int) -> None:
    """Beside every placement that there is: so many different brokers, on as many racks as can be."""
    factor = min(factor, len(racks))
    rows = [[min(broker, len(racks) - 1) for broker in row] for row in rows]
    racks_possible = min(factor, len(set(racks)))
    choices = [set(c) for c in combinations(range(len(racks)), factor) if len({racks[b] for b in c}) == racks_possible]
    fewest = [min(len(choice - set(row)) for choice in choices) for row in rows]
    assert audit(cluster_of(racks), ragged(rows), factor).copies == sum(fewest)


@given(st.text("abc", min_size=3, max_size=9), st.integers(1, 40), st.integers(1, 3), st.integers(0, 31))
def test_what_kafkas_placer_gives_obeys(racks: str, partitions: int, factor: int, seed: int) -> None:
    """Any of the draws that a placement is measured by."""
    cluster = cluster_of(racks)
    placement = striped.place(cluster, PlacementRequest(partitions, factor), JavaRandom(seed))
    result = audit(cluster, ragged(placement.tolist()), factor)
    assert result.obeys
    assert result.load.leaders.sum() == partitions
    assert result.load.replicas.sum() == partitions * factor


def test_a_broker_that_leads_too_much_hands_over_what_is_too_much() -> None:
    """Six partitions on three brokers, all led by one: two are its own, so four change; a fenced one hands over all."""
    everything = ragged([[0, 1, 2]] * 6)
    assert audit(cluster_of("abc"), everything, 3).leader_changes == 4
    fenced = audit(cluster_of("abc", fenced=(0,)), everything, 3)
    assert fenced.leader_changes == 6
    assert fenced.unled.tolist() == [0, 1, 2, 3, 4, 5]


def test_more_replicas_than_brokers_have_nothing_to_be_measured_by() -> None:
    with pytest.raises(InvalidReplicationFactor):
        audit(cluster_of("ab"), ragged([[0, 1]]), 3)
