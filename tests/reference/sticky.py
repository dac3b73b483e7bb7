"""Kafka's sticky and cooperative-sticky in plain Python, on the body of a request, step by step as their description has it.

Slow, and meant to be read. Members are member_ids, partitions are (topic_name, partition_id). Hash maps are followed as long as
their buckets are chains (tests/reference/hash_order.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.reference.hash_order import iteration_order

Body = dict[str, Any]
Partition = tuple[str, int]
Given = dict[str, list[Partition]]

NO_LIST = 'Cannot invoke "java.util.List.size()" because the return value of "java.util.Map.get(Object)" is null'


class Throws(Exception):
    """Kafka's exception: its class without the package, and what it says."""


class Endless(Exception):
    """Kafka moves partitions for ever."""


def utf16(name: str) -> list[int]:
    """Java compares strings by these units."""
    units = name.encode("utf-16-be")
    return [256 * high + low for high, low in zip(units[::2], units[1::2], strict=True)]


def int32(number: int) -> int:
    """Java's int, which wraps around."""
    return (number + 2**31) % 2**32 - 2**31


def string_hash(text: str) -> int:
    """String.hashCode()."""
    code = 0
    for unit in utf16(text):
        code = 31 * code + unit
    return int32(code)


def partition_hash(partition: Partition) -> int:
    """TopicPartition.hashCode()."""
    topic, partition_id = partition
    return int32(31 * (31 + partition_id) + string_hash(topic))


def map_order(names: list[str]) -> list[str]:
    """The keys of a HashMap into which they were put in this order."""
    return [names[i] for i in iteration_order([string_hash(name) for name in names])]


@dataclass
class Group:
    """What a leader knows; ``order`` is that of its map of subscriptions, in which it reads the members.

    former : who claims a partition from an older generation
    sequence : the order of partitions, where it is not that of topics; tolerance : counts that differ so much are balanced
    listed : does a member keep the first of its list, not the first by (id, topic)?
    """

    order: list[str]
    counts: dict[str, int]
    subscriptions: dict[str, list[str]]
    claims: dict[str, list[Partition]]
    generations: dict[str, int]
    racks: dict[str, str | None]
    partition_racks: dict[Partition, set[str]]
    owners: dict[Partition, str] = field(default_factory=dict)
    contested: set[Partition] = field(default_factory=set)
    rack_aware: bool = False
    former: dict[Partition, str] = field(default_factory=dict)
    sequence: list[Partition] | None = None
    tolerance: int = 1
    listed: bool = False

    def partitions(self, topics: list[str]) -> list[Partition]:
        """All partitions of the topics, in their order, ids ascending."""
        return [(topic, i) for topic in topics for i in range(self.counts[topic])]

    def mismatch(self, member: str, partition: Partition) -> bool:
        """Would the member have to read the partition from another rack?"""
        rack = self.racks[member]
        return self.rack_aware and rack is not None and rack not in self.partition_racks.get(partition, set())

    def owned(self, member: str) -> list[Partition]:
        """What the member owns after conflicts are settled."""
        return [partition for partition in dict.fromkeys(self.claims[member]) if self.owners.get(partition) == member]

    def unassigned(self, topics: list[str], kept: list[Partition]) -> list[Partition]:
        """All partitions of these topics less the kept ones, as Kafka subtracts.

        It walks along both lists, in the topics' order. A kept partition that does not exist is never met, and those behind it
        are not subtracted any more.
        """
        waiting = sorted(kept, key=lambda partition: (topics.index(partition[0]), partition[1]))
        left = []
        for partition in self.partitions(topics):
            if waiting and waiting[0] == partition:
                waiting.pop(0)
            else:
                left.append(partition)
        return left


