"""Random keys, the same on every call, to compare partitioners on when a request has too few keys."""

from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np

from service.core.keys.columns import BYTES, FLOATS, INTEGERS, Column, Numbers, byte_strings, strings

PROBES: Final = 4096

_LETTERS: Final = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789-"))


@cache
def probe_keys(key_format: str) -> Column:
    """PROBES distinct keys of the format: text of 4 to 40 characters, 4 to 40 bytes, any numbers."""
    draw = np.random.default_rng(0)
    lengths = draw.integers(4, 41, PROBES)
    if key_format == "uuid":
        digits = [bytes(row).hex() for row in draw.integers(0, 256, (PROBES, 16), np.uint8)]
        return strings([f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}" for d in digits])
    if key_format in BYTES:
        return byte_strings([draw.bytes(int(length)) for length in lengths])
    if key_format in INTEGERS:
        bounds = np.iinfo(INTEGERS[key_format])
        return Numbers(draw.integers(bounds.min, bounds.max, PROBES, INTEGERS[key_format], endpoint=True))
    if key_format in FLOATS:
        return Numbers(draw.normal(0, 1e6, PROBES).astype(FLOATS[key_format]))
    if key_format == "boolean":
        return Numbers(np.arange(PROBES) % 2 == 0)
    ends = np.cumsum(lengths).tolist()
    text = "".join(_LETTERS[draw.integers(0, len(_LETTERS), ends[-1])].tolist())
    return strings([text[start:end] for start, end in pairwise([0, *ends])])
