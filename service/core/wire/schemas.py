"""The fields of each message in each version.

The names, types, versions, tags and defaults are those of Kafka's message definitions: ConsumerProtocolSubscription and
ConsumerProtocolAssignment of kafka-clients, and the coordinator records of kafka-group-coordinator and
kafka-share-coordinator; the user data of the sticky assignors is defined in StickyAssignor and CooperativeStickyAssignor.
"""

from dataclasses import dataclass, replace
from typing import Final

from service.core.wire.messages import (
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    ArrayType,
    BytesType,
    Field,
    Message,
    StringType,
    UuidType,
)

TEXT, BYTES, UUID = StringType(), BytesType(), UuidType()
NO_UUID: Final = "A" * 22

_TOPIC_PARTITIONS = Message((Field("topic", TEXT), Field("partitions", ArrayType(INT32))))

SUBSCRIPTION = Message(
    (
        Field("topics", ArrayType(TEXT)),
        Field("userData", BytesType(copied=False), nullable=True),
        Field("ownedPartitions", ArrayType(_TOPIC_PARTITIONS), since=1),
        Field("generationId", INT32, since=2),
        Field("rackId", TEXT, since=3, nullable=True),
    ),
    newest=3,
)
ASSIGNMENT = Message(
    (Field("assignedPartitions", ArrayType(_TOPIC_PARTITIONS)), Field("userData", BytesType(copied=False), nullable=True)),
    newest=3,
)
STICKY_USER_DATA = Message(
    (Field("previousAssignment", ArrayType(_TOPIC_PARTITIONS)), Field("generation", INT32, since=1)), newest=1
)
COOPERATIVE_STICKY_USER_DATA = Message((Field("generation", INT32),))


@dataclass(frozen=True)
class RecordType:
    """A type of a coordinator's records. No key is flexible."""

    name: str
    key: Message
    value: Message


def _flexible(*fields: Field) -> Message:
    """A value that is flexible from its first version."""
    return Message(fields, flexible=0)


def _record(name: str, key: Message, *fields: Field) -> RecordType:
    return RecordType(name, key, _flexible(*fields))


_COMMIT_KEY = Message((Field("group", TEXT), Field("topic", TEXT), Field("partition", INT32)))
_GROUP_KEY = Message((Field("groupId", TEXT),))
_MEMBER_KEY = Message((Field("groupId", TEXT), Field("memberId", TEXT)))

_TOPIC_ID_PARTITIONS = _flexible(Field("topicId", UUID), Field("partitions", ArrayType(INT32)))
_EPOCHS = Field("assignmentEpochs", ArrayType(INT32), nullable=True, tag=0, default=[])
_TOPIC_ID_PARTITIONS_AND_EPOCHS = _flexible(*_TOPIC_ID_PARTITIONS.fields, _EPOCHS)
_TASKS = _flexible(Field("subtopologyId", TEXT), Field("partitions", ArrayType(INT32)))
_TASKS_AND_EPOCHS = _flexible(*_TASKS.fields, _EPOCHS)
_KEY_VALUES = ArrayType(_flexible(Field("key", TEXT), Field("value", TEXT)))
_STATE_TOPIC = _flexible(Field("topicId", UUID), Field("topicName", TEXT))
_STATE_PARTITIONS = ArrayType(_flexible(*_STATE_TOPIC.fields, Field("partitions", ArrayType(INT32))))
_STREAMS_TOPICS = ArrayType(
    _flexible(
        Field("name", TEXT),
        Field("partitions", INT32),
        Field("replicationFactor", INT16),
        Field("topicConfigs", _KEY_VALUES),
    )
)
_CLASSIC_PROTOCOLS = ArrayType(_flexible(Field("name", TEXT), Field("metadata", BYTES)))

_TARGET_METADATA = (Field("assignmentEpoch", INT32), Field("assignmentTimestamp", INT64, tag=0, default=0))
_TARGET_MEMBER = (Field("topicPartitions", ArrayType(_TOPIC_ID_PARTITIONS)),)
_MEMBER_STATE = (Field("memberEpoch", INT32), Field("previousMemberEpoch", INT32), Field("state", INT8))

GROUP_MEMBER = Message(
    (
        Field("memberId", TEXT),
        Field("groupInstanceId", TEXT, since=3, nullable=True),
        Field("clientId", TEXT),
        Field("clientHost", TEXT),
        Field("rebalanceTimeout", INT32, since=1),
        Field("sessionTimeout", INT32),
        Field("subscription", BYTES),
        Field("assignment", BYTES),
    )
)

