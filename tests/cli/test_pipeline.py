"""The command ``pipeline``, where there is no Spark and where Spark starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import service.cli
from service.pipeline.spark.tasks import code_archive

FOLDER = Path(service.cli.__file__).parent

NO_SPARK = """
import sys
sys.modules["pyspark"] = None
from service.cli import main
main(["--help"], standalone_mode=False)
main(["pipeline", "skew", "records.parquet"])
"""

FROM_A_ZIP = """
import sys
from pathlib import Path
sys.path = [sys.argv[1]] + [path for path in sys.path if not Path(path, "service").is_dir()]
import pyarrow as pa
from service.pipeline.analyses.results import merged
from service.pipeline.analyses.skew.scan import SkewScan
scan = SkewScan(("key",), "string", ("java",), (12,))
(rows,) = scan.of_batches(iter([pa.record_batch({"key": ["a", "b", None]})]))
print(sys.modules["service"].__file__, merged(rows.column("partial").to_pylist()).counts.records)
"""


def test_spark_submit_finds_pythons_own_modules_beside_ours():
    """It puts the folder of the file that it runs first on the path, where a module ``token`` would hide Python's."""
    assert not {path.stem for path in FOLDER.glob("*.py")} & sys.stdlib_module_names


def test_without_pyspark_the_command_says_what_is_missing():
    """And every other command is as it was."""
    done = subprocess.run([sys.executable, "-c", NO_SPARK], capture_output=True, text=True, check=False)
    assert "pip install '.[pipeline]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert "pipeline" in done.stdout


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The project with the kernels that are compiled here, as executors get it."""
    return code_archive.pack(Path(service.__file__).parent, tmp_path_factory.mktemp("archive") / "project.zip")


def test_executors_read_the_project_from_a_zip(archive, tmp_path):
    """Kernels, null keys and all: unpacked once, with those that the driver has compiled; the next application finds them."""
    package = Path(service.__file__).parent
    homes = {"HOME": "/nowhere", "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}
    compiled = []
    for application in ("1.zip", "2.zip"):
        shutil.copy(archive, tmp_path / application)
        command = [sys.executable, "-c", FROM_A_ZIP, str(tmp_path / application)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, **homes})
        folders = list((tmp_path / "cache").glob("partition-allocator-*"))
        assert len(folders) == 1, (done.stdout, done.stderr)
        (folder,) = folders
        assert done.stdout.split() == [f"{folder}/service/__init__.py", "2"], done.stderr
        compiled.append({kernel.relative_to(folder / "service"): kernel.stat().st_mtime_ns for kernel in folder.rglob("*.nbc")})
    expected = {kernel.relative_to(package): kernel.stat().st_mtime_ns for kernel in package.rglob("*.nbc")}
    assert expected
    assert compiled == [expected, expected]


def test_executors_that_have_this_very_project_take_theirs(archive, tmp_path):
    """So an image's compiled kernels are of use; with one letter's difference it is the zip's that counts."""
    package = Path(service.__file__).parent
    installed = tmp_path / "site-packages"
    shutil.copytree(package, installed / "service", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-S", "-c", "import service; print(service.__file__)"]  # -S: not our own
    environment = {
        **os.environ,
        "PYTHONPATH": f"{archive}{os.pathsep}{installed}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "NUMBA_CACHE_DIR": "",
    }
    places = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
        places.append(Path(done.stdout.strip()).parents[1])
        (installed / "service" / "core" / "errors.py").write_text("# an older release\n")
    assert places == [installed, next((tmp_path / "cache").iterdir())]
