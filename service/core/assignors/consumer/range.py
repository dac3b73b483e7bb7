"""The group coordinator's RangeAssignor: topic by topic, a run of consecutive partitions for each subscriber.

*Goal*: topics with the same subscribers and the same number of partitions are assigned alike, so that a member can join them.

*Constraints*: of a topic's n partitions each of its s subscribers gets ``n // s``, and the first ``n % s`` one more.

*Algorithm*: members stand in order, static ones first by instance_id, then dynamic ones by member_id; each subscriber of a topic
takes the next partitions. The target assignment until now and racks play no part.

Example: members A, B; topics t and u of 3 partitions: A gets t-0, t-1, u-0, u-1 and B gets t-2, u-2.

Source: org.apache.kafka.coordinator.group.assignor.RangeAssignor (every release since 4.0.0).
"""

from typing import Any

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.range import ranges_by
from service.core.model import Assignment, Group, static_first, why_there


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    return ranges_by(static_first, group)


def explain(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """The order of the subscribers, and per topic its quota and who gets one more.

    limit : bounds the number of topics, the number of subscribers, and that of those with one more, listed in all
    """
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    topics, members_left = [], limit
    for topic, count in enumerate(group.topics.partitions_counts()[:limit].tolist()):
        circle = order[subscribers.row(topic)]
        quota, extra = divmod(count, len(circle)) if len(circle) else (0, 0)
        topics.append(
            {
                "topic_name": group.topics.names[topic],
                "partitions_count": count,
                "subscribers_count": len(circle),
                "quota": quota,
                "extra_partitions": extra,
                "members_with_one_more": [group.member_ids[member] for member in circle[: min(extra, members_left)]],
            }
        )
        members_left -= min(extra, members_left)
    counts = assignment.rows.lengths()
    return {
        "algorithm": "range",
        "rule": "of each topic every subscriber takes the next quota of partitions, the first ones in order one more",
        "order": [
            {
                "member_id": group.member_ids[member],
                "because": why_there(group, member),
                "partitions": int(counts[member]),
            }
            for member in order[:limit]
        ],
        "topics": topics,
    }
