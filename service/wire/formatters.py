"""The lines that Kafka's own formatters print for records of coordinators."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.core.jvm.hashing import string_hash_code
from service.core.kafka_versions import LATEST
from service.wire.consumer_protocol import read_subscribed_topics
from service.wire.coordinator_records import CoordinatorRecord
from service.wire.errors import Printed, Schema, UnknownRecordType, Unreadable
from service.wire.reader import Document, read_message, read_version
from service.wire.schemas import GROUP_RECORDS, OFFSET_COMMIT_3_9, SHARE_GROUP_STATE_RECORDS, Message

# The lines that Kafka's own formatters print for coordinators' records in kafka-console-consumer.
#
# ::
#
#     4.3.1       of __consumer_offsets: OffsetsMessageFormatter,            a JSON object, and no line break
#                 GroupMetadataMessageFormatter, ShareGroupMessageFormatter;
#                 of __share_group_state: ShareGroupStateMessageFormatter
#     3.9.1       see below, and the Scala ones for those that 3.9 deprecates
#     3.4.1, 2.8.2    see the Scala ones below
#     0.10.2.1    of __consumer_offsets:                                     text, and a line break
#                 GroupMetadataManager.OffsetsMessageFormatter and
#                 GroupMetadataManager.GroupMetadataMessageFormatter
#
# Each prints some types of records and ignores the others.

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
    value = None if record.value is None else {"version": record.version, "data": record.value}
    line = json_text({"key": {"type": record.type, "data": record.key}, "value": value})
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


# The lines of the formatters of Kafka 3.9, which know committed offsets and classic groups only.
#
# Each reads the key as one of those three record types and prints nothing for a type of the other formatter. A later type is
# ``unknown`` to both, and its value is read as if it were the formatter's own. So most records of consumer groups make them
# fail, and the rest print what the bytes happen to say.
#
# Source: org.apache.kafka.tools.consumer.OffsetsMessageFormatter, GroupMetadataMessageFormatter, ApiMessageFormatter.

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


# The lines of the deprecated formatters of Kafka 3.9, whose classes are in the brokers' jar: text, and a line break.
#
# kafka-console-consumer 3.9 still runs them if they are named, with a warning on standard error; Kafka 4.0 removed them. They
# know what those of 3.9.1 above know, print nothing for a later type of record, and make a group of each GROUP_METADATA as a
# broker that loads it: a group that no broker would load makes them fail. They print the same in 3.4, which has no others.
# Those of 2.8 fail on later types and versions, write a comma too many, and load two static members of one
# ``group.instance.id``.
#
# Source: kafka.coordinator.group.GroupMetadataManager.OffsetsMessageFormatter, .GroupMetadataMessageFormatter, .readMessageKey,
# .readOffsetMessageValue, .readGroupMessageValue; GroupMetadata.loadGroup, .add, .computeSubscribedTopics.


@dataclass(frozen=True)
class Release:
    """What differs between releases.

    newest_offset, newest_group : the newest version of each value that they read
    skips : do they print nothing for a later type of record?
    comma : what follows a member's protocols
    checks_instances : do they refuse a second member of one ``group.instance.id``?
    """

    newest_offset: int
    newest_group: int
    skips: bool
    comma: str
    checks_instances: bool


SINCE_3_4: Final = Release(OFFSET_COMMIT_3_9.newest, GROUP_RECORDS[2].value.newest, skips=True, comma="", checks_instances=True)
OF_2_8: Final = Release(3, 3, skips=False, comma=", ", checks_instances=False)

ILLEGAL_STATE: Final = "java.lang.IllegalStateException"


class _Fails(Exception):
    """The formatter fails with an exception that is not of a reader. printed : it"""

    def __init__(self, exception: str, message: str) -> None:
        super().__init__(message)
        self.printed = failure(exception, message)


def scala_lines_of_group_record(key: bytes, value: bytes | None, release: Release = SINCE_3_4) -> dict[str, Printed]:
    """What each formatter prints for a record of ``__consumer_offsets``."""
    return {
        "scala_offsets_formatter": _scala_line(key, value, OFFSET_COMMITS, release),
        "scala_group_metadata_formatter": _scala_line(key, value, GROUP_METADATA, release),
    }


def _scala_line(key: bytes, value: bytes | None, types: tuple[int, ...], release: Release) -> Printed:
    try:
        number = read_version(key, "the record's type")
        if number not in (*OFFSET_COMMITS, *GROUP_METADATA):
            fault = f"Unknown group metadata message version: {number}"
            return "" if release.skips else failure(ILLEGAL_STATE, fault)
        read_key, _ = read_message(key, GROUP_RECORDS[number].key, 0, 2)
        if number not in types:
            return ""
        told = "NULL"
        if number in OFFSET_COMMITS:
            where = f"[{read_key['group']},{read_key['topic']},{read_key['partition']}]"
            if value is not None:
                told = _offset(_scala_value(value, OFFSET_COMMIT_3_9, release.newest_offset, "offset message")[1])
        else:
            where = read_key["group"]
            if value is not None:
                of_group = _scala_value(value, GROUP_RECORDS[2].value, release.newest_group, "group metadata message")
                told = _group(where, *of_group, release)
    except Unreadable as error:
        return failure(error.exception, error.message)
    except _Fails as failed:
        return failed.printed
    return f"{where}::{told}\n"


def _scala_value(value: bytes, message: Message, newest: int, what: str) -> tuple[int, Document]:
    """Its version and fields."""
    version = read_version(value, "the value's version")
    if not 0 <= version <= newest:
        raise _Fails(ILLEGAL_STATE, f"Unknown {what} version: {version}")
    return version, read_message(value, message, version, 2)[0]


def _offset(value: Document) -> str:
    epoch, expires = value.get("leaderEpoch", -1), value.get("expireTimestamp", -1)
    return (
        f"OffsetAndMetadata(offset={value['offset']}, leaderEpoch={'Optional.empty' if epoch == -1 else f'Optional[{epoch}]'}, "
        f"metadata={value['metadata']}, commitTimestamp={value['commitTimestamp']}, "
        f"expireTimestamp={_option(None if expires == -1 else expires)})"
    )


def _group(group: str, version: int, value: Document, release: Release) -> str:
    """GroupMetadata.toString of the group that a broker would load. Raises Unreadable and _Fails where it would fail."""
    members = _loaded(group, value["members"], release)
    order = scala_order(list(members), len(value["members"]))
    _check_subscriptions(value, [members[name] for name in order])
    shown = ", ".join(f"{name} -> {_member(members[name], version, value['protocol'])}{release.comma})" for name in order)
    protocol_type = value["protocolType"] if members or value["protocolType"] else None
    return (
        f"GroupMetadata(groupId={group}, generation={value['generation']}, protocolType={_option(protocol_type)}, "
        f"currentState={'Stable' if members else 'Empty'}, members=HashMap({shown}))"
    )


def _loaded(group: str, members: list[Document], release: Release) -> dict[str, Document]:
    """The members by id, the last of each id. Raises _Fails for what GroupMetadata.add refuses."""
    loaded: dict[str, Document] = {}
    instances = set[str]()
    for count, member in enumerate(members):
        instance = member.get("groupInstanceId")
        if instance is not None and release.checks_instances:
            if instance in instances:
                already = f"cannot be added to group {group} since it is already a member"
                raise _Fails(ILLEGAL_STATE, f"Static member with groupInstanceId={instance} {already}")
            instances.add(instance)
        if count != len(loaded):  # more members support the protocol than there are
            raise _Fails("java.lang.AssertionError", "assertion failed")
        loaded[member["memberId"]] = member
    return loaded


def _check_subscriptions(value: Document, members: list[Document]) -> None:
    """Read the members' topics as computeSubscribedTopics: up to the first SchemaException. Raises Unreadable of any other."""
    if value["protocolType"] != "consumer" or value["protocol"] is None:
        return
    for member in members:
        try:
            read_subscribed_topics(base64.b64decode(member["subscription"]))
        except Schema:
            return


