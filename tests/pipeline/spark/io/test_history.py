"""The history of topics that the pipeline leaves in a real PostgreSQL is what the dashboard for Grafana reads."""

from __future__ import annotations

import json
import os
import subprocess
from itertools import takewhile
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service.cli import main
from tests.support.golden import PROJECT
from tests.support.jvm import fetch
from tests.support.programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

DASHBOARD = json.loads((PROJECT / "helm" / "grafana" / "pipeline-history.json").read_text())
MACROS = {"$__timeFilter(computed_at)": "computed_at between now() - interval '1 hour' and now()", "$topic": "'orders', 'clicks'"}
"""What Grafana makes of its macros, and of the chosen topics."""


@pytest.fixture
def database() -> Iterator[dict[str, str]]:
    """The variables by which ``psql`` finds a new server."""
    # Run by root, it would make a cluster of the machine's own, which stays if the test is killed.
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    command = [*user, program("pg_virtualenv"), "sh", "-c", "env; echo; read end"]
    with subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        lines = [line.rstrip("\n") for line in takewhile("\n".__ne__, server.stdout)]
        found = dict(line.partition("=")[::2] for line in lines if line.startswith("PG"))
        assert found, "the server did not start"
        yield {**os.environ, **found}
        server.communicate()  # the server goes with the end of its input


def test_each_panel_shows_each_run(spark: SparkSession, database: dict[str, str], tmp_path) -> None:
    """Two runs of skew, of which one has a limit and is repeated, and one of load: of two topics by their names."""
    for jar in fetch("org.postgresql:postgresql:42.7.8"):
        spark.sql(f"ADD JAR '{jar}'")
    target = "jdbc:postgresql://{PGHOST}:{PGPORT}/postgres?user={PGUSER}&password={PGPASSWORD}".format(**database)
    records = "".join(f"{topic},{i % 3},{1_700_000_000_000 + i}\n" for topic in ("orders", "clicks") for i in range(30))
    (tmp_path / "records.csv").write_text("topic,partition,timestamp\n" + records)
    skew = ["skew", "keys:1000?keys=50", "--topic", "orders", "--partitions", "3"]
    for run_id, arguments in {
        "a": skew, "b": [*skew, "--max-skew", "9"], "c": ["load", str(tmp_path / "records.csv")]
    }.items():  # fmt: skip
        for _ in range(2 if run_id == "b" else 1):
            command = ["pipeline", *arguments, "--run-id", run_id, "--tables", target, "--into", str(tmp_path / "results")]
            done = CliRunner().invoke(main, command)
            assert done.exit_code == 0, (done.output, done.exception)

    def ask(sql: str) -> list[list[str]]:
        for macro, text in MACROS.items():
            sql = sql.replace(macro, text)
        asked = [program("psql"), "--csv", "--tuples-only", "--dbname", "postgres", "--command", sql]
        answer = subprocess.run(asked, env=database, check=True, capture_output=True, text=True).stdout
        return [line.split(",") for line in answer.splitlines()]

    assert ask(DASHBOARD["templating"]["list"][1]["query"]) == [["clicks"], ["orders"]]
    shown = {panel["title"]: ask(panel["targets"][0]["rawSql"]) for panel in DASHBOARD["panels"]}
    series = {title: [name for _, name, _ in rows] for title, rows in shown.items()}
    assert series == {
        "Skew of records": ["orders java 3"] * 2,
        "Smallest possible skew": ["orders java 3"] * 2,
        "Records per second": ["clicks", "orders"],
        "Peak of the busiest partition": ["clicks", "orders"],
    }
    assert {float(value) for _, _, value in shown["Records per second"]} == {0.5}
    assert {round(float(value), 6) for _, _, value in shown["Peak of the busiest partition"]} == {round(10 / 60, 6)}
