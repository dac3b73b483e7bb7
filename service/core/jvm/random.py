"""java.util.Random and Collections.shuffle, draw for draw.

A generator is its 48-bit state in a ``uint64[1]`` array, which kernels can pass on and advance; ``JavaRandom`` is the same for
Python code. Plain-Python twin: tests/reference/java_random.py.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from service.core.errors import IllegalArgument
from service.core.kernels import inner_kernel, kernel
from service.core.model import Int32s

RandomState = npt.NDArray[np.uint64]

MULTIPLIER = np.uint64(0x5DEECE66D)
ADDEND = np.uint64(0xB)
MASK = np.uint64((1 << 48) - 1)


def seeded(seed: int) -> RandomState:
    """The state of ``new java.util.Random(seed)``: uint64[1].

    seed : any integer; its low 64 bits are Java's long, of which the generator keeps 48.
    """
    return np.array([(seed ^ int(MULTIPLIER)) & int(MASK)], dtype=np.uint64)


@inner_kernel
def next_bits(state: RandomState, bits: int) -> np.int32:
    """Random.next(bits): the next 1 to 32 bits, as a Java int."""
    state[0] = (state[0] * MULTIPLIER + ADDEND) & MASK
    return np.int32(state[0] >> np.uint64(48 - bits))


@kernel
def next_int(state: RandomState) -> np.int32:
    """nextInt(): any int."""
    return next_bits(state, 32)


@kernel
def next_int_below(state: RandomState, bound: int) -> np.int32:
    """nextInt(bound): 0 to bound - 1. The caller checks that ``bound`` is an int of at least 1."""
    drawn = np.int64(next_bits(state, 31))
    wide = np.int64(bound)
    if wide & (wide - 1) == 0:
        return np.int32((wide * drawn) >> 31)
    # Java detects the last, incomplete run of `bound` numbers by an int overflow.
    while drawn - drawn % wide + (wide - 1) > 2147483647:
        drawn = np.int64(next_bits(state, 31))
    return np.int32(drawn % wide)


@kernel
def shuffle(state: RandomState, values: Int32s) -> None:
    """Collections.shuffle(values, random), in place: n values draw nextInt(n), nextInt(n - 1), …, nextInt(2)."""
    for size in range(len(values), 1, -1):
        i = next_int_below(state, size)
        values[size - 1], values[i] = values[i], values[size - 1]


class JavaRandom:
    """java.util.Random for Python code; ``state`` goes into kernels, which advance it."""

    def __init__(self, seed: int) -> None:
        self.state = seeded(seed)

    def copy(self) -> JavaRandom:
        """Another generator with the same state."""
        other = JavaRandom(0)
        other.state[:] = self.state
        return other

    def next_int(self, bound: int | None = None) -> int:
        """nextInt() or nextInt(bound); raises IllegalArgument for a bound that is not positive."""
        if bound is None:
            return int(next_int(self.state))
        if bound <= 0:
            raise IllegalArgument("bound must be positive")
        return int(next_int_below(self.state, bound))

    def shuffle(self, values: Int32s) -> None:
        """Collections.shuffle(values, this), in place."""
        shuffle(self.state, values)
