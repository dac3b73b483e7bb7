"""Random keys to compare partitioners on."""

from random import Random
from typing import Any, Final

MOST_KEYS: Final = 30
_BOUNDS: Final = (0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
_COUNTS: Final = (1, 2, 3, 12, 50, 1000, 2**31 - 1)


def keys(random: Random, key_format: str) -> list[Any]:
    """Some keys: bytes for "base64", else texts or numbers of 64 bits; at the bounds now and then, and beyond ASCII."""
    make = {"base64": _data, "string": _text, "long": _number}[key_format]
    return [make(random) for _ in range(random.randint(1, MOST_KEYS))]


def partitions_count(random: Random) -> int:
    """The partitions of a topic: mostly some, also one, and as many as there can be."""
    return random.choice((*_COUNTS, random.randint(1, 300)))


def _data(random: Random) -> bytes:
    if random.random() < 0.5:
        return _text(random).encode()
    return random.randbytes(random.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, random.randint(0, 70))))


def _text(random: Random) -> str:
    if random.random() < 0.5:
        return f"{random.choice(('order-', 'user/', '', 'device-'))}{random.randint(0, 10**9)}"
    return "".join(random.choice("aZ09_-.é東\U0001f418") for _ in range(random.randint(0, 20)))


def _number(random: Random) -> int:
    return random.choice(_BOUNDS) if random.random() < 0.2 else random.randint(-(2**63), 2**63 - 1)
