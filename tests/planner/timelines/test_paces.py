"""Heartbeats and polls, against times that are counted up one after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.planner.timelines.ledger import Ledger
from service.planner.timelines.members import PHASES, Members, Paces
from service.planner.timelines.model import Timing
from tests.planner.timelines.test_members import member

HORIZON = 500


@given(
    beat=st.integers(0, 60),
    now=st.integers(0, 100),
    heartbeat=st.integers(1, 30),
    poll=st.sampled_from((0, 1, 16, 33)),
    phase=st.integers(0, PHASES - 1),
    stalled_until=st.integers(0, 120),
)
def test_next_times(beat: int, now: int, heartbeat: int, poll: int, phase: int, stalled_until: int) -> None:
    members = Members()
    members.start(beat, member("c1"), (0,))
    members.columns.phase[0], members.columns.stalled_until[0] = phase, stalled_until
    ledger = Ledger(2, None, logs=False)
    paces, one = Paces(Timing(heartbeat_interval_ms=heartbeat, poll_interval_ms=poll), members, ledger), np.zeros(1, np.int32)

    beats = range(beat % heartbeat, HORIZON, heartbeat)
    after = next(at for at in beats if at > now)
    assert paces.next_beats(one, now).tolist() == [after]
    due = now in beats and beat < now
    assert paces.coming_beats(one, now).tolist() == [now if due else after]
    assert paces.last_beat(0, now) == max((at for at in beats if beat <= at <= now), default=beat)

    polls = [at for at in range(HORIZON) if at >= stalled_until and (not poll or (at - phase * poll // PHASES) % poll == 0)]
    first = next(at for at in polls if at >= now)
    assert (paces.next_poll(0, now), paces.next_polls(one, np.array([now])).tolist()) == (first, [first])

    assert not paces.busy(one)[0]
    ledger.reader[1] = 0
    assert paces.busy(one)[0] == (poll > 0)
