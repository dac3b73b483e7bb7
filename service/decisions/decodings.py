"""What captured bytes of coordinators and consumers say: the question, and its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from service.core.budget import Budget, Figures
from service.core.kafka_versions import FORMATTERS_2_8, FORMATTERS_3_4, FORMATTERS_3_9
from service.core.model import Keys
from service.wire import formatters as printed
from service.wire.connect_protocol import WorkerAssignment, WorkerMetadata, read_worker_assignment, read_worker_metadata
from service.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    StickyUserData,
    read_assignment,
    read_cooperative_sticky_user_data,
    read_sticky_user_data,
    read_subscription,
)
from service.wire.coordinator_records import (
    CoordinatorRecord,
    RecordTexts,
    read_group_record,
    read_records,
    read_share_group_state_record,
)
from service.wire.errors import Printed, Unreadable
from service.wire.formatters import OF_2_8, SINCE_3_4, lines_of_group_record, scala_lines_of_group_record
from service.wire.offsets_topic import OffsetsTopic, read_offsets_topic

GROUP_RECORD, SHARE_GROUP_STATE_RECORD = RECORDS = ("group_record", "share_group_state_record")
OFFSETS_TOPIC: Final = "offsets_topic"

ODD_BYTES: Final = 200
"""Memory for each byte of what is read field by field, with its fields and their JSON."""

Decoded: TypeAlias = (
    "CoordinatorRecord | MemberSubscription | MemberAssignment | StickyUserData | WorkerMetadata | WorkerAssignment"
    " | RecordTexts | OffsetsTopic"
)


@dataclass(frozen=True)
class RecordsToDecode:
    """Records of one kind.

    keys, values : of one length; a null value is a tombstone
    topic_names : by topic id in base64 for URLs, those that no record names
    """

    keys: Keys
    values: Keys
    topic_names: Mapping[str, str]


@dataclass(frozen=True)
class DecodingQuestion:
    """Captured bytes, and what they are.

    kind : one of KINDS
    kafka_version : whose formatters print the lines
    data : of every kind but a record
    key, value : of a record
    records : instead of one record; those of OFFSETS_TOPIC in the order of their partition
    assignor, member_id, instance_id : for a subscription: of its member
    """

    kind: str
    kafka_version: str
    data: bytes = b""
    key: bytes = b""
    value: bytes | None = None
    records: RecordsToDecode | None = None
    assignor: str = "range"
    member_id: str = "member"
    instance_id: str | None = None

    def lines(self, record: CoordinatorRecord | Unreadable) -> Mapping[str, Printed]:
        """What the formatters print of the record, or if it cannot be read. Those of some releases read its bytes themselves."""
        if self.kafka_version not in (FORMATTERS_2_8, FORMATTERS_3_4, FORMATTERS_3_9):
            formatters = printed.OF_GROUP_RECORDS if self.kind == GROUP_RECORD else printed.OF_SHARE_GROUP_STATE
            if isinstance(record, Unreadable):
                return printed.instead_of(record, formatters)
            return printed.lines(record, formatters, self.kafka_version)
        release = OF_2_8 if self.kafka_version == FORMATTERS_2_8 else SINCE_3_4
        lines = scala_lines_of_group_record(self.key, self.value, release)
        if self.kafka_version == FORMATTERS_3_9:
            return lines_of_group_record(self.key, self.value) | lines
        return lines


@dataclass(frozen=True)
class DecodingAnswer:
    """What the bytes say, as the core reads this kind."""

    question: DecodingQuestion
    decoded: Decoded
    figures: Figures


def answer(question: DecodingQuestion, budget: Budget) -> DecodingAnswer:
    """Read the bytes. Raises Unreadable, for a record with what Kafka's formatters print instead."""
    count = 1 if question.records is None else len(question.records.keys)
    figures = Figures(question.kind, {"records": count})
    if question.records is not None:
        return DecodingAnswer(question, _read_records(question.kind, question.records), figures)
    budget.reserve(ODD_BYTES * (len(question.data) + len(question.key) + len(question.value or b"")))
    try:
        return DecodingAnswer(question, READ[question.kind](question), figures)
    except Unreadable as error:
        if question.kind in RECORDS:
            error.printed = question.lines(error)
        raise


def _read_records(kind: str, records: RecordsToDecode) -> RecordTexts | OffsetsTopic:
    if kind == OFFSETS_TOPIC:
        return read_offsets_topic(records.keys, records.values, records.topic_names)
    read = read_group_record if kind == GROUP_RECORD else read_share_group_state_record
    return read_records(records.keys, records.values, read)


READ: Final[dict[str, Callable[[DecodingQuestion], Decoded]]] = {
    GROUP_RECORD: lambda question: read_group_record(question.key, question.value),
    SHARE_GROUP_STATE_RECORD: lambda question: read_share_group_state_record(question.key, question.value),
    "subscription": lambda question: read_subscription(question.data),
    "assignment": lambda question: read_assignment(question.data),
    "sticky_user_data": lambda question: read_sticky_user_data(question.data),
    "cooperative_sticky_user_data": lambda question: read_cooperative_sticky_user_data(question.data),
    "connect_metadata": lambda question: read_worker_metadata(question.data),
    "connect_assignment": lambda question: read_worker_assignment(question.data),
}
"""How the bytes of each kind are read, unless they are several records."""

KINDS: Final = (*READ, OFFSETS_TOPIC)
