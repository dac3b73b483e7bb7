"""The lines that Kafka's own formatters print for coordinators' records in kafka-console-consumer.

::

    4.3.1       of __consumer_offsets: OffsetsMessageFormatter,            a JSON object, and no line break
                GroupMetadataMessageFormatter, ShareGroupMessageFormatter;
                of __share_group_state: ShareGroupStateMessageFormatter
    3.9.1       see of_3_9.py, and scala.py for those that 3.9 deprecates
    3.4.1, 2.8.2    see scala.py
    0.10.2.1    of __consumer_offsets:                                     text, and a line break
                GroupMetadataManager.OffsetsMessageFormatter and
                GroupMetadataManager.GroupMetadataMessageFormatter

Each prints some types of records and ignores the others.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from service.core.jvm.hashing import string_hash_code
from service.core.kafka_versions import LATEST
from service.wire.coordinator_records import CoordinatorRecord
from service.wire.errors import Printed, UnknownRecordType, Unreadable
from service.wire.reader import Document
from service.wire.schemas import SHARE_GROUP_STATE_RECORDS

Formatters = dict[str, tuple[int, ...]]
"""The record types that each formatter prints, by the name of its line in the answer."""

OFFSET_COMMITS: Final = (0, 1)
GROUP_METADATA: Final = (2,)
OF_GROUP_RECORDS: Final[Formatters] = {
    "offsets_formatter": OFFSET_COMMITS,
    "group_metadata_formatter": GROUP_METADATA,
    "share_group_formatter": (10, 11, 12, 13, 14, 15),
}
OF_SHARE_GROUP_STATE: Final[Formatters] = {"share_group_state_formatter": tuple(SHARE_GROUP_STATE_RECORDS)}


def lines(record: CoordinatorRecord, formatters: Formatters, kafka_version: str = LATEST) -> Mapping[str, Printed]:
    """What each formatter of a release prints. kafka_version : but 3.9.1, 3.4.1, 2.8.2; 0.10.2.1 has few."""
    if kafka_version == "0.10.2.1":
        return _old_lines(record)
    line = _json_line(record)
    return {name: line if record.type in types else "" for name, types in formatters.items()}


def instead_of(error: Unreadable, formatters: Formatters) -> dict[str, Printed]:
    """What the formatters of 4.3.1 print for an unreadable record: nothing for an unknown type; otherwise they fail."""
    shown: Printed = ""
    if not isinstance(error, UnknownRecordType):
        shown = failure("java.lang.RuntimeException", f"Could not read record at offset 0 due to: {error.message}")
    return dict.fromkeys(formatters, shown)


def failure(exception: str, message: str | None) -> Printed:
    """An exception in the place of a line. exception : its class; message : what its getMessage() returns"""
    name = exception.rpartition(".")[2].removesuffix("Exception")
    return {"error": name, "exception": exception, "message": message}


# ---- 4.3.1 ------------------------------------------------------------------------------------------------------------


def _json_line(record: CoordinatorRecord) -> str:
    value = None if record.value is None else {"version": record.version, "data": record.value}
    return json_text({"key": {"type": record.type, "data": record.key}, "value": value})


def json_text(document: Document) -> str:
    """The JSON text as Jackson writes it."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    # Jackson writes the digits of control characters in upper case.
    return re.sub(r"\\(?:u00([01][0-9a-f])|.)", lambda escape: f"\\u00{escape[1].upper()}" if escape[1] else escape[0], text)


# ---- 0.10.2.1 ---------------------------------------------------------------------------------------------------------


def _old_lines(record: CoordinatorRecord) -> dict[str, Printed]:
    """The release has record types up to 2, and versions up to 1 of their values."""
    exception = "kafka.common.KafkaException"
    if record.type > 2:
        unknown = failure(exception, f"Unknown offset schema version {record.type}")
        return {"offsets_formatter": unknown, "group_metadata_formatter": unknown}
    offsets = record.type in OFFSET_COMMITS
    line: Printed
    if record.version is not None and record.version > 1:
        what = "offset schema" if offsets else "group metadata"
        line = failure(exception, f"Unknown {what} version {record.version}")
    else:
        line = (_old_offset if offsets else _old_group)(record.key, record.value) + "\n"
    return {"offsets_formatter": line if offsets else "", "group_metadata_formatter": "" if offsets else line}


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

    names : distinct, in the order of insertion.
    """
    table: list[list[str]] = [[] for _ in range(16)]  # of each bucket the latest last
    for count, name in enumerate(names, 1):
        table[_scala_bucket(name, len(table))].append(name)
        if count > len(table) * 3 // 4:
            old = [name for bucket in reversed(table) for name in reversed(bucket)]
            table = [[] for _ in range(2 * len(table))]
            for moved in old:
                table[_scala_bucket(moved, len(table))].append(moved)
    return [name for bucket in reversed(table) for name in reversed(bucket)]


def _scala_bucket(name: str, size: int) -> int:
    """HashTable.index: byteswap32 of the hash code, rotated by the bits of the size; its upper bits are the bucket."""
    mixed = (string_hash_code(name) * 0x9E3775CD) & 0xFFFFFFFF
    mixed = int.from_bytes(mixed.to_bytes(4, "little"), "big")
    mixed = (mixed * 0x9E3775CD) & 0xFFFFFFFF
    bits = (size - 1).bit_count()
    rotated = (mixed >> bits | mixed << (32 - bits)) & 0xFFFFFFFF
    return rotated >> (32 - bits)
