"""What runs the tasks of a job: Spark's executors or, where a job needs no more than that, processes of this machine.

Spark starts when a job first needs it. A job that reads plain local files and writes to a local folder needs none.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from service.core.errors import AllocatorError
from service.spark.cluster.session import cores, is_local
from service.spark.errors import JobFailed
from service.spark.tasks.splits import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

    from service.spark.tasks.splits import ArrowFunction


@dataclass
class Processes:
    """Processes of this machine that run tasks, at most ``count`` at a time, without a JVM that takes seconds to start.

    Each is a fork of the driver, with the modules that it has imported. What a task gives goes into a file, which the driver maps
    into its memory, so that millions of rejected rows neither pass through a pipe nor are held in memory.

    tasks, finished : the tasks of the last ``run``, and those of them that have ended
    """

    count: int
    tasks: int = 0
    finished: int = 0

    def run(self, function: ArrowFunction, tasks: int, schema: pa.Schema) -> pa.Table:
        """The rows of ``schema`` that ``function`` gives for each number below ``tasks``, in their order.

        function : gets a batch with the number in its only column
        Raises JobFailed.
        """
        self.tasks, self.finished = tasks, 0
        others = {*active_children()}
        numbers = pa.Array.from_buffers(pa.int64(), tasks, [None, pa.py_buffer(np.arange(tasks))])
        with (
            tempfile.TemporaryDirectory(prefix="partition-allocator-") as folder,
            ProcessPoolExecutor(min(self.count, tasks), get_context("fork"), _end_with_driver) as pool,
        ):
            files = [str(Path(folder) / f"{number}.arrow") for number in range(tasks)]
            with _later_interrupts():
                running = [pool.submit(_run_task, function, numbers.slice(i, 1), schema, file) for i, file in enumerate(files)]
            for task in as_completed(running):
                try:
                    fault = task.result()
                except BrokenProcessPool:
                    fault = "a process was killed, probably for want of memory; --master local[1] needs less of it"
                if fault is not None:
                    for process in {*active_children()} - others:
                        process.kill()  # it may have hours of work left
                    raise JobFailed(fault)
                self.finished += 1
            return pa.concat_tables([pa.ipc.open_stream(pa.memory_map(file)).read_all() for file in files])


@dataclass(frozen=True)
class Tasks:
    """Tasks, each of which calls ``function`` with its batches.

    count : the number of tasks, at most
    """

    function: ArrowFunction
    count: int


@dataclass(frozen=True)
class SparkTasks(Tasks):
    """Tasks of Spark's executors, which get the batches of ``frame``."""

    frame: DataFrame

    def rows(self, schema: pa.Schema) -> DataFrame:
        """The rows of ``schema`` that the tasks give."""
        return self.frame.mapInArrow(self.function, from_arrow_schema(schema))

    def run(self, schema: pa.Schema) -> pa.Table:
        """The same, here."""
        return self.rows(schema).toArrow()


@dataclass(frozen=True)
class ProcessTasks(Tasks):
    """Tasks of processes of this machine, each of which gets its number."""

    processes: Processes

    def run(self, schema: pa.Schema) -> pa.Table:
        """The rows of ``schema`` that the tasks give. Raises JobFailed."""
        return self.processes.run(self.function, self.count, schema)


@dataclass
class Executors:
    """What runs the tasks of a job.

    start : gives Spark's session, for the time of the job
    processes : what reads plain local files; None: Spark does, and starts at once
    """

    start: Callable[[], AbstractContextManager[SparkSession]]
    processes: Processes | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def spark(self) -> SparkSession:
        """The session, which this starts. Raises NoSpark."""
        return self._stack.enter_context(self.start())

    @property
    def has_spark(self) -> bool:
        """Whether Spark has been started."""
        return "spark" in vars(self)

    @property
    def cores(self) -> int:
        """The number of tasks that run at a time, as far as is known now."""
        return cores(self.spark) if self.processes is None else self.processes.count

    @property
    def is_local(self) -> bool:
        """Whether everything runs on this machine, with the driver's Python and files."""
        return self.processes is not None or is_local(self.spark)

    def numbered(self, function: ArrowFunction, count: int) -> SparkTasks | ProcessTasks:
        """Tasks that get batches with their numbers, 0 to ``count`` - 1, in the only column."""
        if self.processes is not None:
            return ProcessTasks(function, count, self.processes)
        return SparkTasks(function, count, self.spark.range(0, count, 1, count))

    def __enter__(self) -> Self:
        """Start Spark, unless processes may do."""
        if self.processes is None:
            self.spark  # noqa: B018 - before any progress bar
        return self

    def __exit__(self, *_: object) -> None:
        """Stop Spark, if it was started here."""
        self._stack.close()


@contextmanager
def _later_interrupts() -> Iterator[None]:
    """Deliver Ctrl-C only at the end: a process that is just being forked may ignore it, and the driver would wait for it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _run_task(function: ArrowFunction, number: pa.Array, schema: pa.Schema, file: str) -> str | None:
    """Write what a task gives. Returns why it fails; None if it does not."""
    try:
        with pa.OSFile(file, "wb") as sink, pa.ipc.new_stream(sink, schema) as stream:
            for batch in function(iter([pa.record_batch([number], ["number"])])):
                stream.write_batch(batch)
    except (AllocatorError, UnreadableFile) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - as a failure of Spark's, which has the class and the message of any
        return f"{type(error).__name__}: {error}"
    return None


def _end_with_driver() -> None:
    """Let Ctrl-C end this process, and end it with the driver, however that ends."""
    # A thread of the driver, such as the progress bar's, may have held the locks of its streams.
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as this process runs
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    driver = parent_process()
    assert driver is not None  # noqa: S101

    def wait() -> None:
        connection.wait([driver.sentinel])
        os._exit(1)

    Thread(target=wait, daemon=True).start()
