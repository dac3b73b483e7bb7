"""The schemas of ``schemas.py`` as tables, for kernels."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.model import Int64s
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

KIND, SINCE, UNTIL, NULLABLE, TAG, FIRST, COUNT, SIZE = range(8)
"""Columns of the table of fields.

FIRST : row of an array's element, or of a message's first field;  SIZE : of a number, a UuidType or a list's numbers, in bytes
"""

KEY_ROW, VALUE_ROW, FLEXIBLE, NEWEST_VERSION = range(4)
"""Columns of the table of record types."""


class Tables(NamedTuple):
    """The schemas of every message, and the types of one coordinator's records, for kernels.

    fields : int64[rows, 8]
    types : int64[types, 4]   for each record type the rows of its key and its value as messages, the first flexible version and
        the newest version of the value; -1 for an unknown type
    """

    fields: Int64s
    types: Int64s


class _Builder:
    """The table of fields while it is written. fields : that of each row; an array's element has a name, for errors"""

    def __init__(self) -> None:
        self.fields: list[MessageField] = []
        self.rows: list[list[int]] = []

    def add(self, *fields: MessageField) -> int:
        """Add fields, with all that they consist of; returns the row of the first."""
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
                parts, count = self.add(*field.type.fields), len(field.type.fields)
            elif isinstance(field.type, UuidType):
                size = 16
            tag = -1 if field.tag is None else field.tag
            self.rows[row] = [kind, field.since, field.until, field.nullable, tag, parts, count, size]
        return first

    def add_types(self, types: Mapping[int, RecordType]) -> Int64s:
        """Add the messages of a coordinator; returns their ``Tables.types``."""
        table = np.full((max(types) + 1, 4), -1, np.int64)
        for number, each in types.items():
            table[number] = (
                *(self.add(MessageField("", message)) for message in (each.key, each.value)),
                *(each.value.flexible, each.value.newest),
            )
        return table


def _kind(kind: Any) -> int:
    if isinstance(kind, IntegerType):
        return NUMBER if kind.is_signed else UNSIGNED
    if isinstance(kind, ArrayType) and isinstance(kind.of, IntegerType):
        return LIST
    return {StringType: TEXT, BytesType: BLOB, ArrayType: ARRAY, Message: MESSAGE}.get(type(kind), UUID)


_builder: Final = _Builder()
_group_types = _builder.add_types(GROUP_RECORDS)
_builder.add_types(SHARE_GROUP_STATE_RECORDS)
for _message in (OFFSET_COMMIT_3_9, SUBSCRIPTION, ASSIGNMENT, STICKY_USER_DATA, COOPERATIVE_STICKY_USER_DATA):
    _builder.add(MessageField("", _message))

FIELDS: Final = tuple(_builder.fields)
"""The field in each row of the table."""

ROW_OF: Final = {id(field.type): row for row, field in enumerate(FIELDS) if not field.name}
"""The row of each message of ``schemas.py``, by its identity."""

GROUP_TABLES: Final = Tables(np.array(_builder.rows, np.int64), _group_types)
