"""The command ``pipeline``, where there is no Spark and where Spark starts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import service.cli
from service.spark.session import core_zip

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
project, archive = sys.argv[1:]
sys.path = [archive] + [path for path in sys.path if path not in ("", project)]
import pyarrow as pa
from service.spark.skew_scan import Part, Scan
scan = Scan(("key",), "string", ("java",), (12,))
(found,) = scan.of_batches(iter([pa.record_batch({"key": ["a", "b", None]})]))
print(sys.modules["service"].__file__, Part.unpacked(found.column("partial")[0].as_py()).counts.records)
"""


def test_spark_submit_finds_pythons_own_modules_beside_ours():
    """It puts the folder of the file that it runs first on the path, where a module ``token`` would hide Python's."""
    assert not {path.stem for path in FOLDER.glob("*.py")} & sys.stdlib_module_names


def test_without_pyspark_the_command_says_what_is_missing():
    """And every other command is as it was."""
    done = subprocess.run([sys.executable, "-c", NO_SPARK], capture_output=True, text=True, check=False)
    assert "pip install 'partition-allocator[pipeline]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert "pipeline" in done.stdout


def test_executors_read_the_project_from_a_zip(tmp_path):
    """Kernels, null keys and all."""
    archive, project = str(core_zip(tmp_path)), str(Path(service.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", FROM_A_ZIP, project, archive], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout.split() == [f"{archive}/service/__init__.py", "2"], done.stderr
