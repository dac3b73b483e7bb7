"""The costliest small bodies; ``python -m tests.runs.costs`` sends those of every endpoint."""

from __future__ import annotations

import pytest

from service.server.warm import warm
from tests.runs.costs import MAX_SECONDS, cost, requests

SMALL = ("fingerprints: 100,000 counts, 20 records", "keyless: 10,000,000 partitions", "assignments: 10,000,000 partitions")


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Kernels, which the children inherit."""
    warm()


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_body_of_a_kilobyte_costs_no_more_than_any_body_may(name):
    of = cost(requests()[name]())
    assert of.request.content_bytes < 1_000
    assert of.status == 200
    assert of.seconds < MAX_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ["comparisons", "fingerprints"])
def test_a_long_key_of_many_rows_is_hashed_once(endpoint):
    """600,000 rows share a key of 600 bytes: 360 MB of keys, which every hash would read."""
    of = cost(requests()[f"{endpoint}: 600,000 rows of one key of 600 bytes"]())
    assert of.status == 200
    assert of.seconds < 2.5
