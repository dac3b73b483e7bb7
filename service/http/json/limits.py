"""A JSON text before it is parsed: does it repeat a member, how deep is it, and how much memory would its values take?

The parser would keep the last of two members, and would make 6 GB of lists of 256 MB of ``[[],[],…]``. A kernel scans the text
once, a nanosecond a byte at most; at long strings it looks eight bytes at a time, in half the time. It judges nothing else: the
parser refuses what is not JSON. See docs/adr/0005.
"""

from typing import Any, Final

import numpy as np
import orjson
from numba import njit

from service.core.kernels import borrowing_kernel, kernel
from service.core.model import Bytes, Int64s
from service.core.words import long_word

MAX_DEPTH: Final = 32
"""Deepest nesting of brackets; no body needs a third of it."""

COMPARED_MEMBERS: Final = 64
"""How many members of an object are compared; a larger object is not a body of this service: its unknown fields are refused."""

MOST_MEMBERS: Final = 1_000
"""How many members an object may have: each that is unknown would become an error."""

LONGEST_KEY: Final = 30_000
"""Bytes of a name in a refusal, which quotes 5,000 characters of it."""

LONG_NUMBER_BYTES: Final = 4
"""Memory for each digit of a number of more than 18, which Arrow reads as texts first."""

SMALL_OBJECT: Final = 8
"""Members of an object that do not grow its table."""

FINE, DUPLICATE, TOO_DEEP, TOO_MANY = 0, 1, 2, 3

VERDICT, BYTES, DEPTH, START, LINES, STATE = range(6)
"""Where the kernel writes its results; from STATE on, four rows of MAX_DEPTH + 1 numbers follow."""

KIND, KEY, INDEX, KEYS = range(STATE, STATE + 4 * (MAX_DEPTH + 1), MAX_DEPTH + 1)
"""Where these rows begin."""


class JsonRejected(ValueError):
    """The text will not be parsed. field : path to the place, names and indices"""

    def __init__(self, detail: str, field: tuple[str | int, ...]) -> None:
        super().__init__(detail)
        self.field = field


def scanned(text: bytes) -> tuple[int, int]:
    """How many bytes a parser and the values of a JSON text would take in memory, at most; and how many elements of the outer
    list end with a comma and a line feed. Raises JsonRejected.
    """
    state = np.zeros(STATE + 4 * (MAX_DEPTH + 1), np.int64)
    scan(np.frombuffer(text, np.uint8), state, np.zeros((MAX_DEPTH + 1) * COMPARED_MEMBERS, np.int64))
    if state[VERDICT] == DUPLICATE:
        name = _unquoted(text, int(state[START]))
        raise JsonRejected(f"Duplicate member {name!r}.", (*_path(text, state, int(state[DEPTH]) - 1), name))
    if state[VERDICT] == TOO_MANY:
        raise JsonRejected(f"An object has more than {MOST_MEMBERS} members.", _path(text, state, int(state[DEPTH]) - 1))
    if state[VERDICT] == TOO_DEEP:
        raise JsonRejected(f"Brackets are nested more than {MAX_DEPTH} deep.", _path(text, state, MAX_DEPTH))
    return int(state[BYTES]), int(state[LINES])


def character_bytes(text: bytes) -> int:
    """Bytes of a character of a UTF-8 text as a ``str``: orjson keeps one in its errors, and Python's json reads one."""
    return 1 if text.isascii() else int(_character_bytes.py_func(np.frombuffer(text, np.uint8).max()))


def _path(text: bytes, state: Int64s, depth: int) -> tuple[str | int, ...]:
    """The place at which the kernel stopped: for each of the outer ``depth`` brackets the member or the element that it is in."""
    kind, key, index, _ = state[STATE:].reshape(4, -1)
    return tuple(_unquoted(text, int(key[level])) if kind[level] else int(index[level]) for level in range(1, depth + 1))


def _unquoted(text: bytes, start: int) -> str:
    """The string whose first character is at ``start``; as it stands there if it is none, or longer than LONGEST_KEY bytes."""
    end, last = start, min(len(text), start + LONGEST_KEY)
    while end < last and text[end] != 34:
        end += 2 if text[end] == 92 else 1
    try:
        return str(orjson.loads(b'"' + text[start:end] + b'"'))
    except orjson.JSONDecodeError:
        return text[start:end].decode("utf-8", "replace")


@njit(nogil=True, cache=True, inline="always")
def is_plain(eight: np.uint64) -> bool:
    """Are eight bytes of a string all ASCII, and none of them a quote, a backslash or a control character?

    A byte below 128 minus one, or minus 32, has its high bit set if it was 0, or below 32. A borrow only comes from such a byte.
    """
    quotes, backslashes = eight ^ np.uint64(0x2222222222222222), eight ^ np.uint64(0x5C5C5C5C5C5C5C5C)
    ones, spaces = np.uint64(0x0101010101010101), np.uint64(0x2020202020202020)
    special = eight | (quotes - ones) | (backslashes - ones) | (eight - spaces)
    return bool(special & np.uint64(0x8080808080808080) == 0)


@njit(nogil=True, cache=True, inline="always")
def _character_bytes(top: int) -> int:
    """What CPython has for each character of a string, by its largest byte in UTF-8."""
    return 4 if top >= 0xF0 else 2 if top >= 0xC4 else 1


