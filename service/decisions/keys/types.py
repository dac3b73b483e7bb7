"""The types of Arrow columns of keys."""

from typing import Final

import pyarrow as pa

FORMAT_OF_TYPE: Final = {
    pa.int16(): "short",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}
"""The key format of a column of numbers."""

TYPE_OF_FORMAT: Final = {key_format: kind for kind, key_format in FORMAT_OF_TYPE.items()}
"""The reverse; keys of other formats are strings or bytes."""
