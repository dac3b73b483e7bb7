"""JSON lines in blocks, and the lines in them that cannot be read."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from service.pipeline.files.rejected import UNREADABLE, RejectedRows

NEWLINE: Final = b"\n"

Place = Callable[[int], str]
"""The place in the file of the row at a position of a batch."""

_OTHER_TYPE: Final = re.compile(r"Column\(/?(.*)\) changed from (\w+) to (\w+)")
"""What Arrow says of a value that is not of the type of its column; the line itself has no name."""


def json_blocks(
    source: BufferedReader, size: int, read: Callable[[bytes], pa.Table], rejected: RejectedRows
) -> Iterator[tuple[pa.RecordBatch, Place]]:
    """The batches of JSON lines, a block of whole lines at a time, without the lines that cannot be read; and where rows are.

    size : bytes of a block; a line must not be longer
    """
    first, rest = 1, b""
    while piece := source.read(size):
        if first == 1 and not rest:
            piece = piece.removeprefix(BOM_UTF8)
        block, newline, rest_of_piece = (rest + piece).rpartition(b"\n")
        if len(rest_of_piece) > size:
            raise ValueError(f"Line {first + block.count(NEWLINE)} is longer than {size} bytes.")
        rest = rest_of_piece
        if newline:
            yield from _json_lines(block + b"\n", first, read, rejected)
            first += block.count(b"\n") + 1
    if rest.strip():
        yield from _json_lines(rest, first, read, rejected)


def _json_lines(
    text: bytes, first: int, read: Callable[[bytes], Any], rejected: RejectedRows
) -> Iterator[tuple[pa.RecordBatch, Place]]:
    if not text.strip():
        return
    try:
        _check(text)
        table = read(text)
        _check_rows(table.num_rows, text)
        batches = table.to_batches()
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        lines = text.splitlines(keepends=True) if text.count(b"\n") < 2**12 else _halves(text)
        if len(lines) == 1:
            rejected.add(f"line {first}", UNREADABLE, text.decode(errors="replace").rstrip("\r\n"), _fault(error))
            return
        half = (len(lines) + 1) // 2
        for part in (b"".join(lines[:half]), b"".join(lines[half:])):
            yield from _json_lines(part, first, read, rejected)
            first += part.count(b"\n")
    else:
        before = 0
        for batch in batches:
            yield batch, partial(_place, text, first, before)
            before += len(batch)


def _place(text: bytes, first: int, before: int, position: int) -> str:
    """The line of a row of some lines, of which blank ones are no rows. before : rows of the batches before"""
    numbers = (number for number, line in enumerate(text.split(NEWLINE), first) if line.strip())
    return f"line {next(islice(numbers, before + position, None), '?')}"


def _check(text: bytes) -> None:
    """Raise UnicodeDecodeError or ArrowInvalid for what Arrow does not check: UTF-8, and a line that is null.

    It takes such a line for an object, and crashes if the first one is null.
    """
    if not text.isascii():
        text.decode()
    if text.lstrip().startswith(b"null") or b"\nnull" in text:
        raise pa.ArrowInvalid("Column() changed from object to null")


def _check_rows(count: int, text: bytes) -> None:
    """Raise ArrowInvalid if a line has several records, of which Arrow makes rows. count : of all rows"""
    if count > text.count(b"\n{") + text.startswith(b"{") and count > sum(1 for line in text.split(NEWLINE) if line.strip()):
        raise pa.ArrowInvalid("several records in a line")


def _fault(error: Exception) -> str:
    """What is wrong with a line, as a clause."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    fault = re.sub(r" in row \d+$", "", str(error).removeprefix("JSON parse error: "))
    other = _OTHER_TYPE.fullmatch(fault)
    return f"{repr(other[1]) if other[1] else 'the line'} is of type {other[3]}, not {other[2]}" if other else fault


def _halves(text: bytes) -> list[bytes]:
    """A long text in two pieces of whole lines."""
    middle = text.index(b"\n", len(text) // 2) + 1
    return [text[:middle], text[middle:]]
