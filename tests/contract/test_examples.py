"""The reference page: every POST has a full example that answers 200, and the start pages lead to it."""

from __future__ import annotations

import re

import pytest

from tests.contract import CONTRACT

POSTS = {path: verbs["post"] for path, verbs in CONTRACT["paths"].items() if "post" in verbs}
VERBS = (
    *("Assign", "Audit", "Check", "Compare", "Compute", "Decode", "Find", "Follow"),
    *("Identify", "Lint", "List", "Place", "Plan", "Read", "Simulate"),
)


def example_of(operation: dict) -> dict:
    """What "Try it out" fills in: the body's example, or those of its fields."""
    body = operation["requestBody"]["content"]["application/json"]
    if "example" in body:
        return body["example"]
    schema = CONTRACT["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    return {name: field["example"] for name, field in schema["properties"].items() if "example" in field}


@pytest.mark.parametrize("path", POSTS)
def test_the_example_of_every_post_answers_200(client, path):
    response = client.post(path, json=example_of(POSTS[path]))
    assert response.status_code == 200, response.text


def test_every_summary_begins_with_a_verb_and_is_a_line():
    for path, verbs in CONTRACT["paths"].items():
        for verb, operation in verbs.items():
            if verb in ("get", "post"):
                assert operation["summary"].startswith(VERBS), (path, operation["summary"])
                assert len(operation["summary"]) <= 130


def test_tags_are_the_resources_and_the_page_knows_its_server():
    for path, verbs in CONTRACT["paths"].items():
        for operation in verbs.values():
            if "tags" in operation:
                assert all(re.fullmatch("[a-z-]+", tag) for tag in operation["tags"]), path
    assert CONTRACT["servers"] == [{"url": "/"}]


def test_the_start_leads_to_the_reference(client):
    response = client.get("/v1")
    assert (response.status_code, response.headers["Location"]) == (302, "/docs/")
    assert client.get("/docs/").status_code == 200


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", ["null", "[]", "[{}]", "1", '"a"', "{}"])
def test_a_body_that_is_not_an_object_is_refused(client, path, body):
    response = client.post(path, data=body, content_type="application/json")
    assert response.status_code in {400, 422}, response.text
    assert response.content_type == "application/problem+json"
