"""The group coordinator's uniform, range and simple in plain Python, on the body of a request, step by step as described.

Each gives member_id → its (topic_name, partition_id). Slow, and meant to be read. Hash tables are followed as long as their
buckets are chains; ``Tree`` is raised where Java would begin to look whether a chain has become too long.
"""

from __future__ import annotations

import base64
import hashlib
from math import ceil
from typing import Any

from tests.reference.assignors import static_first
from tests.reference.hashes import signed
from tests.reference.sticky import string_hash

Body = dict[str, Any]
Partition = tuple[str, int]
Given = dict[str, list[Partition]]


class Tree(Exception):
    """A bucket that is a tree, or that makes its table grow."""


# ---- Java's tables -----------------------------------------------------------------------------------------------------


class JavaMap:
    """A HashMap, whose keys' hashes are given. As a set it has no values."""

    def __init__(self, capacity: int = 16) -> None:
        self.length = 1
        while self.length < capacity:
            self.length *= 2
        self.hash: dict[Any, int] = {}
        self.value: dict[Any, Any] = {}
        self.buckets: dict[int, list[Any]] = {}

    def put(self, key: Any, code: int, value: Any = None) -> None:
        """A new key goes to the end of its chain; then the table may grow."""
        if key not in self.hash:
            self._enter(key, code, first=False)
            self._grow()
        self.value[key] = value

    def compute_if_absent(self, key: Any, code: int, value: Any) -> Any:
        """The table may grow first; a new key goes to the head of its chain."""
        self._grow()
        if key not in self.hash:
            self._enter(key, code, first=True)
            self.value[key] = value
        return self.value[key]

    def remove(self, key: Any) -> None:
        """Tables never shrink."""
        self.buckets[self._bucket(self.hash.pop(key))].remove(key)
        del self.value[key]

    def __iter__(self):
        """The keys, from the lowest bucket up, each chain from its head."""
        return iter([key for bucket in sorted(self.buckets) for key in self.buckets[bucket]])

    def __len__(self) -> int:
        return len(self.hash)

    def __contains__(self, key: Any) -> bool:
        return key in self.hash

    def _bucket(self, code: int) -> int:
        code &= 0xFFFFFFFF
        return (code ^ code >> 16) & (self.length - 1)

    def _enter(self, key: Any, code: int, *, first: bool) -> None:
        chain = self.buckets.setdefault(self._bucket(code), [])
        chain.insert(0 if first else len(chain), key)
        if len(chain) >= 8:
            raise Tree
        self.hash[key] = code

    def _grow(self) -> None:
        if len(self.hash) > self.length * 3 // 4:
            keys, self.buckets = list(self), {}
            self.length *= 2
            for key in keys:
                self.buckets.setdefault(self._bucket(self.hash[key]), []).append(key)


def for_elements(size: int) -> int:
    """The capacity of new HashSet(collection)."""
    return max(int(size / 0.75) + 1, 16)


def for_expected(size: int) -> int:
    """The capacity of AssignorHelpers.newHashMap and newHashSet."""
    return int((size + 1) / 0.75 + 1)


def numbers(items: list[int], capacity: int = 16) -> JavaMap:
    """A HashSet of Integers; an Integer is its own hash code."""
    table = JavaMap(capacity)
    for item in items:
        table.put(item, item)
    return table


def timeline(names: list[str]) -> list[str]:
    """The keys of a TimelineHashMap into which they were put in this order."""
    slots: list[list[str]] = [[], []]
    for entered, name in enumerate(names):
        if (entered + 1) * 0.75 > len(slots):
            old, slots = slots, [[] for _ in range(2 * len(slots))]
            for slot in old:
                for other in slot:
                    slots[slot_of(other, len(slots))].append(other)
        slots[slot_of(name, len(slots))].append(name)
    return [name for slot in slots for name in reversed(slot)]


def slot_of(name: str, slots: int) -> int:
    """The highest bits of the hash, times the golden ratio as 64 bits."""
    scattered = string_hash(name) * 0x9E3779B97F4A7C15 % 2**64
    return scattered * slots >> 64


