"""The real assignors, fast enough for thousands of random groups: a JVM of its own that reads groups and writes assignments."""

from __future__ import annotations

import atexit
import json
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.jvm import KAFKA, NO_LOG, SHORT_LIVED, classes, fetch, libraries

if TYPE_CHECKING:
    from collections.abc import Sequence

JAVA = ("java", "-Xmx1g", *SHORT_LIVED, "-XX:-OmitStackTraceInFastThrow", NO_LOG)
"""Without the option about stack traces Java forgets the message of an exception that it throws often."""
PROGRAMS = Path(__file__).parent / "java"


def class_path(*coordinates: str) -> str:
    """Of these Maven artifacts, and of what Kafka needs of PySpark's (JSON, compression, Scala)."""
    return ":".join((*fetch(*coordinates), *libraries()))


def command(program: str, *coordinates: str, more_classes: str = "", java: Sequence[str] = JAVA) -> list[str]:
    """What runs a program of ``tests/support/java`` with these Maven artifacts on its class path.

    It is compiled once for each of them, in a folder with the other files there: ``java PROGRAM.java`` would do so at each start,
    in 1.4 s of CPU.

    more_classes : a folder of classes, or the jars of one, that it needs besides the artifacts; java : the JVM and its options
    """
    source, jars = PROGRAMS / program, class_path(*coordinates)
    sources = [source] if source.parent == PROGRAMS else sorted(source.parent.glob("*.java"))
    made = classes(sources, jars, "-nowarn")
    return [*java, "-cp", f"{jars}:{made}:{more_classes}", source.stem]


class Assignors:
    """A running program of ``tests/support/java`` that has the real assignors of one Kafka release, or ours.

    more_classes : a folder of classes, or the jars of one, that it needs besides those of the artifacts
    """

    def __init__(self, program: str, *coordinates: str, more_classes: str = "") -> None:
        self._process = subprocess.Popen(
            command(program, *coordinates, more_classes=more_classes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.close)

    def close(self) -> None:
        """End the program."""
        with suppress(BrokenPipeError):  # it may have been killed with a question before it
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def assign(self, assignor: str, request: dict[str, Any], **more: Any) -> dict[str, Any]:
        """``{"assignments"}`` in the form of the service's answer, or ``{"error": {"exception", "message"}}``.

        assignor : the full name of a class that implements ConsumerPartitionAssignor, or PartitionAssignor of the coordinator
        request : a body of POST /v1/group-assignments; more : other members of the question, see the program
        """
        self._process.stdin.write(json.dumps({"class": assignor, "request": request, **more}).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def ended(self, assignor: str, requests: list[dict[str, Any]], seconds: float) -> list[bool]:
        """Has the assignor ended on each group before it has used so many seconds of a processor's time?

        Of ``group_leader`` only; what has not ended runs on until ``kill``.
        """
        question = {"class": assignor, "requests": requests, "seconds": seconds}
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        answer: list[bool] = json.loads(self._process.stdout.readline())["ended"]
        return answer

    def kill(self) -> None:
        """End the program in the middle of its work."""
        self._process.kill()
        self.close()


@cache
def group_leader(release: str = KAFKA) -> Assignors:
    """The client-side ones. All tests share it; it ends with them, when its standard input does."""
    return Assignors("GroupLeader.java", f"org.apache.kafka:kafka-clients:{release}")


def coordinator_jars(release: str = KAFKA) -> tuple[str, ...]:
    """The artifacts that have the server-side assignors and what they need, the clients included."""
    parts = ("clients", "group-coordinator", "group-coordinator-api", "coordinator-common", "server-common", "metadata")
    return tuple(f"org.apache.kafka:kafka-{part}:{release}" for part in parts)


@cache
def group_coordinator(release: str = KAFKA) -> Assignors:
    """The server-side ones, of a release from 4.0.0 on."""
    return Assignors("GroupCoordinator.java", *coordinator_jars(release))
