"""Run the benchmarks whose names begin with one of the arguments (default: all), and print the results.

``--write-docs`` also writes them into the table of ``docs/evidence/benchmarks.md``.
"""

from __future__ import annotations

import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import documents, every  # noqa: F401 - importing declares the benchmarks
from benchmarks.harness import BENCHMARKS, Result, Skipped

RESULTS = Path(__file__).with_name("results.json")
WRITE_DOCS = "--write-docs"


def main(arguments: list[str]) -> None:
    """Measure, print, and write ``results.json``."""
    prefixes = [argument for argument in arguments if argument != WRITE_DOCS]
    console = Console()
    chosen = [b for b in BENCHMARKS if not prefixes or any(row.name.startswith(tuple(prefixes)) for row in b.rows)]
    if not chosen:
        names = "\n  ".join(row.name for b in BENCHMARKS for row in b.rows)
        sys.exit(f"No benchmark has a name that begins with {' or '.join(prefixes)}. Benchmarks:\n  {names}")
    results: list[Result] = []
    skipped: list[tuple[str, str]] = []
    for chosen_benchmark in chosen:
        names = ", ".join(row.name for row in chosen_benchmark.rows)
        with console.status(f"{names} …"):
            try:
                measured = chosen_benchmark.run()
            except Skipped as reason:
                skipped += [(row.name, str(reason)) for row in chosen_benchmark.rows]
                console.print(f"{names}: skipped, {reason}", style="yellow", highlight=False)
                continue
        results += measured
        for result in measured:
            console.print(f"{result.row.name}: {result.ratio:.3g} (goal {result.row.goal})", highlight=False)
        # After each benchmark: a complete run takes so long that it may be stopped.
        RESULTS.write_text(json.dumps([result.as_json() for result in results], indent=1) + "\n")
        if WRITE_DOCS in arguments:
            documents.write(BENCHMARKS, results, datetime.now(UTC).date().isoformat())
    console.print()
    console.print(_table(results, skipped))
    missed = sum(not result.good for result in results)
    console.print(
        f"{len(results)} rows, {missed} missed their goal, {len(skipped)} skipped; a ratio at or below its goal is good."
    )


def _table(results: list[Result], skipped: list[tuple[str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("benchmark", no_wrap=True)
    table.add_column("ours ÷ reference", ratio=1)
    for column in ("ours", "reference", "ratio", "goal"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
    for result in results:
        row = result.row
        verdict = "[green]✓[/]" if result.good else "[bold red]missed[/]"
        sides = (_quantity(value, row.unit) for value in (result.ours, result.reference))
        ratio = f"{result.ratio:.3g}" if result.good else f"[bold red]{result.ratio:.3g}[/]"
        table.add_row(row.name, f"[dim]{row.what}[/]", *sides, ratio, str(row.goal), verdict)
    for name, reason in skipped:
        table.add_row(name, f"[yellow]skipped: {reason}[/]", "", "", "", "", "")
    return table


def _quantity(value: float, unit: str) -> str:
    if unit == "s" and value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that servers started here are stopped
main(sys.argv[1:])
