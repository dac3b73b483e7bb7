"""Names in rows, and how long they may be."""

from typing import Final

import numpy as np
import pyarrow as pa

from service.decisions.budget import longest_text

NAME = pa.string()

LONGEST_TOPIC_NAME: Final = 249
"""org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH."""

LONGEST_NAME: Final = 1024
"""Bytes of UTF-8 in any other name: of a member, an instance, a rack, a group or a client. Kafka has no limit below 32 KiB."""

NAME_BYTES: Final = 500
NAME_COPIES: Final = 10
"""Memory of what is made of a name, and of each of its bytes."""

_ONE_BYTE_IN_JSON: Final = bytes(set(range(32, 127)) - set(b'"\\'))


def plain_names(names: pa.Array, longest: int = LONGEST_NAME, shortest: int = 1) -> bool:
    """Are all lengths between ``shortest`` and ``longest`` bytes (hence at most as many characters)?"""
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 30 ms, and keys need none of it

    if names.null_count == len(names):
        return True
    lengths = pc.min_max(pc.binary_length(names)).as_py()
    return bool(shortest <= lengths["min"] and lengths["max"] <= longest)


def names_bytes(names: pa.StringArray) -> int:
    """Most memory of what is made of some names: texts of Python, their order in Java, and their part of the answer."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    return NAME_BYTES * len(names) + NAME_COPIES * int(pc.sum(pc.binary_length(names), min_count=0).as_py())


def longest_name(names: pa.StringArray) -> int:
    """``longest_text`` of a column without nulls; only if a character of it is escaped in JSON, each name is looked at."""
    _, offsets, text = names.buffers()
    if not len(names):
        return 0
    ends = np.frombuffer(offsets, np.int32)[names.offset : names.offset + len(names) + 1]
    if text is None or not bytes(memoryview(text)[ends[0] : ends[-1]]).translate(None, _ONE_BYTE_IN_JSON):
        return int(np.diff(ends).max()) + 2
    return longest_text(names.to_pylist())
