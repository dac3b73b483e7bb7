"""One group over HTTP against a JVM as a whole process: ``ask.sh`` of the harness, which reads the same body and writes the same
assignments.
"""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import orjson

from benchmarks import jvm
from benchmarks.groups import SUBJECTS
from benchmarks.groups_http import JSON, PATH, owned_body
from benchmarks.harness import Row, benchmark, peak_megabytes
from benchmarks.servers import post, post_seconds, processes_of, server, serving
from benchmarks.shapes import Shape, topic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.harness import Sides

SUBJECT: Final = next(subject for subject in SUBJECTS if subject.name == "cooperative-sticky")
AT_ONCE: Final = 8
SHAPE: Final = Shape(1_000, 100, 1_000)
WHAT: Final = "1,000 members × 100,000 partitions, one leaves"


@contextmanager
def ask_process() -> Iterator[Callable[[bytes], bytes]]:
    """Start ``ask.sh``: a function from a body to the answer. It ends with its input."""
    with subprocess.Popen(
        [jvm.REFERENCE / "ask.sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        questions, answers = process.stdin, process.stdout
        assert questions is not None  # noqa: S101 - for mypy
        assert answers is not None  # noqa: S101

        def ask(body: bytes) -> bytes:
            questions.write(body + b"\n")
            questions.flush()
            return answers.readline()

        yield ask


def question(port: int, shape: Shape) -> bytes:
    """A group that owns everything, and has lost a member. The JVM needs each member's topics by name."""
    body = owned_body(SUBJECT, shape, port)
    del body["members"][shape.members // 2]
    for member in body["members"]:
        member["topic_names"] = topic_names(shape)
    return orjson.dumps(body)


@benchmark(
    Row("groups/ask/first", "s", 0.2, f"the whole request, {WHAT} ÷ ask.sh on the JVM, from its start to the answer"),
    Row("groups/ask/next", "s", 0.2, f"the whole request, {WHAT} ÷ the next answer of the same JVM"),
    rounds=3,
)
def whole_process(shape: Shape = SHAPE) -> Iterator[Sides]:
    """Raises RuntimeError if the JVM's assignments differ."""
    jvm.require()
    with serving("service", "serve") as port:
        body = question(port, shape)
        assignments = orjson.loads(post(port, PATH, body, JSON))["assignments"]

        def ours() -> list[float]:
            return [post_seconds(port, PATH, body, JSON)] * 2

        def reference() -> list[float]:
            start = time.perf_counter()
            with ask_process() as ask:
                times = [start]
                for _ in range(2):
                    answer = ask(body)
                    times.append(time.perf_counter())
            if orjson.loads(answer).get("assignments") != assignments:
                raise RuntimeError("the JVM's assignment differs")
            return [later - earlier for earlier, later in pairwise(times)]

        yield ours, reference


def memory_of(shape: Shape, at_once: int) -> float:
    """Peak memory, in MB, of a service that answers AT_ONCE requests, so many of them at a time.

    The sum of its processes' peaks: memory that they share counts in each.
    """
    with server("service", "serve") as (port, process_id), ThreadPoolExecutor(at_once) as clients:
        body = question(port, shape)
        list(clients.map(lambda _: post(port, PATH, body, JSON), range(AT_ONCE)))
        return sum(map(peak_megabytes, processes_of(process_id)))


@benchmark(
    Row(
        "groups/ask/memory",
        "MB",
        1.5,
        f"peak memory of the service, {AT_ONCE} such requests at once ÷ the same, one after another",
    ),
    rounds=1,
)
def memory(shape: Shape = SHAPE) -> Iterator[Sides]:
    """Each side is a service of its own."""
    yield lambda: [memory_of(shape, AT_ONCE)], lambda: [memory_of(shape, 1)]
