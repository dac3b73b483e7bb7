"""``partition-allocator token``: a bearer token, and the line that admits it."""

from __future__ import annotations

import click

from service.auth.principals import EVERYTHING, SCOPES
from service.auth.tokens import new_token


@click.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([*SCOPES, EVERYTHING]),
    multiple=True,
    default=[EVERYTHING],
    show_default=True,
    help="What it admits to; may be given several times.",
)
def token(name: str, scopes: tuple[str, ...]) -> None:
    """Make a bearer token for NAME: the token on standard error, once, and its line for the file of tokens on standard output.

    partition-allocator token ci --scope partitions >> tokens
    """
    try:
        secret, line = new_token(name, scopes)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(secret, err=True)
    click.echo(line)