GROUP_RECORDS: Final[dict[int, RecordType]] = {
    0: RecordType(
        "LEGACY_OFFSET_COMMIT",
        _COMMIT_KEY,
        Message((Field("offset", INT64), Field("metadata", TEXT), Field("commitTimestamp", INT64))),
    ),
    1: RecordType(
        "OFFSET_COMMIT",
        _COMMIT_KEY,
        Message(
            (
                Field("offset", INT64),
                Field("leaderEpoch", INT32, since=3),
                Field("metadata", TEXT),
                Field("commitTimestamp", INT64),
                Field("expireTimestamp", INT64, since=1, until=1),
                Field("topicId", UUID, since=4, tag=0, default=NO_UUID),
            ),
            flexible=4,
            newest=4,
        ),
    ),
    2: RecordType(
        "GROUP_METADATA",
        Message((Field("group", TEXT),)),
        Message(
            (
                Field("protocolType", TEXT),
                Field("generation", INT32),
                Field("protocol", TEXT, nullable=True),
                Field("leader", TEXT, nullable=True),
                Field("currentStateTimestamp", INT64, since=2),
                Field("members", ArrayType(GROUP_MEMBER)),
            ),
            flexible=4,
            newest=4,
        ),
    ),
    3: _record(
        "CONSUMER_GROUP_METADATA",
        _GROUP_KEY,
        Field("epoch", INT32),
        Field("metadataHash", INT64, tag=0, default=0),
    ),
    4: _record(
        "CONSUMER_GROUP_PARTITION_METADATA",
        _GROUP_KEY,
        Field(
            "topics",
            ArrayType(
                _flexible(
                    *_STATE_TOPIC.fields,
                    Field("numPartitions", INT32),
                    Field(
                        "partitionMetadata",
                        ArrayType(_flexible(Field("partition", INT32), Field("racks", ArrayType(TEXT)))),
                    ),
                )
            ),
        ),
    ),
    5: _record(
        "CONSUMER_GROUP_MEMBER_METADATA",
        _MEMBER_KEY,
        Field("instanceId", TEXT, nullable=True),
        Field("rackId", TEXT, nullable=True),
        Field("clientId", TEXT),
        Field("clientHost", TEXT),
        Field("subscribedTopicNames", ArrayType(TEXT)),
        Field("subscribedTopicRegex", TEXT, nullable=True),
        Field("rebalanceTimeoutMs", INT32),
        Field("serverAssignor", TEXT, nullable=True),
        Field(
            "classicMemberMetadata",
            _flexible(Field("sessionTimeoutMs", INT32), Field("supportedProtocols", _CLASSIC_PROTOCOLS)),
            nullable=True,
            tag=0,
            default={"sessionTimeoutMs": 0, "supportedProtocols": []},
        ),
    ),
    6: _record("CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA", _GROUP_KEY, *_TARGET_METADATA),
    7: _record("CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", _MEMBER_KEY, *_TARGET_MEMBER),
    8: _record(
        "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        _MEMBER_KEY,
        *_MEMBER_STATE,
        Field("assignedPartitions", ArrayType(_TOPIC_ID_PARTITIONS_AND_EPOCHS)),
        Field("partitionsPendingRevocation", ArrayType(_TOPIC_ID_PARTITIONS_AND_EPOCHS)),
    ),
    10: _record(
        "SHARE_GROUP_MEMBER_METADATA",
        _MEMBER_KEY,
        Field("rackId", TEXT, nullable=True),
        Field("clientId", TEXT),
        Field("clientHost", TEXT),
        Field("subscribedTopicNames", ArrayType(TEXT)),
    ),
    11: _record("SHARE_GROUP_METADATA", _GROUP_KEY, Field("epoch", INT32), Field("metadataHash", INT64)),
    12: _record("SHARE_GROUP_TARGET_ASSIGNMENT_METADATA", _GROUP_KEY, *_TARGET_METADATA),
    13: _record("SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER", _MEMBER_KEY, *_TARGET_MEMBER),
    14: _record(
        "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        _MEMBER_KEY,
        *_MEMBER_STATE,
        Field("assignedPartitions", ArrayType(_TOPIC_ID_PARTITIONS)),
    ),
    15: _record(
        "SHARE_GROUP_STATE_PARTITION_METADATA",
        _GROUP_KEY,
        Field("initializingTopics", _STATE_PARTITIONS),
        Field("initializedTopics", _STATE_PARTITIONS),
        Field("deletingTopics", ArrayType(_STATE_TOPIC)),
    ),
    16: _record(
        "CONSUMER_GROUP_REGULAR_EXPRESSION",
        Message((Field("groupId", TEXT), Field("regularExpression", TEXT))),
        Field("topics", ArrayType(TEXT)),
        Field("version", INT64),
        Field("timestamp", INT64),
    ),
    17: _record(
        "STREAMS_GROUP_METADATA",
        _GROUP_KEY,
        Field("epoch", INT32),
        Field("metadataHash", INT64),
        Field("validatedTopologyEpoch", INT32, tag=0, default=-1),
        Field("lastAssignmentConfigs", _KEY_VALUES, nullable=True, tag=1, default=[]),
    ),
    19: _record(
        "STREAMS_GROUP_MEMBER_METADATA",
        _MEMBER_KEY,
        Field("instanceId", TEXT, nullable=True),
        Field("rackId", TEXT, nullable=True),
        Field("clientId", TEXT),
        Field("clientHost", TEXT),
        Field("rebalanceTimeoutMs", INT32),
        Field("topologyEpoch", INT32),
        Field("processId", TEXT),
        Field("userEndpoint", _flexible(Field("host", TEXT), Field("port", UINT16)), nullable=True),
        Field("clientTags", _KEY_VALUES),
    ),
    20: _record("STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA", _GROUP_KEY, *_TARGET_METADATA),
    21: _record(
        "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
        _MEMBER_KEY,
        Field("activeTasks", ArrayType(_TASKS)),
        Field("standbyTasks", ArrayType(_TASKS)),
        Field("warmupTasks", ArrayType(_TASKS)),
    ),
    22: _record(
        "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        _MEMBER_KEY,
        *_MEMBER_STATE,
        Field("activeTasks", ArrayType(_TASKS_AND_EPOCHS)),
        Field("standbyTasks", ArrayType(_TASKS_AND_EPOCHS)),
        Field("warmupTasks", ArrayType(_TASKS_AND_EPOCHS)),
        Field("activeTasksPendingRevocation", ArrayType(_TASKS_AND_EPOCHS)),
        Field("standbyTasksPendingRevocation", ArrayType(_TASKS_AND_EPOCHS)),
        Field("warmupTasksPendingRevocation", ArrayType(_TASKS_AND_EPOCHS)),
    ),
    23: _record(
        "STREAMS_GROUP_TOPOLOGY",
        _GROUP_KEY,
        Field("epoch", INT32),
        Field(
            "subtopologies",
            ArrayType(
                _flexible(
                    Field("subtopologyId", TEXT),
                    Field("sourceTopics", ArrayType(TEXT)),
                    Field("sourceTopicRegex", ArrayType(TEXT)),
                    Field("stateChangelogTopics", _STREAMS_TOPICS),
                    Field("repartitionSinkTopics", ArrayType(TEXT)),
                    Field("repartitionSourceTopics", _STREAMS_TOPICS),
                    Field(
                        "copartitionGroups",
                        ArrayType(
                            _flexible(
                                Field("sourceTopics", ArrayType(INT16)),
                                Field("sourceTopicRegex", ArrayType(INT16)),
                                Field("repartitionSourceTopics", ArrayType(INT16)),
                            )
                        ),
                    ),
                )
            ),
        ),
    ),
}
"""Every type of record in ``__consumer_offsets`` in 4.3.1. 9 and 18 were never released."""

