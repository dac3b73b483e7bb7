"""The schemas of ``schemas.py`` as tables, for kernels."""

import json
import struct
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.model import Bytes, Int64s
from service.core.wire.messages import Array, Blob, Field, Message, Text
from service.core.wire.reader import UINT16
from service.core.wire.schemas import GROUP_RECORDS, SHARE_GROUP_STATE_RECORDS, RecordType

TEXT, BLOB, UUID, ARRAY, MESSAGE, UNSIGNED, NUMBER = 0, 1, 2, 3, 4, 5, 6
"""Kinds of fields; a signed number is of the kind NUMBER plus its size in bytes."""

KIND, SINCE, UNTIL, NULLABLE, TAG, FIRST, COUNT, NAME, DEFAULT = range(9)
"""Columns of the table of fields. FIRST : row of an array's element, or of a message's first field"""


class Tables(NamedTuple):
    """The schemas of one coordinator's records, for the kernel.

    fields : int64[rows, 9]
    text_offsets : int64[texts + 1];  texts : uint8[...]   member names with quotes and colon, and defaults as JSON
    types : int64[types, 4]   for each record type the rows of its key and its value as messages, the first flexible version and
        the newest version of the value; -1 for an unknown type
    heads : int64[types]      for each record type the text that begins its line
    """

    fields: Int64s
    text_offsets: Int64s
    texts: Bytes
    types: Int64s
    heads: Int64s


def _tables(types: Mapping[int, RecordType]) -> Tables:
    fields: list[list[int]] = []
    texts: list[bytes] = []
    size = max(types) + 1
    table = np.full((size, 4), -1, np.int64)
    heads = np.zeros(size, np.int64)
    for number, each in types.items():
        rows = [_row(Field("", message), fields, texts) for message in (each.key, each.value)]
        table[number] = (*rows, each.value.flexible, each.value.newest)
        heads[number] = len(texts)
        texts.append(b'{"record_type":%d,"record_name":"%s","key":' % (number, each.name.encode()))
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return Tables(np.array(fields, np.int64), offsets, np.frombuffer(bytearray(b"".join(texts)), np.uint8), table, heads)


def _row(field: Field, fields: list[list[int]], texts: list[bytes]) -> int:
    """Add a field, with all that it consists of, to the table; returns its row."""
    row = len(fields)
    fields.append([])
    _fill(row, field, fields, texts)
    return row


def _fill(row: int, field: Field, fields: list[list[int]], texts: list[bytes]) -> None:
    kind, first, count = _kind(field.type), 0, 0
    if isinstance(field.type, Array):
        first = _row(Field("", field.type.of), fields, texts)
    elif isinstance(field.type, Message):
        parts = field.type.fields
        first, count = len(fields), len(parts)
        fields += [[] for _ in parts]
        for i, part in enumerate(parts):
            _fill(first + i, part, fields, texts)
    name, default = len(texts), -1
    texts.append(b'"%s":' % field.name.encode())
    if field.tag is not None:
        default = len(texts)
        texts.append(json.dumps(field.default, separators=(",", ":")).encode())
    tag = -1 if field.tag is None else field.tag
    fields[row] = [kind, field.since, field.until, field.nullable, tag, first, count, name, default]


def _kind(kind: Any) -> int:
    if isinstance(kind, struct.Struct):
        return UNSIGNED if kind is UINT16 else NUMBER + kind.size
    return {Text: TEXT, Blob: BLOB, Array: ARRAY, Message: MESSAGE}.get(type(kind), UUID)


GROUP_TABLES: Final = _tables(GROUP_RECORDS)
SHARE_GROUP_STATE_TABLES: Final = _tables(SHARE_GROUP_STATE_RECORDS)
