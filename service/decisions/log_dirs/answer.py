"""The answer: which replicas move to which directory, in batches."""

from dataclasses import dataclass

import numpy as np

from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.decisions.log_dirs.question import DirCluster, LogDirQuestion, id_of, read
from service.planner.log_dirs.effects import conclusion, effects, warnings
from service.planner.log_dirs.model import DirUsage, LogDirPlan
from service.planner.log_dirs.plan import plan_log_dirs
from service.planner.reassignments.batches.model import BatchTiming, Traffic
from service.planner.reassignments.effects import timing_sentences


@dataclass(frozen=True)
class LogDirAnswer:
    """A plan. usage : of the directories, before and after"""

    question: LogDirQuestion
    plan_id: str
    cluster: DirCluster
    plan: LogDirPlan
    usage: tuple[DirUsage, DirUsage]
    timing: BatchTiming

    @property
    def conclusion(self) -> tuple[str, bool]:
        """What was asked, done or not, in sentences; and whether all of it is done."""
        cluster = self.cluster
        return conclusion(cluster.log_dirs, self.question.goal, cluster.replicas, cluster.partitions, self.plan, self.usage)

    @property
    def rates_known(self) -> bool:
        """Is it known what producers write meanwhile?"""
        return self.cluster.placements.rates is not None

    @property
    def effects(self) -> list[str]:
        """What the plan does besides, and how long it takes, in sentences."""
        about_disks = effects(self.cluster.log_dirs, self.plan, self.usage)
        return [*about_disks, *timing_sentences(self.timing, self.question.pace, (), rates_known=self.rates_known)]

    @property
    def warnings(self) -> list[str]:
        """What to know before it is executed, in sentences."""
        return list(warnings(self.cluster.log_dirs, self.cluster.replicas, self.plan))

    @property
    def figures(self) -> Figures:
        """See Figures."""
        items = {"partitions": len(self.cluster.placements), "brokers": len(self.cluster.log_dirs.broker_ids)}
        skew = float(self.usage[1].skews().max(initial=1.0))
        return Figures(self.question.goal.objective, items, skew, tag=self.plan_id)


def answer(question: LogDirQuestion, budget: Budget) -> LogDirAnswer:
    """Plan the moves. Raises InvalidQuestion (all faults at once), NoPlan, and what the budget raises."""
    cluster = read(question, budget)
    log_dirs, replicas = cluster.log_dirs, cluster.replicas
    plan = plan_log_dirs(log_dirs, replicas, question.goal, question.limits)
    budget.check_time()
    throttle, seconds = question.throttle_bytes_per_second, question.duration_seconds
    return LogDirAnswer(
        question,
        id_of(question, cluster),
        cluster,
        plan,
        (DirUsage.of(log_dirs, replicas, replicas.dirs), DirUsage.of(log_dirs, replicas, plan.dirs)),
        _traffic(cluster, plan).timing(plan.batch_count(), question.pace, throttle, seconds),
    )


def _traffic(cluster: DirCluster, plan: LogDirPlan) -> Traffic:
    """What each broker copies in each batch: the throttle is one of a broker, not of a directory."""
    moves, rates = plan.moves, cluster.placements.rates
    width = len(cluster.log_dirs.broker_ids)
    keys = moves.batches.astype(np.int64) * width + cluster.log_dirs.broker_of()[moves.sources]
    key, index = np.unique(keys, return_inverse=True)
    amounts = np.zeros(len(key), np.int64)
    np.add.at(amounts, index, cluster.replicas.sizes[moves.replicas])
    written = np.zeros(len(moves)) if rates is None else rates[cluster.partitions[moves.replicas]]
    return Traffic(
        (key // width).astype(np.int32) if width else key.astype(np.int32),
        (key % width).astype(np.int32) if width else key.astype(np.int32),
        np.ones(len(key), np.bool_),
        amounts,
        np.bincount(index, written, len(key)).astype(np.float64, copy=False),
    )
