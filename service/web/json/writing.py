"""Answers of a million rows, written by kernels: the string functions of Arrow take several times as long."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from service.core.kernels import inner_kernel
from service.core.model import Bytes, Int32s
from service.web.json.codec import dumps

COMMA = 44

BLOCK_BYTES: Final = 4 * 2**20
"""About the largest block of rows."""


class Texts(NamedTuple):
    """Texts end to end: text i is ``data[offsets[i]:offsets[i + 1]]``."""

    offsets: Int32s
    data: Bytes


def end_to_end(texts: Iterable[bytes]) -> Texts:
    """The texts for a kernel."""
    texts = list(texts)
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return Texts(offsets, np.frombuffer(bytearray(b"".join(texts)), np.uint8))


def opened(member: str, names: Iterable[str], then: str) -> Texts:
    """For each name the beginning of an object: ``{"topic_name":"orders","partition_ids":[``.

    then : the next member, of which a list is to follow
    """
    return end_to_end(b'{"%s":%s,"%s":[' % (member.encode(), dumps(name), then.encode()) for name in names)


def in_blocks(rows: int, longest: int, write: Callable[[slice], Bytes]) -> Iterator[bytes]:
    """Rows with commas between them, in blocks.

    longest : most bytes of a row; write : makes the text of some of the rows, with commas between them
    """
    step = max(1, BLOCK_BYTES // longest)
    for start in range(0, rows, step):
        yield b"".join((b"," if start else b"", write(slice(start, start + step)).data))


@inner_kernel
def write_number(number: int, text: Bytes, at: int) -> int:
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
