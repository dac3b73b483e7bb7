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

    subscriptions, claims : member id → topics, and the partitions that it claims to own
    owners : partition → of those that claim it, the members of the newest generation
    instances : member id → group.instance.id, of static members
    """

    topics: dict[str, int]
    subscriptions: dict[str, frozenset[str]]
    claims: dict[str, frozenset[Partition]]
    owners: dict[Partition, set[str]]
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
        claims = {
            member.member_id: frozenset(
                (part.topic, i) for part in getattr(member.metadata, "owned_partitions", None) or () for i in part.partitions
            )
            for member in members
        }
        instances = {
            member.member_id: member.group_instance_id for member in members if getattr(member, "group_instance_id", None)
        }
        generations = {member.member_id: getattr(member.metadata, "generation_id", -1) for member in members}
        return cls(topics, subscriptions, claims, _newest(claims, generations), instances)

    def partitions(self) -> set[Partition]:
        """All that have to be assigned."""
        return {(topic, i) for topic, count in self.topics.items() for i in range(count)}

    def owned_by(self, member: str) -> list[Partition]:
        """What a member owns, in order."""
        return sorted(partition for partition in self.claims[member] if member in self.owners[partition])

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
            for topic, i in self.owned_by(member):
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
    revoked = {partition for member, claims in group.claims.items() for partition in claims.difference(target.get(member, ()))}
    return {
        member: [partition for partition in partitions if partition not in revoked or member in group.owners[partition]]
        for member, partitions in target.items()
    }


def _newest(claims: dict[str, frozenset[Partition]], generations: dict[str, int]) -> dict[Partition, set[str]]:
    owners: dict[Partition, set[str]] = {}
    for member in sorted(claims, key=generations.__getitem__, reverse=True):
        for partition in claims[member]:
            already = owners.setdefault(partition, set())
            if all(generations[other] == generations[member] for other in already):
                already.add(member)
    return owners
