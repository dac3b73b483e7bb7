"""What Kafka's message definitions are made of, and the fields of each message in each version.

The names, types, versions, tags and defaults are those of Kafka's message definitions: ConsumerProtocolSubscription and
ConsumerProtocolAssignment of kafka-clients, and the coordinator records of kafka-group-coordinator and
kafka-share-coordinator; the user data of the sticky assignors is defined in StickyAssignor and CooperativeStickyAssignor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

# What Kafka's message definitions are made of: fields with types, versions, tags and defaults.

NEWEST: Final = 32767


@dataclass(frozen=True)
class IntegerType:
    """An integer. size : in bytes"""

    size: int
    is_signed: bool = True


INT8, INT16, INT32, INT64 = (IntegerType(size) for size in (1, 2, 4, 8))
UINT16 = IntegerType(2, is_signed=False)


@dataclass(frozen=True)
class StringType:
    """A string."""


@dataclass(frozen=True)
class BytesType:
    """Bytes. ``copied`` : does Kafka copy them? The two ways fail with different messages."""

    copied: bool = True


@dataclass(frozen=True)
class UuidType:
    """Sixteen bytes."""


@dataclass(frozen=True)
class ArrayType:
    """Any number of elements of one type."""

    of: Type


@dataclass(frozen=True)
class MessageField:
    """One field of a message.

    since, until : the first and last version with this field
    nullable : may it be null?
    tag : its number among the tagged fields; a tagged field with its default is left out of the document
    """

    name: str
    type: Type
    since: int = 0
    until: int = NEWEST
    nullable: bool = False
    tag: int | None = None
    default: Any = None


@dataclass(frozen=True)
class Message:
    """A message, or a part of one.

    flexible : the first flexible version
    newest : the highest version in this release
    """

    fields: tuple[MessageField, ...]
    flexible: int = NEWEST
    newest: int = 0


Type = IntegerType | StringType | BytesType | UuidType | ArrayType | Message


TEXT, BYTES, UUID = StringType(), BytesType(), UuidType()
TEXTS, INT32S, INT16S = ArrayType(TEXT), ArrayType(INT32), ArrayType(INT16)
NO_UUID: Final = "A" * 22


@dataclass(frozen=True)
class RecordType:
    """A type of a coordinator's records. No key is flexible."""

    name: str
    key: Message
    value: Message


def _a(of: Type, **options: Any) -> MessageField:
    """A field that has more than a type."""
    return MessageField("", of, **options)


def _null(of: Type, **options: Any) -> MessageField:
    """A field that may be null."""
    return _a(of, nullable=True, **options)


def _fields(**types: Type | MessageField) -> tuple[MessageField, ...]:
    """The fields of these names."""
    return tuple(
        replace(each, name=name) if isinstance(each, MessageField) else MessageField(name, each) for name, each in types.items()
    )


def _message(**types: Type | MessageField) -> Message:
    """A message of one version."""
    return Message(_fields(**types))


def _flexible(*fields: MessageField, **types: Type | MessageField) -> Message:
    """A value that is flexible from its first version."""
    return Message((*fields, *_fields(**types)), flexible=0)


def _record(name: str, key: Message, *fields: MessageField, **types: Type | MessageField) -> RecordType:
    return RecordType(name, key, _flexible(*fields, **types))


_USER_DATA = _null(BytesType(copied=False))
_TOPIC_PARTITIONS = ArrayType(_message(topic=TEXT, partitions=INT32S))

SUBSCRIPTION = Message(
    _fields(
        topics=TEXTS,
        userData=_USER_DATA,
        ownedPartitions=_a(_TOPIC_PARTITIONS, since=1),
        generationId=_a(INT32, since=2),
        rackId=_null(TEXT, since=3),
    ),
    newest=3,
)
ASSIGNMENT = Message(_fields(assignedPartitions=_TOPIC_PARTITIONS, userData=_USER_DATA), newest=3)
STICKY_USER_DATA = Message(_fields(previousAssignment=_TOPIC_PARTITIONS, generation=_a(INT32, since=1)), newest=1)
COOPERATIVE_STICKY_USER_DATA = _message(generation=INT32)

_COMMIT_KEY = _message(group=TEXT, topic=TEXT, partition=INT32)
_GROUP_KEY = _message(groupId=TEXT)
_MEMBER_KEY = _message(groupId=TEXT, memberId=TEXT)

