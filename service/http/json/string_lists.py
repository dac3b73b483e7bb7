"""A long list of strings taken out of a JSON text, as an Arrow array: a million keys never become a million Python objects."""

import numpy as np
import pyarrow as pa

from service.core.kernels import inner_kernel, kernel
from service.core.model import Bools, Bytes, Int32s
from service.core.words import long_word
from service.http.json.integer_lists import space
from service.http.json.limits import is_plain


def take_out(text: bytes, name: str) -> tuple[bytes, pa.StringArray] | None:
    """The list of strings and nulls that the text's object has as its member ``name``, and the text with ``[]`` in its place.

    None if there is no such list, if it is empty, or if it holds anything else, an escape or what is not UTF-8. Nothing is said
    about the rest of the text.
    """
    start, end, offsets, data, valid = _take_out(np.frombuffer(text, np.uint8), np.frombuffer(name.encode(), np.uint8))
    if end < 0:
        return None
    nulls = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.StringArray.from_buffers(len(valid), pa.py_buffer(offsets), pa.py_buffer(data), nulls)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return text[:start] + b"[]" + text[end:], array


@kernel
def _take_out(text: Bytes, name: Bytes) -> tuple[int, int, Int32s, Bytes, Bools]:
    """Where the list begins and ends in the text, and its strings; -1 for the end if the text is to be left alone.

    Returns also int32[n + 1] and uint8[...], the offsets and the UTF-8 of the strings, and bool[n], False for null.
    Plain-Python twin: tests/reference/json_string_lists.py.
    """
    n, start = len(text), _list_of(text, name)
    most = max(0, n - start) // 3 + 1  # an element is at least two quotes and a comma
    offsets, data, valid = np.empty(most + 1, np.int32), np.empty(max(0, n - start), np.uint8), np.empty(most, np.bool_)
    offsets[0] = count = size = 0
    at, more = start, start < n
    while more:
        at = space(text, at + 1)
        valid[count] = at < n and text[at] == 34
        if valid[count]:
            at += 1
            while at < n and text[at] != 34 and text[at] != 92 and text[at] >= 32:
                if at + 8 <= n:
                    eight = long_word(text, np.uint64(at))
                    if is_plain(eight):
                        for k in range(8):  # which the compiler makes one store
                            data[np.uint64(size + k)] = np.uint8(eight >> np.uint64(8 * k))
                        size += 8
                        at += 8
                        continue
                data[size] = text[at]
                size += 1
                at += 1
            if at == n or text[at] != 34:
                break
            at += 1
        elif at + 4 <= n and text[at] == 110 and text[at + 1] == 117 and text[at + 2] == 108 and text[at + 3] == 108:
            at += 4
        else:
            break
        count += 1
        offsets[count] = size
        at = space(text, at)
        more = at < n and text[at] == 44
    complete = count > 0 and not more and at < n and text[at] == 93
    return start, at + 1 if complete else -1, offsets[: count + 1], data[:size], valid[:count]


@inner_kernel
def _list_of(text: Bytes, name: Bytes) -> int:
    """Where the list begins that is the member ``name`` of the object that the text is; the end of the text if there is none."""
    i, depth, n = 0, 0, len(text)
    while i < n:
        c = text[i]
        i += 1
        if c == 34:
            first = i
            while i < n and text[i] != 34:
                i += 2 if text[i] == 92 else 1
            is_it = depth == 1 and i - first == len(name) and i < n
            for k in range(len(name)):
                is_it = is_it and text[first + k] == name[k]
            i += 1
            after = space(text, i)
            if is_it and after < n and text[after] == 58:
                at = space(text, after + 1)
                return at if at < n and text[at] == 91 else n
        elif c in (123, 91):
            depth += 1
        elif c in (125, 93):
            depth -= 1
    return n
