"""Log directories: seconds against what an operator waits for, and bytes against the fewest that could do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Row, benchmark, seconds
from service.planner.log_dirs.model import DirReplicas, LogDirPlan, LogDirs
from service.planner.log_dirs.plan import plan_log_dirs
from service.planner.reassignments.batches.schedule import BatchLimits
from service.planner.reassignments.model import NO_LIMIT, Goal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

DISKS = 8


def question(brokers: int, replicas: int) -> tuple[LogDirs, DirReplicas]:
    """Brokers of eight disks, of which replicas of very unlike sizes are anywhere, as if Kafka had looked at their numbers."""
    dirs, rows, random = brokers * DISKS, brokers * replicas, np.random.default_rng(1)
    unlimited, nothing = np.full(dirs, NO_LIMIT, np.int64), np.zeros(dirs, np.bool_)
    log_dirs = LogDirs(
        np.arange(brokers, dtype=np.int32),
        np.arange(0, dirs + 1, DISKS, dtype=np.int32),
        tuple(f"/data/{i}" for i in range(DISKS)),
        np.tile(np.arange(DISKS, dtype=np.int32), brokers),
        unlimited,
        unlimited,
        np.zeros(dirs, np.int64),
        nothing,
        nothing,
    )
    first = np.repeat(np.arange(brokers) * DISKS, replicas)
    return log_dirs, DirReplicas(
        ("topic",),
        np.zeros(rows, np.int32),
        np.arange(rows, dtype=np.int32),
        np.arange(0, rows + 1, replicas, dtype=np.int32),
        (first + random.integers(0, DISKS, rows)).astype(np.int32),
        (random.lognormal(0, 1, rows) * 1e9).astype(np.int64),
        np.zeros(rows, np.bool_),
    )


def plan(brokers: int, replicas: int, **between: float) -> LogDirPlan:
    """The plan with "even"."""
    goal = Goal("even", "none", "keep", "bytes", **between)  # type: ignore[arg-type]
    return plan_log_dirs(*question(brokers, replicas), goal, BatchLimits())


def even(brokers: int, replicas: int) -> LogDirPlan:
    """The plan, if no broker could be more even by a thousandth."""
    answer = plan(brokers, replicas)
    if answer.evenness_gaps().max() > 0.001:
        raise RuntimeError(f"the gap is {answer.evenness_gaps().max()}")
    return answer


@benchmark(
    Row("log-dirs/even", "s", 1.0, "300 brokers × 8 disks × 300 replicas of different sizes, even, gap < 0.1% ÷ 10 s"),
    Row("log-dirs/bytes", "bytes", 1.1, "30 brokers, bytes copied, within 10% of the mean ÷ a bound of any plan"),
    rounds=1,
)
def disks(brokers: int = 300, replicas: int = 300) -> Iterator[Sides]:
    """Each broker is planned by itself."""
    within = plan(brokers // 10, replicas, tolerance=0.1)
    if within.outside.any():
        raise RuntimeError("a disk is outside the tolerance")
    yield (
        lambda: [seconds(lambda: even(brokers, replicas), runs=1), float(within.copied.sum())],
        lambda: [10.0, float(within.lower_bound.sum())],
    )
