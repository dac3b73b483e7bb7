"""The app that all doors of HTTP share."""

from service.app import create_app
from service.config import Settings


def test_nothing_is_registered_that_the_app_would_not_run() -> None:
    app = create_app(Settings())
    assert set(app.before_request_funcs) == {None}
    assert not app.teardown_request_funcs
    assert not app.url_value_preprocessors
