"""The schemas of ``schemas.py`` as tables, for kernels."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.model import Bytes, Int64s
from service.wire.messages import ArrayType, BytesType, IntegerType, Message, MessageField, StringType, UuidType
from service.wire.schemas import (
    ASSIGNMENT,
    COOPERATIVE_STICKY_USER_DATA,
    GROUP_RECORDS,
    OFFSET_COMMIT_3_9,
    SHARE_GROUP_STATE_RECORDS,
    STICKY_USER_DATA,
    SUBSCRIPTION,
    RecordType,
)

TEXT, BLOB, UUID, UNSIGNED, NUMBER, LIST, ARRAY, MESSAGE = range(8)
"""Kinds of fields. LIST : an array of numbers"""

KIND, SINCE, UNTIL, NULLABLE, TAG, FIRST, COUNT, SIZE, NAME, DEFAULT = range(10)
"""Columns of the table of fields.

FIRST : row of an array's element, or of a message's first field;  SIZE : of a number, a UuidType or a list's numbers, in bytes
NAME, DEFAULT : texts, or -1
"""

KEY_ROW, VALUE_ROW, FLEXIBLE, NEWEST_VERSION, HEAD = range(5)
"""Columns of the table of record types."""


class Tables(NamedTuple):
    """The schemas of every message, and the types of one coordinator's records, for kernels.

    fields : int64[rows, 10]
    text_offsets : int64[texts + 1];  texts : uint8[...]   member names with quotes and colon, and defaults as JSON
    types : int64[types, 5]   for each record type the rows of its key and its value as messages, the first flexible version and
        the newest version of the value, and the text that begins its line; -1 for an unknown type
    """

    fields: Int64s
    text_offsets: Int64s
    texts: Bytes
    types: Int64s


class _Builder:
    """The table of fields while it is written. fields : that of each row; an array's element has a name, for errors"""

    def __init__(self) -> None:
        self.fields: list[MessageField] = []
        self.rows: list[list[int]] = []
        self.texts: list[bytes] = []

    def add(self, *fields: MessageField, named: bool = False) -> int:
        """Add fields, with all that they consist of; returns the row of the first. named : are they members?"""
        first = len(self.fields)
        self.fields += fields
        self.rows += [[] for _ in fields]
        for row, field in enumerate(fields, first):
            kind, parts, count, size = _kind(field.type), 0, 0, 0
            if isinstance(field.type, IntegerType):
                size = field.type.size
            elif isinstance(field.type, ArrayType):
                element = field.type.of
                parts = self.add(MessageField(field.name if isinstance(element, Message) else f"{field.name} element", element))
                size = element.size if isinstance(element, IntegerType) else 0
            elif isinstance(field.type, Message):
                parts, count = self.add(*field.type.fields, named=True), len(field.type.fields)
            elif isinstance(field.type, UuidType):
                size = 16
            name, tag, default = self.text(b'"%s":' % field.name.encode()) if named else -1, -1, -1
            if field.tag is not None:
                tag, default = field.tag, self.text(json.dumps(field.default, separators=(",", ":")).encode())
            self.rows[row] = [kind, field.since, field.until, field.nullable, tag, parts, count, size, name, default]
        return first

    def text(self, text: bytes) -> int:
        """Add a text; returns its index."""
        self.texts.append(text)
        return len(self.texts) - 1

    def add_types(self, types: Mapping[int, RecordType]) -> Int64s:
        """Add the messages of a coordinator; returns their ``Tables.types``."""
        table = np.full((max(types) + 1, 5), -1, np.int64)
        for number, each in types.items():
            head = self.text(b'{"record_type":%d,"record_name":"%s","key":' % (number, each.name.encode()))
            table[number] = (
                *(self.add(MessageField("", message)) for message in (each.key, each.value)),
                *(each.value.flexible, each.value.newest, head),
            )
        return table


def _kind(kind: Any) -> int:
    if isinstance(kind, IntegerType):
        return NUMBER if kind.is_signed else UNSIGNED
    if isinstance(kind, ArrayType) and isinstance(kind.of, IntegerType):
        return LIST
    return {StringType: TEXT, BytesType: BLOB, ArrayType: ARRAY, Message: MESSAGE}.get(type(kind), UUID)


_builder: Final = _Builder()
_group_types, _share_types = _builder.add_types(GROUP_RECORDS), _builder.add_types(SHARE_GROUP_STATE_RECORDS)
for _message in (OFFSET_COMMIT_3_9, SUBSCRIPTION, ASSIGNMENT, STICKY_USER_DATA, COOPERATIVE_STICKY_USER_DATA):
    _builder.add(MessageField("", _message))

FIELDS: Final = tuple(_builder.fields)
"""The field in each row of the table."""

ROW_OF: Final = {id(field.type): row for row, field in enumerate(FIELDS) if not field.name}
"""The row of each message of ``schemas.py``, by its identity."""

_SHARED: Final = (
    np.array(_builder.rows, np.int64),
    np.cumsum([0, *map(len, _builder.texts)], dtype=np.int64),
    np.frombuffer(bytearray(b"".join(_builder.texts)), np.uint8),
)
GROUP_TABLES: Final = Tables(*_SHARED, _group_types)
SHARE_GROUP_STATE_TABLES: Final = Tables(*_SHARED, _share_types)