def _member(member: Document, version: int, protocol: str | None) -> str:
    rebalance_timeout = member["sessionTimeout"] if version == 0 else member["rebalanceTimeout"]
    return (
        f"MemberMetadata(memberId={member['memberId']}, groupInstanceId={_option(member.get('groupInstanceId'))}, "
        f"clientId={member['clientId']}, clientHost={member['clientHost']}, sessionTimeoutMs={member['sessionTimeout']}, "
        f"rebalanceTimeoutMs={rebalance_timeout}, supportedProtocols=List({'null' if protocol is None else protocol})"
    )


def _option(value: str | int | None) -> str:
    return "None" if value is None else f"Some({value})"


def scala_order(names: list[str], puts: int) -> list[str]:
    """The order in which Scala 2.13's mutable.HashMap gives its keys: by bucket, within one by hash, then the earliest first.

    names : distinct, in the order of insertion; puts : how often one was put, the last time perhaps one that was there: the table
    grows before it looks
    """
    size = 16
    while puts >= size * 3 // 4:
        size *= 2
    hashes = {}
    for name in names:
        code = string_hash_code(name) & 0xFFFFFFFF
        mixed = code ^ code >> 16
        hashes[name] = (mixed & size - 1, mixed - (mixed >> 31 << 32))
    return sorted(names, key=hashes.__getitem__)
