"""A group as its leader sees it, and as the service is asked about it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

Partition = tuple[str, int]
"""(topic, partition id)"""
Assignment = dict[str, list[Partition]]
"""Member id → partitions"""


@dataclass(frozen=True)
class Group:
    """topics : topic → number of partitions, of those that exist and have a subscriber

    subscriptions, owned : member id → topics, and the partitions that it claims
    instances : member id → group.instance.id, of static members
    """

    topics: dict[str, int]
    subscriptions: dict[str, frozenset[str]]
    owned: dict[str, frozenset[Partition]]
    instances: dict[str, str]

    @classmethod
    def of(cls, cluster: Any, members: list[Any]) -> Group:
        """From kafka-python's cluster metadata and JoinGroup members."""
        subscriptions = {member.member_id: frozenset(member.metadata.topics) for member in members}
        topics = {}
        for topic in sorted(frozenset().union(*subscriptions.values())):
            ids = cluster.partitions_for_topic(topic)
            if ids:
                topics[topic] = max(ids) + 1
        owned = {
            member.member_id: frozenset(
                (part.topic, i) for part in getattr(member.metadata, "owned_partitions", None) or () for i in part.partitions
            )
            for member in members
        }
        instances = {
            member.member_id: member.group_instance_id for member in members if getattr(member, "group_instance_id", None)
        }
        return cls(topics, subscriptions, owned, instances)

    def partitions(self) -> set[Partition]:
        """All that have to be assigned."""
        return {(topic, i) for topic, count in self.topics.items() for i in range(count)}

    def owners(self) -> dict[Partition, set[str]]:
        """Who claims each partition."""
        owners = defaultdict(set)
        for member, partitions in self.owned.items():
            for partition in partitions:
                owners[partition].add(member)
        return owners

    def is_like(self, other: Group) -> bool:
        """Has it the same members, subscriptions and partitions? Who owns what may differ."""
        return (self.topics, self.subscriptions) == (other.topics, other.subscriptions)

    def longest_answer(self) -> int:
        """More bytes than any answer has: the members' ids, their topics (249 characters at most) and partitions."""
        ids = sum(map(len, self.subscriptions))
        return 100_000 + 10 * ids + 300 * len(self.subscriptions) * len(self.topics) + 100 * len(self.partitions())

    def body(self, group_id: str, max_moves: int | None, weights: dict[Partition, float] | None) -> dict[str, Any]:
        """The body of ``POST /v1/group-assignments``."""
        topics = []
        for topic, count in self.topics.items():
            row: dict[str, Any] = {"topic_name": topic, "partitions_count": count}
            if weights is not None:
                row["partition_weights"] = [weights[topic, i] for i in range(count)]
            topics.append(row)
        members = []
        for member, names in self.subscriptions.items():
            of_topics = defaultdict(list)
            for topic, i in sorted(self.owned[member]):
                of_topics[topic].append(i)
            rows = [{"topic_name": topic, "partition_ids": ids} for topic, ids in of_topics.items()]
            instance = {"instance_id": self.instances[member]} if member in self.instances else {}
            members.append({"member_id": member, **instance, "topic_names": sorted(names), "owned_partitions": rows})
        bound = {} if max_moves is None else {"max_moves": max_moves}
        return {
            "group_protocol": "classic",
            "assignor": "balanced",
            "group_id": group_id,
            **bound,
            "topics": topics,
            "members": members,
        }


def revoked_first(group: Group, target: Assignment) -> Assignment:
    """The target without partitions that another member still has to revoke (KIP-429)."""
    revoked = {partition for member, owned in group.owned.items() for partition in owned.difference(target.get(member, ()))}
    return {
        member: [partition for partition in partitions if partition in group.owned[member] or partition not in revoked]
        for member, partitions in target.items()
    }
