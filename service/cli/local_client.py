"""Asking the app in this process, without a server."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BufferedReader
from typing import TYPE_CHECKING, cast

import click
from environs.exceptions import EnvValidationError

from service.config import Settings
from service.web.json_codec import loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from werkzeug.test import TestResponse


def settings() -> Settings:
    """The settings of the environment; a wrong one ends the command with a message that names it."""
    try:
        return Settings.from_environment()
    except EnvValidationError as error:
        messages = cast("dict[str, list[str]]", error.error_messages)
        faults = (f"{name}: {' '.join(texts)}" for name, texts in messages.items())
        raise click.ClickException("; ".join(faults)) from None


def ask(path: str, body: bytes, content_type: str = "application/json") -> bytes:
    """The answer's body; a problem goes to standard error, and ends the command with 1."""
    # Imported only now, so that --help and --version do not wait for the kernels.
    from werkzeug.test import Client  # noqa: PLC0415

    from service.app import create_app  # noqa: PLC0415

    app = create_app(replace(settings(), auth="off", otlp_endpoint=""))  # nobody is to be kept from their own machine
    return _body(Client(app).post(path, data=body, content_type=content_type))


def ask_stream(path: str, pieces: Iterator[bytes]) -> bytes:
    """The same for an Arrow stream of any length, which is never in memory as a whole.

    A ClickException that ``pieces`` raises ends the command as it would elsewhere.
    """
    from werkzeug.test import Client  # noqa: PLC0415 - as above

    from service.app import create_app  # noqa: PLC0415
    from service.web.arrow_parser import Pieces  # noqa: PLC0415
    from service.web.responses import ARROW_STREAM  # noqa: PLC0415

    endless = 2**62  # limits are for what several share
    mine = replace(
        settings(), auth="off", otlp_endpoint="", max_body_bytes=endless, max_keys=endless, max_request_seconds=endless
    )
    faults: list[click.ClickException] = []

    def until_a_fault() -> Iterator[bytes]:
        try:
            yield from pieces
        except click.ClickException as fault:
            faults.append(fault)

    streamed = {
        "wsgi.input": BufferedReader(Pieces(until_a_fault())),
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
    }
    response = Client(create_app(mine)).post(path, content_type=ARROW_STREAM, environ_overrides=streamed)
    if faults:
        raise faults[0]
    return _body(response)


def _body(response: TestResponse) -> bytes:
    if response.status_code == 200:
        return response.get_data()
    problem = loads(response.get_data())
    click.echo(f"error: {problem['detail']}", err=True)
    for error in problem.get("errors", ()):
        click.echo(f"  {error['pointer'] or '/'}: {error['detail']}", err=True)
    sys.exit(1)
