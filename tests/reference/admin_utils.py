"""AdminUtils.assignReplicasToBrokers as its own comment describes it, for numbers far from overflow."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import Any


def rack_alternated(brokers: list[dict[str, Any]]) -> list[int]:
    """Positions of the brokers, one of each rack in turn: racks sorted, ids ascending."""
    racks: dict[str, list[int]] = {}
    for i in sorted(range(len(brokers)), key=lambda i: brokers[i]["broker_id"]):
        racks.setdefault(brokers[i]["rack_id"], []).append(i)
    turns = zip_longest(*(racks[name] for name in sorted(racks)))
    return [i for i in chain.from_iterable(turns) if i is not None]


def place(brokers: list[dict[str, Any]], request: dict[str, int], start: int, shift: int, *, rack_aware: bool) -> list[list[int]]:
    """The replicas of each partition; the counts are possible, and every broker has a rack if racks matter."""
    result = explained(brokers, request, start, shift, rack_aware=rack_aware)
    return [[replica["broker_id"] for replica in partition["replicas"]] for partition in result]


def explained(
    brokers: list[dict[str, Any]], request: dict[str, int], start: int, shift: int, *, rack_aware: bool
) -> list[dict[str, Any]]:
    """The same with how each replica was found."""
    order = rack_alternated(brokers) if rack_aware else list(range(len(brokers)))
    ids = [brokers[i]["broker_id"] for i in order]
    racks = [brokers[i].get("rack_id") for i in order]
    n, partitions = len(ids), []
    for partition in range(request["start_partition_id"], request["start_partition_id"] + request["partitions_count"]):
        if partition > 0 and partition % n == 0:
            shift += 1
        first = (partition + start) % n
        chosen, k = [first], 0
        how: list[tuple[int | None, str]] = [(None, "leader: broker_list at (partition_id + start_index) mod brokers")]
        while len(chosen) < request["replication_factor"]:
            scaled = shift * len(set(racks)) if rack_aware else shift
            at = (first + 1 + (scaled + k) % (n - 1)) % n
            used = {racks[i] for i in chosen}
            new_rack = racks[at] not in used
            if not rack_aware or len(set(racks)) == 1:
                rule = "follower: the next candidate"
            elif new_rack:
                rule = "follower: the next candidate, its rack having no replica yet"
            else:
                rule = "follower: the next candidate, every rack having a replica already"
            if not rack_aware or ((new_rack or used == set(racks)) and at not in chosen):
                chosen.append(at)
                how.append((k, rule))
            k += 1
        replicas = [
            {"broker_id": ids[i], "index": i, "counter": counter, "rule": rule}
            | ({"rack_id": racks[i]} if rack_aware and len(set(racks)) > 1 else {})
            for i, (counter, rule) in zip(chosen, how, strict=True)
        ]
        partitions.append({"partition_id": partition, "first_index": first, "shift": shift, "replicas": replicas})
    return partitions
