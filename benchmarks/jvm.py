"""The real Kafka classes on the JVM, timed by the harness that lies beside the project (``../shared/reference``)."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import Skipped

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"


def require() -> None:
    """Raise Skipped if the harness or what it needs is not here."""
    if not REFERENCE.is_dir():
        raise Skipped("the JVM's harness, ../shared/reference, is not here")
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise Skipped(f"no {program}: apt-get install openjdk-17-jdk-headless maven")


def times(script: str, *arguments: str, wanted: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """The line of a script's output that has all members of ``wanted[0]``, of ``wanted[1]`` …; then the script is stopped.

    The scripts measure as we do: they warm up for seconds, collect garbage, run several times and give the median.
    """
    lines: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen([REFERENCE / script, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        for text in process.stdout or ():
            lines.append(json.loads(text))
            found = [line for members in wanted for line in lines if members.items() <= line.items()]
            if len(found) == len(wanted):
                process.terminate()
                return found
        errors.seek(0)
        raise RuntimeError(f"{script} {' '.join(arguments)} did not measure what was asked for: {lines} {errors.read()}")
