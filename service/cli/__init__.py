"""The command line: start the server, or answer one request from a file or standard input.

Each command posts to the endpoint of an app in its own process, so its answer is exactly the service's. On a terminal it prints a
table, otherwise JSON.
"""

import click

from service import __version__
from service.cli.audit import audit
from service.cli.decisions import COMMANDS
from service.cli.descriptions import body_command
from service.cli.lint import lint
from service.cli.local_client import settings
from service.cli.partitioners import compare, fingerprint
from service.cli.pipeline import pipeline
from service.cli.plan import plan
from service.cli.reassign import reassign
from service.cli.rebalances import rebalances
from service.cli.snapshot import snapshot
from service.cli.tokens import token
from service.cli.verify import verify
from service.cli.watch import watch


@click.group(commands=COMMANDS)
@click.version_option(__version__)
def main() -> None:
    """Kafka's partition allocation: key → partition, partition → consumer, replica → broker."""


main.add_command(audit)
main.add_command(body_command)
main.add_command(compare)
main.add_command(fingerprint)
main.add_command(lint)
main.add_command(pipeline)
main.add_command(plan)
main.add_command(reassign)
main.add_command(rebalances)
main.add_command(snapshot)
main.add_command(token)
main.add_command(verify)
main.add_command(watch)


@main.command()
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on (or HOST).")
@click.option("--port", envvar="PORT", default=8000, show_default=True, help="Port to listen on (or PORT).")
def serve(host: str, port: int) -> None:
    """Start the HTTP server. Environment variables set limits and credentials; see docs/operations.md."""
    from service.server.serving import Refusal  # noqa: PLC0415 - the other commands do not need the server
    from service.server.serving import serve as run  # noqa: PLC0415

    try:
        run(settings(), host, port)
    except Refusal as refusal:
        raise click.ClickException(str(refusal)) from None
