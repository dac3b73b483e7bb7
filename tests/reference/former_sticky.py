"""The sticky assignors of Kafka 2.4, 2.8 and 3.4 in plain Python: what differs from tests/reference/sticky.py."""

from __future__ import annotations

from tests.reference.hash_order import iteration_order
from tests.reference.sticky import (
    Body,
    Given,
    Group,
    Partition,
    Throws,
    all_subscribe_to_the_same,
    constrained,
    general,
    map_order,
    partition_hash,
    read,
    string_hash,
    utf16,
)

TOO_MANY_OWNERS = "several members own a partition"


def sticky(body: Body, release: str) -> Given:
    """What StickyAssignor gives."""
    return _assigned(_read(body, release, cooperative=False), release)[0]


def cooperative_sticky(body: Body, release: str) -> Given:
    """What CooperativeStickyAssignor gives."""
    group = _read(body, release, cooperative=True)
    said = read(body).claims
    given, changing = _assigned(group, release)
    if changing is None:
        lost = {p for m in group.order for p in said[m] if p not in given[m]}
        changing = {p: m for m in group.order for p in given[m] if p not in said[m] and p in lost}
    for partition, member in changing.items():
        given[member].remove(partition)
    return given


def _assigned(group: Group, release: str) -> tuple[Given, dict[Partition, str] | None]:
    """The assignment, and what changes hands if that is worked out on the way."""
    if release == "2.4.1" or not all_subscribe_to_the_same(group):
        if not group.order:
            raise Throws("NoSuchElementException", None)
        return general(group), None
    return (constrained if release == "3.4.1" else _constrained_2_8)(group)


def _read(body: Body, release: str, *, cooperative: bool) -> Group:
    group = read(body)
    group.racks = dict.fromkeys(group.order)
    group.rack_aware = False
    group.tolerance = 0
    group.listed = True
    group.owners, group.contested, group.former = {}, set(), {}
    for member, partitions in group.claims.items():
        if cooperative and release != "2.4.1":
            partitions.sort(key=lambda p: (utf16(p[0]), p[1]))
        else:  # groupPartitionsByTopic
            topics = list(dict.fromkeys(topic for topic, _ in partitions))
            order = [topics[i] for i in iteration_order([string_hash(topic) for topic in topics], compute=True)]
            group.claims[member] = [p for topic in order for p in partitions if p[0] == topic]
    if release == "3.4.1":
        _settle_3_4(group)
    elif release == "2.8.2" and all_subscribe_to_the_same(group):
        _settle_2_8(group)
    else:
        if release == "2.8.2":
            _lose_what_is_read_twice(group, cooperative=cooperative)
        elif cooperative:
            group.generations = dict.fromkeys(group.order, -1)
        _prepopulate(group, last_counts=cooperative and release == "2.4.1", sort=release == "2.4.1")
    return group


def _settle_3_4(group: Group) -> None:  # noqa: C901 (read from top to bottom)
    generation, last = group.generations, {}
    for member in group.order:
        for p in (p for p in group.claims[member] if p[0] in group.counts):
            other = last.get(p)
            last[p] = member
            if other is None:
                group.owners[p] = member
                continue
            if generation[member] >= generation[other] and group.owners.get(p) == other:
                del group.owners[p]
            if generation[member] == generation[other]:
                group.contested.add(p)
            elif generation[member] > generation[other]:
                if p in group.owners:
                    raise ValueError(TOO_MANY_OWNERS)
                group.owners[p] = member
    for member in group.order:
        if generation[member] < max(generation.values()):
            for p in group.claims[member]:
                if p not in group.former or generation[member] > generation[group.former[p]]:
                    group.former[p] = member


def _settle_2_8(group: Group) -> None:
    newest = [m for m in group.order if group.generations[m] == max(group.generations.values())]
    claims = [(p, m) for m in newest for p in group.claims[m] if p[0] in group.counts]
    group.owners = {p: m for p, m in claims if [other for other, _ in claims].count(p) == 1}
    group.contested = {p for p, _ in claims} - set(group.owners)


