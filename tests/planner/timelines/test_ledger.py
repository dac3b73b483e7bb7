"""The kernels that hand partitions to their readers, against their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import NONE
from service.planner.timelines.ledger import Ledger, Wait
from service.planner.timelines.model import NEVER, Idle, TimelineRebalance
from tests.reference.ledger import hand_out, start, start_one, stop_one

NOW = 1_000
MEMBERS = 4


def ledger_of(reader: list[int], idle_since: list[int], counted: list[bool], weights: list[float]) -> Ledger:
    ledger = Ledger(len(reader), np.array(weights), logs=False)
    ledger.reader, ledger.counted = np.array(reader, np.int32), np.array(counted, np.bool_)
    ledger.idle_since = np.array(idle_since, np.int64)
    return ledger


@given(data=st.data(), size=st.integers(0, 20))
def test_the_kernel_does_what_its_twin_does(data: st.DataObject, size: int) -> None:
    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=size, max_size=size))

    reader = column(st.integers(NONE, MEMBERS - 1))
    counted = column(st.booleans())
    idle_since = [NEVER if one != NONE or not is_counted else 400 for one, is_counted in zip(reader, counted, strict=True)]
    owner, weights = column(st.integers(NONE, MEMBERS - 1)), column(st.floats(0, 100))
    start_of = data.draw(st.lists(st.sampled_from((NOW, NOW, NOW + 5, NEVER)), min_size=MEMBERS, max_size=MEMBERS))
    ledger = ledger_of(reader, idle_since, counted, weights)
    rebalance = TimelineRebalance(0, None, "", "classic", [])
    loses, missed = ledger.hand_out(np.array(owner, np.int32), np.array(start_of, np.int64), NOW, rebalance)

    expected_loses, expected_missed, idle_times = hand_out(reader, idle_since, counted, owner, start_of, NOW, weights)
    assert set(np.flatnonzero(loses).tolist()) == expected_loses
    assert ledger.reader.tolist() == reader
    assert ledger.idle_since.tolist() == idle_since
    assert missed.tolist() == pytest.approx([expected_missed.get(member, 0.0) for member in range(MEMBERS)])
    assert rebalance.idle == Idle(*(sum(idle_times), max(idle_times, default=0)) * 3)  # neither shorter nor longer


@given(data=st.data(), size=st.integers(0, 20), number=st.integers(0, MEMBERS - 1))
def test_one_member_stops_and_starts(data: st.DataObject, size: int, number: int) -> None:
    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=size, max_size=size))

    reader, counted, weights = column(st.integers(NONE, MEMBERS - 1)), column(st.booleans()), column(st.floats(0, 100))
    idle_since = [NEVER if one != NONE or not is_counted else 400 for one, is_counted in zip(reader, counted, strict=True)]
    chosen = [partition for partition in range(size) if data.draw(st.booleans())]
    partitions = np.array(chosen, np.int32)
    ledger = ledger_of(reader, idle_since, counted, weights)
    rebalance = TimelineRebalance(0, None, "", "consumer", [])
    ledger.stop_one(partitions, number, NOW)
    stop_one(reader, idle_since, counted, chosen, number, NOW)
    assert (ledger.reader.tolist(), ledger.idle_since.tolist()) == (reader, idle_since)

    missed = ledger.start_one(partitions, number, NOW + 5, rebalance)
    idle_times, expected_missed = start_one(reader, idle_since, counted, chosen, number, NOW + 5, weights)
    assert (ledger.reader.tolist(), ledger.idle_since.tolist()) == (reader, idle_since)
    assert missed == pytest.approx(expected_missed)
    assert rebalance.idle == Idle(*(sum(idle_times), max(idle_times, default=0)) * 3)  # neither shorter nor longer


WAITS = st.none() | st.builds(
    Wait,
    from_ms=st.sampled_from((300, 700, NOW + 3, NEVER)),
    most_ms=st.integers(0, 900),
    is_middle=st.booleans(),
    each_from_ms=st.none() | st.lists(st.sampled_from((0, 600, NOW + 2)), min_size=20, max_size=20).map(np.array),
)


@given(data=st.data(), wait=WAITS, size=st.integers(0, 20))
def test_partitions_start_and_wait_for_polls(data: st.DataObject, wait: Wait | None, size: int) -> None:
    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=size, max_size=size))

    reader, idle_since = [NONE] * size, column(st.sampled_from((400, 900, NOW + 1, NEVER)))
    weights, readers = column(st.floats(0, 100)), column(st.integers(0, MEMBERS - 1))
    at_ms = column(st.integers(NOW, NOW + 5) | st.just(NEVER))
    chosen = [partition for partition in range(size) if data.draw(st.booleans())]
    readers, at_ms = [readers[i] for i in chosen], [at_ms[i] for i in chosen]
    ledger = ledger_of(reader, idle_since, [True] * size, weights)
    rebalance = TimelineRebalance(0, None, "", "classic", [])
    missed = ledger.start(np.array(chosen, np.int32), np.array(readers, np.int32), np.array(at_ms, np.int64), rebalance, wait)

    idle, expected_missed = start(reader, idle_since, chosen, readers, at_ms, weights, wait)
    assert (ledger.reader.tolist(), ledger.idle_since.tolist()) == (reader, idle_since)
    assert missed.tolist() == pytest.approx(expected_missed)
    assert rebalance.idle == idle
