"""The moves of a plan for log directories, as an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from service.decisions.reassignments.tables import reasons_of
from service.decisions.rows.names import NAME
from service.planner.log_dirs.model import REASONS, DirMoves, LogDirs

if TYPE_CHECKING:
    from service.decisions.log_dirs.answer import LogDirAnswer


def dir_reasons(log_dirs: LogDirs, moves: DirMoves) -> pa.DictionaryArray:
    """The reason of each move."""
    return reasons_of(moves, REASONS, lambda dirs: paths_of(log_dirs, dirs)).dictionary_encode()


def paths_of(log_dirs: LogDirs, dirs: pa.Array) -> pa.DictionaryArray:
    """The paths of directories, int32[...]."""
    return pa.DictionaryArray.from_arrays(pa.array(log_dirs.path_of[dirs]), pa.array(log_dirs.paths, NAME))


def moves_table(answer: LogDirAnswer) -> pa.Table:
    """The columns topic_name, partition_id, broker_id, from, to, bytes, reason and batch (from 1), a row for each move."""
    log_dirs, replicas, moves = answer.cluster.log_dirs, answer.cluster.replicas, answer.plan.moves
    names = pa.array(replicas.topic_names, NAME)
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(replicas.topics[moves.replicas]), names),
            "partition_id": pa.array(replicas.partition_ids[moves.replicas]),
            "broker_id": pa.array(log_dirs.broker_ids[log_dirs.broker_of()[moves.sources]]),
            "from": paths_of(log_dirs, moves.sources),
            "to": paths_of(log_dirs, moves.targets),
            "bytes": pa.array(replicas.sizes[moves.replicas]),
            "reason": dir_reasons(log_dirs, moves),
            "batch": pa.array(moves.batches + 1),
        }
    )
