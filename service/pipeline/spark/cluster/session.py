"""The Spark session: on this machine by default, or on a cluster.

Under ``spark-submit`` the submitted configuration applies. Otherwise ``master`` is ``local[4]``, ``spark://…``, ``k8s://…`` or,
for Spark Connect, ``sc://…``; default: the environment variable ``SPARK_REMOTE``, else every core of this machine.

Executors get the project's modules (``code_archive.py``); their dependencies must be installed there.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkContext, java_gateway
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id
from pyspark.sql.pandas.types import from_arrow_schema

import service
from service.pipeline.spark.cluster import jvm
from service.pipeline.spark.cluster.jvm import JvmEnded, cause_in, start_failure
from service.pipeline.spark.errors import NoSpark, unanswered
from service.pipeline.spark.tasks import code_archive
from service.pipeline.spark.tasks.parquet_files import renamed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from service.pipeline.analyses.results import ArrowFunction

SETTINGS: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.session.timeZone": "UTC",  # of times without a zone
    "spark.sql.files.maxPartitionBytes": "512m",  # of a task, which costs a tenth of a second
    # A repeated task lays its tables out in another way, by chance. Spark would take that for other data, and end the job.
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
}
"""Settings everywhere, unless the user has others."""

LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",  # progress.py has its own
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}
"""Settings for a single machine."""

SMALL: Final = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}
"""Settings for small files, whose queries need not be divided."""

INTERPRETED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings for a few rows: to write and compile a query takes longer than to interpret it."""

OWN_DAEMON: Final = {"spark.python.daemon.module": "service.pipeline.spark.cluster.daemon"}
"""Where workers import this project as the driver does, and not from the zip that they get after their start."""

ONE_PROCESS: Final = re.compile(r"local(\[.*\])?")
"""Masters with the executor in the driver's JVM; ``local-cluster[…]`` starts others, in folders of their own."""

CALL_SITES: Final = "spark.python.sql.dataFrameDebugging.enabled"
"""Whether PySpark tells the JVM which line of this project each expression is from, for errors: a dozen calls for each."""

IVY_SETTINGS: Final = Path(__file__).with_name("ivysettings.xml")
"""Where a JVM that starts here fetches packages from."""

PORTS: Final = {"spark": "7077", "sc": "15002"}
"""Default ports of a standalone master and of a Connect server."""

MOST_CORES: Final = 100_000


@contextmanager
def spark_session(
    name: str,
    *,
    master: str | None = None,
    packages: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    light: bool = False,
    verbose: bool = False,
) -> Iterator[SparkSession]:
    """A session for one job, stopped at its end unless it existed before.

    name : of the application
    packages : Maven coordinates of connectors; only for a JVM that starts here
    settings : Spark settings, which override the defaults
    light : on this machine, as jvm.options has it
    verbose : show Spark's log
    Raises NoSpark.
    """
    existing = SparkSession.getActiveSession()
    if existing is not None:
        yield existing
        return
    master = master or os.environ.get("SPARK_REMOTE")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    builder = SparkSession.builder.appName(name)
    if not submitted and not (master or "").startswith("sc://"):
        light &= master is None or (master.startswith("local") and master != os.environ.get("SPARK_REMOTE"))
        builder = builder.config("spark.driver.defaultJavaOptions", jvm.options(jvm.java_version(), light=light))
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(jvm.LIGHT))  # of a JVM before, which only writes a command line
    elif packages:
        raise NoSpark("--package needs a Spark that starts here; pass it to spark-submit or to the Connect server.")
    if not submitted:
        require_answer(master or "")
        builder = _at(builder, master or "local[*]")
    if packages:
        builder = builder.config("spark.jars.packages", ",".join(packages))
    builder = builder.config(map={**SETTINGS, **(settings or {})})
    with tempfile.TemporaryDirectory(prefix="partition-allocator-") as folder:
        spark = _start(builder, Path(folder) / "spark.log", verbose=verbose or submitted)
        try:
            if submitted and not verbose and not is_connect(spark):
                spark.sparkContext.setLogLevel("WARN")
            if not is_local(spark):  # on one machine they import it as the driver does
                modules = str(code_archive.pack(Path(service.__file__).parent, Path(folder) / "partition_allocator.zip"))
                if is_connect(spark):
                    spark.addArtifacts(modules, pyfile=True)
                else:
                    spark.sparkContext.addPyFile(modules)
            with _jobs_end_by_ctrl_c(spark):
                yield spark
        except JvmEnded as error:
            raise JvmEnded(f"{error}{cause_in(Path(folder) / 'spark.log')}") from None
        finally:
            _stop(spark)


def _stop(spark: SparkSession) -> None:
    """Stop the session, also if its JVM has ended, so that another one can start."""
    try:
        spark.stop()
    except (Py4JError, OSError):
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - as stop does
        SparkSession._instantiatedSession = None  # noqa: SLF001


def _at(builder: SparkSession.Builder, master: str) -> SparkSession.Builder:
    """The builder of a session on ``master``, by Spark Connect if SPARK_REMOTE or ``master`` says so."""
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need the driver's packages
        if not {"", str(Path.cwd())} & {*sys.path}:
            os.environ.setdefault("PYTHONSAFEPATH", "1")  # nor do workers import from this folder, which may have a "service"
        builder = builder.config(map={**LOCAL, **(OWN_DAEMON if ONE_PROCESS.fullmatch(master) else {})})
    if master == os.environ.get("SPARK_REMOTE") or master.startswith("sc://"):
        return builder.remote(master)
    os.environ.pop("SPARK_REMOTE", None)  # PySpark would prefer it
    if "DEFAULT_ARTIFACT_REPOSITORY" not in os.environ:  # Spark's way to name a mirror
        builder = builder.config("spark.jars.ivySettings", str(IVY_SETTINGS))
    return builder.config(CALL_SITES, "false").master(master)


