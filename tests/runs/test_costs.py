"""The costliest small bodies; ``python -m tests.runs.costs`` sends those of every endpoint."""

from __future__ import annotations

import pytest

from service.server.warm import warm
from tests.runs.costs import cost, requests

SMALL = {
    "fingerprints: 100,000 counts, 20 records": 200,
    "keyless: 10,000,000 partitions": 200,
    "assignments: 10,000,000 partitions": 200,
    "assignments: librdkafka:cooperative-sticky, 2 × 1,000,000, different subscriptions (gzip)": 422,
    "reassignments: what cannot be, 200 brokers (gzip)": 422,
}


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Kernels, which the children inherit."""
    warm()


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_small_body_costs_what_its_bytes_may(name):
    of = cost(requests()[name]())
    assert len(of.request.body) < 3_000
    assert of.status == SMALL[name]
    assert of.seconds < of.allowed_seconds


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ["comparisons", "fingerprints"])
def test_a_long_key_of_many_rows_is_hashed_once(endpoint):
    """600,000 rows share a key of 600 bytes: 360 MB of keys, which every hash would read."""
    of = cost(requests()[f"{endpoint}: 600,000 rows of one key of 600 bytes"]())
    assert of.status == 200
    assert of.seconds < 2.5
