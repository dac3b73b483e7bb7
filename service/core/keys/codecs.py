"""Texts to bytes and back, one column per call: base64, hexadecimal digits, UUIDs, UTF-16 units.

A column is ``offsets``, int32[texts + 1], and ``data``, uint8[...], as in Keys. Python's own codecs are the plain twins.
"""

from typing import Final

import numpy as np

from service.core.kernels import kernel
from service.core.model import Bools, Bytes, Int32s

BASE64: Final = np.frombuffer(bytearray(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"), np.uint8)

BASE64_VALUES: Final = np.full(256, 255, np.uint8)
BASE64_VALUES[BASE64] = np.arange(64)
"""Each character's six bits; 255 for any other character."""

HEX_VALUES: Final = np.full(256, 255, np.uint8)
HEX_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
HEX_VALUES[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)
"""Each digit's value; 255 for any other character."""


@kernel
def decode_base64(offsets: Int32s, data: Bytes, values: Bytes) -> tuple[Int32s, Bytes, int]:
    """Base64 as bytes. values : BASE64_VALUES. Returns offsets, data and the first invalid text, or -1."""
    n = len(offsets) - 1
    decoded_offsets = np.zeros(n + 1, np.int32)
    decoded = np.empty(len(data) // 4 * 3 + 3, np.uint8)
    to = 0
    for i in range(n):
        at, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        if (end - at) % 4:
            return decoded_offsets, decoded, i
        padding = 0
        if end > at and data[end - 1] == ord("="):
            padding = 2 if data[end - 2] == ord("=") else 1
        bad = np.uint8(0)
        while at < end - 4 or (at < end and padding == 0):
            a, b, c, d = values[data[at]], values[data[at + 1]], values[data[at + 2]], values[data[at + 3]]
            bad |= a | b | c | d
            decoded[to] = (a << 2) | (b >> 4)
            decoded[to + 1] = (b << 4) | (c >> 2)
            decoded[to + 2] = (c << 6) | d
            at += 4
            to += 3
        if at < end:
            a, b = values[data[at]], values[data[at + 1]]
            bad |= a | b
            decoded[to] = (a << 2) | (b >> 4)
            to += 1
            if padding == 1:
                c = values[data[at + 2]]
                bad |= c
                decoded[to] = (b << 4) | (c >> 2)
                to += 1
        if bad & 0xC0:
            return decoded_offsets, decoded, i
        decoded_offsets[i + 1] = to
    return decoded_offsets, decoded[:to], -1


@kernel
def decode_hex(offsets: Int32s, data: Bytes, values: Bytes) -> tuple[Int32s, Bytes, int]:
    """Pairs of digits as bytes. values : HEX_VALUES. Returns offsets, data and the first invalid text, or -1."""
    n = len(offsets) - 1
    decoded_offsets = np.zeros(n + 1, np.int32)
    decoded = np.empty(len(data) // 2, np.uint8)
    to = 0
    for i in range(n):
        if (offsets[i + 1] - offsets[i]) % 2:
            return decoded_offsets, decoded, i
        for at in range(offsets[i], offsets[i + 1], 2):
            high, low = values[data[at]], values[data[at + 1]]
            if (high | low) > 15:
                return decoded_offsets, decoded, i
            decoded[to] = (high << 4) | low
            to += 1
        decoded_offsets[i + 1] = to
    return decoded_offsets, decoded, -1


@kernel
def lower_uuids(offsets: Int32s, data: Bytes, values: Bytes, valid: Bools) -> tuple[Bytes, int]:
    """UUIDs in lower case. values : HEX_VALUES; valid : bool[texts]. Returns data and the first invalid text, or -1."""
    lower = data.copy()
    for i in range(len(offsets) - 1):
        if not valid[i]:
            continue
        start = offsets[i]
        if offsets[i + 1] - start != 36:
            return lower, i
        for k in range(36):
            character = data[start + k]
            if k in (8, 13, 18, 23):
                if character != ord("-"):
                    return lower, i
            elif values[character] > 15:
                return lower, i
            elif character >= ord("A") and character <= ord("F"):
                lower[start + k] = character + 32
    return lower, -1


@kernel
def write_base64(offsets: Int32s, data: Bytes, text_offsets: Int32s, alphabet: Bytes) -> Bytes:
    """Bytes as base64, uint8[text_offsets[-1]]. alphabet : BASE64"""
    text = np.empty(text_offsets[-1], np.uint8)
    for i in range(len(offsets) - 1):
        to = text_offsets[i]
        for at in range(offsets[i], offsets[i + 1], 3):
            left = offsets[i + 1] - at
            a = data[at]
            b = data[at + 1] if left > 1 else np.uint8(0)
            c = data[at + 2] if left > 2 else np.uint8(0)
            text[to] = alphabet[a >> 2]
            text[to + 1] = alphabet[((a & 3) << 4) | (b >> 4)]
            text[to + 2] = alphabet[((b & 15) << 2) | (c >> 6)] if left > 1 else ord("=")
            text[to + 3] = alphabet[c & 63] if left > 2 else ord("=")
            to += 4
    return text


@kernel
def replace_surrogates(offsets: Int32s, data: Bytes) -> tuple[Int32s, Bytes]:
    """Each surrogate (the UTF-8 form ED A0…BF xx) as ``?``. Returns offsets and data."""
    replaced_offsets = np.zeros_like(offsets)
    replaced = np.empty_like(data)
    to = 0
    for i in range(len(offsets) - 1):
        at = offsets[i]
        while at < offsets[i + 1]:
            if data[at] == 0xED and data[at + 1] >= 0xA0:
                replaced[to] = ord("?")
                at += 3
            else:
                replaced[to] = data[at]
                at += 1
            to += 1
        replaced_offsets[i + 1] = to
    return replaced_offsets, replaced[:to]


@kernel
def low_bytes(offsets: Int32s, data: Bytes) -> tuple[Int32s, Bytes]:
    """The low byte of each UTF-16 unit of texts in UTF-8. Returns offsets and data."""
    low_offsets = np.zeros_like(offsets)
    low = np.empty_like(data)
    to = 0
    for i in range(len(offsets) - 1):
        at = offsets[i]
        while at < offsets[i + 1]:
            lead = np.int64(data[at])
            if lead < 0x80:
                low[to] = lead
                at += 1
            elif lead < 0xE0:
                low[to] = (lead << 6 | (data[at + 1] & 0x3F)) & 0xFF
                at += 2
            elif lead < 0xF0:
                low[to] = (np.int64(data[at + 1]) << 6 | (data[at + 2] & 0x3F)) & 0xFF
                at += 3
            else:
                point = (
                    (lead & 7) << 18
                    | np.int64(data[at + 1] & 0x3F) << 12
                    | np.int64(data[at + 2] & 0x3F) << 6
                    | np.int64(data[at + 3] & 0x3F)
                )
                low[to] = (0xD800 + ((point - 0x10000) >> 10)) & 0xFF
                to += 1
                low[to] = point & 0xFF
                at += 4
            to += 1
        low_offsets[i + 1] = to
    return low_offsets, low[:to]


@kernel
def copy_rows(data: Bytes, starts: Int32s, offsets: Int32s) -> Bytes:
    """uint8[offsets[-1]], pieces of the data end to end.

    data : uint8[...]; starts : int32[n], where each piece begins; offsets : int32[n + 1], where it is to begin
    """
    copy = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        start, at = np.int64(starts[i]), np.int64(offsets[i])
        for j in range(offsets[i + 1] - at):
            copy[at + j] = data[start + j]
    return copy
