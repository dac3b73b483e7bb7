"""The group coordinator's SimpleAssignor for share groups (KIP-932): every partition to equally many members, evenly.

*Goals*: a partition is shared by as many members as it takes for everybody to have one; members' counts differ by at most one;
then, that few partitions change hands.

*Constraints*: with K partitions and M members, ``sharing = ceil(M / K)`` members have each partition. The i-th member is to have
``ceil(r (i + 1)) - ceil(r i)`` partitions, ``r = sharing × K / M``.

*Algorithm*: members are numbered in their order. If all subscribe to the same topics, all partitions are shared out together;
else each topic by itself, among its subscribers.

1. Members with more than they are to have give up partitions, in the order of a HashSet.
2. Partitions that more than ``sharing`` members have are taken from members, in the order of a HashSet of numbers.
3. Partitions in the order of a HashMap are given to members below what they are to have, in turn, in the order of a HashSet of
   numbers; a member that has the partition already is passed over.

A topic that no member subscribes to any more stays with whoever has it, unless all subscribe to the same topics, or no member to
any topic that exists.

The two cases are in homogeneous.py and heterogeneous.py, the three steps in share_out.py.

Source: org.apache.kafka.coordinator.group.assignor.SimpleAssignor, SimpleHomogeneousAssignmentBuilder and
SimpleHeterogeneousAssignmentBuilder (every release since 4.2.0).
"""

from typing import Any, Final

import numpy as np

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.coordinator import changes, is_homogeneous, member_order, partition_beyond_the_end, topic_ids
from service.core.assignors.share import heterogeneous, homogeneous
from service.core.errors import InvalidQuestion
from service.core.model import Assignment, Bools, Group, Ragged

UNDEFINED_ORDER: Final = (
    "Some partitions have the same TopicIdPartition.hashCode and fall into one crowded bucket of a HashMap, where Java goes by "
    "memory addresses: two brokers may answer differently, and this is one of the possible answers."
)


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, in no particular order.

    Raises InvalidQuestion where a member owns a partition that one of the subscribed topics does not have.
    """
    if len(group) == 0:
        return Assignment(Ragged(np.zeros(1, np.int32), np.empty(0, np.int32)))
    ids = topic_ids(group.topics)
    order = member_order(group)
    homogeneously = is_homogeneous(group)
    subscribed = np.zeros(group.total_topics, np.bool_)
    subscribed[group.subscriptions.row(0) if homogeneously else group.subscriptions.values] = True
    _refuse_beyond_the_end(group, subscribed[: len(group.topics)])
    if homogeneously:
        return homogeneous.assign(group, order, ids)
    return heterogeneous.assign(group, order, ids)


def _refuse_beyond_the_end(group: Group, subscribed: Bools) -> None:
    beyond = partition_beyond_the_end(group, subscribed)
    if beyond is not None:
        member, topic, partition_id = beyond
        raise InvalidQuestion(
            f"{group.member_ids[member]!r} owns partition {partition_id} of {group.topics.names[topic]!r}, which has "
            f"{group.topics.partitions_counts()[topic]}; the target assignment of a share group holds none that does not exist.",
            "members",
            member,
            "owned_partitions",
        )


def warnings(group: Group) -> list[str]:
    """What a reader must know before trusting the answer to the letter; most often nothing.

    Errs on the side of warning: whether a doubtful order decides anything is not checked.
    """
    if len(group) == 0 or not is_homogeneous(group) or homogeneous.order_is_certain(group):
        return []
    return [UNDEFINED_ORDER]


def explain(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """Which algorithm was used and why, sharing, and what each member in order kept, gave up and got.

    limit : bounds the members, and the topics, listed
    """
    order, alike, existing = member_order(group), is_homogeneous(group), group.topics.partitions_counts()
    subscribers = topic_subscribers(group, order)
    lengths = subscribers.lengths()
    members, kept_in_all, _ = changes(group, assignment, limit)
    total = int(existing[lengths > 0].sum())
    explanation: dict[str, Any] = {
        "algorithm": "homogeneous" if alike else "heterogeneous",
        "because": "all members subscribe to the same topics" if alike else "members subscribe to different topics",
        "phases": [
            {
                "phase": "take from members with too many, and from partitions with too many members",
                "revoked": int((group.owned.values < group.topics.partitions_count).sum()) - kept_in_all,
            },
            {
                "phase": "give partitions with too few members to members with too few",
                "assigned": len(assignment.rows.values) - kept_in_all,
            },
        ],
        "order_rule": "the coordinator's TimelineHashMap of member ids, read into a HashMap",
        "order": members,
    }
    if alike:
        explanation["members_per_partition"] = -(-len(group) // total) if total else 0
        explanation["partitions_per_member"] = explanation["members_per_partition"] * total / len(group) if len(group) else 0.0
    else:
        explanation["topics"] = [
            {
                "topic_name": group.topics.names[topic],
                "subscribers_count": int(lengths[topic]),
                "members_per_partition": -(-int(lengths[topic]) // int(existing[topic])),
                "partitions_per_member": -(-int(lengths[topic]) // int(existing[topic]))
                * int(existing[topic])
                / int(lengths[topic]),
            }
            for topic in np.flatnonzero(lengths)[:limit].tolist()
        ]
    return explanation
