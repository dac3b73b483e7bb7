"""A long comparison with Kafka Connect and Streams: ``python -m tests.runs.task_parity [--groups 3000] [--seed 20261124]``.

A Connect group lives through up to a dozen rebalances. Group N of a seed is always the same one.
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich.console import Console

from tests.support.task_groups import (
    clients_differ,
    connect_differs,
    connect_rounds,
    streams_clients,
    streams_differs,
    streams_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SUBJECTS: dict[str, tuple[Callable[[Random], dict[str, Any]], Callable[[dict[str, Any]], str | None]]] = {
    "connect": (connect_rounds, connect_differs),
    "streams": (streams_group, streams_differs),
    "classic streams": (streams_clients, clients_differ),
}
"""What is compared: how a random group is made, and where our answer to it differs; None: nowhere."""


def compare(subject: str, groups: int, seed: int) -> Counter[str]:
    """So many groups, and their rebalances, by assignor. Raises AssertionError at the first difference."""
    draw, differs = SUBJECTS[subject]
    counts: Counter[str] = Counter()
    for number in range(groups):
        body = draw(Random(f"{seed}-{subject}-{number}"))
        difference = differs(body)
        if difference is not None:
            raise AssertionError(f"{subject}, group {number} of seed {seed}: {difference}\n{orjson.dumps(body).decode()}")
        counts[f"{subject} {body['assignor']} {body.get('kafka_version', '')}"] += len(body.get("rounds", (body,)))
    return counts


@click.command()
@click.option("--groups", default=3_000, show_default=True, help="Groups to compare of each kind.")
@click.option("--seed", default=20_261_124, show_default=True, help="Another seed draws other groups.")
@click.option("--subject", type=click.Choice(list(SUBJECTS)), help="Compare these alone.")
def main(groups: int, seed: int, subject: str | None) -> None:
    """Compare Connect's and Streams' assignors with the real classes on random groups."""
    console = Console()
    for each in SUBJECTS if subject is None else (subject,):
        try:
            counts = compare(each, groups, seed)
        except AssertionError as difference:
            console.print(f"differs: {difference}", style="bold red", markup=False, soft_wrap=True)
            sys.exit(1)
        for assignor, number in sorted(counts.items()):
            console.print(f"{assignor:35} alike in {number:>8,} rebalances", highlight=False)


if __name__ == "__main__":
    main()
