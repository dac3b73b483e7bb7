"""``serve``: the HTTP server."""

import sys
from typing import cast

import click

from service.cli import BadInput, GroupedCommand, announce_compilation, note
from service.http.auth import EVERYTHING, SCOPES, new_token


@click.command(cls=GroupedCommand)
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([*SCOPES, EVERYTHING]),
    multiple=True,
    default=[EVERYTHING],
    show_default=True,
    help="Scope of the token. Repeatable.",
)
def token(name: str, scopes: tuple[str, ...]) -> None:
    """Create a bearer token for NAME.

    The token is printed to standard error, once; its line for the tokens file is printed to standard output.

    partition-allocator token ci --scope partitions >> tokens
    """
    try:
        secret, line = new_token(name, scopes)
    except ValueError as error:
        raise BadInput(str(error)) from None
    click.echo(secret, err=True)
    click.echo(line)


@click.command(cls=GroupedCommand)
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on (or HOST).")
@click.option(
    "--port", envvar="PORT", type=click.IntRange(0, 65_535), default=8000, show_default=True, help="Port to listen on (or PORT)."
)
def serve(host: str, port: int) -> None:
    """Start the HTTP server. Environment variables set limits and credentials; see docs/operations.md.

    partition-allocator serve --port 9000
    """
    from environs.exceptions import EnvValidationError  # noqa: PLC0415 - imports that --help does not need

    from service.config import Settings  # noqa: PLC0415

    try:
        own_settings = Settings.from_environment()
    except EnvValidationError as error:
        messages = cast("dict[str, list[str]]", error.error_messages)
        raise BadInput("; ".join(f"{name}: {' '.join(texts)}" for name, texts in messages.items())) from None
    if sys.stderr.isatty():
        note("Loading the service …")
    announce_compilation()
    from service.server.serving import Refusal  # noqa: PLC0415
    from service.server.serving import serve as run  # noqa: PLC0415

    try:
        run(own_settings, host, port)
    except Refusal as refusal:
        raise BadInput(str(refusal)) from None
