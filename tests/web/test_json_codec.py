"""What reading bodies leaves behind."""

from __future__ import annotations

import gc


def test_answered_errors_are_forgotten(client):
    """Their tracebacks are cycles, which only the collector finds; reading a body must not hide them from it."""

    def refuse():
        for _ in range(1500):
            client.post("/v1/coordinators", json={"group_id": 1})
        return len(gc.get_objects())

    refuse()
    before = refuse()
    assert refuse() < before + 50_000
