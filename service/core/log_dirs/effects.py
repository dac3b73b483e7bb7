"""What a plan for log directories does, and what to watch out for, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.model import NONE, Int32s
from service.core.printable import counted, first_few

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.core.log_dirs.model import DirReplicas, LogDirPlan, LogDirs
    from service.core.log_dirs.usage import DirUsage
    from service.core.reassignments.model import Goal

NAMED: Final = 3
"""Directories that have a sentence of their own at most."""


def effects(log_dirs: LogDirs, goal: Goal, plan: LogDirPlan, usage: tuple[DirUsage, DirUsage]) -> Iterator[str]:
    """What the plan does. usage : before and after"""
    moves, before, after = plan.moves, *usage
    if not len(moves):
        yield "Nothing moves."
    else:
        copied = int(plan.copied.sum())
        brokers = np.unique(log_dirs.broker_of()[moves.sources])
        of_brokers = f"broker {log_dirs.broker_ids[brokers[0]]}" if len(brokers) == 1 else counted(len(brokers), "broker")
        count = counted(len(moves), "move")
        yield f"Copies {copied:,} bytes with {count} between the log directories of {of_brokers}, {_proof(goal, plan, copied)}."
    emptied = np.flatnonzero((before.replicas > 0) & (after.replicas == 0)).astype(np.int32)
    if len(emptied):
        yield f"Empties {_named(log_dirs, emptied)}."
    skews = before.skews(), after.skews()
    worst = int(np.argmax(skews[0])) if len(skews[0]) else 0
    if len(moves) and skews[1][worst] < skews[0][worst]:
        yield (
            f"Broker {log_dirs.broker_ids[worst]} was the least even: its fullest directory goes from {skews[0][worst]:.2f} to "
            f"{skews[1][worst]:.2f} times the mean."
        )


def _proof(goal: Goal, plan: LogDirPlan, copied: int) -> str:
    bound = int(plan.lower_bound.sum())
    if goal.limited:
        return "the evenest found within the limits"
    fewest = "the fewest bytes possible"
    if goal.tolerance is not None and not plan.outside.any():
        fewest += f" to bring every directory within {100 * goal.tolerance:.4g}% of the mean of its broker"
    elif goal.objective == "even":
        fewest += " for as even a load"
    if copied == bound:
        return fewest
    return f"at most {(copied - bound) / bound:.1%} above {fewest}" if bound else f"not proven to be {fewest}"


def warnings(log_dirs: LogDirs, replicas: DirReplicas, partitions: Int32s, plan: LogDirPlan) -> Iterator[str]:
    """What somebody should know before executing the plan. partitions : int32[replicas], -1 for those without a placement"""
    left = replicas.stays & log_dirs.draining[replicas.dirs]
    for which, why in (
        (left & (partitions == NONE), "topics has no placement on this broker"),
        (left & (partitions != NONE), "topics that do not change"),
    ):
        if which.any():
            count, dirs = int(which.sum()), np.unique(replicas.dirs[which]).astype(np.int32)
            yield f"{count:,} replica{' stays' if count == 1 else 's stay'} in {_named(log_dirs, dirs)}: {why}."
    outside = np.flatnonzero(plan.outside).astype(np.int32)
    if len(outside):
        stay = f"{_named(log_dirs, outside)} stay{'s' * (len(outside) == 1)}"
        yield f"{stay} outside the tolerance: no plan was found that keeps the rules and brings every directory within it."


def _named(log_dirs: LogDirs, dirs: Int32s) -> str:
    """``/data/a of broker 1, /data/b of broker 2 and 5 more``."""
    broker_ids = log_dirs.broker_ids[log_dirs.broker_of()]
    return first_few([f"{log_dirs.path(i)} of broker {broker_ids[i]}" for i in dirs.tolist()], NAMED)
