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


def place(brokers: list[dict[str, Any]], wish: dict[str, int], start: int, shift: int, *, rack_aware: bool) -> list[list[int]]:
    """The replicas of each partition; the counts are possible, and every broker has a rack if racks matter."""
    order = rack_alternated(brokers) if rack_aware else list(range(len(brokers)))
    ids = [brokers[i]["broker_id"] for i in order]
    racks = [brokers[i].get("rack_id") for i in order]
    n, placement = len(ids), []
    for partition in range(wish["start_partition_id"], wish["start_partition_id"] + wish["partitions_count"]):
        if partition > 0 and partition % n == 0:
            shift += 1
        first = (partition + start) % n
        chosen, k = [first], 0
        while len(chosen) < wish["replication_factor"]:
            scaled = shift * len(set(racks)) if rack_aware else shift
            at = (first + 1 + (scaled + k) % (n - 1)) % n
            k += 1
            used = {racks[i] for i in chosen}
            if not rack_aware or ((racks[at] not in used or used == set(racks)) and at not in chosen):
                chosen.append(at)
        placement.append([ids[i] for i in chosen])
    return placement
