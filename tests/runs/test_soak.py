"""A short soak; ``make soak`` is the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.runs.soak import soak

if TYPE_CHECKING:
    from tests.support.serving import Server


@pytest.mark.slow
def test_eight_hundred_mixed_requests_beside_hostile_clients_are_answered_alike_and_leave_nothing_behind(server: Server):
    report = soak(server, 800)
    assert report.faults == []
    assert report.percentile(99) < 2
    assert report.growth() < 1.25, "memory still settles in so short a run"
    assert server.metric("partition_allocator_http_requests_in_flight") == 1
    assert server.metric("partition_allocator_http_requests_queued") == 0