_SHARE_PARTITION_KEY = Message((Field("groupId", TEXT), Field("topicId", UUID), Field("partition", INT32)))
_DELIVERY_COMPLETE_COUNT = Field("deliveryCompleteCount", INT32, tag=0, default=-1)
_STATE_BATCHES = Field(
    "stateBatches",
    ArrayType(
        _flexible(
            Field("firstOffset", INT64),
            Field("lastOffset", INT64),
            Field("deliveryState", INT8),
            Field("deliveryCount", INT16),
        )
    ),
)

OFFSET_COMMIT_3_9: Final = replace(
    GROUP_RECORDS[1].value, fields=tuple(field for field in GROUP_RECORDS[1].value.fields if field.tag is None)
)
"""The value of OFFSET_COMMIT in Kafka 3.9, without the tagged field of a later release."""

SHARE_GROUP_STATE_RECORDS: Final[dict[int, RecordType]] = {
    0: _record(
        "SHARE_SNAPSHOT",
        _SHARE_PARTITION_KEY,
        Field("snapshotEpoch", INT32),
        Field("stateEpoch", INT32),
        Field("leaderEpoch", INT32),
        Field("startOffset", INT64),
        _DELIVERY_COMPLETE_COUNT,
        Field("createTimestamp", INT64),
        Field("writeTimestamp", INT64),
        _STATE_BATCHES,
    ),
    1: _record(
        "SHARE_UPDATE",
        _SHARE_PARTITION_KEY,
        Field("snapshotEpoch", INT32),
        Field("leaderEpoch", INT32),
        Field("startOffset", INT64),
        _DELIVERY_COMPLETE_COUNT,
        _STATE_BATCHES,
    ),
}
"""Every type of record in ``__share_group_state`` in 4.3.1."""
