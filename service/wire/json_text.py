"""Kernels that write JSON values.

Each writes to ``text[to:]`` and returns the end of what it wrote. Beyond the end of ``text`` nothing is written, so a caller can
see how much room it takes.
"""

from typing import Any, Final

import numpy as np

from service.core.kernels import borrowing_kernel
from service.core.model import Bytes

Int64 = Any
"""A number in a kernel: an int to Python, an int64 to Numba."""

QUOTE, BACKSLASH = b'"\\'
STANDARD: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
URL_SAFE: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)
UNICODE_ESCAPE: Final = np.frombuffer(b"u00", np.uint8)
SHORT_ESCAPES: Final = np.array([{8: 98, 9: 116, 10: 110, 12: 102, 13: 114}.get(byte, 0) for byte in range(32)], np.uint8)
"""What follows the backslash of a control character; 0: ``u00`` and two digits."""


@borrowing_kernel
def put_byte(byte: Int64, text: Bytes, to: Int64) -> Int64:
    """One byte."""
    if to < len(text):
        text[to] = byte
    return to + 1


@borrowing_kernel
def put(piece: Bytes, text: Bytes, to: Int64) -> Int64:
    """Some bytes."""
    if to + len(piece) <= len(text):
        for i in range(len(piece)):
            text[to + i] = piece[i]
    return to + len(piece)


@borrowing_kernel
def put_number(number: Int64, text: Bytes, to: Int64) -> Int64:
    """Any number of 64 bits."""
    rest = np.uint64(number)
    if number < 0:
        to = put_byte(45, text, to)
        rest = ~rest + np.uint64(1)
    digits, power = 1, np.uint64(10)
    while digits < 19 and rest >= power:
        digits += 1
        power *= np.uint64(10)
    if to + digits <= len(text):
        for i in range(to + digits - 1, to - 1, -1):
            text[i] = 48 + rest % np.uint64(10)
            rest //= np.uint64(10)
    return to + digits


@borrowing_kernel
def put_string(data: Bytes, at: Int64, length: Int64, text: Bytes, to: Int64) -> Int64:
    """A string of UTF-8 as JSON, with the escapes that orjson writes."""
    to = put_byte(QUOTE, text, to)
    room = to + 6 * length <= len(text)
    for i in range(at, at + length):
        byte = data[i]
        if byte < 32 or byte in (QUOTE, BACKSLASH):
            to = _put_escape(byte, text, to)
        else:
            if room or to < len(text):
                text[to] = byte
            to += 1
    return put_byte(QUOTE, text, to)


@borrowing_kernel
def _put_escape(byte: Int64, text: Bytes, to: Int64) -> Int64:
    to = put_byte(BACKSLASH, text, to)
    if byte >= 32:
        return put_byte(byte, text, to)
    if SHORT_ESCAPES[byte]:
        return put_byte(SHORT_ESCAPES[byte], text, to)
    to = put(UNICODE_ESCAPE, text, to)
    to = put_byte(48 + (byte >> 4), text, to)
    low = byte & 15
    return put_byte(48 + low if low < 10 else 87 + low, text, to)


@borrowing_kernel
def put_base64(data: Bytes, at: Int64, length: Int64, text: Bytes, to: Int64) -> Int64:
    """Bytes as a string of standard base64."""
    to = put_byte(QUOTE, text, to)
    for i in range(at, at + length, 3):
        left = at + length - i
        three = np.int64(data[i]) << 16
        if left > 1:
            three |= np.int64(data[i + 1]) << 8
        if left > 2:
            three |= np.int64(data[i + 2])
        for place in range(4):
            to = put_byte(STANDARD[three >> (18 - 6 * place) & 63] if place <= left else 61, text, to)
    return put_byte(QUOTE, text, to)


@borrowing_kernel
def put_uuid(data: Bytes, at: Int64, text: Bytes, to: Int64) -> Int64:
    """Sixteen bytes as a string of 22 characters of URL-safe base64."""
    to = put_byte(QUOTE, text, to)
    for place in range(22):
        bit = 6 * place
        pair = np.int64(data[at + bit // 8]) << 8
        if bit < 120:
            pair |= np.int64(data[at + bit // 8 + 1])
        to = put_byte(URL_SAFE[pair >> (10 - bit % 8) & 63], text, to)
    return put_byte(QUOTE, text, to)
