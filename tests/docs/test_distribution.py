"""The wheel and the sdist carry the license, describe the project, and run where nothing but their dependencies is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
from hatchling.build import build_sdist, build_wheel

from tests.support.golden import PROJECT
from tests.support.jvm import short_lived_spark
from tests.support.serving import free_port


def built(build, source: Path, into: Path) -> Path:
    """The file that a build of the folder ``source`` writes."""
    before = Path.cwd()
    os.chdir(source)
    try:
        return into / build(str(into))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built(build_wheel, PROJECT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_contains_license_and_notice_and_names_no_author(wheel):
    with zipfile.ZipFile(wheel) as archive:
        files = {name.rpartition("/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        metadata = HeaderParser().parsestr(archive.read(files["METADATA"]).decode())
        assert archive.read(files["LICENSE"]) == (PROJECT / "LICENSE").read_bytes()
        assert b"Apache Kafka" in archive.read(files["NOTICE"])
    assert metadata["License-Expression"] == "Apache-2.0"
    assert not {"Author", "Author-email", "Maintainer", "Maintainer-email", "Project-URL"} & set(metadata)
    assert "Framework :: Flask" in metadata.get_all("Classifier")


def test_the_sdist_builds_the_same_wheel(wheel, tmp_path):
    with tarfile.open(built(build_sdist, PROJECT, tmp_path)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Debian 12 has Python 3.11.2, which lacks it
        archive.extractall(tmp_path / "unpacked")  # noqa: S202 (our own)
    (source,) = (tmp_path / "unpacked").iterdir()
    with zipfile.ZipFile(wheel) as expected, zipfile.ZipFile(built(build_wheel, source, tmp_path)) as again:
        names = set(expected.namelist())
        assert set(again.namelist()) == names
        assert {"service/cli/__init__.py", "partition_allocator/__init__.py", "partition_allocator/py.typed"} <= names
        assert {"service/page/static/index.html", "service/page/static/vendor/preact.js"} <= names
        others = (".nbi", ".nbc", ".d.ts", "config.json")
        assert not {name for name in names if name.startswith("tests/") or name.endswith(others)}


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The programs of an environment with the wheel, and with the dependencies of this one but not this checkout."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile", "--no-deps", "--no-index"]
    subprocess.run([*command, str(wheel)], check=True, env=without_checkout())
    (site,) = folder.glob("lib/python*/site-packages")
    # A path file's entries are not searched for path files, so an editable install of this checkout stays outside.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    take_kernels(folder)
    return folder / "bin"


def take_kernels(environment: Path) -> None:
    """Copy what Numba has compiled here, which takes minutes; it belongs to sources of the same time."""
    (site,) = environment.glob("lib/python*/site-packages")
    for source in (PROJECT / "service").rglob("*.py"):
        target = site / source.relative_to(PROJECT)
        stat = source.stat()
        os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        for kernel in (source.parent / "__pycache__").glob(f"{source.stem}.*.nb[ic]"):
            (target.parent / "__pycache__").mkdir(exist_ok=True)
            shutil.copy2(kernel, target.parent / "__pycache__")


def without_checkout(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more


def run(program: Path, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(program), *arguments]
    return subprocess.run(command, cwd=cwd, env=without_checkout(**variables), capture_output=True, text=True, check=False)


def test_the_wheel_runs_in_another_folder(installed, tmp_path):
    assert "Usage: partition-allocator" in run(installed / "partition-allocator", "--help", cwd=tmp_path).stdout
    question = tmp_path / "question.json"
    question.write_text('{"partitions_count": 6, "keys": ["order-1"]}')
    answer = run(installed / "partition-allocator", "partitions", str(question), cwd=tmp_path)
    assert json.loads(answer.stdout)["partitions"] == [4], answer.stderr
    code = "import service; from partition_allocator import partitions; print(service.__file__, partitions(['order-1'], 6))"
    library = run(installed / "python", "-c", code, cwd=tmp_path)
    assert library.stdout.startswith(str(installed.parent)), library.stderr
    assert library.stdout.endswith("[4]\n")


@pytest.mark.slow
@pytest.mark.usefixtures("server")  # it has compiled the kernels, of which a new checkout has none
def test_the_wheel_serves_from_another_folder(installed, tmp_path):
    take_kernels(installed.parent)
    port = free_port()
    command = [str(installed / "partition-allocator"), "serve", "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, env=without_checkout(ALLOCATOR_WORKERS="1"), stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout.readline().startswith(b"partition-allocator serves on http"), "it says so once it is ready"
            assert requests.get(f"http://127.0.0.1:{port}/readyz", timeout=120).text == "ready\n"
        finally:
            server.terminate()


@pytest.mark.parametrize("start", [["partition-allocator", "--help"], ["python", "-m", "partition_allocator", "--help"]])
def test_a_foreign_package_of_the_same_name_gets_one_sentence(installed, tmp_path, start):
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "__init__.py").write_text("")
    ended = run(installed / start[0], *start[1:], cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        f"Error: Another package called 'service' ({tmp_path / 'service'}) hides partition-allocator's"
    )
    assert ended.stderr.count("\n") == 1


@pytest.mark.slow
def test_workers_of_the_pipeline_import_what_is_installed(installed, tmp_path):
    """And not a package of the same name in the folder where the command is run, which the command does not import either."""
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "__init__.py").write_text("")
    pq.write_table(pa.table({"key": ["a", "b", "c"]}), tmp_path / "keys.parquet")
    job = ("pipeline", "skew", "keys.parquet", "--partitions", "6", "--master", "local[1]", "--into", "results")
    done = run(installed / "partition-allocator", *job, cwd=tmp_path, **short_lived_spark())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 3


def test_a_package_written_over_gets_one_sentence(installed, tmp_path):
    (site,) = installed.parent.glob("lib/python*/site-packages")
    shutil.copytree(site / "partition_allocator", tmp_path / "partition_allocator")
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "__init__.py").write_text("")
    ended = run(installed / "python", "-m", "partition_allocator", "--help", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: Another distribution has overwritten partition-allocator's package 'service'")
