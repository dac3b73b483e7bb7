"""``partition-allocator token``: a bearer token, and its line in the tokens file."""

import click

from service.cli.errors import BadInput
from service.cli.help import GroupedCommand
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
