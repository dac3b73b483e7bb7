"""The order of names in languages that compare bytes, or code points: C, Go, Rust, Python."""

from collections.abc import Sequence

import numpy as np

from service.core.model import Int32s


def by_bytes(names: Sequence[str]) -> Int32s:
    """int32[names], the positions of ``names`` in ascending order of their bytes in UTF-8, as memcmp has it."""
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int32)  # code points sort as their bytes do


def byte_ranks(names: Sequence[str]) -> Int32s:
    """int32[names], the place of each in that order."""
    places = np.empty(len(names), np.int32)
    places[by_bytes(names)] = np.arange(len(names), dtype=np.int32)
    return places
