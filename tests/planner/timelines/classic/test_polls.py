"""In which polls members go through a rebalance: a poll that has records returns at once, and one more handles the response."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.model import NONE
from service.planner.timelines.ledger import Ledger
from service.planner.timelines.members import Members, Paces, batches, polls_wait, receipts, stop_eager_readers, syncs
from service.planner.timelines.model import NEVER, Timing
from tests.planner.timelines.test_members import COOPERATIVE, RANGE, member

POLL = 1_600


def paces(poll: int) -> Paces:
    """Three members that poll at 0, 100 and 200 ms of each interval, of which the last reads a partition."""
    members, ledger = Members(), Ledger(2, None, logs=False)
    for i in range(3):
        members.start(0, member(f"c{i}", assignors=COOPERATIVE if i == 1 else RANGE), (0,))
    members.columns.phase[:3] = 0, 1, 2
    members.columns.joins[:3] = 5_000
    ledger.reader[1], ledger.counted[:] = 2, True
    return Paces(Timing(poll_interval_ms=poll), members, ledger)


NUMBERS = np.arange(3, dtype=np.int32)


@pytest.mark.parametrize(("poll", "expected"), [(0, [5_000] * 3), (POLL, [5_000, 5_000, 6_600])])
def test_syncs(poll: int, expected: list[int]) -> None:
    """The poll that joins waits for the response, unless it returns with records: then the next one handles it."""
    assert syncs(paces(poll), NUMBERS, 5_000).tolist() == expected


def test_a_stalled_member_syncs_when_it_polls() -> None:
    one = paces(POLL)
    one.members.columns.stalled_until[0] = 7_000
    assert syncs(one, NUMBERS, 5_000).tolist() == [8_000, 5_000, 6_600]


def test_receipts() -> None:
    """Who has sent its SyncGroup before the leader waits in that poll or polls again; who never sends one gets nothing."""
    one = paces(POLL)
    one.members.columns.syncs[:3] = 6_000, NEVER, 5_500
    assert receipts(one, NUMBERS, 6_000).tolist() == [6_000, NEVER, 6_600]
    assert receipts(paces(0), NUMBERS, 6_000).tolist() == [NEVER] * 3


def test_eager_members_stop_reading_when_they_join() -> None:
    one = paces(0)
    one.ledger.reader[:] = 0, 1
    stop_eager_readers(one, NUMBERS, 5_000)
    assert one.ledger.reader.tolist() == [NONE, 1]
    assert one.ledger.idle_since[0] == 5_000


def test_late_members_get_theirs_together_if_they_poll_at_the_same_time() -> None:
    owner, reader = np.array([0, 0, 1, 2, 1], np.int32), np.array([0, 1, 1, 2, 0], np.int32)
    starts = np.array([700, 700, 900], np.int64)
    rows = [(at, gains.tolist(), loses.tolist()) for at, gains, loses in batches(owner, reader, starts, NUMBERS)]
    assert rows == [(700, [1, 4], [1, 4])]  # nothing changes at 900
    assert list(batches(owner, reader, starts, NUMBERS[:0])) == []


def test_partitions_wait_for_three_polls() -> None:
    wait = polls_wait(paces(POLL), 4_000)
    assert wait is not None
    assert (wait.from_ms, wait.most_ms, wait.is_middle) == (4_000, 3 * POLL, False)
    assert polls_wait(paces(0), 4_000) is None
