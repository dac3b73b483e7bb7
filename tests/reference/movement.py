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


def fewest_possible_moves(owner_of: list[str | None], members: list[str], loads: list[int]) -> int:
    """Try every assignment of the partitions whose members' loads are these, in any order.

    owner_of : for each partition the member that owns it, or None
    """
    fewest = len(owner_of)
    for holders in product(members, repeat=len(owner_of)):
        if sorted(map(holders.count, members)) == sorted(loads):
            moves = sum(owner not in (None, holder) for owner, holder in zip(owner_of, holders, strict=True))
            fewest = min(fewest, moves)
    return fewest
