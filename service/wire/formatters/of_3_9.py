"""The lines of the formatters of Kafka 3.9, which know committed offsets and classic groups only.

Each reads the key as one of those three record types and prints nothing for a type of the other formatter. A later type is
``unknown`` to both, and its value is read as if it were the formatter's own. So most records of consumer groups make them fail,
and the rest print what the bytes happen to say.

Source: org.apache.kafka.tools.consumer.OffsetsMessageFormatter, GroupMetadataMessageFormatter, ApiMessageFormatter.
"""

from typing import Any, Final

from service.wire.errors import Printed, Unreadable
from service.wire.formatters.lines import GROUP_METADATA, OFFSET_COMMITS, failure, json_text
from service.wire.messages import Message
from service.wire.reader import read_message, read_version
from service.wire.schemas import GROUP_RECORDS, OFFSET_COMMIT_3_9

UNKNOWN: Final = "unknown"


def lines_of_group_record(key: bytes, value: bytes | None) -> dict[str, Printed]:
    """What each formatter prints for a record of ``__consumer_offsets``."""
    return {
        "offsets_formatter": _line(key, value, OFFSET_COMMITS, OFFSET_COMMIT_3_9),
        "group_metadata_formatter": _line(key, value, GROUP_METADATA, GROUP_RECORDS[2].value),
    }


def _line(key: bytes, value: bytes | None, types: tuple[int, ...], message: Message) -> Printed:
    try:
        number = read_version(key, "the record's type")
        read_key: Any = UNKNOWN
        if number in (*OFFSET_COMMITS, *GROUP_METADATA):
            read_key, _ = read_message(key, GROUP_RECORDS[number].key, 0, 2)
            if number not in types:
                return ""
        told = None if value is None else _value(value, message)
    except Unreadable as error:
        return failure(error.exception, error.message)
    return json_text({"key": {"version": number, "data": read_key}, "value": told})


def _value(value: bytes, message: Message) -> dict[str, Any]:
    version = read_version(value, "the value's version")
    if not 0 <= version <= message.newest:
        return {"version": version, "data": UNKNOWN}
    data, _ = read_message(value, message, version, 2)
    return {"version": version, "data": data}
