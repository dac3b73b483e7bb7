"""The moves of a reassignment as an Arrow table."""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from service.core.model import NONE, Int32s
from service.decisions.rows.names import NAME
from service.planner.log_dirs.model import DirMoves
from service.planner.reassignments.model import Brokers, Placements
from service.planner.reassignments.planned import REASONS, ReplicaMoves


def ids_of(brokers: Brokers, indices: Int32s) -> pa.Array:
    """The broker ids of indices; null for NONE."""
    return pa.array(brokers.cluster.broker_ids[indices], pa.int32(), mask=indices == NONE)


def reasons_of(moves: ReplicaMoves | DirMoves, texts: Sequence[str], names_of: Callable[[Int32s], pa.Array]) -> pa.Array:
    """The reason of each move. texts : of all reasons; names_of : of what ``{source}`` or ``{target}`` in them stands for"""
    reasons = pa.nulls(len(moves.reasons), NAME)
    for reason, text in enumerate(texts):
        which = moves.reasons == reason
        if which.any():
            before, _, rest = text.partition("{")
            role, _, after = rest.partition("}")
            words = pa.scalar(text, NAME)
            if role:
                names = names_of(moves.sources if role == "source" else moves.targets).cast(NAME)
                words = pc.binary_join_element_wise(before, names, after, "")
            reasons = pc.if_else(pa.array(which), words, reasons)
    return reasons


def replica_reasons(brokers: Brokers, moves: ReplicaMoves) -> pa.Array:
    """The reason of each move of a reassignment."""
    return reasons_of(moves, REASONS, lambda indices: ids_of(brokers, indices))


def moves_table(brokers: Brokers, placements: Placements, moves: ReplicaMoves) -> pa.Table:
    """The columns topic_name, partition_id, from, to, reason and batch (from 1), a row for each move; a leader's change is one
    too.
    """
    names = pa.array(placements.topic_names, NAME)
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(placements.topics[moves.partitions]), names),
            "partition_id": pa.array(placements.partition_ids[moves.partitions]),
            "from": ids_of(brokers, moves.sources),
            "to": ids_of(brokers, moves.targets),
            "reason": replica_reasons(brokers, moves),
            "batch": pa.array(moves.batches + 1),
        }
    )
