"""java.util.Random as its documentation describes it."""

from __future__ import annotations


def signed(value: int, bits: int) -> int:
    """The low ``bits`` bits of ``value`` as two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Random:
    """A linear congruential generator of 48 bits, of which the high ones are handed out."""

    def __init__(self, seed: int) -> None:
        self.seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def next(self, bits: int) -> int:
        """The next 1 to 32 bits."""
        self.seed = (self.seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return signed(self.seed >> (48 - bits), 32)

    def next_int(self, bound: int | None = None) -> int:
        """Any int, or one from 0 to bound - 1 by rejection of the last, incomplete run."""
        if bound is None:
            return self.next(32)
        if bound & -bound == bound:
            return (bound * self.next(31)) >> 31
        while True:
            bits = self.next(31)
            value = bits % bound
            if signed(bits - value + (bound - 1), 32) >= 0:
                return value

    def shuffle(self, values: list[object]) -> None:
        """Each place from the last gets one of those up to it."""
        for size in range(len(values), 1, -1):
            i = self.next_int(size)
            values[size - 1], values[i] = values[i], values[size - 1]
