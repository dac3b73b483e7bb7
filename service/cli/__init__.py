"""The command line: serve, or answer one question from a file or standard input.

Every command asks the app in this process over its HTTP endpoint, so that the answer is the service's to the letter. A terminal
gets a readable table, everything else the JSON.
"""

from __future__ import annotations

import click

from service import __version__
from service.cli.decisions import QUESTIONS
from service.cli.local_client import settings
from service.cli.partitioners import compare, fingerprint
from service.cli.pipeline import pipeline
from service.cli.plan import plan
from service.cli.tokens import token


@click.group(commands=QUESTIONS)
@click.version_option(__version__)
def main() -> None:
    """Kafka's partition allocation: key → partition, partition → consumer, replica → broker."""


main.add_command(compare)
main.add_command(fingerprint)
main.add_command(pipeline)
main.add_command(plan)
main.add_command(token)


@main.command()
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on; also HOST.")
@click.option("--port", envvar="PORT", default=8000, show_default=True, help="Port to listen on; also PORT.")
def serve(host: str, port: int) -> None:
    """Serve over HTTP. Limits are settings of the environment; see the README."""
    from service.server.serving import Refusal  # noqa: PLC0415 - the other commands need no server
    from service.server.serving import serve as run  # noqa: PLC0415

    try:
        run(settings(), host, port)
    except Refusal as refusal:
        raise click.ClickException(str(refusal)) from None
