"""Schemathesis makes up requests from ``openapi.yaml`` and sends them to the running service, with authentication off and on."""

from __future__ import annotations

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.auth.principals import SCOPES
from service.auth.tokens import new_token
from service.web.middleware import scope_of
from tests.support.golden import PROJECT
from tests.support.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the tool's own warnings are not ours


CHECKS = (
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
SCHEMA = schemathesis.openapi.from_path(PROJECT / "openapi.yaml")


MAX_LINE_BYTES = 4_094
"""Longest request line; the server answers a longer one before it looks at credentials or at the contract (HTTP 414)."""


def has_too_long_a_line(response) -> bool:
    """Whether the request was refused for its line. A 414 for a shorter one is a fault."""
    if response.status_code != 414:
        return False
    line = f"{response.request.method} {response.request.path_url} HTTP/1.1"
    assert len(line) > MAX_LINE_BYTES, line
    return True


def call_and_validate(case, **arguments) -> None:
    """As the method of the case, but for what no contract can promise."""
    response = case.call(**arguments)
    if not has_too_long_a_line(response):
        case.validate_response(response, checks=CHECKS)


@SCHEMA.parametrize()
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_ends_in_a_500_and_every_answer_is_a_documented_one(case, server):
    call_and_validate(case, base_url=server.url)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that checks tokens, and a token for each scope; "*" is for all."""
    made = {scope: new_token(f"{scope}-caller", (scope,)) for scope in (*SCOPES, "*")}
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text("".join(f"{line}\n" for _, line in made.values()))
    with serving(ALLOCATOR_WORKERS="1", ALLOCATOR_TOKENS_FILE=str(path)) as running:
        yield running, {scope: token for scope, (token, _) in made.items()}


BROKEN = (None, "", "Bearer", "Bearer ", "Basic Og==", "Bearer a.b.c", "Bearer \xe4", "Bearer " + "x" * 8000)


@SCHEMA.parametrize()
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_a_request_with_its_scope_is_answered_as_without_authentication(case, guarded):
    server, tokens = guarded
    call_and_validate(case, base_url=server.url, headers={"Authorization": f"Bearer {tokens['*']}"})
    scope = scope_of(case.path)
    if scope is not None:
        response = case.call(base_url=server.url, headers={"Authorization": f"Bearer {tokens[scope]}"})
        assert response.status_code not in {401, 403}


@SCHEMA.parametrize()
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_a_request_without_valid_credentials_is_never_answered(case, guarded):
    server, tokens = guarded
    scope = scope_of(case.path)
    others = [f"Bearer {token}" for name, token in tokens.items() if name not in {scope, "*"}]
    for authorization in (*BROKEN, *others):
        response = case.call(base_url=server.url, headers={} if authorization is None else {"Authorization": authorization})
        if has_too_long_a_line(response):
            continue
        if scope is None:
            assert response.status_code not in {401, 403}
            assert response.status_code < 500
        elif response.status_code != 405:
            assert response.status_code == (403 if authorization in others else 401), authorization
            assert response.headers["content-type"] == ["application/problem+json"]
            assert response.headers["www-authenticate"][0].startswith("Bearer")


def test_a_line_that_is_too_long_is_refused_before_credentials(guarded):
    server, _ = guarded
    url = f"{server.url}/v1/partitions?partitions_count=12&key="
    for authorization in (None, "Bearer a.b.c"):
        headers = {} if authorization is None else {"Authorization": authorization}
        room = MAX_LINE_BYTES - len("GET /v1/partitions?partitions_count=12&key= HTTP/1.1")
        assert requests.get(url + "k" * room, headers=headers, timeout=10).status_code == 401
        response = requests.get(url + "k" * (room + 9), headers=headers, timeout=10)
        assert response.status_code == 414
        assert has_too_long_a_line(response)
