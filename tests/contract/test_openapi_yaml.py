"""``openapi.yaml`` is what the schemas say, and says what the contract promises."""

from __future__ import annotations

from openapi_spec_validator import validate

from tests.contract import CONTRACT, TEXT


def test_the_committed_file_is_what_the_app_generates(app):
    assert app.extensions["openapi_yaml"] == TEXT, "run `make openapi`"


def test_the_service_hands_it_out(client):
    assert client.get("/openapi.yaml").text == TEXT


def test_it_is_valid_openapi_3_1():
    assert CONTRACT["openapi"].startswith("3.1")
    validate(CONTRACT)


def test_every_operation_has_an_id_a_summary_and_problem_responses():
    operations = [(path, verb, op) for path, verbs in CONTRACT["paths"].items() for verb, op in verbs.items()]
    assert operations
    for path, verb, operation in operations:
        assert operation["operationId"], (path, verb)
        assert operation.get("summary"), (path, verb)
        for status, response in operation["responses"].items():
            if status.startswith("4"):
                assert "$ref" in response or "application/problem+json" in response["content"], (path, verb, status)
