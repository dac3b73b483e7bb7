"""``history``: files of any number and order, and standard input."""

import gzip
import json

from click.testing import CliRunner

from service.cli import main
from tests.histories.recorded import log, records


def run(*arguments, text=None):
    return CliRunner().invoke(main, ["history", *arguments], input=text, env={"COLUMNS": "160"})


def test_files_as_a_table(tmp_path):
    (tmp_path / "log.gz").write_bytes(gzip.compress(log("stalls-range").encode()))
    (tmp_path / "dump.txt").write_text(records("stalls-range"))
    result = run("stalls-range", str(tmp_path / "log.gz"), str(tmp_path / "dump.txt"), "--output", "table")
    assert result.exit_code == 0
    plain = " ".join(result.stdout.split())
    assert "4 rebalances in 33 s" in plain
    assert "log.gz" in plain


def test_ways_that_nothing_can_be_replayed_in_are_no_table():
    result = run("stalls-range", "--otherwise", "--output", "table", text=log("stalls-range"))
    assert result.stdout.endswith("\n\nThe events cannot be replayed: who had which partitions is not told (records tell it).\n")


def test_standard_input_as_json():
    answer = json.loads(run("stalls-range", text=log("stalls-range")).stdout)
    assert answer["sources"][0]["name"] == "standard input"
    assert answer["rebalances"][2]["causes"][0]["kind"] == "poll_interval_exceeded"


def test_nothing_of_the_group():
    result = run("orders", text=log("stalls-range"))
    assert result.exit_code == 2
    assert "None of 22 lines tells what happened to the group 'orders'" in result.stderr
