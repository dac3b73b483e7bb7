"""Settings come from the environment, and contradictions are rejected by name."""

from __future__ import annotations

import pytest
from environs.exceptions import EnvValidationError

from service.config import Settings


def test_a_worker_has_two_threads_more_than_decisions_and_queued_requests(monkeypatch):
    """So health checks are answered however the limits are set."""
    monkeypatch.setenv("ALLOCATOR_MAX_CONCURRENT", "40")
    monkeypatch.setenv("ALLOCATOR_MAX_QUEUED", "100")
    assert Settings.from_environment().threads == 142


@pytest.mark.parametrize(
    ("variables", "invalid"),
    [
        ({"MAX_KEYS": "0"}, {"MAX_KEYS"}),
        ({"MAX_KEYS": "many", "ACCESS_LOG": "sometimes"}, {"MAX_KEYS", "ACCESS_LOG"}),
        ({"AUTH": "required"}, {"AUTH"}),
        ({"JWKS": "jwks.json"}, {"JWT_AUDIENCE", "JWT_ISSUER"}),
        ({"JWT_ALGORITHMS": "RS256,HS256"}, {"JWT_ALGORITHMS"}),
        ({"TLS_CERT": "cert.pem"}, {"TLS_KEY"}),
    ],
)
def test_invalid_settings_are_all_named(variables, invalid, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(f"ALLOCATOR_{name}", value)
    with pytest.raises(EnvValidationError) as raised:
        Settings.from_environment()
    assert set(raised.value.error_messages) == {f"ALLOCATOR_{name}" for name in invalid}
