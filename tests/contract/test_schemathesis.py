"""Schemathesis makes up requests from ``openapi.yaml`` and sends them to the running service, with authentication off and on.

The hundreds of boundary values of each body go to the app in this process: HTTP takes much of their time and no part in them.
"""

from __future__ import annotations

import copy
from itertools import count
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, settings

from service.http.auth import SCOPES, new_token
from service.http.authenticator import scope_of
from tests.contract import CONTRACT
from tests.support.serving import serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the tool's own warnings are not ours
    pytest.mark.usefixtures("few_draws"),
]


OPERATIONS = [f"{method.upper()} {path}" for path, methods in CONTRACT["paths"].items() for method in methods]

SHORT = {
    "MemberCountPlans": {"members_counts": [2, 3], "standstill": False},
    "GroupRebalances": {
        "compare": [{"assignor": "range"}],
        "events": [
            {"at_ms": 10, "type": "member_joins", "member": {"member_id": "c3"}},
            {"at_ms": 10_000, "type": "member_leaves", "member_id": "c3"},
        ],
    },
}
"""Examples to vary: each of a hundred valid variations of the contract's own simulates minutes in three ways, or eight numbers
of members and what a change between them costs."""


def with_short_examples() -> dict[str, Any]:
    """The contract, but for these examples."""
    contract = copy.deepcopy(CONTRACT)
    for name, examples in SHORT.items():
        for field, example in examples.items():
            contract["components"]["schemas"][name]["properties"][field]["example"] = example
    return contract


@pytest.fixture(scope="module")
def ask():
    """
    Runs a test with the cases of an operation.

    The tool's own parametrisation makes up the edge cases of all operations while tests are collected, which takes six seconds
    in each process of tests; here an operation's are made up by its test.
    """
    import schemathesis  # noqa: PLC0415 (takes a second, in each process that collects tests)
    from schemathesis.generation.feedback import FeedbackSources  # noqa: PLC0415
    from schemathesis.generation.hypothesis import builder  # noqa: PLC0415

    schema = schemathesis.openapi.from_dict(with_short_examples())
    feedback = FeedbackSources()

    def run(label: str, test) -> None:
        operation = schema.find_operation_by_label(label)
        modes = list(builder.HypothesisTestMode)
        config = builder.HypothesisTestConfig(project=schema.config, modes=modes, feedback=feedback)
        builder.create_test(operation=operation, test_func=test, config=config)()

    return run


@pytest.fixture(scope="module")
def session():
    """Keeps its connections, and looks for no proxies and passwords in the environment, which requests do each time."""
    with requests.Session() as kept:
        kept.trust_env = False
        yield kept


MAX_LINE_BYTES = 4_094
"""Longest request line; the server answers a longer one before it looks at credentials or at the contract (HTTP 414)."""


def has_too_long_a_line(response) -> bool:
    """Whether the request was refused for its line. A 414 for a shorter one is a fault."""
    if response.status_code != 414:
        return False
    line = f"{response.request.method} {response.request.path_url} HTTP/1.1"
    assert len(line) > MAX_LINE_BYTES, line
    return True


def varies_only_the_body(case) -> bool:
    """Whether it is one of the boundary values of a body, of which an operation has hundreds."""
    from schemathesis.core.parameters import ParameterLocation  # noqa: PLC0415
    from schemathesis.generation.meta import TestPhase  # noqa: PLC0415

    phase = case.meta.phase
    return phase.name is TestPhase.COVERAGE and phase.data.parameter_location is ParameterLocation.BODY


def call_and_validate(case, **arguments) -> None:
    """As the method of the case, but for what no contract can promise."""
    from schemathesis import checks  # noqa: PLC0415
    from schemathesis.specs.openapi import checks as of_contracts  # noqa: PLC0415

    response = case.call(**arguments)
    if not has_too_long_a_line(response):
        documented = (of_contracts.status_code_conformance, of_contracts.content_type_conformance)
        whole = (checks.not_a_server_error, *documented, of_contracts.response_schema_conformance)
        case.validate_response(response, checks=whole)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_request_ends_in_a_500_and_every_answer_is_a_documented_one(operation, ask, server, session, app):
    wrong_bodies = count()

    @settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
    def check(case) -> None:
        if varies_only_the_body(case):
            # Each field has a value of every wrong type; every third of them is sent.
            if case.meta.generation.mode.is_positive or next(wrong_bodies) % 3 == 0:
                call_and_validate(case, app=app)
        else:
            call_and_validate(case, base_url=server.url, session=session)

    ask(operation, check)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that checks tokens, and a token for each scope; "*" is for all."""
    made = {scope: new_token(f"{scope}-caller", (scope,)) for scope in (*SCOPES, "*")}
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text("".join(f"{line}\n" for _, line in made.values()))
    with serving(forked=True, ALLOCATOR_WORKERS="1", ALLOCATOR_TOKENS_FILE=str(path)) as running:
        yield running, {scope: token for scope, (token, _) in made.items()}


BROKEN = (None, "", "Bearer", "Bearer ", "Basic Og==", "Bearer a.b.c", "Bearer \xe4", "Bearer " + "x" * 8000)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_request_with_its_scope_is_answered_as_without_authentication(operation, ask, guarded, session):
    server, tokens = guarded

    @settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def check(case) -> None:
        call_and_validate(case, base_url=server.url, session=session, headers={"Authorization": f"Bearer {tokens['*']}"})
        scope = scope_of(case.path)
        if scope is not None:
            own = {"Authorization": f"Bearer {tokens[scope]}"}
            response = case.call(base_url=server.url, session=session, headers=own)
            assert response.status_code not in {401, 403}

    ask(operation, check)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_request_without_valid_credentials_is_never_answered(operation, ask, guarded, session):
    server, tokens = guarded

    @settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def check(case) -> None:
        scope = scope_of(case.path)
        others = [f"Bearer {token}" for name, token in tokens.items() if name not in {scope, "*"}]
        for authorization in (*BROKEN, *others):
            headers = {} if authorization is None else {"Authorization": authorization}
            response = case.call(base_url=server.url, session=session, headers=headers)
            if has_too_long_a_line(response):
                continue
            if scope is None:
                assert response.status_code not in {401, 403}
                assert response.status_code < 500
            elif response.status_code != 405:
                assert response.status_code == (403 if authorization in others else 401), authorization
                assert response.headers["content-type"] == ["application/problem+json"]
                assert response.headers["www-authenticate"][0].startswith("Bearer")

    ask(operation, check)


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
