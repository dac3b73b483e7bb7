"""Options of all plans about how long their batches take: members of ``limits``."""

from typing import Final

import click

from service.core.reassignments import BATCH_SECONDS, THROTTLE_UTILIZATION

DURATION: Final = click.option(
    "--duration", "duration_seconds", type=int, help="Seconds for all batches; raises the throttle as far as needed."
)
UTILIZATION: Final = click.option(
    "--throttle-utilization",
    type=float,
    help=f"Share of the throttle that the copying reaches. Default: {THROTTLE_UTILIZATION:g}.",
)
SECONDS: Final = click.option(
    "--batch-seconds", type=float, help=f"Seconds of a batch beside the copying. Default: {BATCH_SECONDS:g}."
)
