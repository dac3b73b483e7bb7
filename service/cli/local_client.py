"""A client of the service that needs no server: the app runs in this process."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BufferedReader
from typing import TYPE_CHECKING, Any, Final, cast

import click
from environs.exceptions import EnvValidationError

from service.config import Settings
from service.web.json_codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from werkzeug.test import TestResponse

UNLIMITED: Final = 2**62
"""Limits protect a shared server; and nobody needs credentials on their own machine."""


def settings() -> Settings:
    """The settings of the environment. Raises ClickException, which names every invalid variable."""
    try:
        return Settings.from_environment()
    except EnvValidationError as error:
        messages = cast("dict[str, list[str]]", error.error_messages)
        raise click.ClickException("; ".join(f"{name}: {' '.join(texts)}" for name, texts in messages.items())) from None


class Refused(Exception):
    """An endpoint's refusal, as its words."""


class LocalApp:
    """An app in this process that answers any number of bodies."""

    def __init__(self) -> None:
        from werkzeug.test import Client  # noqa: PLC0415 - as in post

        from service.app import create_app  # noqa: PLC0415

        self._client = Client(create_app(replace(settings(), auth="off", otlp_endpoint="", max_decision_bytes=UNLIMITED)))

    def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a body. Raises Refused."""
        response = self._client.post(path, data=dumps(body), content_type="application/json")
        answer: dict[str, Any] = loads(response.get_data())
        if response.status_code == 200:
            return answer
        raise Refused(
            " ".join([answer["detail"], *(f"{error['pointer']}: {error['detail']}" for error in answer.get("errors", ()))])
        )


def post(path: str, body: bytes) -> bytes:
    """Post a JSON body and return the answer's. An error is printed to standard error; the command then exits with 1."""
    return next(post_each(path, [body]))


def post_each(path: str, bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Like ``post``, for several bodies one after the other."""
    # Imported here, so that --help and --version do not wait for the kernels to load.
    from werkzeug.test import Client  # noqa: PLC0415

    from service.app import create_app  # noqa: PLC0415

    app = create_app(
        replace(settings(), auth="off", otlp_endpoint="", max_decision_bytes=UNLIMITED, max_request_seconds=UNLIMITED)
    )
    client = Client(app)
    for body in bodies:
        yield _body(client.post(path, data=body, content_type="application/json"))


def post_stream(path: str, pieces: Iterator[bytes]) -> bytes:
    """Like ``post``, for an Arrow stream of any length; only a piece of it is in memory at a time.

    A ClickException that ``pieces`` raises is raised again here.
    """
    from werkzeug.test import Client  # noqa: PLC0415 - as above

    from service.app import create_app  # noqa: PLC0415
    from service.web.arrow_parser import Pieces  # noqa: PLC0415
    from service.web.responses import ARROW_STREAM  # noqa: PLC0415

    limits: dict[str, Any] = dict.fromkeys(("max_body_bytes", "max_decision_bytes", "max_keys", "max_request_seconds"), UNLIMITED)
    own_settings = replace(settings(), auth="off", otlp_endpoint="", **limits)
    errors: list[click.ClickException] = []

    def until_error() -> Iterator[bytes]:
        try:
            yield from pieces
        except click.ClickException as error:
            errors.append(error)

    streamed = {
        "wsgi.input": BufferedReader(Pieces(until_error())),
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
    }
    response = Client(create_app(own_settings)).post(path, content_type=ARROW_STREAM, environ_overrides=streamed)
    if errors:
        raise errors[0]
    return _body(response)


def _body(response: TestResponse) -> bytes:
    if response.status_code == 200:
        return response.get_data()
    problem = loads(response.get_data())
    click.echo(f"error: {problem['detail']}", err=True)
    for error in problem.get("errors", ()):
        click.echo(f"  {error['pointer'] or '/'}: {error['detail']}", err=True)
    sys.exit(1)
