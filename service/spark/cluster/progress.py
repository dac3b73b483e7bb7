"""A progress bar on a terminal: the tasks of Spark's active stages."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import StatusTracker
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from service.spark.cluster.session import is_connect

SECONDS = 0.2
"""Seconds between two updates."""


@contextmanager
def progress(spark: SparkSession, what: str) -> Iterator[None]:
    """Show the progress of the tasks that run meanwhile, if standard error is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal or is_connect(spark):
        # Spark Connect has its own bar.
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("tasks"))
    done = threading.Event()
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        watcher = threading.Thread(target=_watch, args=(spark.sparkContext.statusTracker(), bar, what, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _watch(tracker: StatusTracker, bar: Progress, what: str, done: threading.Event) -> None:
    """Move the bar until ``done``: completed ÷ all tasks of the stages so far."""
    task = bar.add_task(what, total=None)
    stages: dict[int, tuple[int, int]] = {}
    while not done.wait(SECONDS):
        _update(stages, tracker)
        if total := sum(tasks for _, tasks in stages.values()):
            bar.update(task, completed=sum(finished for finished, _ in stages.values()), total=total)


def _update(stages: dict[int, tuple[int, int]], tracker: StatusTracker) -> None:
    """Stage → its completed tasks, and all; a stage that is no longer active is complete."""
    for stage in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage)
        if info is not None:
            stages[stage] = (info.numCompletedTasks, info.numTasks)
    active = set(tracker.getActiveStageIds())
    for stage in stages.keys() - active:
        stages[stage] = (stages[stage][1], stages[stage][1])
