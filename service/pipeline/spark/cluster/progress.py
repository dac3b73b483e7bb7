"""How far Spark's active stages are: a bar on a terminal, a line every 30 s elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import click
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from service.pipeline.spark.cluster.session import is_connect
from service.report.figures import duration, number, size

SECONDS: Final = 0.2
"""Seconds between two updates of the bar."""

LINE_SECONDS: Final = 30.0
"""Seconds between two lines."""


@dataclass(frozen=True)
class ReadSoFar:
    """What tasks that read a source themselves read. size : bytes of the source; records : how many have been read so far"""

    size: int
    records: Callable[[], int]


@dataclass
class Stages:
    """The stages so far. stages : by id, the completed tasks of each, all of its tasks, and the records and bytes that it read"""

    stages: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)

    def update(self, store: Any) -> None:
        """Look at the active stages; one that is no longer active is complete. store : Spark's AppStatusStore"""
        active = store.activeStages()
        now = {
            stage.stageId(): (stage.numCompleteTasks(), stage.numTasks(), stage.inputRecords(), stage.inputBytes())
            for stage in (active.apply(i) for i in range(active.size()))
        }
        ended = {i: (tasks, tasks, *read) for i, (_, tasks, *read) in self.stages.items() if i not in now}
        self.stages |= ended | now  # type: ignore[arg-type]

    @property
    def sums(self) -> tuple[int, int, int, int]:
        """Completed tasks, all tasks, records and bytes of all stages."""
        done, tasks, records, read = map(sum, zip((0, 0, 0, 0), *self.stages.values(), strict=True))
        return done, tasks, records, read

    def line(self, what: str, seconds: float, reading: ReadSoFar | None = None) -> str:
        """How far they are after so many seconds, and how long the rest of the known tasks takes at the rate so far."""
        done, tasks, records, read = self.sums
        parts = [f"{number(done)} of {number(tasks)} tasks"]
        if reading is not None and tasks:  # tasks of equal size
            records, read = reading.records(), reading.size * done // tasks
        if read:
            parts.append(f"{size(read)} of {size(reading.size)}" if reading is not None else size(read))
        if records:
            parts.append(f"{number(records)} records")
        parts.append(duration(round(seconds)))
        if 0 < done < tasks:
            parts.append(f"about {duration(round(seconds * (tasks - done) / done))} remaining")
        return f"{what}: {', '.join(parts)}"


@contextmanager
def progress(spark: SparkSession, what: str, reading: ReadSoFar | None = None) -> Iterator[None]:
    """Show the progress of the tasks that run meanwhile, on standard error. Spark Connect has a bar of its own."""
    if is_connect(spark):
        yield
        return
    show = _bar if Console(stderr=True).is_terminal else _lines
    done = threading.Event()
    store = spark.sparkContext._jsc.sc().statusStore()  # noqa: SLF001 - PySpark's own tracker knows tasks only
    watcher = threading.Thread(target=show, args=(store, what, reading, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _bar(store: Any, what: str, _: ReadSoFar | None, done: threading.Event) -> None:
    """Move a bar until ``done``: completed ÷ all tasks of the stages so far."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("tasks"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        stages = Stages()
        while not done.wait(SECONDS):
            stages.update(store)
            completed, tasks, *_rest = stages.sums
            if tasks:
                bar.update(task, completed=completed, total=tasks)


def _lines(store: Any, what: str, reading: ReadSoFar | None, done: threading.Event) -> None:
    """Print a line every LINE_SECONDS until ``done``."""
    start = time.monotonic()
    stages = Stages()
    while not done.wait(LINE_SECONDS):
        stages.update(store)
        click.echo(stages.line(what, time.monotonic() - start, reading), err=True)
