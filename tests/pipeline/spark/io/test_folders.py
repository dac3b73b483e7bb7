"""A job writes neither into what it reads nor over what no job wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.spark.io.sources import Source, in_folders
from service.report import folders
from service.report.folders import WrongFolder, exclusive

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = "key,partition\na,1\nb,2\n"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of records, a link to it, and the folder above it as the current one."""
    (tmp_path / "data" / "day=1").mkdir(parents=True)
    (tmp_path / "data" / "day=1" / "a.csv").write_text(RECORDS)
    (tmp_path / "link").symlink_to("data")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


SAME = "The folder of the results is the source"
AROUND = "The folder of the results contains the source"
WITHIN = "The folder of the results is in the source"


@pytest.mark.parametrize(
    ("source", "into", "fault"),
    [
        ("csv:data", "data", SAME),
        ("csv:data/", "link/../data/.", SAME),
        ("csv:data", "link", SAME),
        ("csv:link", "{here}/data", SAME),
        ("csv:file://{here}/data", "data", SAME),
        ("csv:data", "file:{here}/data", SAME),
        ("csv:data", "data/out", WITHIN),
        ("csv:data", "link/day=1/../out/of/it", WITHIN),
        ("csv:link", "file://{here}/data/out", WITHIN),
        ("csv:data", ".", AROUND),
        ("link/day=1/a.csv", "data", AROUND),
        ("link/day=1/a.csv", "data/day=1", AROUND),
        ("data/day=1/*.csv", "data/day=1", AROUND),
        ("csv:data/day=*", "data/day=7/out", WITHIN),
        ("csv:data/day={1,7}", "data/day=7/out", WITHIN),
        ("s3a://bucket/records", "s3://Bucket/records/", SAME),
        ("s3a://bucket/records", "s3a://bucket/a/../records/out", WITHIN),
        ("s3a://bucket/records/a.csv", "s3a://bucket//records", AROUND),
        ("delta:hdfs://host/table", "hdfs://host/table/out", WITHIN),
    ],
)
def test_a_folder_of_results_is_apart_from_the_sources(data, source, into, fault):
    source, into = (text.replace("{here}", str(data.parent)) for text in (source, into))
    with pytest.raises(WrongFolder) as refused:
        folders.check_folder(into, in_folders([Source.parse("table:a.b"), Source.parse(source)]))
    assert str(refused.value) == f"{into}: {fault} {Source.parse(source)}; set --into to another one."


@pytest.mark.parametrize(
    ("source", "into"),
    [
        ("csv:data", "database"), ("csv:data", "out"), ("data/day=1/a.csv", "data/day=1/out"),
        ("data/day=1/*.csv", "data/day=1/out"),
        ("s3a://bucket/records", "s3a://bucket/records2"), ("s3a://bucket/records", "s3a://other/records"),
        ("s3a://bucket/data", "data"), ("table:data", "data"), ("kafka://host/data", "data"), ("csv:data/day=*", "data/out"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("data")
def test_other_folders_are_not_refused(source, into):
    folders.check_folder(into, in_folders([Source.parse(source)]))


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("job", ["skew", "mismatch", "load", "offsets", "history", "fleet", "reassign"])
def test_nothing_is_written_where_the_source_is(data, job):
    before = sorted(data.rglob("*"))
    options = ["--brokers", "csv:data"] if job == "reassign" else []
    done = CliRunner().invoke(main, ["pipeline", job, "csv:data", *options, "--into", "data/out"])
    assert done.exit_code == 2
    assert done.output == f"Error: data/out: {WITHIN} csv:data; set --into to another one.\n".replace("csv:data", "data")
    assert sorted(data.rglob("*")) == before


@pytest.mark.usefixtures("spark")
def test_files_of_others_are_not_replaced(data, tmp_path):
    """Those of an earlier job are, whether it ended well or not, and files with names that no job writes do not matter."""
    command = ["pipeline", "mismatch", str(data / "day=1" / "a.csv"), "--partitions", "3", "--into", "out"]
    out = tmp_path / "out"
    out.mkdir()
    (out / "README.txt").write_text("mine")
    for _ in range(2):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    assert (out / "README.txt").read_text() == "mine"
    (out / folders.REPORT).unlink()
    (out / folders.LOCK).touch()
    assert CliRunner().invoke(main, command).exit_code == 0
    assert not (out / folders.LOCK).exists()
    (out / folders.REPORT).write_text("<html>mine</html>")
    contents = {path: path.read_bytes() for path in out.iterdir()}
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.output) == (
        2,
        "Error: out: No job wrote examples.parquet in this folder; set --into to another one.\n",
    )
    assert {path: path.read_bytes() for path in out.iterdir()} == contents


def test_a_job_that_fails_after_its_first_table_may_run_again(tmp_path):
    def fail() -> None:
        with exclusive(str(tmp_path / "out")):
            (tmp_path / "out" / "windows.parquet").mkdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    folders.check_folder(str(tmp_path / "out"), {})
