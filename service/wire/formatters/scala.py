"""The lines of the deprecated formatters of Kafka 3.9, whose classes are in the brokers' jar: text, and a line break.

kafka-console-consumer 3.9 still runs them if they are named, with a warning on standard error; Kafka 4.0 removed them. They know
what those of ``of_3_9.py`` know, print nothing for a later type of record, and make a group of each GROUP_METADATA as a
broker that loads it: a group that no broker would load makes them fail. They print the same in 3.4, which has no others. Those of
2.8 fail on later types and versions, write a comma too many, and load two static members of one ``group.instance.id``.

Source: kafka.coordinator.group.GroupMetadataManager.OffsetsMessageFormatter, .GroupMetadataMessageFormatter, .readMessageKey,
.readOffsetMessageValue, .readGroupMessageValue; GroupMetadata.loadGroup, .add, .computeSubscribedTopics.
"""

import base64
from dataclasses import dataclass
from typing import Final

from service.core.jvm.hashing import string_hash_code
from service.wire.consumer_protocol import read_subscribed_topics
from service.wire.errors import Printed, Schema, Unreadable
from service.wire.formatters.lines import GROUP_METADATA, OFFSET_COMMITS, failure
from service.wire.messages import Message
from service.wire.reader import Document, read_message, read_version
from service.wire.schemas import GROUP_RECORDS, OFFSET_COMMIT_3_9


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
        "scala_offsets_formatter": _line(key, value, OFFSET_COMMITS, release),
        "scala_group_metadata_formatter": _line(key, value, GROUP_METADATA, release),
    }


def _line(key: bytes, value: bytes | None, types: tuple[int, ...], release: Release) -> Printed:
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
                told = _offset(_value(value, OFFSET_COMMIT_3_9, release.newest_offset, "offset message")[1])
        else:
            where = read_key["group"]
            if value is not None:
                of_group = _value(value, GROUP_RECORDS[2].value, release.newest_group, "group metadata message")
                told = _group(where, *of_group, release)
    except Unreadable as error:
        return failure(error.exception, error.message)
    except _Fails as failed:
        return failed.printed
    return f"{where}::{told}\n"


def _value(value: bytes, message: Message, newest: int, what: str) -> tuple[int, Document]:
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
