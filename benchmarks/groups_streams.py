"""Tasks → clients of classic Streams groups: each leader's assignor against the class of Streams, alone on prepared input."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks import jvm
from benchmarks.harness import Row, benchmark
from service.api.streams import FORM
from service.clients.streams.classic import LEADERS
from service.clients.streams.classic.racks import STRATEGIES
from service.decisions.streams.answer import read_clients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

RUNS: Final = 5
WARM_UP: Final = 50
WARM_UP_SECONDS: Final = 5.0
"""Runs of Java's class before those that count, so that it is compiled, or so many seconds of them."""
COMPILING: Final = ("java", "-Xmx1g", "-Dslf4j.internal.verbosity=ERROR")
"""A JVM with both of its compilers."""


@dataclass(frozen=True)
class Streams:
    """A group. clients : each with two threads; tasks : half of them with state; strategy : for racks"""

    clients: int
    tasks: int
    strategy: str = "none"

    def __str__(self) -> str:
        return f"{self.clients}x{self.tasks}" + ("" if self.strategy == "none" else f"/{self.strategy}")

    def body(self, assignor: str) -> dict[str, Any]:
        """The group after a client has left: the others have most tasks, and know how far their state is. In four racks."""
        random = Random(f"{self}")
        racks = [f"rack-{i}" for i in range(4)]
        half = self.tasks // 2
        names = (("0", half, True), ("1", self.tasks - half, False))
        topics = {f"in-{name}": count for name, count, _ in names} | {"log-0": half}
        clients: list[dict[str, Any]] = [
            {"process_id": str(uuid.UUID(int=random.getrandbits(128))), "threads_count": 2, "rack_id": racks[i % 4]}
            | {"active_tasks": [], "standby_tasks": [], "lags": [], "client_tags": {}}
            for i in range(self.clients)
        ]
        for name, count, stateful in names:
            for task in range(count):
                active, standby, gone = (random.randrange(self.clients + (i == 2)) for i in range(3))
                if gone < self.clients:
                    clients[active]["active_tasks"].append({"subtopology_id": name, "task_ids": [task]})
                if stateful and standby != active:
                    clients[standby]["standby_tasks"].append({"subtopology_id": name, "task_ids": [task]})
                for i, client in enumerate(clients if stateful else ()):
                    lag = -2 if i == active and gone < self.clients else 50 if i == standby else 100_000
                    client["lags"].append({"subtopology_id": name, "task_id": task, "lag": lag})
        return {
            "member_protocol": "classic",
            "assignor": assignor,
            "num_standby_replicas": 1,
            "max_warmup_replicas": 2,
            "acceptable_recovery_lag": 10_000,
            "rack_aware_assignment_tags": [],
            "rack_aware_assignment_strategy": self.strategy,
            "subtopologies": [
                {"subtopology_id": name, "tasks_count": count, "stateful": stateful, "source_topic_names": [f"in-{name}"]}
                | {"changelog_topic_names": ["log-0"] if stateful else []}
                for name, count, stateful in names
            ],
            "topics": [
                {"topic_name": name, "partition_racks": [random.sample(racks, 2) for _ in range(count)]}
                for name, count in topics.items()
            ],
            "clients": clients,
        }


GROUPS: Final = (
    Streams(20, 400),
    Streams(50, 2_000),
    *(Streams(10, 200, strategy) for strategy in STRATEGIES),  # 20 × 400 take Java's class up to 8 seconds
)


def declare(group: Streams, assignor: str) -> None:
    """One row."""
    size = f"{group.clients} clients, {group.tasks:,} tasks"
    row = Row(f"groups/streams-{assignor}/{group}", "s", 1.0, f"assign(), {size} ÷ the class of Streams")

    @benchmark(row, rounds=5 if group.strategy == "none" else 2)
    def assign(group: Streams = group) -> Iterator[Sides]:
        """Raises RuntimeError if the JVM's assignment differs."""
        jvm.require(harness=False)
        from tests.support.jvm import streams_jars  # noqa: PLC0415 - it starts a JVM to fetch the jars
        from tests.support.task_groups import Program, clients_differ  # noqa: PLC0415

        body = group.body(assignor)
        difference = clients_differ(body)
        if difference is not None:
            raise RuntimeError(f"{row.name}: {difference[:200]}")
        question = FORM.question(body)
        run = next(each.run for each in LEADERS if each.name == assignor)
        leader = Program("StreamsLeader.java", *streams_jars(jvm.RELEASE), java=COMPILING)

        def ours() -> list[float]:
            return [median(_seconds(run, read_clients(question)) for _ in range(RUNS))]

        def reference() -> list[float]:
            ends, warmed = time.monotonic() + WARM_UP_SECONDS, 0
            while warmed < WARM_UP and time.monotonic() < ends:
                leader.ask(body)
                warmed += 1
            return [median(leader.ask(body)["seconds"] for _ in range(RUNS))]

        try:
            yield ours, reference
        finally:
            leader.close()


def _seconds(run: Any, group: Any) -> float:
    """Of one run, which changes the group."""
    start = time.perf_counter()
    run(group)
    return time.perf_counter() - start


for _group in GROUPS:
    for _assignor in LEADERS:
        if _group.strategy == "none" or _assignor.name != "fallback-prior":  # which takes no racks into account
            declare(_group, _assignor.name)
