"""What an assignment moves, in plain Python: sets of (member, partition) before and after."""

from __future__ import annotations

from itertools import product
from typing import TypeVar

Partition = TypeVar("Partition")


def movement(before: dict[str, list[Partition]], after: dict[str, list[Partition]]) -> tuple[int, int, int, int]:
    """(retained, moved, added, revoked), each a number of pairs of member and partition."""
    owned = {(member, partition) for member, partitions in before.items() for partition in partitions}
    held = {(member, partition) for member, partitions in after.items() for partition in partitions}
    somebodys = {partition for _, partition in owned}
    moved = sum(partition in somebodys for _, partition in held - owned)
    return len(held & owned), moved, len(held - owned) - moved, len(owned - held)


def fewest_possible_moves(
    claimants: list[set[str]], subscribers: list[set[str]], members: list[str], loads: list[int]
) -> int | None:
    """Try every assignment of the partitions to subscribers whose loads are no less even than these; None if there is none.

    claimants, subscribers : for each partition the members that claim it, and those that may have it
    """
    fewest = None
    for holders in product(*subscribers):
        if no_less_even(list(map(holders.count, members)), loads):
            moves = sum(bool(owners) and holder not in owners for owners, holder in zip(claimants, holders, strict=True))
            fewest = moves if fewest is None else min(fewest, moves)
    return fewest


def no_less_even(loads: list[int], than: list[int]) -> bool:
    """For every k, have the k most loaded members together no more?"""
    most, allowed = sorted(loads, reverse=True), sorted(than, reverse=True)
    return all(sum(most[:k]) <= sum(allowed[:k]) for k in range(1, len(most) + 1))
