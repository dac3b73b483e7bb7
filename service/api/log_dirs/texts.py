"""The JSON of a plan's partitions and moves, written row by row by the kernel of ``service.web.json.rows``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from service.api.placements.document import reassignment
from service.core.ragged import taken
from service.decisions.log_dirs.tables import dir_reasons
from service.web.json.codec import dumps
from service.web.json.rows import Part, json_list
from service.web.json.rows import rows as json_rows

if TYPE_CHECKING:
    from service.core.model import Int32s
    from service.decisions.log_dirs.question import DirCluster
    from service.planner.log_dirs.model import DirMoves, LogDirPlan
    from service.web.json.codec import LongText

_ANY: Final = b'"any"'
"""Kafka's word for a replica that stays in its directory."""


class Positions(NamedTuple):
    """Replicas of some partitions.

    partitions : int32[rows], ascending
    rows, columns : int64[moves], which of these partitions, and which of its replicas
    sources, targets : int32[moves], directories
    """

    partitions: Int32s
    rows: np.ndarray  # type: ignore[type-arg]
    columns: np.ndarray  # type: ignore[type-arg]
    sources: Int32s
    targets: Int32s

    @classmethod
    def of_moves(cls, cluster: DirCluster, moves: DirMoves, some: slice) -> Positions:
        """The replicas of some moves."""
        return cls._of(cluster, moves.replicas[some], moves.sources[some], moves.targets[some])

    @classmethod
    def of_all(cls, cluster: DirCluster, plan: LogDirPlan) -> Positions:
        """All replicas that end elsewhere."""
        now = cluster.replicas.dirs
        changed = np.flatnonzero(plan.dirs != now).astype(np.int32)
        return cls._of(cluster, changed, now[changed], plan.dirs[changed])

    @classmethod
    def _of(cls, cluster: DirCluster, replicas: Int32s, sources: Int32s, targets: Int32s) -> Positions:
        partitions, rows = np.unique(cluster.partitions[replicas], return_inverse=True)
        lists = taken(cluster.placements.replicas, cluster.partitions[replicas])
        log_dirs = cluster.log_dirs
        holders = np.searchsorted(cluster.broker_ids, log_dirs.broker_ids[log_dirs.broker_of()[sources]])
        places = np.flatnonzero(lists.values == holders[lists.row_of_each_value()])  # one for each replica
        return cls(partitions.astype(np.int32), rows, places - lists.offsets[:-1], sources, targets)


class DirTexts:
    """The texts of a question's topics and paths."""

    def __init__(self, cluster: DirCluster) -> None:
        self._cluster = cluster
        self._topics = [dumps(name) for name in cluster.placements.topic_names]
        self._paths = [dumps(path) for path in cluster.log_dirs.paths]

    def paths(self, labels: Int32s, before: bytes = b"") -> Part:
        """A path in each row. labels : int32[rows]"""
        return Part([before + path for path in self._paths], labels)

    def reassignment(self, positions: Positions, dirs: Int32s) -> LongText:
        """The file that takes these replicas to the directories, and leaves all others. dirs : int32[moves]"""
        placements, count = self._cluster.placements, len(positions.partitions)
        lists = taken(placements.replicas, positions.partitions)
        lengths = lists.lengths()
        columns = int(lengths.max(initial=0))
        stays, absent = len(self._paths), len(self._paths) + 1
        labels = np.where(np.arange(columns)[:, None] < lengths, stays, absent).astype(np.int32)
        labels[positions.columns, positions.rows] = self._cluster.log_dirs.path_of[dirs]
        topics, of_topic = np.unique(placements.topics[positions.partitions], return_inverse=True)
        opened = [b'{"topic":%s,"partition":' % self._topics[i] for i in topics.tolist()]
        return reassignment(
            json_rows(
                count,
                Part(opened or [b""], of_topic.astype(np.int32), placements.partition_ids[positions.partitions]),
                Part([b',"replicas":['], numbers=lists, ids=self._cluster.broker_ids),
                Part([b'],"log_dirs":[']),
                *(
                    Part([b"," * (column > 0) + text for text in (*self._paths, _ANY)] + [b""], labels[column])
                    for column in range(columns)
                ),
                Part([b"]}"]),
            )
        )

    def reasons(self, moves: DirMoves) -> LongText:
        """``[{"topic_name", "partition_id", "broker_id", "from", "to", "reason"}]``."""
        log_dirs, placements = self._cluster.log_dirs, self._cluster.placements
        partitions = self._cluster.partitions[moves.replicas]
        reasons = dir_reasons(log_dirs, moves)
        return json_list(
            len(moves),
            Part(
                [b'{"topic_name":%s,"partition_id":' % name for name in self._topics],
                placements.topics[partitions],
                placements.partition_ids[partitions],
            ),
            Part([b',"broker_id":'], numbers=log_dirs.broker_of()[moves.sources], ids=log_dirs.broker_ids),
            self.paths(log_dirs.path_of[moves.sources], b',"from":'),
            self.paths(log_dirs.path_of[moves.targets], b',"to":'),
            Part([b',"reason":%s}' % dumps(text) for text in reasons.dictionary.to_pylist()], reasons.indices.to_numpy()),
        )
