"""Simulated rebalances: a rolling restart of a whole group, against the JVM's assignor alone for as many rebalances.

Ours is the whole request: coordinator, members, requests, idle partitions and movement are simulated, and the assignor is only a
part of it. So the small groups cost some tenths of a millisecond per rebalance that the reference does not have, and ``uniform``,
which takes the JVM some microseconds when one member has left, cannot come near it: its row is there to be watched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from werkzeug.test import Client

from benchmarks import jvm
from benchmarks.groups import SUBJECTS, Subject
from benchmarks.harness import Row, benchmark, seconds
from benchmarks.shapes import Shape, body_of
from service.app import create_app
from service.config import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

PATH = "/v1/group-rebalances"
ROLL = {"at_ms": 100_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 30_000}
COOPERATIVE = next(subject for subject in SUBJECTS if subject.name == "cooperative-sticky")
UNIFORM = next(subject for subject in SUBJECTS if subject.name == "uniform")


AT_ONCE = {"poll_interval_ms": 0}
"""Members notice a rebalance as soon as they are told."""
BY_DEFAULT: dict[str, int] = {}
"""Members poll every second: their partitions change hands poll by poll, which is simulated, too."""


def declare(subject: Subject, shape: Shape, goal: float, timing: dict[str, int]) -> None:
    """One row: a rolling restart of all members."""
    polls = "" if timing else "/polls"
    what = f"the whole request, a rolling restart of {shape.members:,} members ÷ the JVM's assignor alone, as many rebalances"

    @benchmark(Row(f"rebalances/{subject}/{shape}{polls}", "s", goal, what + (", polls simulated" if polls else "")), rounds=1)
    def restart() -> Iterator[Sides]:
        """The reference is the median of one rebalance after a member has left, times the number of rebalances."""
        body = {**body_of(shape), "group_protocol": subject.protocol, "assignor": subject.name}
        asked = orjson.dumps({**body, "events": [ROLL], "timing": timing, "detail": "totals"})
        client = Client(create_app(Settings(max_request_seconds=600)))
        rebalances = 0

        def ask_ours() -> None:
            nonlocal rebalances
            rebalances = orjson.loads(client.post(PATH, data=asked, content_type="application/json").data)["totals"]["rebalances"]

        with jvm.assignor(subject.kafka_class) as ask:

            def reference() -> list[float]:
                ask({"group": body_of(shape), "owning": False, "seconds": 0.01, "memory": False})
                question = {"group": body_of(shape, "leaves"), "owning": True, "seconds": 1.0, "memory": False}
                return [ask(question)["median_s"] * rebalances]

            yield lambda: [seconds(ask_ours, runs=11 if shape.members <= 100 else 1)], reference


declare(COOPERATIVE, Shape(100, 100, 10), 0.5, AT_ONCE)
declare(COOPERATIVE, Shape(100, 100, 10), 1.0, BY_DEFAULT)
declare(UNIFORM, Shape(100, 100, 10), 300.0, AT_ONCE)
declare(COOPERATIVE, Shape(1_000, 100, 1_000), 0.2, AT_ONCE)
