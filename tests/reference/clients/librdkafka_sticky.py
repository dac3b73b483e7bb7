"""librdkafka's cooperative-sticky, written plainly: its maps are dicts and lists, and its pointers are what they come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.reference.clients.librdkafka import Answer, Body

Partition = tuple[str, int]
Claims = dict[Partition, str]
Lists = dict[str, list[Partition]]


class Ends(Exception):
    """The library ends its own process, reads memory that it has freed, or never returns."""


@dataclass(eq=False)
class Row:
    """The partitions that have moved from one member to another; pair : the object of the record that created the list"""

    pair: list[str]
    partitions: list[Partition] = field(default_factory=list)
    freed: bool = False


class Movements:
    """PartitionMovements_t."""

    def __init__(self) -> None:
        self.pair: dict[Partition, list[str]] = {}
        self.by_topic: dict[str, dict[tuple[str, ...], Row]] = {}

    def find(self, topic: str, pair: tuple[str, ...]) -> Row | None:
        """The list of a pair."""
        row = self.by_topic[topic].get(pair)
        if row is not None and row.freed:
            raise Ends("the pair was freed")
        return row

    def actual(self, partition: Partition, owner: str, to: str) -> tuple[Partition, Row | None]:
        """The partition to be moved, and the list through which it is read."""
        if partition[0] not in self.by_topic:
            return partition, None
        if partition in self.pair and self.pair[partition][1] != owner:
            raise Ends("assertion")
        row = self.find(partition[0], (to, owner))
        return (partition if row is None else row.partitions[0]), row

    def move(self, partition: Partition, through: Row | None, owner: str, to: str) -> Partition:
        """Records the move; returns the partition that is then read."""
        if partition not in self.pair:
            self.add(partition, [owner, to])
            return partition
        pair, topic = self.pair[partition], partition[0]
        if topic not in self.by_topic:
            raise Ends("null pointer")
        row = self.find(topic, tuple(pair))
        if row is None:
            raise Ends("assertion")
        if partition in row.partitions:
            row.partitions.remove(partition)
        if not row.partitions:
            del self.by_topic[topic][tuple(pair)]
            if through is row:
                raise Ends("the list was freed")
        if not self.by_topic[topic]:
            del self.by_topic[topic]
        if pair[1] != owner:
            raise Ends("assertion")
        if pair[0] != to:
            self.add(partition, [pair[0], to])
        return partition if through is None else through.partitions[0]

    def add(self, partition: Partition, pair: list[str]) -> None:
        """A new record, which frees the one before."""
        rows = self.by_topic.setdefault(partition[0], {})
        for row in rows.values():
            row.freed |= row.pair is self.pair.get(partition)
        self.pair[partition] = pair
        row = self.find(partition[0], tuple(pair)) or Row(pair)
        rows[tuple(pair)] = row
        row.partitions.append(partition)


class Group:
    """A group, and how librdkafka assigns it: ``generations``, ``racks``, ``clobbered`` and ``blind`` as in ``StickyRelease``."""

    def __init__(
        self, body: Body, *, racks: bool = True, generations: bool = True, clobbered: bool = False, blind: bool = False
    ) -> None:
        self.body, self.blind = body, blind
        self.clobbered, self.generations = clobbered, generations
        self.members: list[str] = [member["member_id"] for member in body["members"]]
        every = [topic["topic_name"] for topic in body["topics"]]
        self.subscribed = {
            member["member_id"]: set(every if member.get("topic_names") is None else member["topic_names"])
            for member in body["members"]
        }
        self.consumers: dict[Partition, list[str]] = {}  # as in the metadata
        for topic in body["topics"]:
            name = topic["topic_name"]
            consumers = [member for member in self.members if name in self.subscribed[member]]
            if consumers:
                self.consumers |= {(name, i): consumers for i in range(topic["partitions_count"])}
        self.possible = {
            member: {partition for partition, consumers in self.consumers.items() if member in consumers}
            for member in self.members
        }
        self.racks = self._racks() if racks else None
        self.has: Lists = {member: [] for member in self.members}
        self.owner: Claims = {}
        self.previous: Claims = {}
        self.movements = Movements()
        self.active = list(self.members)

    def _racks(self) -> tuple[dict[str, str], dict[Partition, set[str]]] | None:
        """The racks of members and of partitions, if they count."""
        of = {
            (topic["topic_name"], i): {rack for rack in racks if rack}
            for topic in self.body["topics"]
            for i, racks in enumerate(topic.get("partition_racks") or [[]] * topic["partitions_count"])
            if (topic["topic_name"], 0) in self.consumers
        }
        member_racks = {member["member_id"]: member.get("rack_id") or "" for member in self.body["members"]}
        consumer_racks = {rack for member, rack in member_racks.items() if rack and self.possible[member]}
        every = set().union(*of.values())
        return (member_racks, of) if every & consumer_racks and any(racks != every for racks in of.values()) else None

    def mismatch(self, member: str, partition: Partition) -> bool:
        """Is the member on no rack of the partition?"""
        return self.racks is not None and self.racks[0][member] not in self.racks[1][partition]

    def claim(self) -> None:
        """As prepopulateCurrentAssignments, which up to 1.6.1 looked at what the members were assigned: nothing yet."""
        if self.blind:
            return
        claims: dict[Partition, list[tuple[int, str]]] = {}
        for member in self.body["members"]:
            generation = member.get("generation_id")
            for partition in owned(member):
                claims.setdefault(partition, []).append((-1 if generation is None else generation, member["member_id"]))
                self.owner[partition] = member["member_id"]
        for partition, claimed in claims.items():
            by_generation = sorted(claimed, key=lambda claim: claim[0]) if self.generations else claimed[::-1]
            if self.generations and any(one[0] == other[0] for one, other in pairwise(by_generation)):
                del self.owner[partition]
                continue
            self.has[by_generation[-1][1]].append(partition)
            if len(claimed) > 1:
                self.previous[partition] = by_generation[-2][1]

    def sorted_partitions(self) -> list[Partition]:
        """As sortPartitions."""
        everywhere = all(len(consumers) == len(self.members) for consumers in self.consumers.values())
        if not everywhere:
            return sorted(self.consumers, key=lambda partition: (len(self.consumers[partition]), by_name(partition)))
        left = {member: sorted((p for p in has if p in self.consumers), key=by_name) for member, has in self.has.items()}
        order: list[Partition] = []
        while any(left.values()):
            most = max(left, key=lambda member: (len(left[member]), member))
            moved = [partition for partition in left[most] if partition in self.previous]
            order.append((moved or left[most])[0])
            left[most].remove(order[-1])
        rest = [partition for partition in reversed(self.consumers) if partition not in set(order)]
        return order + rest if order else sorted(rest, key=by_name)

    def keep(self) -> bool:
        """What members keep; returns whether something must be revoked."""
        revoked = False
        for member, has in self.has.items():
            known = [partition for partition in has if partition in self.consumers]
            self.has[member] = [
                partition
                for partition in known
                if partition[0] in self.subscribed[member] and not self.mismatch(member, partition)
            ]
            revoked |= len(known) > len(self.has[member])
        return revoked

    def assign(self) -> Answer:
        """rd_kafka_sticky_assignor_assign_cb, and what the group's leader makes of it."""
        if not self.members:
            raise Ends("null pointer")
        self.claim()
        partitions = self.sorted_partitions()
        revoked = self.keep()
        kept = {partition for has in self.has.values() for partition in has}
        free = [partition for partition in partitions if partition not in kept]
        fresh = not kept and not self.blind  # 1.6.1 looks for the number in a name
        left = [partition for partition in free if not self.give(partition, on_rack=True)] if self.racks else free
        for partition in left:
            self.give(partition, on_rack=False)
        shared = {partition for partition, consumers in self.consumers.items() if len(consumers) > 1}
        self.active = [
            member
            for member in self.members
            if len(self.has[member]) < len(self.possible[member]) or shared.intersection(self.has[member])
        ]
        before = {member: list(has) for member, has in self.has.items()}
        if not revoked:
            self.reassign([partition for partition in free if partition in shared])
        performed = self.reassign([partition for partition in partitions if partition in shared])
        if not fresh and performed and self.score(self.has) >= self.score(before, copied=True):
            self.has = before
        return self.adjusted()

    def order(self) -> list[str]:
        """As sortedCurrentSubscriptions."""
        return sorted(self.active, key=lambda member: (len(self.has[member]), member))

    def give(self, partition: Partition, *, on_rack: bool) -> bool:
        """As maybeAssignPartition."""
        for member in self.order():
            if partition in self.possible[member] and not (on_rack and self.mismatch(member, partition)):
                self.has[member].append(partition)
                self.owner[partition] = member
                return True
        return False

    def score(self, has: Lists, *, copied: bool = False) -> int:
        """As getBalanceScore. copied : is it of the map's copy, whose order is the reverse of the map's, and so the members'?"""
        sizes = [len(has[member]) for member in self.active]
        if self.blind:
            last_two = (sizes if copied else sizes[::-1])[-2:]
            return max(last_two) - min(last_two) if len(last_two) > 1 else 0
        return sum(abs(one - other) for i, one in enumerate(sizes) for other in sizes[i + 1 :])

    def count(self, member: str) -> int:
        """How many the member has, if it was not set aside."""
        if member not in self.active:
            raise Ends("null pointer")
        return len(self.has[member])

    def balanced(self) -> bool:
        """As isBalanced."""
        order = self.order()
        if len(self.has[order[0]]) >= len(self.has[order[-1]]) - 1:
            return True
        holder = {
            partition: member for member in reversed(self.members) if member in self.active for partition in self.has[member]
        }
        seen = set()
        i = 0
        while i < len(order):
            has, possible = self.has[order[i]], self.possible[order[i]]
            if len(has) != (len(self.members) if self.blind else len(possible)):
                if i in seen:
                    raise Ends("endless")
                seen.add(i)
                if any(len(has) < len(self.has[holder[partition]]) for partition in possible - set(has)):
                    return False
                i = len(possible) if self.clobbered else i
            i += 1
        return True

    def reassign(self, partitions: list[Partition]) -> bool:
        """As performReassignments."""
        performed, modified = False, True
        while modified:
            modified = False
            for partition in partitions:
                if self.balanced():
                    break
                to = self.better(partition)
                if to is not None:
                    self.move(partition, to)
                    performed = modified = True
        return performed

    def better(self, partition: Partition) -> str | None:
        """The member that the partition goes to, if any."""
        owner = self.owner.get(partition)
        if owner is None:
            raise Ends("assertion")
        if partition in self.previous and self.count(owner) > self.count(self.previous[partition]) + 1:
            return self.previous[partition]
        others = [other for other in self.consumers[partition] if other != owner]
        if any(self.count(owner) > self.count(other) + 1 for other in others):
            return next(member for member in self.order() if partition in self.possible[member])
        return None

    def move(self, partition: Partition, to: str) -> None:
        """As reassignPartitionToConsumer."""
        moving, through = self.movements.actual(partition, self.owner[partition], to)
        owner = self.owner[moving]
        moving = self.movements.move(moving, through, owner, to)
        self.has[to].append(moving)
        if moving in self.has[owner]:
            self.has[owner].remove(moving)
        self.owner[moving] = to

    def adjusted(self) -> Answer:
        """rd_kafka_cooperative_protocol_adjust_assignment."""
        final = {partition: member for member in self.members for partition in self.has[member]}
        owner = {partition: member["member_id"] for member in self.body["members"] for partition in owned(member)}
        answer: Answer = {member: [] for member in self.members}
        for partition, member in (owner | final).items():
            if owner.get(partition, member) == member:
                answer[member].append(partition)
        return answer


def owned(member: dict[str, Any]) -> list[Partition]:
    """What the member says that it owns."""
    return [(row["topic_name"], i) for row in member.get("owned_partitions") or [] for i in row["partition_ids"]]


def by_name(partition: Partition) -> tuple[bytes, int]:
    """The order of partitions."""
    return partition[0].encode("utf-16-be"), partition[1]
