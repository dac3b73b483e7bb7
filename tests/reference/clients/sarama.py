"""sarama's assignors, written plainly; where Go goes through a map, a ``Random`` draws the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from tests.reference.clients.librdkafka import Answer, Body

Partition = tuple[str, int]


def subscriptions(body: Body) -> dict[str, list[str]]:
    """The topics of each member."""
    every = [topic["topic_name"] for topic in body["topics"]]
    return {
        member["member_id"]: every if member.get("topic_names") is None else member["topic_names"] for member in body["members"]
    }


def range_(body: Body) -> Answer:
    """As NewBalanceStrategyRange."""
    subscribed = subscriptions(body)
    answer: Answer = {member: [] for member in subscribed}
    for topic in body["topics"]:
        members = sorted(member for member, names in subscribed.items() if topic["topic_name"] in names)
        at = 0
        for i, member in enumerate(members):
            size = topic["partitions_count"] // len(members) + (i < topic["partitions_count"] % len(members))
            answer[member] += [(topic["topic_name"], partition_id) for partition_id in range(at, at + size)]
            at += size
    return answer


def roundrobin(body: Body) -> Answer:
    """As roundRobinBalancer."""
    subscribed = subscriptions(body)
    members = sorted(subscribed)
    partitions = [(topic["topic_name"], i) for topic in body["topics"] for i in range(topic["partitions_count"])]
    answer: Answer = {member: [] for member in members}
    at = 0
    for name, i in sorted(partitions, key=lambda partition: f"{partition[0]}-{partition[1]}"):
        for _ in members:
            if name in subscribed[members[at % len(members)]]:
                answer[members[at % len(members)]].append((name, i))
                at += 1
                break
            at += 1
    return answer


class Endless(Exception):
    """It never returns."""


class Sticky:
    """One run of stickyBalanceStrategy.Plan."""

    def __init__(self, body: Body, random: Random) -> None:
        self.random = random
        self.subscribed = subscriptions(body)
        self.owned = {member["member_id"]: owned(member) for member in body["members"]}
        self.generations = {member["member_id"]: member.get("generation_id") for member in body["members"]}
        counts = {topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]}
        known = {name for names in self.subscribed.values() for name in names}
        self.consumers: dict[Partition, list[str]] = {
            (name, i): [member for member, names in self.subscribed.items() if name in names]
            for name, count in counts.items()
            if name in known
            for i in range(count)
        }
        self.possible = {member: {p for p, of in self.consumers.items() if member in of} for member in self.subscribed}
        self.has: dict[str, list[Partition]] = {}
        self.owner: dict[Partition, str] = {}
        self.previous: dict[Partition, str] = {}
        self.moved: dict[Partition, tuple[str, str]] = {}

    def drawn(self, items: Iterable[Any]) -> list[Any]:
        """The items in an order of Go's."""
        order = list(items)
        self.random.shuffle(order)
        return order

    def claim(self) -> None:
        """As prepopulateCurrentAssignments."""
        claims: dict[Partition, dict[int, str]] = {}
        for member in self.drawn(self.subscribed):
            generation = self.generations[member]
            for partition in self.owned[member]:
                claims.setdefault(partition, {}).setdefault(-1 if generation is None else generation, member)
        for partition in self.drawn(claims):
            newest, *older = sorted(claims[partition], reverse=True)
            self.has.setdefault(claims[partition][newest], []).append(partition)
            if older:
                self.previous[partition] = claims[partition][older[0]]

    def plan(self) -> Answer:
        """What the members get."""
        self.claim()
        fresh = not self.has
        free = []
        kept: dict[str, list[Partition]] = {}
        unvisited = set(self.consumers)
        for member in self.drawn(self.subscribed):
            existing = [partition for partition in self.has.get(member, []) if partition in self.consumers]
            unvisited -= set(existing)
            self.owner |= dict.fromkeys(existing, member)
            kept[member] = [partition for partition in existing if partition[0] in self.subscribed[member]]
            free += [partition for partition in existing if partition[0] not in self.subscribed[member]]
        free += self.drawn(sorted(unvisited))
        self.has = kept
        partitions = self.sorted_partitions(fresh=fresh)
        for partition in free:
            self.give(partition)
        partitions = [partition for partition in partitions if len(self.consumers[partition]) > 1]
        self.reassign(partitions)
        return self.has

    def identical(self) -> bool:
        """As areSubscriptionsIdentical: what is seen while nothing is known yet counts as the same."""
        for lists in (self.consumers, self.possible):
            seen: set[Any] = set()
            for one in self.drawn(lists):
                if not seen:
                    seen = set(lists[one])
                elif seen != set(lists[one]):
                    return False
        return True

    def sorted_partitions(self, *, fresh: bool) -> list[Partition]:
        """As sortPartitions."""
        if fresh or not self.identical():
            return sorted(self.consumers, key=lambda partition: (len(self.consumers[partition]), partition))
        left = {member: list(has) for member, has in self.has.items()}
        order: list[Partition] = []
        while any(left.values()):
            most = max(left, key=lambda member: (len(left[member]), member))
            moved = [partition for partition in left[most] if partition in self.previous]
            order.append((moved or left[most])[0])
            left[most].remove(order[-1])
        return order + self.drawn(sorted(set(self.consumers) - set(order)))

    def order(self) -> list[str]:
        """As sortMemberIDsByPartitionAssignments; those set aside have nothing that others could have, and are passed over."""
        return sorted(self.has, key=lambda member: (len(self.has[member]), member))

    def give(self, partition: Partition) -> None:
        """As assignPartition."""
        for member in self.order():
            if partition in self.possible[member]:
                self.has[member].append(partition)
                self.owner[partition] = member
                return

    def balanced(self) -> bool:
        """As isBalanced."""
        order = [member for member in self.order() if self.takes_part(member)]
        if not order or len(self.has[order[0]]) >= len(self.has[order[-1]]) - 1:
            return True
        return not any(
            len(self.has[member]) < len(self.has[self.owner[partition]])
            for member in order
            if len(self.has[member]) != len(self.possible[member])
            for partition in self.possible[member] - set(self.has[member])
        )

    def takes_part(self, member: str) -> bool:
        """As canConsumerParticipateInReassignment, which does not change while partitions move."""
        shared = any(len(self.consumers[partition]) > 1 for partition in self.has[member])
        return len(self.has[member]) < len(self.possible[member]) or shared

    def reassign(self, partitions: list[Partition]) -> None:
        """As performReassignments."""
        for _ in range(200):
            modified = False
            for partition in partitions:
                if self.balanced():
                    break
                to = self.better(partition)
                if to is not None:
                    self.move(partition, to)
                    modified = True
            if not modified:
                return
        raise Endless

    def better(self, partition: Partition) -> str | None:
        """The member that the partition goes to, if any."""
        most = len(self.has[self.owner[partition]])
        previous = self.previous.get(partition)
        if previous is not None and most > len(self.has[previous]) + 1:
            return previous
        if any(most > len(self.has[other]) + 1 for other in self.consumers[partition]):
            return next(member for member in self.order() if partition in self.possible[member])
        return None

    def move(self, partition: Partition, to: str) -> None:
        """As reassignPartition."""
        source = self.moved[partition][0] if partition in self.moved else self.owner[partition]
        back = [other for other, pair in self.moved.items() if other[0] == partition[0] and pair == (to, source)]
        moving = self.random.choice(back) if back else partition
        owner = self.owner[moving]
        source = self.moved.pop(moving)[0] if moving in self.moved else owner
        if source != to:
            self.moved[moving] = (source, to)
        self.has[owner].remove(moving)
        self.has[to].append(moving)
        self.owner[moving] = to

    def cooperative(self) -> Answer:
        """What they get at first, as adjustCooperativeAssignment has it."""
        plan = self.plan()
        revoked = {partition for member, has in plan.items() for partition in set(self.owned[member]) - set(has)}
        return {
            member: [partition for partition in has if partition in self.owned[member] or partition not in revoked]
            for member, has in plan.items()
        }


def owned(member: dict[str, Any]) -> list[Partition]:
    """What the member says that it owns."""
    return [(row["topic_name"], i) for row in member.get("owned_partitions") or [] for i in row["partition_ids"]]
