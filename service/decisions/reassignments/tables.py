"""The moves of a reassignment as an Arrow table."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.model import NONE, Int32s
from service.core.reassignments.model import Brokers, Placements
from service.core.reassignments.moves import REASONS, ReplicaMoves
from service.decisions.rows.names import NAME


def ids_of(brokers: Brokers, indices: Int32s) -> pa.Array:
    """The broker ids of indices; null for NONE."""
    return pa.array(brokers.cluster.broker_ids[indices], pa.int32(), mask=indices == NONE)


def reason_texts(brokers: Brokers, moves: ReplicaMoves) -> pa.Array:
    """The reason of each move."""
    texts = pa.nulls(len(moves.reasons), NAME)
    for reason, text in enumerate(REASONS):
        which = moves.reasons == reason
        if not which.any():
            continue
        before, _, role = text.partition("{")
        if role:
            ids = pc.cast(ids_of(brokers, moves.sources if role.startswith("source") else moves.targets), NAME)
            words = pc.binary_join_element_wise(before, ids, role.partition("}")[2], "")
        else:
            words = pa.array([text], NAME).take(pa.array(np.zeros(len(which), np.int32)))
        texts = pc.if_else(pa.array(which), words, texts)
    return texts


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
            "reason": reason_texts(brokers, moves),
            "batch": pa.array(moves.batches + 1),
        }
    )
