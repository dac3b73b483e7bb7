"""What a plan for log directories starts from, and the plan.

Brokers are indices into ``LogDirs.broker_ids``, directories are counted over all brokers, broker by broker, and so are replicas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.model import Bools, Bytes, Float64s, Int32s, Int64s
from service.planner.reassignments.model import NO_LIMIT, ROUNDING

DRAINS, MAKES_ROOM, EVENS, FREES, WAS_FULL = range(5)
REASONS: Final = (
    "drains {source}",
    "limits of {source}",
    "evens out {target}",
    "makes room on {source}",
    "{target} was full before",
)
"""The text of each reason; FREES and WAS_FULL are those of detours."""


@dataclass(frozen=True)
class LogDirs:
    """The log directories of brokers.

    broker_ids : int32[brokers]
    offsets : int32[brokers + 1]     where the directories of each broker begin
    paths : the different paths; path_of : int32[dirs], the path of each directory
    capacity_bytes : int64[dirs]     what may be on each, NO_LIMIT where it is not limited
    disk_bytes : int64[dirs]         the size of the disk, NO_LIMIT where unknown
    other_bytes : int64[dirs]        what is on the disk besides the replicas, and stays there
    draining, cordoned : bool[dirs]  to be left by all replicas; to get no others
    """

    broker_ids: Int32s
    offsets: Int32s
    paths: tuple[str, ...]
    path_of: Int32s
    capacity_bytes: Int64s
    disk_bytes: Int64s
    other_bytes: Int64s
    draining: Bools
    cordoned: Bools

    def __len__(self) -> int:
        return len(self.path_of)

    def broker_of(self) -> Int32s:
        """int32[dirs], the broker of each."""
        return np.repeat(np.arange(len(self.broker_ids), dtype=np.int32), np.diff(self.offsets))

    def weights(self) -> Float64s:
        """float64[dirs], the sizes of the disks; 1 for all of a broker where that of one to keep replicas is not known."""
        unknown = (self.disk_bytes == NO_LIMIT) & ~self.draining
        known = np.bincount(self.broker_of(), unknown, len(self.broker_ids))[self.broker_of()] == 0
        known &= self.disk_bytes != NO_LIMIT
        return np.where(known, np.maximum(self.disk_bytes, 1), 1).astype(np.float64)

    def path(self, log_dir: int) -> str:
        """The path of a directory."""
        return self.paths[int(self.path_of[log_dir])]


@dataclass(frozen=True)
class DirReplicas:
    """The replicas in the directories.

    topic_names : the name of each topic
    topics, partition_ids : int32[replicas]
    offsets : int32[brokers + 1]   where the replicas of each broker begin
    dirs : int32[replicas]         the directory of each
    sizes : int64[replicas]        bytes
    stays : bool[replicas]         those that no plan moves
    """

    topic_names: tuple[str, ...]
    topics: Int32s
    partition_ids: Int32s
    offsets: Int32s
    dirs: Int32s
    sizes: Int64s
    stays: Bools

    def __len__(self) -> int:
        return len(self.dirs)

    def bytes_in(self, dirs: Int32s, count: int) -> Int64s:
        """int64[count], the bytes of the replicas in each directory. dirs : int32[replicas], where each is"""
        loads = np.zeros(count, np.int64)
        np.add.at(loads, dirs, self.sizes)
        return loads


@dataclass(frozen=True)
class DirMoves:
    """Moves from directory to directory, batch by batch.

    replicas, batches : int32[moves]; sources, targets : int32[moves], directories; reasons : uint8[moves], see REASONS
    """

    replicas: Int32s
    batches: Int32s
    sources: Int32s
    targets: Int32s
    reasons: Bytes

    def __len__(self) -> int:
        return len(self.replicas)


@dataclass(frozen=True)
class LogDirPlan:
    """Where each replica ends.

    dirs : int32[replicas]
    moves : those of all brokers
    copied, lower_bound : int64[brokers]     bytes, and how many any plan copies that is as good in what comes before copies
    evenness, evenness_bound : float64[brokers]   the sum of (bytes on a disk)² ÷ size of the disk, likewise
    outside : bool[dirs], those that are not within the tolerance
    """

    dirs: Int32s
    moves: DirMoves
    copied: Int64s
    lower_bound: Int64s
    evenness: Float64s
    evenness_bound: Float64s
    outside: Bools

    def batch_count(self) -> int:
        """How many batches there are."""
        return int(self.moves.batches.max(initial=-1)) + 1

    def evenness_gaps(self) -> Float64s:
        """float64[brokers], how far the evenness may be from its least, as a share of the bound; 0: proven the least."""
        gaps = (self.evenness - self.evenness_bound) / np.maximum(1.0, self.evenness_bound)
        return np.where(gaps > ROUNDING, gaps, 0.0)


@dataclass(frozen=True)
class DirUsage:
    """What each directory has.

    replicas : int64[dirs]; amounts : int64[dirs], bytes of the replicas and of what else is on the disk
    shares : float64[dirs], of the disk; NaN where its size is not known
    skews : float64[brokers], the fullest directory ÷ the mean, of those that are not to be emptied, each by the size of its disk;
        1 where there is nothing
    """

    replicas: Int64s
    amounts: Int64s
    shares: Float64s
    skews: Float64s

    @classmethod
    def of(cls, log_dirs: LogDirs, replicas: DirReplicas, dirs: Int32s) -> DirUsage:
        """The usage if the replicas are in these directories, int32[replicas]."""
        count, counted, brokers_count = len(log_dirs), ~log_dirs.draining, len(log_dirs.broker_ids)
        amounts = replicas.bytes_in(dirs, count) + log_dirs.other_bytes
        shares = np.full(count, np.nan)
        np.divide(amounts, np.maximum(log_dirs.disk_bytes, 1), out=shares, where=log_dirs.disk_bytes != NO_LIMIT)
        brokers, compared, weights = log_dirs.broker_of()[counted], amounts[counted], log_dirs.weights()[counted]
        total, width = (np.bincount(brokers, each, brokers_count) for each in (compared, weights))
        fullest = np.zeros(brokers_count)
        np.maximum.at(fullest, brokers, compared / weights)
        skews = np.divide(fullest * width, total, out=np.ones(brokers_count), where=total > 0)
        return cls(np.bincount(dirs, minlength=count).astype(np.int64), amounts, shares, skews)
