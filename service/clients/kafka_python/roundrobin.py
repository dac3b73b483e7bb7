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
from service.core.errors import KafkaAssignorFails
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails where the library throws."""
    circle = _circle(group)
    subscriptions = group.subscriptions
    owners, turn = _owners(circle, subscriptions.offsets, subscriptions.values, group.topics.first)
    if turn != NONE:
        raise _fails(group, circle, turn)
    return Assignment(grouped(owners, len(group)))


def warnings(group: Group) -> list[str]:
    """A sentence if members are forgotten."""
    return warning(len(group) - len(_circle(group)))


def _circle(group: Group) -> Int32s:
    """int32[...], the members that partitions are dealt to."""
    order = static_first(group)
    everybody = Ragged(np.array([0, len(group)], np.int32), np.arange(len(group), dtype=np.int32))
    return order[without_forgotten(group, order, everybody).values]


@kernel
def _owners(circle: Int32s, topics_of: Int32s, topics: Int32s, first: Int32s) -> tuple[Int32s, int]:
    """The owner of each partition, or NONE where no member subscribes: int32[partitions]; where in the circle it throws, or NONE.

    circle : int32[...]        members
    topics_of, topics : member → topics, ``len(first) - 1`` and above if they do not exist
    first : int32[topics + 1]   the first partition of each topic

    Plain-Python twin: tests/reference/clients/kafka_python.py.
    """
    subscribed = np.zeros(len(first) - 1, np.int32)
    for topic in topics:
        if topic < len(subscribed):
            subscribed[topic] += 1
    owners = np.full(first[-1], NONE, np.int32)
    turn = 0
    for topic in range(len(subscribed)):
        if subscribed[topic] == 0:
            continue
        for partition in range(first[topic], first[topic + 1]):
            member = circle[turn]
            if subscribed[topic] < len(topics_of) - 1 and topic not in topics[topics_of[member] : topics_of[member + 1]]:
                return owners, turn
            owners[partition] = member
            turn = turn + 1 if turn + 1 < len(circle) else 0
    return owners, NONE


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
