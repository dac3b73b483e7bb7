"""The app that all doors of HTTP share."""

import pytest
from marshmallow import ValidationError

from service.app import create_app
from service.config import Settings
from service.core.errors import AllocatorError
from tests.support.kept import nothing_kept_of


def test_nothing_is_registered_that_the_app_would_not_run() -> None:
    app = create_app(Settings())
    assert not app.before_request_funcs
    assert not app.after_request_funcs
    assert not app.teardown_request_funcs
    assert not app.teardown_appcontext_funcs
    assert not app.url_value_preprocessors


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/partitions", {"partitions_count": 3, "keys": ["a"], "another": 1}),
        ("/v1/group-assignments", {"topics": [], "members": [{"owned_partitions": [{"another": 1}]}]}),
        ("/v1/partitions", {"partitions_count": 3, "keys": ["a"], "partitioner": "another"}),
        ("/v1/decodings", {"kind": "subscription", "bytes_base64": "AAE="}),
    ],
    ids=["schema", "nested", "core", "bytes"],
)
def test_a_refusal_leaves_nothing_of_its_request_in_memory(path: str, body: dict[str, object]) -> None:
    """A traceback in a circle would keep the body until the cyclic collector comes."""
    client = create_app(Settings()).test_client()
    client.post(path, json=body)
    with nothing_kept_of(ValidationError, AllocatorError):
        assert client.post(path, json=body).status_code == 422