def read(body: Body) -> Group:
    """The leader's view of a request."""
    members = {member["member_id"]: member for member in body["members"]}
    everything = [topic["topic_name"] for topic in body["topics"]]
    order = map_order(list(members))

    def said(member_id: str, what: str, otherwise: Any) -> Any:
        value = members[member_id].get(what)
        return otherwise if value is None else value

    group = Group(
        order=order,
        counts={topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]},
        subscriptions={m: said(m, "topic_names", everything) for m in order},
        claims={
            m: [(one["topic_name"], i) for one in said(m, "owned_partitions", []) for i in one["partition_ids"]] for m in order
        },
        generations={m: said(m, "generation_id", -1) for m in order},
        racks={m: said(m, "rack_id", None) or None for m in order},
        partition_racks={
            (topic["topic_name"], i): set(racks) - {""}
            for topic in body["topics"]
            for i, racks in enumerate(topic.get("partition_racks") or [])
        },
    )
    subscribed = {topic for m in order for topic in group.subscriptions[m]}
    group.counts = {topic: count for topic, count in group.counts.items() if topic in subscribed}
    settle(group)
    for member in order:
        if group.generations[member] < max(group.generations.values()):
            for partition in group.claims[member]:
                if partition not in group.former or group.generations[member] > group.generations[group.former[partition]]:
                    group.former[partition] = member
    on_racks = [group.partition_racks.get(partition, set()) for partition in group.partitions(list(group.counts))]
    occurring = set().union(*on_racks)
    group.rack_aware = bool(occurring & set(group.racks.values())) and any(racks != occurring for racks in on_racks)
    return group


def settle(group: Group) -> None:
    """Who owns what, if members claim the same: the newest generation; nobody, if two of one generation do."""
    claimants: dict[Partition, str] = {}
    for member in group.order:
        for partition in group.claims[member]:
            if partition[0] not in group.counts:
                continue
            other = claimants.get(partition)
            if other is None or group.generations[member] > group.generations[other]:
                group.owners[partition] = claimants[partition] = member
            elif group.generations[member] == group.generations[other]:
                group.contested.add(partition)
                group.owners.pop(partition, None)
                claimants[partition] = member


def all_subscribe_to_the_same(group: Group) -> bool:
    """Members without topics that come before the first that has some are not noticed."""
    reference: list[str] = []
    for member in group.order:
        if not reference:
            reference = group.subscriptions[member]
        elif sorted(group.subscriptions[member]) != sorted(reference):
            return False
    return True


def sticky(body: Body) -> Given:
    """What StickyAssignor gives."""
    group = read(body)
    return constrained(group)[0] if all_subscribe_to_the_same(group) else general(group)


def cooperative_sticky(body: Body) -> Given:
    """What CooperativeStickyAssignor gives: partitions that change hands are taken away from their new member."""
    group = read(body)
    if all_subscribe_to_the_same(group):
        given, changing = constrained(group)
    else:
        given = general(group)
        added = {p: m for m in group.order for p in given[m] if p not in group.claims[m]}
        lost = {p for m in group.order for p in group.claims[m] if p not in given[m]}
        changing = {p: m for p, m in added.items() if p in lost}
    for partition, member in changing.items():
        given[member].remove(partition)
    return given


# ---- equal subscriptions -----------------------------------------------------------------------------------------------


