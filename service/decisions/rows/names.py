"""Names in rows, and how long they may be."""

from typing import Final

import pyarrow as pa

NAME = pa.string()

LONGEST_TOPIC_NAME: Final = 249
"""org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH."""

LONGEST_NAME: Final = 1024
"""Bytes of UTF-8 in any other name: of a member, an instance, a rack, a group or a client. Kafka has no limit below 32 KiB."""


def plain_names(names: pa.Array, longest: int = LONGEST_NAME, shortest: int = 1) -> bool:
    """Are all lengths between ``shortest`` and ``longest`` bytes (hence at most as many characters)?"""
    import pyarrow.compute as pc  # noqa: PLC0415 - takes 30 ms, and keys need none of it

    if names.null_count == len(names):
        return True
    lengths = pc.min_max(pc.binary_length(names)).as_py()
    return bool(shortest <= lengths["min"] and lengths["max"] <= longest)
