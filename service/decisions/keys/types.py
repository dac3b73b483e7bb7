"""The types of Arrow columns of keys, and tables of keys that arrive batch by batch."""

from collections.abc import Iterator
from typing import Final, Protocol, runtime_checkable

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


@runtime_checkable
class Stream(Protocol):
    """A table of keys that arrives batch by batch. It is read once: whole, or batch by batch."""

    def table(self, *columns: str) -> pa.Table:
        """All of it, as a table of exactly these columns."""

    def batches(self, columns: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Its batches, while it arrives, with these columns and perhaps the optional ones."""
