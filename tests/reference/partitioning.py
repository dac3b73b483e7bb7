"""Plain-Python twins of what clients do with a hash, and of the rules that need none."""

from __future__ import annotations


def mask(h: int, n: int) -> int:
    """Kafka's toPositive."""
    return (h & 0x7FFFFFFF) % n


def unsigned(h: int, n: int) -> int:
    """The hash as a uint32."""
    return h % 2**32 % n


def rem_neg(h: int, n: int) -> int:
    """Go's and C's remainder has the sign of the dividend; then it is negated."""
    remainder = abs(h) % n
    return -(-remainder if h < 0 else remainder) if h < 0 else remainder


def abs0(h: int, n: int) -> int:
    """Kafka's Utils.abs, for which the smallest int is 0."""
    return (0 if h == -(2**31) else abs(h)) % n


def pmod(h: int, n: int) -> int:
    """Spark's pmod: Python's own modulo."""
    return h % n


def java_int(number: int) -> int:
    """What Java's int makes of a sum or product."""
    return (number + 2**31) % 2**32 - 2**31


def least_bytes(sizes: list[int], n: int) -> list[int]:
    """kafka-go's LeastBytes, which counts in uint64."""
    held = [0] * n
    chosen = []
    for size in sizes:
        partition = held.index(min(held))
        held[partition] = (held[partition] + size) % 2**64
        chosen.append(partition)
    return chosen


def sticky_turns(added: list[int], switch: list[bool], batch_size: int) -> list[int]:
    """Which draw each record's partition came from (BuiltInPartitioner.updatePartitionInfo, in Java's ints)."""
    turns, turn, produced = [], 0, 0
    for size, enabled in zip(added, switch, strict=True):
        turns.append(turn)
        produced = java_int(produced + size)
        if (produced >= batch_size and enabled) or produced >= java_int(2 * batch_size):
            turn, produced = turn + 1, 0
    return turns
