"""One job at a time in a folder of results."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from multiprocessing.pool import ThreadPool

import pytest
from click.testing import CliRunner

from service.cli import main
from service.report.folders import LOCK, WrongFolder, exclusive

HOLDER = """
import sys
from service.report.folders import exclusive
with exclusive(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process, which has the lock."""
    command = [sys.executable, "-c", HOLDER, tmp_path / "results"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.stdin.close()


def test_a_second_job_is_refused_and_told_who_holds_the_folder(tmp_path, holder):
    """Before Spark starts; under another name of the folder, too."""
    (tmp_path / "link").symlink_to("results")
    records = tmp_path / "records.csv"
    records.write_text("key\na\n")
    for into in (tmp_path / "results", f"file://{tmp_path}/link"):
        done = CliRunner().invoke(main, ["pipeline", "skew", str(records), "--into", str(into)])
        assert done.exit_code == 2
        assert done.output.startswith(f"Error: {into}: Another job is writing to this folder (process {holder.pid} on ")
        assert f" on {socket.gethostname()} since 20" in done.output
        assert done.output.endswith("; set --into to another one.\n")


def test_a_killed_job_leaves_no_lock(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "results" / LOCK).exists()
    with exclusive(str(tmp_path / "results")):
        assert f"process {os.getpid()} " in (tmp_path / "results" / LOCK).read_text()
        assert str(holder.pid) not in (tmp_path / "results" / LOCK).read_text()
    assert list((tmp_path / "results").iterdir()) == []


def test_one_of_many_gets_the_folder_again_and_again(tmp_path):
    """Also while the file is removed by one and opened by the next."""
    inside, most = [], []

    def job(_):
        try:
            with exclusive(str(tmp_path)):
                inside.append(1)
                most.append(len(inside))
                inside.pop()
        except WrongFolder:
            return 0
        return 1

    with ThreadPool(8) as pool:
        held = sum(pool.map(job, range(2000), chunksize=1))
    assert held >= 10
    assert max(most) == 1


def test_a_failed_job_leaves_no_folder(tmp_path):
    with pytest.raises(ZeroDivisionError), exclusive(str(tmp_path / "results")):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_created_is_named_with_the_reason(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WrongFolder, match="file/results: Cannot create or lock the folder of the results: Not a directory"):
        exclusive(f"{tmp_path}/file/results").__enter__()


def test_a_url_is_not_locked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with exclusive("s3a://bucket/results"), exclusive("s3a://bucket/results"):
        assert list(tmp_path.iterdir()) == []