_TOPIC_ID_PARTITIONS = _flexible(topicId=UUID, partitions=INT32S)
_EPOCHS = MessageField("assignmentEpochs", INT32S, nullable=True, tag=0, default=[])
_OWNED = ArrayType(_flexible(*_TOPIC_ID_PARTITIONS.fields, _EPOCHS))
_TASKS = _flexible(subtopologyId=TEXT, partitions=INT32S)
_OWNED_TASKS = ArrayType(_flexible(*_TASKS.fields, _EPOCHS))
_KEY_VALUES = ArrayType(_flexible(key=TEXT, value=TEXT))
_STATE_TOPIC = _flexible(topicId=UUID, topicName=TEXT)
_STATE_PARTITIONS = ArrayType(_flexible(*_STATE_TOPIC.fields, partitions=INT32S))
_STREAMS_TOPICS = ArrayType(_flexible(name=TEXT, partitions=INT32, replicationFactor=INT16, topicConfigs=_KEY_VALUES))
_CLASSIC_PROTOCOLS = ArrayType(_flexible(name=TEXT, metadata=BYTES))
_COPARTITION_GROUPS = ArrayType(_flexible(sourceTopics=INT16S, sourceTopicRegex=INT16S, repartitionSourceTopics=INT16S))

_TARGET_METADATA = _fields(assignmentEpoch=INT32, assignmentTimestamp=_a(INT64, tag=0, default=0))
_TARGET_MEMBER = _fields(topicPartitions=ArrayType(_TOPIC_ID_PARTITIONS))
_MEMBER_STATE = _fields(memberEpoch=INT32, previousMemberEpoch=INT32, state=INT8)

GROUP_MEMBER = _message(
    memberId=TEXT,
    groupInstanceId=_null(TEXT, since=3),
    clientId=TEXT,
    clientHost=TEXT,
    rebalanceTimeout=_a(INT32, since=1),
    sessionTimeout=INT32,
    subscription=BYTES,
    assignment=BYTES,
)
_OFFSET = Message(
    _fields(
        offset=INT64,
        leaderEpoch=_a(INT32, since=3),
        metadata=TEXT,
        commitTimestamp=INT64,
        expireTimestamp=_a(INT64, since=1, until=1),
        topicId=_a(UUID, since=4, tag=0, default=NO_UUID),
    ),
    flexible=4,
    newest=4,
)
_GROUP = Message(
    _fields(
        protocolType=TEXT,
        generation=INT32,
        protocol=_null(TEXT),
        leader=_null(TEXT),
        currentStateTimestamp=_a(INT64, since=2),
        members=ArrayType(GROUP_MEMBER),
    ),
    flexible=4,
    newest=4,
)
_TOPIC_METADATA = _flexible(
    *_STATE_TOPIC.fields, numPartitions=INT32, partitionMetadata=ArrayType(_flexible(partition=INT32, racks=TEXTS))
)
_CLASSIC_MEMBER = _null(
    _flexible(sessionTimeoutMs=INT32, supportedProtocols=_CLASSIC_PROTOCOLS),
    tag=0,
    default={"sessionTimeoutMs": 0, "supportedProtocols": []},
)
_SUBTOPOLOGY = _flexible(
    subtopologyId=TEXT,
    sourceTopics=TEXTS,
    sourceTopicRegex=TEXTS,
    stateChangelogTopics=_STREAMS_TOPICS,
    repartitionSinkTopics=TEXTS,
    repartitionSourceTopics=_STREAMS_TOPICS,
    copartitionGroups=_COPARTITION_GROUPS,
)

