"""What a log says while tasks run."""

from __future__ import annotations

import re
import time

import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.spark.cluster import progress
from service.pipeline.spark.cluster.progress import ReadSoFar, Stages
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sources import Source


def test_a_line_has_what_was_read_of_how_much_and_what_remains():
    stages = Stages({0: (30, 120, 0, 0), 1: (0, 2, 0, 0)})
    reading = ReadSoFar(122 * 2**30, lambda: 4_000_000_000)
    assert stages.line("scanning k", 60, reading) == (
        "scanning k: 30 of 122 tasks, 30 GiB of 122 GiB, 4,000,000,000 records, 60 s, about 3.1 min remaining"
    )
    assert Stages({0: (1, 4, 1234, 2**20)}).line("measuring t", 30) == (
        "measuring t: 1 of 4 tasks, 1 MiB, 1,234 records, 30 s, about 90 s remaining"
    )
    assert Stages().line("reading", 30) == "reading: 0 of 0 tasks, 30 s"


def test_lines_come_while_tasks_read_and_count_their_records(pipeline, monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.05)
    source = ScanSource.of(pipeline, Source.parse("keys:4e5"), ("key",))
    reader = source._reader(SkewScan(("key",), "string", ("java",), (12,)))
    with pipeline.progress("scanning", source.reading):
        for _ in range(2):  # as if an executor had been lost, with what its tasks had given
            pipeline.spark.sparkContext.parallelize(range(2), 2).map(reader.partial).collect()
        time.sleep(0.5)
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(r"scanning: 4 of 4 tasks, 2\.29 MiB of 2\.29 MiB, 400,000 records, \d+ s", last)


@pytest.mark.usefixtures("spark")
def test_an_estimate_comes_before_the_scan_where_tasks_read(tmp_path):
    skew = ["pipeline", "skew", "--partitions", "3", "--estimate", "--into", str(tmp_path / "out")]
    done = CliRunner().invoke(main, [*skew, "keys:3e5?length=10"])
    assert done.exit_code == 0, done.output
    assert re.search(r"keys:3e5\?length=10: 2\.86 MiB in 2 tasks, about \d+ core-seconds by the first 2\.86 MiB", done.stderr)
    (tmp_path / "keys.csv").write_text("key\na\n")
    done = CliRunner().invoke(main, [*skew, f"{tmp_path}/keys.csv"])
    assert (done.exit_code, "Spark reads it" in done.stderr) == (2, True)
