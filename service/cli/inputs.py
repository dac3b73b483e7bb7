"""Files that a command reads whole, whatever their size: request bodies, snapshots, output of Kafka's tools."""

from typing import BinaryIO, Final

from service.cli.errors import BadInput

LONGEST_INPUT: Final = 2**30
"""Bytes of a file: a snapshot of a million partitions has a third of it."""

STDIN: Final = "standard input"


def read_input(file: BinaryIO) -> bytes:
    """The content of a file or of standard input. Raises BadInput if it is empty, or has no end, as ``/dev/zero``."""
    content = file.read(LONGEST_INPUT + 1)
    name = name_of(file)
    if len(content) > LONGEST_INPUT:
        raise BadInput(f"{name}: The file is longer than {LONGEST_INPUT:,} bytes.")
    if not content or content.isspace():
        hint = " Give the name of a file, or pipe its content into this command." if name == STDIN else ""
        raise BadInput(f"{name}: The file is empty.{hint}")
    return content


def name_of(file: BinaryIO) -> str:
    """The name of the file, in words for standard input."""
    name: str = getattr(file, "name", "<stdin>")
    return STDIN if name == "<stdin>" else name