def uuid(topic: Body) -> tuple[int, int]:
    """The two signed halves of the topic's id; without one it is the UUID (version 3) of its name."""
    if topic.get("topic_id") is not None:
        raw = base64.urlsafe_b64decode(topic["topic_id"] + "==")
    else:
        digest = int(hashlib.md5(topic["topic_name"].encode()).hexdigest(), 16)  # noqa: S324
        digest = digest & ~(0xF << 76) & ~(0x3 << 62) | 3 << 76 | 2 << 62
        raw = digest.to_bytes(16, "big")
    return int.from_bytes(raw[:8], "big", signed=True), int.from_bytes(raw[8:], "big", signed=True)


def uuid_hash(halves: tuple[int, int]) -> int:
    """Uuid.hashCode()."""
    both = (halves[0] ^ halves[1]) % 2**64
    return signed(both >> 32 ^ both)


# ---- a group, as the coordinator hands it to an assignor ----------------------------------------------------------------


class Group:
    """Members in the coordinator's order, with what they subscribe to and what they have."""

    def __init__(self, body: Body) -> None:
        self.count = {topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]}
        self.uuid = {topic["topic_name"]: uuid(topic) for topic in body["topics"]}
        self.members = {member["member_id"]: member for member in body["members"]}
        order = JavaMap()
        joining = [member_id for member_id, member in self.members.items() if member.get("generation_id") == 0]
        for member_id in (*timeline([each for each in self.members if each not in joining]), *joining):
            order.put(member_id, string_hash(member_id))
        self.order: list[str] = list(order)
        self.names: dict[str, list[str]] = {}
        self.topics: dict[str, list[str]] = {}
        self.owned: dict[str, JavaMap] = {}
        for member_id, member in self.members.items():
            names = member.get("topic_names")
            listed = [topic["topic_name"] for topic in body["topics"]] if names is None else names
            table = JavaMap(for_elements(len(listed)))
            for name in listed:
                table.put(name, string_hash(name))
            self.names[member_id] = list(table)
            self.topics[member_id] = [name for name in self.names[member_id] if name in self.count]
            self.owned[member_id] = self._target(member.get("owned_partitions") or [])
        self.homogeneous = len({frozenset(names) for names in self.names.values()}) <= 1

    def _target(self, owned: list[Body]) -> JavaMap:
        """topic_name → HashSet of ids, by topic id; topics that do not exist have none."""
        ids: dict[str, list[int]] = {}
        for part in owned:
            if part["topic_name"] in self.count:
                ids.setdefault(part["topic_name"], []).extend(part["partition_ids"])
        target = JavaMap()
        for name, listed in ids.items():
            once = list(dict.fromkeys(listed))
            if once:
                target.put(name, uuid_hash(self.uuid[name]), numbers(once, for_elements(len(once))))
        return target

    def had(self, member_id: str) -> list[Partition]:
        """What a member has, in Java's order."""
        owned = self.owned[member_id]
        return [(name, partition_id) for name in owned for partition_id in owned.value[name]]

    def partition_hash(self, partition: Partition) -> int:
        """TopicIdPartition.hashCode()."""
        name, partition_id = partition
        return signed(31 * uuid_hash(self.uuid[name]) + partition_id)


# ---- range -------------------------------------------------------------------------------------------------------------


