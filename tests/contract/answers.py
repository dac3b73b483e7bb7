"""Answers beside the contract: whether each has the fields that the contract requires, and no other."""

from __future__ import annotations

import http
from collections.abc import Iterator
from typing import Any

from flask.testing import FlaskClient

from tests.contract import CONTRACT

SCHEMAS = CONTRACT["components"]["schemas"]
ELSEWHERE = {"connect": "/v1/connect-assignments", "streams": "/v1/streams-assignments"}
"""Group protocol → the endpoint whose answer ``/v1/group-assignments`` gives."""

MOST_BYTES = 200_000
MOST_ELEMENTS = 50


class CheckedClient(FlaskClient):
    """Flask's client of an app, which compares every answer in JSON with the contract."""

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """As Flask's."""
        response = super().open(*args, **kwargs)
        is_short = (response.content_length or MOST_BYTES) < MOST_BYTES
        if response.status_code == http.HTTPStatus.OK and response.is_json and is_short:
            path, answer = response.request.path, response.json
            if path == "/v1/group-assignments":
                path = ELSEWHERE.get(answer["group_protocol"], path)
            operation = CONTRACT["paths"].get(path, {}).get(response.request.method.lower())
            if operation:
                faults = list(undocumented(operation["responses"]["200"]["content"]["application/json"]["schema"], answer))
                assert not faults, faults
        return response


def undocumented(schema: dict[str, Any], value: Any, pointer: str = "") -> Iterator[str]:
    """What an answer lacks, or has and the contract does not, in the first elements of each list."""
    if "anyOf" in schema and value is not None:  # null, or what the other says
        schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        for i, element in enumerate(value[:MOST_ELEMENTS]):
            yield from undocumented(schema.get("items", {}), element, f"{pointer}/{i}")
    if isinstance(value, dict) and "properties" in schema:
        yield from (f"{pointer}/{name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, member in value.items():
            if name in schema["properties"]:
                yield from undocumented(schema["properties"][name], member, f"{pointer}/{name}")
            else:
                yield f"{pointer}/{name} is not in the contract"
