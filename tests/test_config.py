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


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("MAX_KEY", "Unknown setting. Did you mean 'ALLOCATOR_MAX_KEYS'?"),
        ("WROKERS", "Unknown setting. Did you mean 'ALLOCATOR_WORKERS'?"),
        ("COLOUR_OF_THE_SKY", "Unknown setting."),
    ],
)
def test_a_variable_that_is_no_setting_is_an_error(variable, text, monkeypatch):
    monkeypatch.setenv(f"ALLOCATOR_{variable}", "1")
    with pytest.raises(EnvValidationError) as raised:
        Settings.from_environment()
    assert raised.value.error_messages == {f"ALLOCATOR_{variable}": [text]}


def test_variables_of_kubernetes_for_a_service_of_our_name_are_left_alone(monkeypatch):
    for name in ("PORT", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_8000_TCP", "PORT_8000_TCP_ADDR", "EAST_PORT"):
        monkeypatch.setenv(f"ALLOCATOR_{name}", "tcp://10.0.0.1:8000")
    Settings.from_environment()
