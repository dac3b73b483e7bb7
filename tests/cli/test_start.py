"""The command line starts quickly: it imports what a command needs and no more."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.spark.jobs import JOBS

HEAVY = ("numpy", "numba", "pyarrow", "flask", "marshmallow", "rich", "scipy", "pyspark", "gunicorn", "structlog")
"""What ``--help`` does not import."""

UNUSED = {
    "flask",
    "werkzeug",
    "webargs",
    "prometheus_client",
    "scipy.linalg",
    "scipy.special",
    "cffi",
    "numba.np.linalg",
    "pyarrow.csv",
    "structlog",
    "pyspark",
    "gunicorn",
    "opentelemetry",
    "jwt",
    "rich",
    "service.app",
    "service.cli.keys.plan",
}
"""What one answer does not import: nothing of HTTP, nothing of other commands, nothing that only compiling a kernel needs."""
OTHERS = ("balanced.balanced", "classic.sticky.sticky", "clients.sarama.sticky", "consumer.uniform.uniform", "splits.spark")
"""Modules of assignors, which are imported when their first group is to be assigned."""

LIBRARIES = {"numba", "flask", "marshmallow", "scipy", "pyspark", "matplotlib"}
"""What the refusal of a file does not import, nor that of an option."""


def imported(code: str) -> set[str]:
    """The modules that Python has imported after this code; None stands for one that was kept out."""
    names = "[name for name, module in sys.modules.items() if module]"
    program = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*{names}, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, input="")
    return set(ended.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_loads_no_library(arguments):
    assert not imported(f"from partition_allocator.__main__ import main; sys.argv = ['', *{arguments}]; main()") & {*HEAVY}


@pytest.mark.parametrize("command", ["partitions", "assign", "place", "serve", "token"])
def test_help_of_a_command_loads_no_kernels(command):
    modules = imported(f"from service.cli import main; main(['{command}', '--help'])")
    assert not modules & {"numba", "pyarrow", "flask", "rich"}


@pytest.mark.parametrize(
    ("arguments", "other"),
    [
        ("partitions order-1 --partitions 6", {"service.core.assignors", "service.decisions.groups", "pyarrow.compute"}),
        ("assign --topic orders:6 --members 2", {"service.planner.sizing", "service.core.partitioners"}),
        ("place --brokers 3", {"service.planner.attribution"}),
    ],
)
def test_one_answer_loads_one_family(arguments, other):
    CliRunner().invoke(main, arguments.split())  # it compiles kernels that nobody has compiled yet
    assert not imported(f"from service.cli import main; main({arguments.split()})") & (UNUSED | other)


def test_one_answer_loads_one_assignor():
    modules = imported("from service.cli import main; main('assign --topic orders:6 --members 2 --assignor range'.split())")
    assert "service.core.assignors.classic.range" in modules
    assert not modules & {f"service.core.assignors.{each}" for each in OTHERS}


@pytest.mark.parametrize(
    "arguments",
    [
        "partitions a --partitions many",
        "partitions missing.json",
        "assign missing.json",
        "place missing.json",
        "plan missing.csv --partitions 6",
        "plan --target-mb-per-second 50",
        "compare missing.csv --partitions 6",
        "fingerprint missing.csv",
    ],
)
def test_a_refused_option_or_path_loads_no_library(arguments):
    modules = imported(f"from service.cli import main; main({arguments.split()})")
    assert not modules & (LIBRARIES | {"numpy", "pyarrow", "rich"})


@pytest.mark.parametrize("command", ["plan", "compare", "fingerprint"])
@pytest.mark.parametrize("text", ["", "id\na\n"], ids=["empty", "wrong column"])
def test_a_refused_file_of_keys_loads_no_kernels(command, text, tmp_path):
    (tmp_path / "keys.csv").write_text(text)
    arguments = [command, str(tmp_path / "keys.csv"), "--partitions", "6"]
    assert not imported(f"from service.cli import main; main({arguments})") & LIBRARIES


@pytest.mark.parametrize("arguments", [["--help"], *([job, "--help"] for job in JOBS), ["skew", "missing.parquet"]])
def test_a_refused_job_loads_no_library(arguments):
    modules = imported(f"from service.cli import main; main({['pipeline', *arguments]})")
    assert not modules & (LIBRARIES | {"numpy", "pyarrow", "py4j", "pandas"})


@pytest.mark.parametrize("text", ["", "id\na\n"], ids=["empty", "wrong column"])
def test_a_refused_file_of_a_job_loads_no_library(text, tmp_path):
    (tmp_path / "keys.csv").write_text(text)
    modules = imported(f"from service.cli import main; main(['pipeline', 'skew', {str(tmp_path / 'keys.csv')!r}])")
    assert not modules & (LIBRARIES | {"numpy", "pyarrow", "py4j", "pandas"})


def test_compiling_a_kernel_is_announced(tmp_path):
    """In an empty cache; the second run loads the kernels and is silent."""
    code = (
        "from service.cli import announce_compilation as announce; announce(); "
        "from service.core.measures import spread; import numpy as np; spread(np.ones(3, np.int64))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        for _ in range(2)
    )
    assert first.stderr == "Compiling kernels. This happens once per installation and may take some minutes.\n"
    assert second.stderr == ""


@pytest.mark.parametrize("name", ["assign", "partitions", "place", "plan", "rebalances", "token"])
def test_an_example_is_on_one_line_of_80_columns(name):
    """Or it could not be copied."""
    command = main.get_command(click.Context(main), name)
    examples = [line.strip() for line in command.help.splitlines() if line.strip().startswith("partition-allocator ")]
    shown = CliRunner().invoke(main, [name, "--help"], terminal_width=80).stdout
    assert examples
    assert {*examples} <= {line.strip() for line in shown.splitlines()}
