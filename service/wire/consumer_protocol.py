"""Subscriptions and assignments of the classic protocol (ConsumerProtocol v0–v3), and the user data of sticky assignors.

Source: ConsumerProtocol, StickyAssignor, CooperativeStickyAssignor.
"""

import base64
from dataclasses import dataclass
from typing import Final

from service.wire.errors import BufferUnderflow, Schema, Unreadable
from service.wire.reader import Document, read_message, read_version
from service.wire.schemas import ASSIGNMENT, COOPERATIVE_STICKY_USER_DATA, STICKY_USER_DATA, SUBSCRIPTION, Message

TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]
"""Topic names with partition ids, in the order of the bytes; a topic may appear more than once."""

DEFAULT_GENERATION: Final = -1
"""AbstractStickyAssignor.DEFAULT_GENERATION, the generation of a member whose user data cannot be read."""


@dataclass(frozen=True)
class MemberSubscription:
    """What a member subscribes to, and what it owns.

    version : the one in the bytes; any above 3 is read as 3
    generation_id, rack_id, user_data : None if absent; a negative generation and an empty rack count as absent
    """

    version: int
    topic_names: tuple[str, ...]
    owned: TopicPartitions
    generation_id: int | None
    rack_id: str | None
    user_data: bytes | None


@dataclass(frozen=True)
class MemberAssignment:
    """A member's assignment. version : the one in the bytes; any above 3 is read as 3."""

    version: int
    partitions: TopicPartitions
    user_data: bytes | None


@dataclass(frozen=True)
class StickyUserData:
    """A member's previous assignment, as it reports it.

    version : 0 if the bytes end where version 0 does; they do not name their version
    generation : None if absent; DEFAULT_GENERATION if the bytes cannot be read
    unreadable : why the bytes cannot be read; Kafka then ignores them
    """

    version: int
    previous_assignment: TopicPartitions
    generation: int | None
    unreadable: Unreadable | None = None


def read_subscription(data: bytes) -> MemberSubscription:
    """A Subscription; bytes after its end are ignored. Raises Unreadable."""
    return _subscription(*_read(data, SUBSCRIPTION, "subscription"))


def _subscription(version: int, fields: Document) -> MemberSubscription:
    generation = fields.get("generationId", DEFAULT_GENERATION)
    return MemberSubscription(
        version,
        tuple(fields["topics"]),
        _topic_partitions(fields.get("ownedPartitions", [])),
        None if generation < 0 else generation,
        fields.get("rackId") or None,
        _user_data(fields),
    )


def read_subscription_leniently(data: bytes) -> tuple[MemberSubscription, str | None]:
    """A Subscription as readers take it that read an old one to its end, whatever version it claims; and what is wrong with it.

    kafka-go writes version 1 without owned partitions. Java refuses that; franz-go and others read what is there. Raises
    Unreadable if the bytes do not end where those of an older version do.
    """
    try:
        return read_subscription(data), None
    except Unreadable as error:
        for older in range(min(int.from_bytes(data[:2], signed=True), SUBSCRIPTION.newest) - 1, -1, -1):
            version = _read_version(data)
            try:
                fields, end = _read_body(data, SUBSCRIPTION, older, "subscription")
            except Unreadable:
                continue
            if end == len(data):
                fault = f"The subscription has version {version} but ends as one of version {older}. Java's clients refuse it: "
                return _subscription(version, fields), f"{fault}{error.message}."
        raise


def read_subscribed_topics(data: bytes) -> tuple[str, ...]:
    """The topics of a Subscription, which the group coordinator reads as version 0, whatever its version.

    Raises Unreadable; the coordinator then does not know the group's topics. Source: ClassicGroup.computeSubscribedTopics.
    """
    _read_version(data)
    return tuple(_read_body(data, SUBSCRIPTION, 0, "subscription")[0]["topics"])


def read_assignment(data: bytes) -> MemberAssignment:
    """An Assignment; bytes after its end are ignored. Raises Unreadable."""
    version, fields = _read(data, ASSIGNMENT, "assignment")
    return MemberAssignment(version, _topic_partitions(fields["assignedPartitions"]), _user_data(fields))


def read_sticky_user_data(data: bytes) -> StickyUserData:
    """The ``sticky`` assignor's user data, which it reads as version 1, else as version 0, else ignores."""
    if not data:
        return StickyUserData(1, (), None)
    try:
        fields = read_message(data, STICKY_USER_DATA, 1, 0)[0]
        return StickyUserData(1, _topic_partitions(fields["previousAssignment"]), fields["generation"])
    except Unreadable as error:
        unreadable = error
    try:
        fields, end = read_message(data, STICKY_USER_DATA, 0, 0)
    except Unreadable:
        return StickyUserData(1, (), DEFAULT_GENERATION, unreadable)
    return StickyUserData(0 if end == len(data) else 1, _topic_partitions(fields["previousAssignment"]), None)


def read_cooperative_sticky_user_data(data: bytes) -> StickyUserData:
    """The ``cooperative-sticky`` assignor's user data: only a generation."""
    try:
        return StickyUserData(0, (), read_message(data, COOPERATIVE_STICKY_USER_DATA, 0)[0]["generation"])
    except Unreadable as error:
        return StickyUserData(0, (), DEFAULT_GENERATION, error)


def as_seen_by(assignor: str, subscription: MemberSubscription) -> tuple[TopicPartitions, int | None]:
    """The partitions that a member claims to an assignor, and in which generation (``memberData``).

    ``sticky`` uses only the user data. ``cooperative-sticky`` takes the generation from there if the subscription has none. Any
    other assignor uses the subscription.
    """
    user_data = subscription.user_data
    if assignor == "sticky":
        data = read_sticky_user_data(user_data or b"")
        return data.previous_assignment, data.generation
    if assignor == "cooperative-sticky" and subscription.generation_id is None and user_data is not None:
        return subscription.owned, read_cooperative_sticky_user_data(user_data).generation
    return subscription.owned, subscription.generation_id


def _read(data: bytes, message: Message, what: str) -> tuple[int, Document]:
    version = _read_version(data)
    if version < 0:
        raise Schema(f"Unsupported {what} version: {version}", 0, f"there is no version {version}")
    return version, _read_body(data, message, min(version, message.newest), what)[0]


def _read_version(data: bytes) -> int:
    try:
        return read_version(data, "the version")
    except BufferUnderflow as cause:
        raise Schema.because_of(cause, "Buffer underflow while parsing consumer protocol's header") from None


def _read_body(data: bytes, message: Message, version: int, what: str) -> tuple[Document, int]:
    """The message behind the version, and its end."""
    try:
        return read_message(data, message, version, 2)
    except BufferUnderflow as cause:
        raise Schema.because_of(cause, f"Buffer underflow while parsing consumer protocol's {what}") from None


def _topic_partitions(topics: list[Document]) -> TopicPartitions:
    return tuple((topic["topic"], tuple(topic["partitions"])) for topic in topics)


def _user_data(fields: Document) -> bytes | None:
    return None if fields["userData"] is None else base64.b64decode(fields["userData"])
