"""The heaps of the server's processes."""

from __future__ import annotations

import subprocess
import sys

FREED = """
import ctypes
from pathlib import Path
from service.server import heaps

heaps.share()
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [libc.malloc(100_000) for _ in range(1_000)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
for block in blocks[:-1]:
    libc.free(block)

def resident():
    return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0])

before = resident()
heaps.trim()
print(before - resident())
"""
"""Allocates 100 MB, frees all but the last block, and prints how many KiB ``trim`` gives back."""


def test_free_memory_below_what_is_in_use_is_given_back():
    result = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True, timeout=120)
    assert int(result.stdout) > 90_000
