"""Pairs of members between which partitions of a topic have moved, by hash: open addressing."""

from typing import Final

import numpy as np

from service.core.jvm.red_black import Rows
from service.core.kernels import inner_kernel
from service.core.model import NONE, Int32s

TOPIC: Final = 0
SOURCE: Final = 1
OWNER: Final = 2
"""The first columns of the rows of pairs: the topic, from whom, and to whom."""


@inner_kernel
def place_of(pairs: Rows, slots: Int32s, topic: int, source: int, owner: int) -> int:
    """Where the pair is in ``slots``, or the free place where it would be.

    pairs : int32[..., 3 columns or more]; slots : int32[...], rows of ``pairs``, NONE where free; a power of two
    """
    mixed = (np.uint64(topic) * np.uint64(1000003) + np.uint64(source)) * np.uint64(1000003) + np.uint64(owner)
    place = np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & (len(slots) - 1)
    while slots[place] != NONE:
        row = pairs[slots[place]]
        if row[TOPIC] == topic and row[SOURCE] == source and row[OWNER] == owner:
            break
        place = (place + 1) & (len(slots) - 1)
    return int(place)