def require_answer(master: str) -> None:
    """Raise NoSpark if no standalone master or Connect server accepts a connection: Spark would retry for minutes."""
    url = re.match(r"(spark|sc)://([^/;]+)", master)
    if url is None:
        return
    addresses = (address if re.search(r":\d+$", address) else f"{address}:{PORTS[url[1]]}" for address in url[2].split(","))
    if faults := unanswered(addresses):
        raise NoSpark(f"{url[0]}: Cannot connect to Spark: {', '.join(faults)}")


def _start(builder: SparkSession.Builder, log: Path, *, verbose: bool) -> SparkSession:
    """The session. The JVM inherits ``log`` for all its output, or this process's standard error if verbose.

    Standard output is the summary's alone: Ivy and the JVM itself print there too.
    """
    try:
        with _output_into(os.dup(2) if verbose else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)), _ended_by_ctrl_c():
            return builder.getOrCreate()
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        printed = log.read_text(errors="replace") if log.exists() else ""
        raise NoSpark(f"Spark does not start: {start_failure(error, printed)}") from None


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """Kill the JVM that starts meanwhile if Ctrl-C comes.

    PySpark would forget it: it waits for the JVM's port in a file whose folder it then removes, and a JVM that cannot write the
    file never ends. A group of its own has also what spark-submit starts before.
    """
    started: list[subprocess.Popen[bytes]] = []

    def popen(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        with _ctrl_c_later():  # within Popen it would lose a process that runs already
            started.append(subprocess.Popen(*arguments, **options, process_group=0))  # noqa: S603 - Spark's own command
        return started[-1]

    vars(java_gateway)["Popen"] = popen
    try:
        yield
    except KeyboardInterrupt:
        for process in started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise
    finally:
        vars(java_gateway)["Popen"] = subprocess.Popen


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Let Ctrl-C wait until the end. Other threads than the main one never get it."""
    if current_thread() is not main_thread():
        yield
        return
    came = Event()
    handler = signal.signal(signal.SIGINT, lambda *_: came.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came.is_set() and callable(handler):  # neither ignored nor the end of the process
        handler(signal.SIGINT, None)


@contextmanager
def _jobs_end_by_ctrl_c(spark: SparkSession) -> Iterator[None]:
    """Let Ctrl-C cancel the jobs and raise KeyboardInterrupt, also where PySpark raises their end instead.

    PySpark's own handler cancels them within the call that it interrupts, which may fail. Py4J logs that call with its traceback.
    """
    interrupted = Event()

    def cancel() -> None:
        with suppress(Exception):  # the session may be at its end by now
            spark.sparkContext.cancelAllJobs()

    def interrupt(*_: object) -> None:
        interrupted.set()
        logging.disable()
        Thread(target=cancel, daemon=True).start()  # each thread has a connection of its own
        raise KeyboardInterrupt

    if current_thread() is main_thread() and not is_connect(spark):
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if interrupted.is_set():
            raise KeyboardInterrupt from None
        raise


@contextmanager
def _output_into(descriptor: int) -> Iterator[None]:
    """Redirect standard output and error of this process, and of processes that it starts meanwhile; closes the descriptor."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours = {number: os.dup(number) for number in (1, 2)}
    for number in ours:
        os.dup2(descriptor, number)
    os.close(descriptor)
    try:
        yield
    finally:
        for number, kept in ours.items():
            os.dup2(kept, number)
            os.close(kept)


def cores(spark: SparkSession) -> int:
    """The number of tasks that run at a time, as far as Spark knows now."""
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # Spark Connect does not offer that number, but divides a range by it.
    return spark.range(MOST_CORES).select(spark_partition_id()).distinct().count()


def is_local(spark: SparkSession) -> bool:
    """Whether everything runs on this machine, with the driver's Python and files."""
    return not is_connect(spark) and ONE_PROCESS.fullmatch(str(spark.sparkContext.master)) is not None


def is_connect(spark: SparkSession) -> bool:
    """Whether it is a session of Spark Connect, which has no JVM on this side."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


TASK_BYTES: Final = 2**29
"""Bytes of plain files for a task, which costs a tenth of a second however little it reads. So a job has as many tasks as its
data, whatever executors there are when it starts, and a lost one repeats little. Of small files there is a task for each core."""


@dataclass(frozen=True)
class Tasks:
    """Tasks, each of which calls ``function`` with its batches of ``frame``. count : the number of tasks, at most"""

    function: ArrowFunction
    count: int
    frame: DataFrame

    def rows(self, schema: pa.Schema) -> DataFrame:
        """The rows of ``schema`` that the tasks give."""
        return self.frame.mapInArrow(self.function, from_arrow_schema(schema))


def tasks_for(spark: SparkSession, size: int) -> int:
    """The number of tasks that read so many bytes."""
    return max(cores(spark), -(-size // TASK_BYTES))


def tasks_of(frame: DataFrame, function: ArrowFunction, count: int) -> Tasks:
    """Tasks that get the batches of a frame, whose columns may have any names: mapInArrow takes a dot for a path."""
    names = frame.columns
    return Tasks(partial(renamed, function, names), count, frame.toDF(*(f"column_{i}" for i in range(len(names)))))


def numbered(spark: SparkSession, function: ArrowFunction, count: int) -> Tasks:
    """Tasks that get batches with their numbers, 0 to ``count`` - 1, in the only column."""
    return Tasks(function, count, spark.range(0, count, 1, count))
