"""The heaps of the server's processes: shared by threads, and given back to the system."""

import ctypes
from contextlib import suppress
from typing import Final

import pyarrow as pa

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Constants of glibc's malloc.h."""

LARGE_BYTES: Final = 2**20
"""Allocations of this size and more go back to the system when they are freed. By default the limit grows to 32 MiB."""

FREE_BYTES: Final = 64 * 2**20
"""Free memory that the top of a heap keeps until the next trim."""

LIBC: Final = "libc.so.6"


def share() -> None:
    """Let all threads share heaps. By default malloc and Arrow give each thread its own, which keeps the memory it once needed.

    That was half of the memory that workers gained under mixed requests. A malloc other than glibc's is left as it is.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(LIBC).mallopt
        mallopt(M_ARENA_MAX, 2)
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_TRIM_THRESHOLD, FREE_BYTES)


def trim() -> None:
    """Give all whole pages that are free back to the system, also those below what is still in use.

    Without it, up to a fifth of a worker's memory was free pages after some minutes of mixed requests. It takes 1 to 30 ms, and
    more where other processes want the processor. A malloc other than glibc's is left as it is.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(LIBC).malloc_trim(0)
