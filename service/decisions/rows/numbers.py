"""Numbers in rows: what each may be."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.model import LARGEST, SMALLEST

MOST: Final = 2**53
"""Largest number of records, or bytes, of one row; also JSON's largest exact one."""


def in_range(values: pa.Array, least: float, most: float = np.inf) -> bool:
    """Are all values that are not null between these?"""
    if values.null_count == len(values):
        return True
    bounds = pc.min_max(values).as_py()
    return bool(least <= bounds["min"] and bounds["max"] <= most)


def plain_rates(values: pa.Array) -> bool:
    """Is each that is not null 0, or a number that floats have digits for?"""
    known = np.array(values.drop_null(), np.float64)
    return bool(((known == 0) | ((known >= SMALLEST) & (known <= LARGEST))).all())
