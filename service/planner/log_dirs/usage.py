"""What is in each log directory, and how even that is within its broker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from service.core.model import Bools, Float64s, Int32s, Int64s
from service.planner.log_dirs.model import DirReplicas, LogDirs
from service.planner.reassignments.model import NO_LIMIT


@dataclass(frozen=True)
class DirUsage:
    """What each directory has.

    replicas : int64[dirs]; amounts : int64[dirs], bytes of the replicas and of what else is on the disk
    shares : float64[dirs], of the disk; NaN where its size is not known
    offsets : int32[brokers + 1], where the directories of each broker begin
    weights : float64[dirs], the sizes of disks by which ``amounts`` are compared
    counted : bool[dirs], those whose evenness counts: not those that are to be emptied
    """

    replicas: Int64s
    amounts: Int64s
    shares: Float64s
    offsets: Int32s
    weights: Float64s
    counted: Bools

    @classmethod
    def of(cls, log_dirs: LogDirs, replicas: DirReplicas, dirs: Int32s) -> DirUsage:
        """The usage if the replicas are in these directories, int32[replicas]."""
        count = len(log_dirs)
        amounts = replicas.bytes_in(dirs, count) + log_dirs.other_bytes
        known = log_dirs.disk_bytes != NO_LIMIT
        shares = np.full(count, np.nan)
        np.divide(amounts, np.maximum(log_dirs.disk_bytes, 1), out=shares, where=known)
        return cls(
            np.bincount(dirs, minlength=count).astype(np.int64),
            amounts,
            shares,
            log_dirs.offsets,
            log_dirs.weights(),
            ~log_dirs.draining,
        )

    def skews(self) -> Float64s:
        """float64[brokers], the fullest directory ÷ the mean, each by the size of its disk; 1 where there is nothing."""
        brokers = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))[self.counted]
        amounts, weights = self.amounts[self.counted], self.weights[self.counted]
        count = len(self.offsets) - 1
        total, width = np.bincount(brokers, amounts, count), np.bincount(brokers, weights, count)
        fullest = np.zeros(count)
        np.maximum.at(fullest, brokers, amounts / weights)
        return np.divide(fullest * width, total, out=np.ones(count), where=total > 0)
