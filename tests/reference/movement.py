"""What an assignment moves, in plain Python: sets of (member, partition) before and after."""

from __future__ import annotations

from typing import TypeVar

Partition = TypeVar("Partition")


def movement(before: dict[str, list[Partition]], after: dict[str, list[Partition]]) -> tuple[int, int, int, int]:
    """(retained, moved, added, revoked), each a number of pairs of member and partition."""
    owned = {(member, partition) for member, partitions in before.items() for partition in partitions}
    held = {(member, partition) for member, partitions in after.items() for partition in partitions}
    somebodys = {partition for _, partition in owned}
    moved = sum(partition in somebodys for _, partition in held - owned)
    return len(held & owned), moved, len(held - owned) - moved, len(owned - held)
