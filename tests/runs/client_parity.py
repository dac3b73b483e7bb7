"""A long comparison with other clients' own libraries: ``python -m tests.runs.client_parity [--cases 10000] [--seed 20261124]``.

The groups are those of ``long_parity``: each lives through a few rebalances, and the next one begins with the library's answer
to the one before. Group N of a seed is always the same one. A library that cannot be had on this machine is skipped, and why.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import click
import orjson
from rich.console import Console

from tests.runs import franz_go_parity, leader_parity, librdkafka_parity
from tests.runs.client_groups import Differs
from tests.support.clients import CRATES, NotHere

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command()
@click.option("--cases", default=10_000, show_default=True, help="Rebalances to compare with each release.")
@click.option("--seed", default=20_261_124, show_default=True, help="Another seed draws other groups.")
@click.option("--library", "only", help="Compare with this one alone, such as sarama or 'librdkafka 1.9.2'.")
def main(cases: int, seed: int, only: str | None) -> None:
    """Compare the assignors of other clients with the libraries themselves on random groups."""
    console = Console()
    of_libraries: dict[str, Callable[[], Counter[tuple[str, str]]]] = {
        **{f"librdkafka {release}": partial(librdkafka_parity.compare, release, cases, seed) for release in CRATES},
        "franz-go": partial(franz_go_parity.compare, cases, seed),
        **{client: partial(leader_parity.compare, client, cases, seed) for client in leader_parity.CLIENTS},
    }
    if only is not None and only not in of_libraries:
        raise click.BadParameter(f"must be one of {', '.join(of_libraries)}.", param_hint="--library")
    for library in of_libraries if only is None else (only,):
        try:
            counts = of_libraries[library]()
        except NotHere as reason:
            console.print(f"skipped: {library} cannot be had here: {reason}")
        except Differs as found:
            console.print(f"differs: {found}", style="bold red")
            for title, value in (("body", found.body), ("ours", found.ours), ("library", found.theirs)):
                console.print(f"{title}: {orjson.dumps(value).decode()}", soft_wrap=True, markup=False, highlight=False)
            sys.exit(1)
        else:
            for (assignor, how), number in sorted(counts.items()):
                console.print(f"{assignor:35} {how:15} {number:>8,}", highlight=False)


if __name__ == "__main__":
    main()
