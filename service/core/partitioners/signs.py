"""From a signed 32-bit hash to a partition: each client deals with the sign in its own way.

Each rule makes the hash a number that is not negative, and takes it modulo the partition count; only Spark's takes the
mathematical modulo of the signed hash. With h = -5 and 3 partitions: mask 2147483643 % 3 = 0, unsigned 4294967291 % 3 = 2,
rem-neg 5 % 3 = 2, abs0 5 % 3 = 2, pmod 1.
"""

import numpy as np
import numpy.typing as npt

from service.core.kernels import kernel
from service.core.model import Int32s
from service.core.partitioners.model import Sign

_ALL, _WITHOUT_SIGN = np.uint32(0xFFFFFFFF), np.uint32(0x7FFFFFFF)


def _mask(hashes: Int32s, n: int) -> Int32s:
    return _modulo(hashes.view(np.uint32), n, _WITHOUT_SIGN)


def _unsigned(hashes: Int32s, n: int) -> Int32s:
    return _modulo(hashes.view(np.uint32), n, _ALL)


def _magnitude(hashes: Int32s, n: int) -> Int32s:
    # np.abs leaves MIN_VALUE as it is, which as uint32 is 2^31.
    return _modulo(np.abs(hashes).view(np.uint32), n, _ALL)


def _abs0(hashes: Int32s, n: int) -> Int32s:
    return _modulo(np.abs(hashes).view(np.uint32), n, _WITHOUT_SIGN)


def _pmod(hashes: Int32s, n: int) -> Int32s:
    # For h < 0 the result is n - 1 - (-1 - h) % n, and -1 - h is ~h: so the same loop computes it.
    negative = hashes >> np.int32(31)  # -1 or 0
    remainders = _modulo((hashes ^ negative).view(np.uint32), n, _ALL)
    return (remainders ^ negative) + (negative & np.int32(n))  # ~r + n, or r


MASK = Sign("mask", "(h & 0x7fffffff) % n", _mask, lambda h: h & 0x7FFFFFFF)
UNSIGNED = Sign("unsigned", "(h as uint32) % n", _unsigned, lambda h: h % 2**32)
REM_NEG = Sign("rem-neg", "|h % n|, the remainder having the sign of h", _magnitude, abs)
ABS0 = Sign("abs0", "abs(h) % n, where abs(-2147483648) is 0", _abs0, lambda h: abs(h) & 0x7FFFFFFF)
PMOD = Sign("pmod", "the mathematical modulo of the signed h", _pmod, lambda h: h)


@kernel
def _modulo(values: npt.NDArray[np.uint32], n: int, bits: np.uint32) -> Int32s:
    """The loop. values : uint32[...]; n : 1 … 2147483647. Returns int32[...], ``(values & bits) % n``.

    By a float64 reciprocal, which vectorises where a division does not: the quotient is right or one too small.
    """
    remainders = np.empty(len(values), np.int32)
    reciprocal = 1.0 / n
    for i in range(len(values)):
        value = np.int64(values[i] & bits)
        # r >= 0: a quotient below an integer is at least 1 / n below it, and the error is less than value / n / 2⁵¹ < 1 / n.
        r = value - np.int64(np.float64(value) * reciprocal) * n
        if r >= n:
            r -= n
        remainders[i] = r
    return remainders
