"""Files that a command reads whole, whatever their size: request bodies, snapshots, output of Kafka's tools."""

from typing import BinaryIO, Final

from service.cli.errors import BadInput

LONGEST_INPUT: Final = 2**30
"""Bytes of a file: a snapshot of a million partitions has a third of it."""


def read_input(file: BinaryIO) -> bytes:
    """The content of a file or of standard input. Raises BadInput where it has no end, as that of ``/dev/zero``."""
    content = file.read(LONGEST_INPUT + 1)
    if len(content) > LONGEST_INPUT:
        raise BadInput(f"{file.name}: The file is longer than {LONGEST_INPUT:,} bytes.")
    return content
