"""Lists of millions of alike rows as JSON, written by one kernel: prefix, integers, suffix.

A row is a sequence of parts. Each is a text and the integers behind it, with commas between them:

    rows(2, Part([b'{"partition_id":'], numbers=ids), Part([b',"replicas":['], numbers=replicas), Part([b"]}"]))
    {"partition_id":0,"replicas":[4,2]},{"partition_id":1,"replicas":[1,3]}

The text leaves in blocks, and its size is known before the first: a large answer is made while it is sent.
The string functions of Arrow take ten times as long.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bytes, Int32s, Int64s, Ragged
from service.http.json.codec import LongText

COMMA: Final = 44

DIGITS: Final = 12
"""Most characters of an int32 and a comma."""

BLOCK_BYTES: Final = 2**20
"""Bytes of a block; more only if a single text is longer."""

BLOCK_ROWS: Final = 2**14
"""Rows whose cells are made at once."""


class Part(NamedTuple):
    """What comes next in each row.

    texts : at least one
    labels : int32[rows], the text of each row; None: all have the first
    numbers : the integers behind the text: Ragged row → integers, int32[rows, n], or int32[rows]; None: none
    ids : int32[...], for which the numbers are indices; None: the numbers are written themselves
    """

    texts: Sequence[bytes]
    labels: Int32s | None = None
    numbers: Ragged | Int32s | None = None
    ids: Int32s | None = None


class Texts(NamedTuple):
    """Texts end to end: text i is ``data[offsets[i]:offsets[i + 1]]``."""

    offsets: Int32s
    data: Bytes


class KernelRows(NamedTuple):
    """Some rows for the kernel.

    columns : int32[parts, 5], for each part of a row, with NONE for what it has not: its first text; where in the pool its labels
        begin; how many integers each row has; where their offsets begin, if that differs; where they begin themselves
    pool : int32[...]
    height : the number of rows
    """

    columns: Int32s
    pool: Int32s
    height: int


class Place(NamedTuple):
    """Where a block begins: in a row at a part, before its text (NONE) or one of its integers."""

    row: int
    part: int
    number: int


def json_list(count: int, *parts: Part) -> LongText:
    """``count`` rows as a list."""
    return enclosed(b"[", rows(count, *parts), b"]")


def enclosed(before: bytes, text: LongText, after: bytes) -> LongText:
    """A text with something around it."""
    return LongText(chain((before,), text.pieces, (after,)), len(before) + text.size + len(after), exact=text.exact)


def rows(count: int, *parts: Part) -> LongText:
    """``count`` rows, with commas between them."""
    return LongText(_blocks(count, parts), max(0, count - 1) + sum(_size(count, part) for part in parts), exact=True)


def _size(count: int, part: Part) -> int:
    """Bytes that a part takes in all rows together."""
    lengths = np.array([len(text) for text in part.texts])
    size = count * lengths[0] if part.labels is None else np.bincount(part.labels, minlength=len(lengths)) @ lengths
    if part.numbers is None or not count:
        return int(size)
    numbers = _flat(part.numbers)
    if part.ids is None:
        size += _characters(numbers)
    else:
        size += np.bincount(numbers, minlength=len(part.ids)) @ _lengths(part.ids)
    filled = np.count_nonzero(part.numbers.lengths()) if isinstance(part.numbers, Ragged) else min(count, numbers.size)
    return int(size + numbers.size - filled)  # with the commas between them


@kernel
def _characters(numbers: Int32s) -> int:
    """The characters of all of them."""
    total = 0
    for number in numbers:
        total += _length(number)
    return total


@kernel
def _lengths(numbers: Int32s) -> Int64s:
    """The characters of each."""
    lengths = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        lengths[i] = _length(numbers[i])
    return lengths


@inner_kernel
def _length(number: int) -> int:
    rest = np.uint32(abs(np.int64(number)))
    length, power = 2 if number < 0 else 1, np.uint64(10)
    while power <= rest:
        length += 1
        power *= np.uint64(10)
    return length


def _blocks(count: int, parts: Sequence[Part]) -> Iterator[bytes]:
    if not count:
        return
    first, *others = parts
    texts = _end_to_end([[b"," + text for text in first.texts], *(part.texts for part in others)])
    longest = int(np.diff(texts.offsets).max()) + DIGITS
    numbers = sum(_flat(part.numbers).size for part in parts if part.numbers is not None)
    block = np.empty(min(max(BLOCK_BYTES, longest), count * len(parts) * longest + DIGITS * numbers), np.uint8)
    comma = 1  # before the first row, which has none
    for start in range(0, count, BLOCK_ROWS):
        some = _some_rows(parts, start, min(start + BLOCK_ROWS, count))
        place = Place(0, 0, NONE)
        while place.row < some.height:
            place, end = _write(texts, some, place, block)
            yield block[comma:end].tobytes()
            comma = 0


def _flat(numbers: Ragged | Int32s) -> Int32s:
    return numbers.values[numbers.offsets[0] : numbers.offsets[-1]] if isinstance(numbers, Ragged) else numbers.ravel()


def _end_to_end(tables: Sequence[Sequence[bytes]]) -> Texts:
    texts = [text for table in tables for text in table]
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return Texts(offsets, np.frombuffer(bytearray(b"".join(texts)), np.uint8))


def _some_rows(parts: Sequence[Part], start: int, stop: int) -> KernelRows:
    """The rows from ``start`` up to ``stop``."""
    columns, pool, text, end = [], [], 0, 0
    for part in parts:
        column = [text, NONE, 0, NONE, NONE]
        text += len(part.texts)
        arrays = {} if part.labels is None else {1: part.labels[start:stop]}
        numbers = part.numbers
        if isinstance(numbers, Ragged):
            column[2] = NONE
            arrays[3] = offsets = numbers.offsets[start : stop + 1]
            numbers = numbers.values[offsets[0] : offsets[-1]]
        elif numbers is not None:
            numbers = numbers[start:stop].ravel()
            column[2] = len(numbers) // (stop - start)
        if numbers is not None:
            arrays[4] = numbers if part.ids is None else part.ids[numbers]
        for field, array in arrays.items():
            column[field] = end
            pool.append(array)
            end += len(array)
        columns.append(column)
    return KernelRows(np.array(columns, np.int32), np.concatenate(pool) if pool else np.empty(0, np.int32), stop - start)


@kernel
def _write(texts: Texts, rows: KernelRows, place: Place, block: Bytes) -> tuple[Place, int]:
    """Fill a block with rows.

    block : uint8[...], at least as long as the longest text and an integer

    Returns where the next block begins, and the end of the text in this one.
    """
    row, part, number = place
    pool, at = rows.pool, 0
    while row < rows.height:
        while part < len(rows.columns):
            text, labels, width, offsets, numbers = rows.columns[part]
            if width == NONE:
                start, stop = pool[offsets + row] - pool[offsets], pool[offsets + row + 1] - pool[offsets]
            else:
                start, stop = row * width, (row + 1) * width
            if number == NONE:
                label = text if labels == NONE else text + pool[labels + row]
                begin, end = texts.offsets[label], texts.offsets[label + 1]
                if at + end - begin > len(block):
                    return Place(row, part, number), at
                for i in range(end - begin):
                    block[np.uint64(at + i)] = texts.data[np.uint64(begin + i)]
                at += end - begin
                number = start
            while number < stop:
                if at + DIGITS > len(block):
                    return Place(row, part, number), at
                if number > start:
                    block[at] = COMMA
                    at += 1
                at = _write_number(pool[numbers + number], block, at)
                number += 1
            part, number = part + 1, NONE
        row, part = row + 1, 0
    return Place(row, part, number), at


@inner_kernel
def _write_number(number: int, text: Bytes, at: int) -> int:
    """Write decimal digits to ``text[at:]``, at most 11 characters for an int32; returns the place behind them."""
    if number < 0:
        text[at] = 45
        at += 1
    rest = np.uint32(abs(np.int64(number)))
    end, power = at + 1, np.uint64(10)
    while power <= rest:
        end += 1
        power *= np.uint64(10)
    for place in range(end - 1, at - 1, -1):
        tens = rest // np.uint32(10)
        text[place] = np.uint32(48) + rest - tens * np.uint32(10)
        rest = tens
    return end
