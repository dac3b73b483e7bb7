"""Keys that are whole numbers and are not hashed: Pinot's Modulo, TiCDC's ts."""

from typing import Any

import numpy as np

from service.core.keys.columns import INTEGERS
from service.core.model import Keys
from service.core.partitioners.hashing_rule import Hash


def _values(encoded: Keys, key_format: str) -> Any:
    """int64[n], the numbers. encoded : big-endian numbers of the format"""
    return encoded.data.view(INTEGERS[key_format].newbyteorder(">")).astype(np.int64)


WHOLE_NUMBER = Hash("the number itself", _values, bits=64)
