"""Why a connection fails."""

from __future__ import annotations

import time
from typing import Any

import pytest

from service.live.client import ClusterClient
from service.live.errors import Unreachable
from tests.live.stub_cluster import HangUp, StubCluster, stub_cluster

SETTINGS = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "reader",
    "sasl_plain_password": "wrong",
}


class SlowAtLast(StubCluster):
    """Brokers that disconnect clients with the wrong password within a second, and after a second do not answer them."""

    started_at = 0.0

    def _SaslAuthenticateRequest(self, broker_id: int, request: Any) -> Any:  # noqa: N802 - as the request
        self.started_at = self.started_at or time.monotonic()
        if time.monotonic() < self.started_at + 1:
            raise HangUp
        time.sleep(10)
        raise HangUp


def test_a_request_that_the_deadline_ends_hides_no_reason() -> None:
    """Nor does the library's warning about the password that it sends in the clear."""
    with stub_cluster(SlowAtLast(brokers_count=1)) as cluster:
        with pytest.raises(
            Unreachable, match=r"(disconnected|reset by peer); a broker disconnects a client whose credentials it refuses"
        ):
            ClusterClient(cluster.bootstrap, SETTINGS, bootstrap_ms=4000)
        assert cluster.requests["SaslAuthenticateRequest"] > 1