@kernel
def scan(text: Bytes, state: Int64s, hashes: Int64s) -> None:
    r"""Go through a text as a JSON parser would, brackets and strings only.

    text : uint8[...]    any bytes
    state : int64[STATE + 4 · (MAX_DEPTH + 1)]    zeros; written: the verdict, the bytes that the values would take (as CPython's
        objects), the depth and the place of a duplicate member, how many elements of the outermost bracket end with a comma
        and a line feed; and for each depth whether it is an object, where its last key starts, how many elements were before,
        how many keys
    hashes : int64[(MAX_DEPTH + 1) · COMPARED_MEMBERS]    zeros; used for the hashes of the keys of the last object of each depth

    Two keys are one if their characters are, so "a" and "\u0061"; beyond ASCII escapes are taken as they stand.
    Plain-Python twin: tests/reference/json_limits.py.
    """
    depth, size, lines, i, n, wants_key = 0, np.int64(0), np.int64(0), 0, len(text), False
    while i < n:
        c = text[i]
        if c == 34:
            start = i + 1
            if wants_key:
                hashed, i = _key_hash(text, start)
                added = _key_bytes(state, hashes, depth, start, hashed)
                size += added
                n = n if added else 0  # it ends here
                wants_key = False
            else:
                top, i = _largest_byte(text, start)
                size += 64 + (i - start) * _character_bytes(top)
        elif c == 44:
            size += 24  # 8 of the list, 16 that orjson has for each value until it has made all
            if depth:
                state[INDEX + depth] += 1
                lines += depth == 1 and i + 1 < n and text[i + 1] == 10
                wants_key = state[KIND + depth] == 1
        elif c in (123, 91):
            if depth == MAX_DEPTH:
                state[VERDICT], n = TOO_DEEP, 0
            else:
                depth += 1
                wants_key = c == 123
                state[KIND + depth], state[INDEX + depth], state[KEYS + depth] = wants_key, 0, 0
                size += 192 if wants_key else 80
        elif c in (125, 93):
            depth -= depth > 0
            wants_key = False
        elif c == 45 or 48 <= c <= 57:
            start = i
            i = _number_end(text, i) - 1
            size += max(32, LONG_NUMBER_BYTES * (i + 1 - start) - 40)
        i += 1
    state[BYTES], state[LINES] = size, lines


@borrowing_kernel
def _key_hash(text: Bytes, i: int) -> tuple[np.uint64, int]:
    """The hash of the characters of the string at ``i``, and where it ends."""
    b: Any
    hashed, n = np.uint64(14695981039346656037), len(text)
    while i < n and text[i] != 34:
        b = np.int64(text[i])
        i += 1
        if b == 92 and i < n:
            b = np.int64(text[i])
            i += 1
            if b == 117:
                value, digits = _hex(text, i)
                is_ascii = digits == 4 and value < 128
                b = value if is_ascii else 512
                i += 4 * is_ascii
            elif b not in (34, 92, 47):
                b = _control(b)
        hashed = (hashed ^ np.uint64(b)) * np.uint64(1099511628211)
    return hashed, i


@borrowing_kernel
def _key_bytes(state: Int64s, hashes: Int64s, depth: int, start: int, hashed: np.uint64) -> int:
    """The bytes of a key and its place in the object; the verdict if the object has it already, or has too many."""
    count, base = state[KEYS + depth], depth * COMPARED_MEMBERS
    state[KEY + depth] = start
    if count == MOST_MEMBERS:
        state[VERDICT], state[DEPTH] = TOO_MANY, depth
        return 0
    for other in range(min(count, COMPARED_MEMBERS)):
        if hashes[base + other] == np.int64(hashed):
            state[VERDICT], state[DEPTH], state[START] = DUPLICATE, depth, start
            return 0
    size = 64 if count < SMALL_OBJECT else 144
    if count < COMPARED_MEMBERS:
        # orjson makes a name once if many objects have it; it costs 40 bytes where the last one had another.
        size -= 40 if hashes[base + count] == np.int64(hashed) else 0
        hashes[base + count] = np.int64(hashed)
    state[KEYS + depth] = count + 1
    return size


@borrowing_kernel
def _largest_byte(text: Bytes, i: int) -> tuple[int, int]:
    """The largest byte of the characters of the string at ``i`` in UTF-8, and where it ends."""
    top: Any
    top, n = 0, len(text)
    while i < n and text[i] != 34:
        if i + 8 <= n and is_plain(long_word(text, np.uint64(i))):
            i += 8
            continue
        top = max(top, np.int64(text[i]))
        if text[i] == 92:
            i += 1
            if i < n and text[i] == 117:
                top = 255  # which may be any character
        i += 1
    return top, i


@borrowing_kernel
def _number_end(text: Bytes, i: int) -> int:
    """The end of the number that begins at ``i``."""
    i += 1
    while i < len(text) and (48 <= text[i] <= 57 or text[i] in (43, 45, 46, 69, 101)):
        i += 1
    return i


@borrowing_kernel
def _control(b: int) -> int:
    r"""The character that ``\b``, ``\f``, ``\n``, ``\r`` or ``\t`` stands for; anything else as it is."""
    if b == 98:
        return 8
    if b == 102:
        return 12
    if b == 110:
        return 10
    if b == 114:
        return 13
    return 9 if b == 116 else b


@borrowing_kernel
def _hex(text: Bytes, at: int) -> tuple[int, int]:
    """The value of up to four hexadecimal digits, and how many there are."""
    c: Any
    value, digits = 0, 0
    while digits < 4 and at + digits < len(text):
        c = np.int64(text[at + digits])
        if 48 <= c <= 57:
            c -= 48
        elif 97 <= c <= 102 or 65 <= c <= 70:
            c = (c | 32) - 87
        else:
            break
        value = value * 16 + c
        digits += 1
    return value, digits
