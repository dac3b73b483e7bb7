"""The real Kafka classes on the JVM: our own program (``java/``), and the harness beside the project (../shared/reference)."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"
PROGRAM = Path(__file__).parent / "java" / "TimeAssignors.java"
RELEASE = "4.3.1"
"""The release of the classes that are timed, as by the harness."""


def require(*, harness: bool = True) -> None:
    """Raise Skipped if Java, the harness or a program that it needs is missing."""
    if harness and not REFERENCE.is_dir():
        raise Skipped("the JVM's harness, ../shared/reference, is missing")
    for program in ("java", "mvn") if harness else ("java",):
        if shutil.which(program) is None:
            raise Skipped(f"{program} is missing: apt-get install openjdk-17-jdk-headless maven")


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
        raise RuntimeError(f"{script} {' '.join(arguments)} did not print the expected rows: {lines} {errors.read()}")


@contextmanager
def assignor(kafka_class: str) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """``java/TimeAssignors.java`` with one real assignor: a function from its questions to its answers.

    kafka_class : full name of the class; kafka-clients or kafka-group-coordinator has it
    """
    require(harness=False)
    from tests.support.parity import command, coordinator_jars  # noqa: PLC0415 - it starts a JVM to fetch the jars

    java = ("java", "-Xmx10g", "-Dslf4j.internal.verbosity=ERROR")

    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [*command(str(PROGRAM), *coordinator_jars(RELEASE), java=java), kafka_class],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        questions, answers = process.stdin, process.stdout
        assert questions is not None  # noqa: S101 - for mypy
        assert answers is not None  # noqa: S101

        def ask(question: dict[str, Any]) -> dict[str, Any]:
            with suppress(BrokenPipeError):  # the missing answer is reported below
                questions.write(json.dumps(question) + "\n")
                questions.flush()
            return answer()

        def answer() -> dict[str, Any]:
            line = answers.readline()
            if not line:
                errors.seek(0)
                raise RuntimeError(f"{PROGRAM.name} {kafka_class} ended: {errors.read()[-2000:]}")
            read: dict[str, Any] = json.loads(line)
            return read

        try:
            answer()  # once the program is compiled, so that it takes no time from what is measured meanwhile
            yield ask
        finally:
            process.kill()
            process.communicate()
