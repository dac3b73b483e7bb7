"""Schemathesis makes up requests from ``openapi.yaml`` and sends them to the running service."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.golden import PROJECT
from tests.support.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the tool's own warnings are not ours


@pytest.fixture(scope="module")
def server():
    with serving(ALLOCATOR_WORKERS="1") as running:
        yield running


@schemathesis.openapi.from_path(PROJECT / "openapi.yaml").parametrize()
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_ends_in_a_500_and_every_answer_is_a_documented_one(case, server):
    case.call_and_validate(
        base_url=server.url,
        checks=(
            schemathesis.checks.not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ),
    )
