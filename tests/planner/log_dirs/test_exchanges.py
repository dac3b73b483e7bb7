"""The kernel takes the moves and swaps of its twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.planner.log_dirs.exchanges import MOST_WORK, DirState, exchange
from service.planner.reassignments.model import NO_LIMIT
from tests.reference.log_dirs import Sizes, exchanged


@st.composite
def states(draw):
    count, rows = draw(st.integers(1, 4)), draw(st.integers(0, 7))

    def listed(values, length):
        return draw(st.lists(values, min_size=length, max_size=length))

    low = listed(st.sampled_from([0, 0, 10, 20]), count)
    keeps = listed(st.sampled_from([True, True, True, False]), count)
    return Sizes(
        dirs := listed(st.integers(0, count - 1), rows),
        [draw(st.sampled_from([at, draw(st.integers(0, count - 1))])) for at in dirs],
        listed(st.integers(0, 30), rows),
        listed(st.sampled_from([True, True, False]), rows),
        listed(st.sampled_from([0, 5]), count),
        listed(st.sampled_from([30, 60, NO_LIMIT]), count),
        low,
        [least + draw(st.sampled_from([0, 5, NO_LIMIT // 2])) for least in low],
        listed(st.sampled_from([1.0, 2.0, 4.0]), count),
        keeps,
        [kept and draw(st.booleans()) for kept in keeps],
        draw(st.tuples(st.sampled_from([2, NO_LIMIT]), st.sampled_from([20, NO_LIMIT]))),
    )


@given(states(), st.booleans())
def test_the_kernel_is_its_twin(s, even_first):
    state = DirState(
        np.array(s.dirs, np.int32),
        np.array(s.homes, np.int32),
        np.array(s.sizes, np.int64),
        np.array(s.free, np.bool_),
        *(np.array(each, np.int64) for each in (s.loads(s.dirs), s.room, s.low, s.high)),
        np.array(s.weights),
        np.array(s.receives, np.bool_) | (np.array(s.keeps, np.bool_) & np.equal.outer(s.homes, np.arange(len(s.keeps)))),
        *(np.array(each, np.int64) for each in (s.limits, s.copied(s.dirs))),
        even_first,
    )
    exchange(state, MOST_WORK)
    assert state.dirs.tolist() == exchanged(s, even_first=even_first)
    assert state.loads.tolist() == s.loads(s.dirs)
    assert tuple(state.copied.tolist()) == s.copied(s.dirs)
