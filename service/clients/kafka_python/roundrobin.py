"""kafka-python's roundrobin: partitions are dealt to a circle of the members that its code remembers (members.py).

The next partition goes to the next member of the circle. If that does not subscribe to its topic the code means to pass over it,
but takes the pair of instance_id and member_id for a member_id, and throws. So only groups are assigned in which this never
happens, as a rule those whose members all subscribe to the same topics.

Source: kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor (kafka-python 3.0.12). The previous assignment and
racks play no part.
"""

import numpy as np

from service.clients.kafka_python.members import warning, without_forgotten
from service.clients.names import static_first
from service.core.assignors.classic.members import topic_subscribers
from service.core.errors import KafkaAssignorFails
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails where the library throws."""
    circle = _circle(group)
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    topics = group.topics.topic_of
    read = np.flatnonzero(subscribers.lengths()[topics])
    turns = np.arange(len(read)) % max(1, len(circle))
    pairs = subscribers.row_of_each_value() * np.int64(len(group)) + subscribers.values
    throws = np.flatnonzero(~np.isin(topics[read] * np.int64(len(group)) + circle[turns], pairs))
    if len(throws):
        raise _fails(group, circle, int(turns[throws[0]]))
    owners = np.full(len(topics), NONE, np.int32)
    owners[read] = circle[turns]
    return Assignment(grouped(owners, len(group)))


def warnings(group: Group) -> list[str]:
    """A sentence if members are forgotten."""
    return warning(len(group) - len(_circle(group)))


def _circle(group: Group) -> Int32s:
    """int32[...], the members that partitions are dealt to."""
    order = static_first(group)
    everybody = Ragged(np.array([0, len(group)], np.int32), np.arange(len(group), dtype=np.int32))
    return order[without_forgotten(group, order, everybody).values]


def _fails(group: Group, circle: Int32s, turn: int) -> KafkaAssignorFails:
    member, following = int(circle[turn]), int(circle[(turn + 1) % len(circle)])
    return KafkaAssignorFails(
        "KeyError",
        repr((group.instance_ids[following], group.member_ids[following])),
        cause=f"it is the turn of member {group.member_ids[member]!r}, which does not subscribe to the topic of the next "
        "partition, and the code that should pass over that member is wrong",
        remedy="let all members subscribe to the same topics, or use another assignor",
        library="kafka-python",
    )
