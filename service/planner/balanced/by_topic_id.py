"""``balanced`` of a consumer group: a broker's assignor knows topics by their ids alone, so topics are in the order of their ids.

Brokers that load ``BalancedAssignor`` (brokers/java) assign the same.
"""

from dataclasses import replace

import numpy as np

from service.core.assignors.coordinator import topic_ids
from service.core.model import NONE, Assignment, Group, Int32s, Ragged, Topics, ranks_of
from service.core.ragged import grouped, taken
from service.planner.balanced import balanced
from service.planner.balanced.weighted import Glance


def assign(group: Group, max_moves: int | None = None, glance: Glance | None = None) -> Assignment:
    """``balanced.assign``, with the topics in the order of their ids (Uuid.compareTo)."""
    ranks = topic_ids(group.topics).ranks
    if (np.diff(ranks) > 0).all():
        return balanced.assign(group, max_moves, glance)
    count = group.topics.partitions_count
    order = np.argsort(ranks).astype(np.int32)
    moved = taken(Ragged(group.topics.first, np.arange(count, dtype=np.int32)), order)
    places = ranks_of(moved.values)
    by_id = replace(
        group,
        topics=_reordered(group.topics, order, moved),
        subscriptions=_mapped(group.subscriptions, ranks),
        owned=_mapped(group.owned, places),
    )
    assignment = balanced.assign(by_id, max_moves, glance)
    holders = np.full(count, NONE, np.int32)
    holders[moved.values[assignment.rows.values]] = assignment.rows.row_of_each_value()
    return replace(assignment, rows=grouped(holders, len(group)))


def _reordered(topics: Topics, order: Int32s, moved: Ragged) -> Topics:
    """The topics in another order. moved : Ragged topic → the partitions that were its own before"""
    partitions = moved.values
    return replace(
        topics,
        names=tuple(topics.names[topic] for topic in order),
        first=moved.offsets,
        racks=None if topics.racks is None else taken(topics.racks, partitions),
        ids=tuple(topics.ids[topic] for topic in order),
        weights=None if topics.weights is None else topics.weights[partitions],
        listed=None,
        unknown=None if topics.unknown is None else topics.unknown[partitions],
        leader_racks=None if topics.leader_racks is None else topics.leader_racks[partitions],
    )


def _mapped(rows: Ragged, becomes: Int32s) -> Ragged:
    """The rows with other values; what does not exist, from ``len(becomes)`` on, stays. becomes : int32[topics or partitions]"""
    values = rows.values.copy()
    known = values < len(becomes)
    values[known] = becomes[values[known]]
    return Ragged(rows.offsets, values)
