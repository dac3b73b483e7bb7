"""How many partitions must move, and may."""

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.kinds import claims_of
from service.core.measures.skew import occurrences
from service.core.model import Group


def forced_moves(group: Group) -> int:
    """The claimed partitions that must move: of topics with subscribers, but none of those that claim them is one."""
    topics = len(group.topics)
    counts = group.topics.partitions_counts()
    subscribed = group.subscriptions.below(topics)
    owned, topic_of = group.owned, group.topics.topic_of
    rows = claims_of(owned.offsets, owned.values, topic_of, subscribed.offsets, subscribed.values, topics)
    must = rows[2] & np.repeat(occurrences(subscribed.values, topics) > 0, counts)
    must[rows[1]] = False
    return int(np.count_nonzero(must))


def check_moves(group: Group, max_moves: int) -> None:
    """Raise InvalidQuestion if more partitions must move than may."""
    forced = forced_moves(group)
    if forced > max_moves:
        detail = f"At least {forced} partitions must move: no member that owns them subscribes to their topics."
        raise InvalidQuestion(detail, "max_moves")
