"""Partitions by weight: the heaviest first, each to the subscriber with the least load so far.

Weights are the request's ``partition_weights`` (lag, bytes/s, records/s); without them every partition weighs 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from service.core.assignors import Assignor
from service.core.model import NONE, Assignment
from service.core.ragged import grouped, transposed

if TYPE_CHECKING:
    from service.core.model import Group


def assign(group: Group) -> Assignment:
    """Rows member → partitions, ascending."""
    topics = group.topics
    weights = np.ones(topics.partitions_count) if topics.weights is None else topics.weights
    topic_of, _ = group.topic_partitions(np.arange(topics.partitions_count, dtype=np.int32))
    subscribers = transposed(group.subscriptions, len(topics) + len(group.unknown_topic_names))
    owners = np.full(topics.partitions_count, NONE, np.int32)
    loads, counts = np.zeros(len(group)), np.zeros(len(group), np.int64)
    for partition in np.argsort(-weights, kind="stable"):
        members = subscribers.row(topic_of[partition])
        if len(members):
            owner = min(members, key=lambda member: (loads[member], counts[member]))
            owners[partition] = owner
            loads[owner] += weights[partition]
            counts[owner] += 1
    return Assignment(grouped(owners, len(group)))


HEAVIEST_FIRST = Assignor(
    name="heaviest-first",
    run=assign,
    summary="The heaviest partition first, each to the subscriber with the least load so far.",
)