def range_(body: Body) -> Given:
    """Of each topic each subscriber takes the next quota of partitions, the first ones one more."""
    group = Group(body)
    given: Given = {member_id: [] for member_id in group.members}
    for name, count in group.count.items():
        subscribers = [m["member_id"] for m in static_first(body["members"]) if name in group.topics[m["member_id"]]]
        partition_id = 0
        for i, member_id in enumerate(subscribers):
            for _ in range(count // len(subscribers) + (i < count % len(subscribers))):
                given[member_id].append((name, partition_id))
                partition_id += 1
    return given


# ---- uniform -----------------------------------------------------------------------------------------------------------


def uniform(body: Body, *, extra_stays: bool = True) -> Given:
    """Evenly, then with few moves. extra_stays : False for Kafka 4.0.0"""
    group = Group(body)
    if not group.order:
        return {}
    return homogeneous(group, extra_stays=extra_stays) if group.homogeneous else heterogeneous(group)


def homogeneous(group: Group, *, extra_stays: bool) -> Given:
    """UniformHomogeneousAssignmentBuilder."""
    given: Given = {member_id: [] for member_id in group.members}
    first = group.order[0]
    topics = JavaMap(for_elements(len(group.names[first])))
    for name in group.topics[first]:
        topics.put(name, uuid_hash(group.uuid[name]))

    had = {partition for member_id in group.order for partition in group.had(member_id)}
    free = [(name, i) for name in topics for i in range(group.count[name]) if (name, i) not in had]
    quota, extra = divmod(sum(group.count[name] for name in topics), len(group.order))

    unfilled = []
    for position, member_id in enumerate(group.order):
        has_extra = extra > 0
        room = quota + has_extra
        for name in group.owned[member_id]:
            if name not in topics:
                continue
            for partition_id in group.owned[member_id].value[name]:
                if room > 0:
                    given[member_id].append((name, partition_id))
                    room -= 1
                else:
                    free.append((name, partition_id))
        if extra_stays and room > 0 and has_extra and len(group.order) - position > extra:
            room -= 1  # the members to come are more than enough to have the extra partitions
            has_extra = False
        extra -= has_extra
        unfilled.append((member_id, room))

    for member_id, room in unfilled:
        given[member_id] += free[:room]
        del free[:room]
    assert not free
    return given


class Levels:
    """The subscribers of a topic by load: who is next to get one, who is next to give one (MemberAssignmentBalancer)."""

    def __init__(self, members: list[int], load: list[int]) -> None:
        self.load = load
        self.members = sorted(members, key=lambda m: (load[m], m))
        self.low_end, self.low, self.next_low = 0, load[self.members[0]] - 1, 0
        size = len(members)
        self.high_start, self.high_stop, self.high, self.next_high = size, size, load[self.members[-1]] + 1, size - 1

    def least(self) -> int:
        """The next one of the lowest level; when all of it have been, those of the next level join in."""
        if self.next_low >= self.low_end:
            self.low += 1
            while self.low_end < len(self.members) and self.load[self.members[self.low_end]] == self.low:
                self.low_end += 1
            self.next_low = 0
        self.next_low += 1
        return self.members[self.next_low - 1]

    def most(self) -> int | None:
        """The next one of the highest level, likewise."""
        if self.next_high < self.high_start:
            if self.high_stop <= self.high_start and self.high_start > 0:
                self.high = self.load[self.members[self.high_start - 1]]
            else:
                self.high -= 1
            while self.high_start > 0 and self.load[self.members[self.high_start - 1]] == self.high:
                self.high_start -= 1
            self.next_high = self.high_stop - 1
        if self.next_high < 0:
            return None
        self.next_high -= 1
        return self.members[self.next_high + 1]

    def exclude(self) -> None:
        """Whom ``most`` just gave has nothing left to give."""
        at, last = self.next_high + 1, self.high_stop - 1
        self.members[at], self.members[last] = self.members[last], self.members[at]
        self.high_stop -= 1


def heterogeneous(group: Group) -> Given:  # noqa: C901
    """UniformHeterogeneousAssignmentBuilder; members are numbers."""
    subscribers = {name: [n for n, m in enumerate(group.order) if name in group.topics[m]] for name in group.count}
    subscribers = {name: members for name, members in subscribers.items() if members}
    owner: dict[Partition, int] = {}
    load = [0] * len(group.order)
    for number, member_id in enumerate(group.order):
        for partition in group.had(member_id):
            if partition[0] in group.topics[member_id]:
                owner[partition] = number
                load[number] += 1
    topics = sorted(
        subscribers, key=lambda name: (-(group.count[name] / len(subscribers[name])), len(subscribers[name]), group.uuid[name])
    )

    for name in topics:
        levels = Levels(subscribers[name], load)
        for partition in [(name, i) for i in range(group.count[name])]:
            if partition not in owner:
                owner[partition] = levels.least()
                load[owner[partition]] += 1

    shared = [name for name in topics if len(subscribers[name]) >= 2]
    last_moved = shared[0] if shared else None
    for turn in range(16):
        for name in shared:
            if turn > 0 and name == last_moved:
                break
            if balance(name, group.count[name], subscribers[name], owner, load):
                last_moved = name
        else:
            continue
        break

    given: Given = {member_id: [] for member_id in group.members}
    for partition, number in owner.items():
        given[group.order[number]].append(partition)
    return given


def balance(name: str, count: int, subscribers: list[int], owner: dict[Partition, int], load: list[int]) -> bool:
    """Move one topic's partitions from the most to the least loaded; were there any to move?"""
    loads = [load[number] for number in subscribers]
    if max(loads) - min(loads) <= 1:
        return False
    levels = Levels(subscribers, load)
    has: dict[int, list[Partition]] = {number: [] for number in subscribers}
    for partition in [(name, i) for i in range(count)]:
        has[owner[partition]].append(partition)
    moved = False
    while levels.high - levels.low > 1:
        giver = levels.most()
        while giver is not None and not has[giver]:
            levels.exclude()
            giver = levels.most()
        if giver is None:
            break
        partition = has[giver].pop()
        taker = levels.least()
        if levels.high - levels.low <= 1:
            break
        owner[partition] = taker
        load[giver] -= 1
        load[taker] += 1
        moved = True
    return moved


# ---- simple ------------------------------------------------------------------------------------------------------------


def simple(body: Body) -> Given:
    """Every partition to equally many members, evenly, then with few moves."""
    group = Group(body)
    given: Given = {member_id: [] for member_id in group.members}
    if not group.order:
        return given
    if group.homogeneous:
        topics = group.topics[group.order[0]]
        targets = [(name, i) for name in topics for i in range(group.count[name])]
        if targets:
            has = [[p for p in group.had(member_id) if p[0] in topics] for member_id in group.order]
            for number, partitions in enumerate(share_out(list(range(len(has))), has, targets, group.partition_hash)):
                given[group.order[number]] = partitions
        return given

    subscribed = {name for topics in group.topics.values() for name in topics}
    if not subscribed & group.count.keys():
        return given
    for name, count in group.count.items():
        if name in subscribed:
            members = [n for n, member_id in enumerate(group.order) if name in group.topics[member_id]]
            has = [[p for p in group.had(member_id) if p[0] == name] for member_id in group.order]
            targets = [(name, i) for i in range(count)]
            for number, partitions in enumerate(share_out(members, has, targets, lambda p: p[1])):
                given[group.order[number]] += partitions
        else:
            for member_id in group.order:
                given[member_id] += [p for p in group.had(member_id) if p[0] == name]
    return given


def share_out(  # noqa: C901, PLR0912
    members: list[int], has: list[list[Partition]], targets: list[Partition], code: Any
) -> list[list[Partition]]:
    """What each member has in the end.

    members : those that share; has : what every member has; targets : all the partitions; code : their hash codes
    """
    sharing = ceil(len(members) / len(targets))
    ratio = sharing * len(targets) / len(members)
    desired = [0] * len(has)
    for i, member in enumerate(members):
        desired[member] = ceil(ratio * (i + 1)) - ceil(ratio * i)

    by_partition = JavaMap(for_expected(len(targets)))
    by_member = [JavaMap() for _ in has]
    for member, partitions in enumerate(has):
        for partition in partitions:
            by_partition.compute_if_absent(partition, code(partition), JavaMap()).put(member, member)
            by_member[member].put(partition, code(partition))

    for member, partitions in enumerate(by_member):
        for partition in list(partitions)[: max(0, len(partitions) - desired[member])]:
            partitions.remove(partition)
            by_partition.value[partition].remove(member)
    for partition in by_partition:
        shared = by_partition.value[partition]
        for member in list(shared)[: max(0, len(shared) - sharing)]:
            shared.remove(member)
            by_member[member].remove(partition)
    for partition in targets:
        by_partition.compute_if_absent(partition, code(partition), JavaMap())

    below = numbers([m for m in members if len(by_member[m]) < desired[m]], for_expected(len(has)))
    turn, gave = list(below), False
    for partition in by_partition:
        have = by_partition.value[partition]
        wants = sharing - len(have)
        while wants > 0:
            if not turn:
                if not gave or not len(below):
                    break
                turn, gave = list(below), False
            member = turn.pop(0)
            if member in have:
                continue
            by_member[member].put(partition, code(partition))
            wants, gave = wants - 1, True
            if len(by_member[member]) >= desired[member]:
                below.remove(member)
    return [list(partitions) for partitions in by_member]