# fmt: off
GROUP_RECORDS: Final[dict[int, RecordType]] = {
    0: RecordType("LEGACY_OFFSET_COMMIT", _COMMIT_KEY, _message(offset=INT64, metadata=TEXT, commitTimestamp=INT64)),
    1: RecordType("OFFSET_COMMIT", _COMMIT_KEY, _OFFSET),
    2: RecordType("GROUP_METADATA", _message(group=TEXT), _GROUP),
    3: _record("CONSUMER_GROUP_METADATA", _GROUP_KEY, epoch=INT32, metadataHash=_a(INT64, tag=0, default=0)),
    4: _record("CONSUMER_GROUP_PARTITION_METADATA", _GROUP_KEY, topics=ArrayType(_TOPIC_METADATA)),
    5: _record(
        "CONSUMER_GROUP_MEMBER_METADATA", _MEMBER_KEY,
        instanceId=_null(TEXT), rackId=_null(TEXT), clientId=TEXT, clientHost=TEXT, subscribedTopicNames=TEXTS,
        subscribedTopicRegex=_null(TEXT), rebalanceTimeoutMs=INT32, serverAssignor=_null(TEXT),
        classicMemberMetadata=_CLASSIC_MEMBER,
    ),
    6: _record("CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA", _GROUP_KEY, *_TARGET_METADATA),
    7: _record("CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", _MEMBER_KEY, *_TARGET_MEMBER),
    8: _record(
        "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT", _MEMBER_KEY, *_MEMBER_STATE,
        assignedPartitions=_OWNED, partitionsPendingRevocation=_OWNED,
    ),
    10: _record(
        "SHARE_GROUP_MEMBER_METADATA", _MEMBER_KEY,
        rackId=_null(TEXT), clientId=TEXT, clientHost=TEXT, subscribedTopicNames=TEXTS,
    ),
    11: _record("SHARE_GROUP_METADATA", _GROUP_KEY, epoch=INT32, metadataHash=INT64),
    12: _record("SHARE_GROUP_TARGET_ASSIGNMENT_METADATA", _GROUP_KEY, *_TARGET_METADATA),
    13: _record("SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER", _MEMBER_KEY, *_TARGET_MEMBER),
    14: _record(
        "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT", _MEMBER_KEY, *_MEMBER_STATE,
        assignedPartitions=ArrayType(_TOPIC_ID_PARTITIONS),
    ),
    15: _record(
        "SHARE_GROUP_STATE_PARTITION_METADATA", _GROUP_KEY,
        initializingTopics=_STATE_PARTITIONS, initializedTopics=_STATE_PARTITIONS, deletingTopics=ArrayType(_STATE_TOPIC),
    ),
    16: _record(
        "CONSUMER_GROUP_REGULAR_EXPRESSION", _message(groupId=TEXT, regularExpression=TEXT),
        topics=TEXTS, version=INT64, timestamp=INT64,
    ),
    17: _record(
        "STREAMS_GROUP_METADATA", _GROUP_KEY,
        epoch=INT32, metadataHash=INT64, validatedTopologyEpoch=_a(INT32, tag=0, default=-1),
        lastAssignmentConfigs=_null(_KEY_VALUES, tag=1, default=[]),
        storedDescriptionTopologyEpoch=_a(INT32, tag=2, default=-1),  # since 4.4.0, as the next
        failedDescriptionTopologyEpoch=_a(INT32, tag=3, default=-1),
    ),
    19: _record(
        "STREAMS_GROUP_MEMBER_METADATA", _MEMBER_KEY,
        instanceId=_null(TEXT), rackId=_null(TEXT), clientId=TEXT, clientHost=TEXT, rebalanceTimeoutMs=INT32,
        topologyEpoch=INT32, processId=TEXT, userEndpoint=_null(_flexible(host=TEXT, port=UINT16)), clientTags=_KEY_VALUES,
    ),
    20: _record("STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA", _GROUP_KEY, *_TARGET_METADATA),
    21: _record(
        "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER", _MEMBER_KEY,
        activeTasks=ArrayType(_TASKS), standbyTasks=ArrayType(_TASKS), warmupTasks=ArrayType(_TASKS),
    ),
    22: _record(
        "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT", _MEMBER_KEY, *_MEMBER_STATE,
        activeTasks=_OWNED_TASKS, standbyTasks=_OWNED_TASKS, warmupTasks=_OWNED_TASKS,
        activeTasksPendingRevocation=_OWNED_TASKS, standbyTasksPendingRevocation=_OWNED_TASKS,
        warmupTasksPendingRevocation=_OWNED_TASKS,
    ),
    23: _record("STREAMS_GROUP_TOPOLOGY", _GROUP_KEY, epoch=INT32, subtopologies=ArrayType(_SUBTOPOLOGY)),
}
# fmt: on
"""Every type of record in ``__consumer_offsets`` in 4.4.0. 9 and 18 were never released."""

OFFSET_COMMIT_3_9: Final = replace(_OFFSET, fields=tuple(field for field in _OFFSET.fields if field.tag is None))
"""The value of OFFSET_COMMIT in Kafka 3.9, without the tagged field of a later release."""

_SHARE_PARTITION_KEY = _message(groupId=TEXT, topicId=UUID, partition=INT32)
_DELIVERY_COMPLETE_COUNT = _a(INT32, tag=0, default=-1)
_STATE_BATCHES = ArrayType(_flexible(firstOffset=INT64, lastOffset=INT64, deliveryState=INT8, deliveryCount=INT16))

SHARE_GROUP_STATE_RECORDS: Final[dict[int, RecordType]] = {
    0: _record(
        "SHARE_SNAPSHOT",
        _SHARE_PARTITION_KEY,
        snapshotEpoch=INT32,
        stateEpoch=INT32,
        leaderEpoch=INT32,
        startOffset=INT64,
        deliveryCompleteCount=_DELIVERY_COMPLETE_COUNT,
        createTimestamp=INT64,
        writeTimestamp=INT64,
        stateBatches=_STATE_BATCHES,
    ),
    1: _record(
        "SHARE_UPDATE",
        _SHARE_PARTITION_KEY,
        snapshotEpoch=INT32,
        leaderEpoch=INT32,
        startOffset=INT64,
        deliveryCompleteCount=_DELIVERY_COMPLETE_COUNT,
        stateBatches=_STATE_BATCHES,
    ),
}
"""Every type of record in ``__share_group_state`` in 4.4.0."""
