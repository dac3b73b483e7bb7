"""What a plan for log directories does and does not, and what to watch out for, in sentences."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from service.core.model import NONE, Int32s
from service.core.printable import counted, first_few
from service.planner.log_dirs.model import DirReplicas, DirUsage, LogDirPlan, LogDirs
from service.planner.reassignments.model import Goal

NAMED: Final = 3
"""Directories that have a sentence of their own at most."""


def conclusion(
    log_dirs: LogDirs, goal: Goal, replicas: DirReplicas, partitions: Int32s, plan: LogDirPlan, usage: tuple[DirUsage, DirUsage]
) -> tuple[str, bool]:
    """What was asked, done or not, in sentences; and whether all of it is done.

    partitions : int32[replicas], NONE for those without a placement; usage : before and after
    """
    outside = np.flatnonzero(plan.outside).astype(np.int32)
    failures = list(_not_empty(log_dirs, replicas, partitions))
    sentences = [*failures, *_main(log_dirs, goal, plan, usage, asked=bool(failures))]
    if len(outside):
        sentences.append(f"{_named(log_dirs, outside)} stay{'s' * (len(outside) == 1)} outside the tolerance")
    return " ".join(f"{sentence}." for sentence in sentences), not failures and not len(outside)


def _not_empty(log_dirs: LogDirs, replicas: DirReplicas, partitions: Int32s) -> Iterator[str]:
    """The directories that were to be emptied and are not."""
    left = replicas.stays & log_dirs.draining[replicas.dirs]
    kept = np.unique(replicas.dirs[left]).astype(np.int32)
    for log_dir in kept[:NAMED]:
        its = np.flatnonzero(left & (replicas.dirs == log_dir))
        topics = first_few([replicas.topic_names[i] for i in np.unique(replicas.topics[its]).tolist()], NAMED)
        placed = partitions[its] != NONE
        why = ["excluded"] * bool(placed.any()) + ["without a placement on this broker in topics"] * bool((~placed).any())
        keeps = f"keeps {counted(len(its), 'replica')}, of {topics} ({' or '.join(why)})"
        yield f"{_named(log_dirs, np.array([log_dir]))} {keeps}: it is not empty afterwards"
    if len(kept) > NAMED:
        yield f"{_named(log_dirs, kept[NAMED:])} keep replicas too"


def _main(log_dirs: LogDirs, goal: Goal, plan: LogDirPlan, usage: tuple[DirUsage, DirUsage], *, asked: bool) -> Iterator[str]:
    """What moves. asked : was something to move that may not?"""
    moves, emptied = plan.moves, _emptied(usage)
    empty = np.flatnonzero(log_dirs.draining & (usage[0].replicas == 0)).astype(np.int32)
    if len(empty):
        yield f"{_named(log_dirs, empty)} ha{'s' if len(empty) == 1 else 've'} no replica of those given"
    if not len(moves):
        if goal.objective != "even":
            yield "Nothing moves" if asked else "Nothing moves: no rule asks for it"
        elif goal.tolerance is not None and not plan.outside.any():
            yield f"Nothing moves: every directory is within {100 * goal.tolerance:.4g}% of the mean of its broker"
        else:
            yield f"Nothing moves: {'nothing more even was found' if plan.evenness_gaps().any() else 'no plan is more even'}"
        return
    copied = int(plan.copied.sum())
    brokers = np.unique(log_dirs.broker_of()[moves.sources])
    of_brokers = f"broker {log_dirs.broker_ids[brokers[0]]}" if len(brokers) == 1 else counted(len(brokers), "broker")
    what = f"Copies {copied:,} bytes with {counted(len(moves), 'move')} between the log directories of {of_brokers}"
    if log_dirs.draining[emptied].any():
        what = f"Empties {_named(log_dirs, emptied)} with {counted(len(moves), 'move')} of {copied:,} bytes"
    yield f"{what}, {_proof(goal, plan, copied)}"


def _emptied(usage: tuple[DirUsage, DirUsage]) -> Int32s:
    """int32[...], the directories that end empty."""
    before, after = usage
    return np.flatnonzero((before.replicas > 0) & (after.replicas == 0)).astype(np.int32)


def effects(log_dirs: LogDirs, plan: LogDirPlan, usage: tuple[DirUsage, DirUsage]) -> Iterator[str]:
    """What the plan does besides what its conclusion says. usage : before and after"""
    emptied = _emptied(usage)
    if len(emptied) and not log_dirs.draining[emptied].any():
        yield f"Empties {_named(log_dirs, emptied)}."
    skews = usage[0].skews, usage[1].skews
    worst = int(np.argmax(skews[0])) if len(skews[0]) else 0
    if len(plan.moves) and skews[1][worst] < skews[0][worst]:
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


def warnings(log_dirs: LogDirs, replicas: DirReplicas, plan: LogDirPlan) -> Iterator[str]:
    """What somebody should know before executing the plan."""
    empty = int((replicas.sizes[plan.moves.replicas] == 0).sum())
    if empty:
        yield f"{counted(empty, 'move')} {'is' if empty == 1 else 'are'} of a replica whose size is given as 0."
    if len(plan.moves) and log_dirs.draining.any():
        yield "The rollback files need the directories that are emptied: there is no way back while one is offline."


def _named(log_dirs: LogDirs, dirs: Int32s) -> str:
    """``/data/a of broker 1, /data/b of broker 2 and 5 more``."""
    broker_ids = log_dirs.broker_ids[log_dirs.broker_of()]
    return first_few([f"{log_dirs.path(i)} of broker {broker_ids[i]}" for i in dirs.tolist()], NAMED)
