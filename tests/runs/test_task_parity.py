"""The long comparison with Connect's own workers compares, and finds what differs."""

from __future__ import annotations

import pytest

from service.clients import connect
from tests.runs.task_parity import compare


@pytest.mark.slow
def test_connect_answers_as_its_workers_do():
    assert compare("connect", groups=40, seed=2).total() > 120


@pytest.mark.slow
def test_a_difference_is_found(monkeypatch):
    monkeypatch.setattr(connect, "in_hash_order", sorted)
    with pytest.raises(AssertionError, match=r"connect, group \d+ of seed 2: round \d+"):
        compare("connect", groups=100, seed=2)
