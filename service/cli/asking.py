"""Asking the app in this process, without a server."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import cast

import click
from environs.exceptions import EnvValidationError

from service.api.jsons import loads
from service.config import Settings


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
    response = Client(app).post(path, data=body, content_type=content_type)
    if response.status_code == 200:
        return response.get_data()
    problem = loads(response.get_data())
    click.echo(f"error: {problem['detail']}", err=True)
    for error in problem.get("errors", ()):
        click.echo(f"  {error['pointer'] or '/'}: {error['detail']}", err=True)
    sys.exit(1)
