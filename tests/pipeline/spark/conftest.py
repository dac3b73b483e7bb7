"""One Spark for all tests of the pipeline, small and quiet."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pytest
from py4j.java_gateway import JVMView
from pyspark import SparkContext
from pyspark.sql import SparkSession

from service.pipeline.spark.cluster import progress as of_tasks
from service.pipeline.spark.cluster.progress import progress
from service.pipeline.spark.cluster.session import spark_session
from service.pipeline.spark.io.sinks import Pipeline, Sink
from tests.support.jvm import INTERPRETED, SHORT_LIVED, with_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

SETTINGS = INTERPRETED | {
    "spark.driver.memory": "1536m",
    # Its objects are short-lived, too. Its heap, and the space for classes, would grow in steps, with a full collection at each.
    "spark.driver.extraJavaOptions": " ".join((*SHORT_LIVED, "-Xms1536m", "-Xmn768m", "-XX:MetaspaceSize=256m")),
    "spark.ui.enabled": "false",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",  # each stage would be planned again; it is there where tests start commands
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",
    "spark.sql.warehouse.dir": "/tmp/partition-allocator-warehouse",  # noqa: S108 - nothing is written there
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session, on one core; most stages have two tasks. Jobs that are run while it is there run on it."""
    vars(of_tasks)["LINE_SECONDS"] = threading.TIMEOUT_MAX  # on a slow machine no line comes between what a test reads
    JVMView.__getattr__ = _remembered
    settings = SETTINGS | {"spark.driver.defaultJavaOptions": with_archive()}
    with spark_session("tests", master="local[1]", settings=settings) as session:
        yield session
        gateway = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM ends with it
    gateway.proc.wait(120)
    SparkContext._gateway = SparkContext._jvm = None


def _remembered(view: JVMView, name: str, found: Callable[[JVMView, str], object] = JVMView.__getattr__) -> object:
    """What the JVM has under a name: for each time that it is asked, it looks in 276 jars for classes of several packages."""
    return vars(view).setdefault(name, found(view, name))


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path: Path) -> Iterator[Pipeline]:
    """What a job is given; its results go into ``tmp_path / "results"``."""
    with Pipeline(spark, Sink(spark, str(tmp_path / "results")), partial(progress, spark)) as given:
        yield given


@pytest.fixture(scope="session")
def imported() -> dict[str, set[str]]:
    """By job, the modules of this project that Spark's workers had imported after it: test_tasks.py says which may be."""
    return {}


@pytest.fixture(scope="session")
def watched(spark: SparkSession, imported: dict[str, set[str]]) -> Callable[[str], AbstractContextManager[None]]:
    """For a block that runs the job of a name: the job leaves no frame, and the workers report what they have imported."""

    def modules(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # A local function is pickled by value, so that workers do not import this module for it.
        for _ in batches:
            time.sleep(0.1)  # so that every worker gets a task
            yield pa.record_batch({"module": [name for name in sys.modules if name.startswith("service.")]})

    @contextmanager
    def watch(job: str) -> Iterator[None]:
        spark.catalog.clearCache()  # of other tests
        yield
        assert spark._jsparkSession.sharedState().cacheManager().isEmpty(), f"{job} leaves frames in a session that goes on"
        imported[job] = {row.module for row in spark.range(0, 8, 1, 8).mapInArrow(modules, "module string").collect()}

    return watch


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this test do as if there were no session, and none can start."""
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr("service.pipeline.spark.runner.spark_session", _start)


def _start(*_: object, **__: object) -> NoReturn:
    raise AssertionError("Spark starts")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    r"""``write("records.csv", "key\na\n")``: a file of this text, and its path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write
