"""``openapi.yaml`` is what the schemas say, and says what the contract promises."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.contract import CONTRACT, TEXT
from tests.contract.answers import undocumented


def test_the_committed_file_is_what_the_app_generates(app):
    assert app.extensions["openapi_yaml"]() == TEXT, "run `make openapi`"


def test_the_service_hands_it_out(client):
    assert client.get("/openapi.yaml").text == TEXT


def test_it_is_valid_openapi_3_1():
    from openapi_spec_validator import validate  # noqa: PLC0415 (it takes half a second, which each worker would spend)

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


def test_every_schema_is_used():
    """A generator makes a class of each."""
    assert not [name for name in CONTRACT["components"]["schemas"] if not re.search(f"/schemas/{name}\\W", TEXT)]


def numbers(schema: object) -> Iterator[tuple[dict, set[str]]]:
    """Every schema of a number under this one, with its numeric types."""
    if isinstance(schema, dict):
        types = schema.get("type")
        numeric = {"integer", "number"} & set([types] if isinstance(types, str) else types if isinstance(types, list) else ())
        if numeric:
            yield schema, numeric
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from numbers(inner)


def test_every_number_has_the_format_that_holds_it():
    """A generator takes int32 for an integer without a format, and Go's float32 for a number: 2**40 bytes would not fit."""
    for schema, types in numbers(CONTRACT):
        if "number" in types:
            assert schema["format"] == "double", schema
        elif schema.get("maximum", 2**63) < 2**31 and schema.get("minimum", -(2**63)) >= -(2**31):
            assert schema["format"] == "int32", schema
        else:
            assert schema["format"] in {"int32", "int64"}, schema
            assert schema["format"] == "int64" or "maximum" not in schema, schema


def test_an_answer_that_lacks_a_field_or_has_another_is_found():
    """The client of every other test looks at its answers so."""
    schema = {"$ref": "#/components/schemas/CoordinatorAnswer"}
    answer = dict.fromkeys(CONTRACT["components"]["schemas"]["CoordinatorAnswer"]["required"], 0)
    assert not list(undocumented(schema, answer))
    assert list(undocumented(schema, {"more": 0} | {name: value for name, value in answer.items() if name != "topic_name"})) == [
        "/topic_name is missing", "/more is not in the contract",
    ]  # fmt: skip
