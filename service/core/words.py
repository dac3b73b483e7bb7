"""Little-endian words out of a byte buffer, and rotations of words, for kernels.

Written byte by byte, which the compiler turns into one unaligned load: no pointer cast, and correct on any machine. Indices are
uint64, so that kernels spend no time on Python's negative indices. Numba widens every product and sum of two uint32 to uint64.
Where the high bits would matter (``>>``, a comparison), the kernels remove them with ``np.uint32(…)``.
"""

import numpy as np
from numba import njit

from service.core.model import Bytes


@njit(nogil=True, cache=True, inline="always")
def word(data: Bytes, at: np.uint64) -> np.uint32:
    """The uint32 at ``data[at:at + 4]``."""
    return np.uint32(
        np.uint32(data[at])
        | (np.uint32(data[at + np.uint64(1)]) << np.uint32(8))
        | (np.uint32(data[at + np.uint64(2)]) << np.uint32(16))
        | (np.uint32(data[at + np.uint64(3)]) << np.uint32(24))
    )


@njit(nogil=True, cache=True, inline="always")
def long_word(data: Bytes, at: np.uint64) -> np.uint64:
    """The uint64 at ``data[at:at + 8]``."""
    return np.uint64(word(data, at)) | (np.uint64(word(data, at + np.uint64(4))) << np.uint64(32))


@njit(nogil=True, cache=True, inline="always")
def rotl32(x: np.uint32, r: int) -> np.uint32:
    """The bits rotated to the left, r in [1, 31]."""
    return np.uint32((x << np.uint32(r)) | (x >> np.uint32(32 - r)))


@njit(nogil=True, cache=True, inline="always")
def rotl64(x: np.uint64, r: int) -> np.uint64:
    """The bits rotated to the left, r in [1, 63]."""
    return (x << np.uint64(r)) | (x >> np.uint64(64 - r))
