"""Fixtures that more than one folder of tests needs."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.programs import commands

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from flask import Flask
    from flask.testing import FlaskClient
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

    from tests.support.broker import Broker
    from tests.support.serving import Server

# A kernel's first call loads it from its cache, and machines are shared: examples have no time limit, alone or together.
# CI takes the same examples each time, so that what it refuses is a fault of the change; all other runs search on.
settings.register_profile(
    "suite",
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],  # one draw in forty is unlucky
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("suite")


SLOWEST = (
    *("tests/chart/test_pod.py", "tests/clients/test_real_consumers.py", "tests/pipeline/spark/", "tests/page/"),
    *("tests/clients/test_go_balancer.py", "tests/runs/", "tests/chart/", "tests/test_plugins.py"),
    "tests/planner/reassignments/test_real_brokers.py",
)
"""They begin first, in this order, so that no worker waits for another's last test."""

SHARED = ("tests/clients", "tests/core", "tests/live", "tests/runs", "tests/server", "tests/pipeline/spark")
"""The files of each of these folders go to one worker: they share JVMs, kernels, a broker, servers, and a Spark, which would take
a minute to start and to warm up a second time."""

WITH_BROKER = (
    "tests/clients/test_real_consumers.py",
    "tests/clients/test_python_assignor.py",
    "tests/brokers/test_real_broker.py",
    "tests/support/test_broker.py",
    "tests/chart/test_dashboards.py",
    "tests/pipeline/spark/cluster/test_cluster.py",
    "tests/pipeline/spark/skew/test_follow.py",
)
"""These go to one worker, too, and share its broker; the last two start a Spark of their own."""

WITH_SERVER = (
    "tests/page/",
    "tests/contract/test_schemathesis.py",
    "tests/contract/test_generated_clients.py",
    "tests/contract/test_page.py",
    "tests/bench/test_harness.py",
    "tests/demo/test_demo.py",
    "tests/docs/test_distribution.py",
    "tests/clients/test_many_groups.py",
    "tests/api/test_partition_counts.py",
    "tests/api/test_rebalances_limits.py",
    "tests/runs/test_soak.py",
)
"""These go to one worker, and share its server or the process from which servers are forked, which takes seconds to load; those
of the page share a browser, too."""

WITHOUT_SHARED_SPARK = "tests/pipeline/spark/cluster/test_jvm.py"
"""This starts its own."""

WAITING = (
    "tests/http/auth/",
    WITH_BROKER[0],
    "tests/planner/timelines/test_live.py",
    "tests/live",
    "tests/server",
    WITHOUT_SHARED_SPARK,
    "tests/http/telemetry/test_metrics_files.py",
)
"""These tests wait for servers and for time to pass, more than they compute."""

WAITERS = ("gw2", "gw3")
"""They run those first, with what the other two leave of two cores. Whoever has none of its own left takes the rest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest first."""
    items.sort(key=lambda item: next((i for i, prefix in enumerate(SLOWEST) if item.nodeid.startswith(prefix)), len(SLOWEST)))


def import_in_turn(session: pytest.Session) -> None:
    """
    Import the test files of folders, each worker another part of them first.

    Pytest rewrites their asserts and keeps the result. Where all begin with the same file, each rewrites nearly all: in a new
    clone five seconds of a core. What cannot be imported is reported by the collection, which does it again.
    """
    worker, workers = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    files = sorted(file for folder in session.config.args for file in Path(folder).rglob("test_*.py"))
    first = len(files) * worker // workers
    for file in files[first:] + files[:first]:
        with suppress(Exception):
            import_module(".".join(file.absolute().relative_to(session.config.rootpath).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """
    Import and collect without garbage collections, and leave what is there then out of all that follow, which are rarer.

    The first takes a fifth off the time of the collection, the others as much off the time of tests in this process.
    """
    gc.disable()
    try:
        if "PYTEST_XDIST_WORKER" in os.environ:
            import_in_turn(session)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 50, 100)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """
    Collect garbage, and leave the rest out of the collections by pytest and by Python that follow.

    What a worker's tests left has a million objects: each collection takes up to a second, while nothing else runs.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """``--dist loadfile``, but for the files that share something, and for those that wait."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 (only where there are workers)

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(WITHOUT_SHARED_SPARK):
                return super()._split_scope(nodeid)
            for files in (WITH_BROKER, WITH_SERVER):
                if nodeid.startswith(files):
                    return files[0]
            return next((folder for folder in SHARED if nodeid.startswith(f"{folder}/")), super()._split_scope(nodeid))

        def _assign_work_unit(self, node: WorkerController) -> None:
            waits = node.gateway.id in WAITERS
            own = next((scope for scope in self.workqueue if scope.startswith(WAITING) == waits), None)
            if own is not None:
                self.workqueue.move_to_end(own, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skipped tests, and say what installs the programs that they need."""
    reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()) if isinstance(report.longrepr, tuple)]
    lines = commands(reasons)
    if lines:
        terminalreporter.section("missing programs")
        terminalreporter.line(f"{len(reasons)} tests were skipped; to run those that need these programs:")
        for line in lines:
            terminalreporter.line(f"  {line}")


@pytest.fixture(scope="session")
def app() -> Flask:
    """The app with its default settings, in this process; its client compares answers with the contract."""
    from service.app import create_app  # noqa: PLC0415 (a test of a hash needs none)
    from tests.contract.answers import CheckedClient  # noqa: PLC0415 (the contract takes a quarter of a second to read)

    app = create_app()
    app.test_client_class = CheckedClient
    return app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A client of that app, which names its requests, so that two problems of one kind are the same bytes."""
    client = app.test_client()
    client.environ_base["HTTP_X_REQUEST_ID"] = "test"
    return client


@pytest.fixture(scope="module")
def few_draws() -> Iterator[None]:
    """For tests of what an answer holds besides the ranges over many draws."""
    from service.decisions.rebalances import answer  # noqa: PLC0415 (as above)
    from tests.support.serving import FEW_CELLS  # noqa: PLC0415 (as above)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer, "MOST_CELLS", FEW_CELLS)
        yield


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A real Kafka broker, one for the whole run; each test makes its own topics."""
    from tests.support.broker import running_broker  # noqa: PLC0415 (PySpark takes a second to import)

    with running_broker() as running:
        yield running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server of two workers with its default settings, one for the whole run: a test leaves it as it was.

    It draws timelines few times, but for the pictures in the documentation.
    """
    from tests.support.serving import serving  # noqa: PLC0415 (as above)

    with serving(forked=True, few_draws="SCREENSHOTS" not in os.environ, ALLOCATOR_WORKERS="2") as running:
        yield running


@pytest.fixture
def tokens(tmp_path):
    """A file with a token for each scope, and the tokens by their scope."""
    return tokens_in(tmp_path)


def tokens_in(folder: Path) -> tuple[Path, dict[str, str]]:
    """Such a file, in this folder."""
    from service.http.auth import SCOPES, new_token  # noqa: PLC0415 (as above)

    made = {scope: new_token(f"{scope}-caller", (scope,)) for scope in (*SCOPES, "*")}
    path = folder / "tokens"
    path.write_text("# who may ask\n\n" + "".join(f"{line}\n" for _, line in made.values()))
    return path, {scope: token for scope, (token, _) in made.items()}
