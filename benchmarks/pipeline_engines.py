"""The job ``skew`` against DuckDB and Polars: the same file, the same cores and the same three answers.

The answers are records by partition, distinct keys and the most frequent keys. Each engine uses its own
hash for the partition, and whatever of its own is fastest.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from benchmarks.harness import Row, Skipped, benchmark
from benchmarks.pipeline import CORES, FOUR, KEYS, TWENTY, key_file, ours, pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.harness import Sides

PARTITIONS: Final = 12
TOP: Final = 20


@dataclass(frozen=True)
class Answers:
    """records : of each partition; distinct : the number of distinct keys, estimated; top : the most frequent keys"""

    records: list[int]
    distinct: int
    top: list[str]


def by_duckdb(path: str) -> Answers:
    """Two queries: one for everything, grouped or not, takes longer."""
    import duckdb  # noqa: PLC0415 - it may be missing

    with duckdb.connect(config={"threads": CORES}) as database:
        table = f"read_parquet('{path}')"
        counts = database.execute(f"SELECT count(*) FROM {table} GROUP BY hash(key) % {PARTITIONS}").fetchall()  # noqa: S608
        totals = database.execute(f"SELECT approx_count_distinct(key), approx_top_k(key, {TOP}) FROM {table}").fetchall()  # noqa: S608
    return Answers([records for (records,) in counts], *totals[0])


def by_polars(path: str) -> Answers:
    """Polars has no estimate of the most frequent keys, so it groups by key, which takes 5 GB for 50 million."""
    os.environ["POLARS_MAX_THREADS"] = str(CORES)  # read when Polars is imported
    import polars as pl  # noqa: PLC0415 - it may be missing

    key, table = pl.col("key"), pl.scan_parquet(path)
    counts = table.group_by(key.hash() % PARTITIONS).len().collect(engine="streaming")
    distinct = table.select(key.approx_n_unique()).collect(engine="streaming").item()
    top = table.group_by(key).len().top_k(TOP, by="len").collect(engine="streaming")
    return Answers(counts["len"].to_list(), distinct, top["key"].to_list())


def _beside(
    name: str, reference: Callable[[str], Answers], count: int, names: tuple[str, ...], partitions_counts: tuple[int, ...]
) -> Iterator[Sides]:
    if find_spec(name) is None:
        raise Skipped(f"{name} is missing: pip install --require-hashes -r requirements-dev.lock")
    path = key_file(count)

    def theirs() -> list[float]:
        start = time.perf_counter()
        reference(path)
        return [time.perf_counter() - start]

    with pipeline(CORES) as on:
        ours(on, path, names, partitions_counts)
        theirs()
        yield lambda: [ours(on, path, names, partitions_counts)], theirs


@benchmark(
    Row("pipeline/duckdb", "s", 1.0, "skew of 50 million keys, 1 × 1 ÷ DuckDB: records by hash, distinct and top keys"), rounds=3
)
def duckdb_one(count: int = KEYS) -> Iterator[Sides]:
    """One partitioner, one count: what DuckDB answers."""
    yield from _beside("duckdb", by_duckdb, count, ("java",), (PARTITIONS,))


@benchmark(
    Row("pipeline/duckdb-four-by-twenty", "s", 1.0, "skew of 50 million keys, 4 × 20 ÷ DuckDB: the same for 1 × 1"), rounds=3
)
def duckdb_four_by_twenty(count: int = KEYS) -> Iterator[Sides]:
    """80 answers by partition, beside one."""
    yield from _beside("duckdb", by_duckdb, count, FOUR, TWENTY)


@benchmark(
    Row("pipeline/polars", "s", 1.0, "skew of 50 million keys, 1 × 1 ÷ Polars: records by hash, distinct and top keys"), rounds=3
)
def polars_one(count: int = KEYS) -> Iterator[Sides]:
    """The most frequent keys are Polars' exact ones."""
    yield from _beside("polars", by_polars, count, ("java",), (PARTITIONS,))