def constrained(group: Group) -> tuple[Given, dict[Partition, str]]:  # noqa: C901, PLR0912, PLR0915 (read from top to bottom)
    """The assignment, and the partitions that change hands with their new members."""
    if not group.order:
        raise Throws("ArithmeticException", "/ by zero")
    topics = sorted(group.counts, key=utf16)
    total = len(group.partitions(topics))
    minimum, with_more = divmod(total, len(group.order))
    maximum = minimum + (with_more > 0)
    given: Given = {member: [] for member in group.order}
    given_up: dict[Partition, str] = {}
    short: list[str] = []
    enough: list[str] = []
    over = 0
    for member in map_order(group.order):
        given_up |= {p: member for p in group.owned(member) if group.mismatch(member, p)}
        owned = [p for p in group.owned(member) if not group.mismatch(member, p) and p not in group.contested]
        if not group.listed:
            owned.sort(key=lambda partition: (partition[1], utf16(partition[0])))
        if len(owned) < minimum:
            keep = len(owned)
            short.append(member)
        elif len(owned) >= maximum and over < with_more:
            keep = maximum
            over += 1
            if over == with_more:
                enough.clear()
        else:
            keep = minimum
            if over < with_more:
                enough.append(member)
        given[member] = owned[:keep]
        given_up |= dict.fromkeys(owned[keep:], member)
    left = group.unassigned(topics, [p for partitions in given.values() for p in partitions])
    short.sort(key=utf16)
    enough.sort(key=utf16)
    changing: dict[Partition, str] = {}

    def give(partition: Partition, member: str) -> None:
        given[member].append(partition)
        lost = partition in given_up if group.listed else given_up.get(partition, member) != member
        if lost or partition in group.contested:
            changing[partition] = member

    if group.rack_aware:
        left.sort(key=lambda p: sum(rack in group.partition_racks.get(p, set()) for rack in group.racks.values()))
        turn = 0
        for partition in list(left):
            racks = group.partition_racks.get(partition, set())
            circle = short[turn:] + short[:turn]
            member = next((m for m in circle if group.racks[m] in racks), None)
            if member is not None:
                turn = short.index(member)
                if len(given[member]) + 1 == minimum:
                    short.remove(member)
                    if over < with_more:
                        enough.append(member)
                else:
                    turn += 1
                turn = turn % len(short) if short else 0
            else:
                member = next((m for m in enough if group.racks[m] in racks), None)
                if member is None:
                    continue
                enough.remove(member)
                over += 1
                if over == with_more:
                    enough.clear()
            give(partition, member)
            left.remove(partition)

    turn = 0
    for partition in left:
        if short:
            member = short[turn % len(short)]
            turn = turn % len(short) + 1
            give(partition, member)
            if len(given[member]) == minimum:
                short.remove(member)
                enough.append(member)
                turn -= 1
                if turn == len(short):
                    turn = 0
        elif enough:
            give(partition, enough.pop(0))
        else:
            raise Throws("IllegalStateException", "No more unfilled consumers to be assigned.")
    assert not short
    return given, changing


# ---- subscriptions that differ -----------------------------------------------------------------------------------------


class HashSet:
    """java.util.HashSet of partitions."""

    def __init__(self) -> None:
        self.length = 16
        self.partitions: list[Partition] = []

    def bucket(self, partition: Partition) -> int:
        """Where it stands in the table."""
        unsigned = partition_hash(partition) % 2**32
        return (unsigned ^ unsigned >> 16) % self.length

    def add(self, partition: Partition) -> None:
        """Add a new one; the table may double."""
        self.partitions.append(partition)
        assert len([p for p in self.partitions if self.bucket(p) == self.bucket(partition)]) < 9, "this would be a tree"
        if len(self.partitions) > 0.75 * self.length:
            self.length *= 2

    def in_order(self) -> list[Partition]:
        """As its iterator gives them."""
        return sorted(self.partitions, key=self.bucket)


class Movements:
    """Which partitions have gone from whom to whom: for each (topic, first source, present holder) a set."""

    def __init__(self) -> None:
        self.sets: dict[tuple[str, str, str], HashSet] = {}
        self.pairs: dict[Partition, tuple[str, str]] = {}

    def partition_to_move(self, partition: Partition, holder: str, to: str) -> Partition:
        """If another partition of the topic has gone the opposite way, that one goes back instead."""
        source = self.pairs[partition][0] if partition in self.pairs else holder
        opposite = self.sets.get((partition[0], to, source))
        return opposite.in_order()[0] if opposite else partition

    def move(self, partition: Partition, holder: str, to: str) -> None:
        """Record that it goes from its holder to another."""
        source = holder
        if partition in self.pairs:
            pair = (partition[0], *self.pairs.pop(partition))
            source = pair[1]
            self.sets[pair].partitions.remove(partition)
            if not self.sets[pair].partitions:
                del self.sets[pair]
        if source != to:
            self.pairs[partition] = (source, to)
            self.sets.setdefault((partition[0], source, to), HashSet()).add(partition)

    def state(self) -> Any:
        """All that later moves depend on."""
        return {pair: (one.length, one.in_order()) for pair, one in self.sets.items()}


