"""How many partitions must move, and may."""

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.measures.skew import occurrences
from service.core.model import Group
from service.core.printable import counted
from service.planner.kinds import claims_of


def forced_moves(group: Group) -> int:
    """The claimed partitions that must move: of topics with subscribers, but none of those that claim them is one."""
    topics = len(group.topics)
    counts = group.topics.partitions_counts()
    subscribed = group.subscriptions.below(topics)
    claims, claimed = claims_of(group.owned, subscribed, group.topics.topic_of)
    must = claimed & np.repeat(occurrences(subscribed.values, topics) > 0, counts)
    must[claims.values] = False
    return int(np.count_nonzero(must))


def check_moves(group: Group, max_moves: int) -> None:
    """Raise InvalidQuestion if more partitions must move than may."""
    forced = forced_moves(group)
    if forced > max_moves:
        detail = f"At least {counted(forced, 'partition')} must move: no owner subscribes to the topic."
        raise InvalidQuestion(detail, "max_moves")
