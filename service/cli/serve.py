"""``serve``: the HTTP server."""

import click

from service.cli.errors import BadInput
from service.cli.local_client import announce_compilation, settings


@click.command()
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on (or HOST).")
@click.option(
    "--port", envvar="PORT", type=click.IntRange(0, 65_535), default=8000, show_default=True, help="Port to listen on (or PORT)."
)
def serve(host: str, port: int) -> None:
    """Start the HTTP server. Environment variables set limits and credentials; see docs/operations.md."""
    own_settings = settings()
    announce_compilation()
    from service.server.serving import Refusal  # noqa: PLC0415 - an import that --help does not need
    from service.server.serving import serve as run  # noqa: PLC0415

    try:
        run(own_settings, host, port)
    except Refusal as refusal:
        raise BadInput(str(refusal)) from None