def general(group: Group) -> Given:  # noqa: C901, PLR0915 (read from top to bottom)
    """Fill up, then move until nothing can be evened out any more."""
    readers = {topic: [m for m in group.order if topic in group.subscriptions[m]] for topic in group.counts}
    topics = sorted(group.counts, key=lambda topic: (len(readers[topic]), utf16(topic)))
    possible = {m: sum(group.counts.get(topic, 0) for topic in group.subscriptions[m]) for m in group.order}
    given: Given = {}  # in the order of the map
    revoked = False
    for member in map_order(group.order):
        owned = group.owned(member)
        given[member] = [p for p in owned if p[0] in group.subscriptions[member] and not group.mismatch(member, p)]
        revoked |= given[member] != owned
    fresh = not any(given.values())
    kept = [p for partitions in given.values() for p in partitions]
    free = group.unassigned(topics, kept) if group.sequence is None else [p for p in group.sequence if p not in kept]
    holders = {p: member for member in given for p in given[member]}

    def count(member: str) -> int:
        if member not in given:
            raise Throws("NullPointerException", NO_LIST)
        return len(given[member])

    def fewest(members: list[str]) -> str:
        return min((m for m in members if m in given), key=lambda m: (count(m), utf16(m)))

    def give(partition: Partition, members: list[str]) -> None:
        member = fewest(members)
        given[member].append(partition)
        holders[partition] = member

    not_matched = []
    for partition in free:
        matching = [m for m in readers[partition[0]] if not group.mismatch(m, partition)]
        if matching and group.rack_aware:
            give(partition, matching)
        else:
            not_matched.append(partition)
    for partition in not_matched:
        give(partition, readers[partition[0]])

    shared = [topic for topic in topics if len(readers[topic]) >= 2]
    set_aside = {
        m: partitions
        for m, partitions in given.items()
        if len(partitions) >= possible[m] and not any(topic in shared for topic, _ in partitions)
    }
    for member in set_aside:
        del given[member]

    def balanced() -> bool:
        counts = [len(partitions) for partitions in given.values()]
        if min(counts) >= max(counts) - 1:
            return True
        seen = {p: m for m, partitions in given.items() for p in partitions}
        return not any(
            count(seen[p]) > count(m) + group.tolerance
            for m in given
            if count(m) != possible[m]
            for p in group.partitions([topic for topic in group.subscriptions[m] if topic in group.counts])
            if p not in given[m]
        )

    movements = Movements()

    def move(partition: Partition, to: str) -> None:
        partition = movements.partition_to_move(partition, holders[partition], to)
        movements.move(partition, holders[partition], to)
        given[holders[partition]].remove(partition)
        given[to].append(partition)
        holders[partition] = to

    def someone_has_two_fewer(members: list[str], holder: str) -> bool:
        return any(count(holder) > count(m) + 1 for m in members)

    def reassign(partitions: list[Partition]) -> bool:
        states: list[Any] = []
        moved = False
        while True:
            states.append((dict(holders), movements.state()))
            if states[-1] in states[:-1]:
                raise Endless
            quiet = True
            for partition in partitions:
                if balanced():
                    break
                holder, old, candidates = holders[partition], group.former.get(partition), readers[partition[0]]
                racks = group.partition_racks.get(partition, set()) if group.rack_aware else set()
                near = [m for m in candidates if group.racks[m] in racks] if group.racks[holder] in racks else []
                if old is not None and count(holder) > count(old) + 1:
                    move(partition, old)
                elif someone_has_two_fewer(near, holder) or someone_has_two_fewer(candidates, holder):
                    move(partition, fewest(candidates))
                else:
                    continue
                quiet = False
                moved = True
            if quiet:
                return moved

    def inequality(assignment: Given) -> int:
        counts = [len(partitions) for partitions in assignment.values()]
        return int32(sum(abs(a - b) for a in counts for b in counts) // 2)

    before = {m: list(partitions) for m, partitions in given.items()}
    if not revoked:
        reassign([p for p in free if p[0] in shared])
    everything = group.partitions(shared) if group.sequence is None else [p for p in group.sequence if p[0] in shared]
    if reassign(everything) and not fresh and inequality(given) >= inequality(before):
        given = before
    return {**given, **set_aside}