def _lose_what_is_read_twice(group: Group, *, cooperative: bool) -> None:
    seen: list[str] = []
    for member in group.order:
        if seen and sorted(group.subscriptions[member]) != sorted(seen):
            return
        seen = seen or group.subscriptions[member]
        if cooperative:
            group.generations[member] = -1
        else:
            group.claims[member] = []


def _prepopulate(group: Group, *, last_counts: bool, sort: bool) -> None:
    claimants: dict[Partition, dict[int, str]] = {}
    for member in group.order:
        for p in group.claims[member]:
            of_partition = claimants.setdefault(p, {})
            if last_counts or group.generations[member] not in of_partition:
                of_partition[group.generations[member]] = member
    in_map = _partitions_in_map(list(claimants))
    for p in in_map:
        ordered = [claimants[p][generation] for generation in sorted(claimants[p], reverse=True)]
        if p[0] in group.counts and p[1] < group.counts[p[0]]:
            group.owners[p] = ordered[0]
        if ordered[1:]:
            group.former[p] = ordered[1]
    subscribed = [[topic for topic in group.subscriptions[m] if topic in group.counts] for m in group.order]
    if sort and claimants and all(len(topics) == len(group.counts) for topics in subscribed):
        group.sequence = _sort_partitions(group, in_map)


def _sort_partitions(group: Group, in_map: list[Partition]) -> list[Partition]:
    left = {m: [p for p in in_map if group.owners.get(p) == m] for m in group.order}
    with_former = _partitions_in_map([p for p in in_map if p in group.former])
    ordered = []
    while any(left.values()):
        partitions = left[max(left, key=lambda m: (len(left[m]), utf16(m)))]
        first = next((p for p in with_former if p in partitions), partitions[0])
        partitions.remove(first)
        ordered.append(first)
    topics = map_order(list(dict.fromkeys(topic for m in group.order for topic in group.subscriptions[m])))
    topics = map_order([topic for topic in topics if topic in group.counts])
    return ordered + [p for p in _partitions_in_map(group.partitions(topics)) if p not in ordered]


def _partitions_in_map(partitions: list[Partition]) -> list[Partition]:
    return [partitions[i] for i in iteration_order([partition_hash(p) for p in partitions])]


def _constrained_2_8(group: Group) -> tuple[Given, dict[Partition, str]]:  # noqa: C901 (read from top to bottom)
    if not group.order:
        return {}, {}
    everything = group.partitions(sorted(group.counts, key=utf16))
    minimum, more = divmod(len(everything), len(group.order))
    maximum = minimum + (more > 0)
    members = map_order(group.order)
    owned = {m: [p for p in group.claims[m] if group.owners.get(p) == m] for m in members}
    given = {m: owned[m][:maximum] for m in members}
    moving = group.contested | {p for m in members for p in owned[m][maximum:]}
    short = sorted((m for m in members if len(owned[m]) < minimum), key=utf16)
    at_minimum = [m for m in members if m not in short and len(given[m]) == minimum]
    at_maximum = [m for m in members if m not in short and len(given[m]) == maximum]
    kept = {p for partitions in given.values() for p in partitions}
    left = [p for p in everything if p not in kept]
    changing: dict[Partition, str] = {}

    def give(partition: Partition, member: str) -> None:
        given[member].append(partition)
        if partition in moving:
            changing[partition] = member

    while short and left:
        for member in list(short):
            if not left:
                break
            give(left.pop(0), member)
            if len(given[member]) == minimum:
                short.remove(member)
                at_minimum.append(member)
    for member in short:
        while len(given[member]) < minimum:
            if not at_maximum:
                raise Throws("IllegalStateException", "Some consumers are under capacity but all partitions have been assigned")
            moving.add(taken := given[at_maximum.pop(0)].pop(0))
            give(taken, member)
    for partition in left:
        if not at_minimum:
            raise Throws("IllegalStateException", "Some partitions are unassigned but all consumers are at maximum capacity")
        give(partition, at_minimum.pop(0))
    return given, changing
