"""The lines that Kafka's own formatters print of ``__consumer_offsets``, for kafka-console-consumer.

::

    4.3.1       OffsetsMessageFormatter, GroupMetadataMessageFormatter     a JSON object, and no line break
    0.10.2.1    GroupMetadataManager.OffsetsMessageFormatter and           text, and a line break
                GroupMetadataManager.GroupMetadataMessageFormatter

Each prints one kind of record and nothing at all of any other.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.core.jvm.hashing import string_hash_code
from service.core.wire.errors import UnknownRecordType, Unreadable

if TYPE_CHECKING:
    from service.core.wire.group_records import GroupRecord
    from service.core.wire.messages import Document

Printed = str | dict[str, str]
"""A line, or the ``error``, ``exception`` and ``message`` with which the formatter ends."""

OFFSET_COMMITS: Final = (0, 1)
GROUP_METADATA: Final = (2,)
FORMATTERS: Final = ("4.3.1", "0.10.2.1")
"""The releases whose lines are known."""


@dataclass(frozen=True)
class Lines:
    """What the two formatters print of one record."""

    offsets: Printed
    group_metadata: Printed


def lines(record: GroupRecord, kafka_version: str = "4.3.1") -> Lines:
    """What the formatters of a release print. kafka_version : one of FORMATTERS."""
    if kafka_version == "0.10.2.1":
        return _old_lines(record)
    line = _json_line(record)
    return Lines(line if record.type in OFFSET_COMMITS else "", line if record.type in GROUP_METADATA else "")


def instead_of(error: Unreadable) -> Printed:
    """What both formatters of 4.3.1 give for a record that cannot be read: nothing for an unknown type, else they fail."""
    if isinstance(error, UnknownRecordType):
        return ""
    return _failure("java.lang.RuntimeException", f"Could not read record at offset 0 due to: {error.message}")


def _failure(exception: str, message: str) -> dict[str, str]:
    name = exception.rpartition(".")[2].removesuffix("Exception")
    return {"error": name, "exception": exception, "message": message}


# ---- 4.3.1 ------------------------------------------------------------------------------------------------------------


def _json_line(record: GroupRecord) -> str:
    value = None if record.value is None else {"version": record.version, "data": record.value}
    text = json.dumps(
        {"key": {"type": record.type, "data": record.key}, "value": value}, ensure_ascii=False, separators=(",", ":")
    )
    # Jackson writes the digits of control characters in capitals.
    return re.sub(r"\\(?:u00([01][0-9a-f])|.)", lambda found: f"\\u00{found[1].upper()}" if found[1] else found[0], text)


# ---- 0.10.2.1 ---------------------------------------------------------------------------------------------------------


def _old_lines(record: GroupRecord) -> Lines:
    """The release knows record types up to 2, and their values up to version 1."""
    exception = "kafka.common.KafkaException"
    if record.type > 2:
        unknown = _failure(exception, f"Unknown offset schema version {record.type}")
        return Lines(unknown, unknown)
    offsets = record.type in OFFSET_COMMITS
    line: Printed
    if record.version is not None and record.version > 1:
        what = "offset schema" if offsets else "group metadata"
        line = _failure(exception, f"Unknown {what} version {record.version}")
    else:
        line = (_old_offset if offsets else _old_group)(record.key, record.value) + "\n"
    return Lines(line, "") if offsets else Lines("", line)


def _old_offset(key: Document, value: Document | None) -> str:
    where = f"[{key['group']},{key['topic']},{key['partition']}]::"
    if value is None:
        return where + "NULL"
    offset = f"OffsetMetadata[{value['offset']},{value['metadata'] or 'NO_METADATA'}]"
    return f"{where}[{offset},CommitTime {value['commitTimestamp']},ExpirationTime {value.get('expireTimestamp', -1)}]"


def _old_group(key: Document, value: Document | None) -> str:
    group = key["group"]
    if value is None:
        return f"{group}::NULL"
    members = {
        member["memberId"]: f"[{member['memberId']},{member['clientId']},{member['clientHost']},{member['sessionTimeout']}]"
        for member in value["members"]
    }
    shown = ", ".join(f"{name} -> {members[name]}" for name in _scala_order(list(members)))
    protocol_type = f"Some({value['protocolType']})" if members else "None"
    return f"{group}::[{group},{protocol_type},{'Stable' if members else 'Empty'},Map({shown})]"


def _scala_order(names: list[str]) -> list[str]:
    """The order in which Scala 2.11's mutable.HashMap gives its keys: from the last bucket to the first, latest first.

    names : all different, in the order in which they are put in.
    """
    table: list[list[str]] = [[] for _ in range(16)]
    for count, name in enumerate(names, 1):
        table[_scala_bucket(name, len(table))].insert(0, name)
        if count > len(table) * 3 // 4:
            old = [name for bucket in reversed(table) for name in bucket]
            table = [[] for _ in range(2 * len(table))]
            for moved in old:
                table[_scala_bucket(moved, len(table))].insert(0, moved)
    return [name for bucket in reversed(table) for name in bucket]


def _scala_bucket(name: str, size: int) -> int:
    """HashTable.index: byteswap32 of the hash code, rotated by the bits of the size; its upper bits are the bucket."""
    mixed = (string_hash_code(name) * 0x9E3775CD) & 0xFFFFFFFF
    mixed = int.from_bytes(mixed.to_bytes(4, "little"), "big")
    mixed = (mixed * 0x9E3775CD) & 0xFFFFFFFF
    bits = (size - 1).bit_count()
    rotated = (mixed >> bits | mixed << (32 - bits)) & 0xFFFFFFFF
    return rotated >> (32 - bits)
