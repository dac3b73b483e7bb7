"""The real assignors, fast enough for thousands of random groups: a JVM of its own that reads groups and writes assignments."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home

from tests.jvm import KAFKA, fetch

JAVA = ("java", "-Xmx1g", "-XX:-OmitStackTraceInFastThrow", "-Dslf4j.internal.verbosity=ERROR")
"""Without the second option Java forgets the message of an exception that it throws often."""
PROGRAM = Path(__file__).parent / "java" / "GroupLeader.java"


class GroupLeader:
    """A running ``tests/java/GroupLeader.java``."""

    def __init__(self) -> None:
        jars = (*fetch(f"org.apache.kafka:kafka-clients:{KAFKA}"), f"{_find_spark_home()}/jars/*")
        self._process = subprocess.Popen(
            [*JAVA, "-cp", ":".join(jars), PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def assign(self, assignor: str, request: dict[str, Any]) -> dict[str, Any]:
        """``{"assignments"}`` in the form of the service's answer, or ``{"error": {"exception", "message"}}``.

        assignor : the full name of a class that implements ConsumerPartitionAssignor
        request : a body of POST /v1/group-assignments
        """
        self._process.stdin.write(json.dumps({"class": assignor, "request": request}).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@cache
def group_leader() -> GroupLeader:
    """The one that all tests share; it ends with them, when its standard input does."""
    return GroupLeader()
