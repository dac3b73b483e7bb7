"""What the core refuses, and in whose words.

::

    AllocatorError                  a question that has no answer, with the reason
    ├── InvalidQuestion             this service's own rules: says what is wrong, and where
    │   ├── UnknownStrategy         no partitioner, assignor or placer of that name
    │   └── LimitExceeded           larger than this installation allows
    └── KafkaError                  Kafka's own refusal, by Kafka's name and in Kafka's words
        ├── AdminOperation
        ├── IllegalArgument
        ├── InvalidPartitions
        ├── InvalidReplicationFactor
        ├── KafkaAssignorFails      a group that Kafka's own assignor cannot assign
        └── ...                     each beside the code that raises it, if only that code does

The class name in kebab case is the last part of the problem's ``type``. Nothing here knows a status code.
"""

from __future__ import annotations

from typing import Final

MAX_ERRORS: Final = 100
"""Most faults of one kind that one answer lists."""


class AllocatorError(Exception):
    """A question that has no answer; ``str()`` is the reason, in a sentence for the caller."""


class InvalidQuestion(AllocatorError):
    """The question breaks a rule of this service.

    field : path to the offending value, names and rows: ``("members", 3, "member_id")``; empty for the whole question
    """

    def __init__(self, detail: str, *field: str | int) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field


class UnknownStrategy(InvalidQuestion):
    """There is no such partitioner, assignor or placer.

    kind : "partitioner", "assignor" or "placer"; it is also the name of the request's field.
    """

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"there is no {kind} {name!r}; known are {', '.join(known)}", kind)
        self.kind = kind
        self.name = name
        self.known = known


class LimitExceeded(InvalidQuestion):
    """The question is larger than this installation allows.

    limit : the setting's name (``MAX_KEYS``); its value is ``allowed``, and ``asked`` is what the question came to.
    """

    def __init__(self, limit: str, allowed: int, asked: int, what: str, *field: str | int) -> None:
        super().__init__(f"{asked} {what} exceed the limit {limit} = {allowed}", *field)
        self.limit = limit
        self.allowed = allowed
        self.asked = asked


class KafkaError(AllocatorError):
    """Kafka itself refuses this, by the class name and with the message that it gives.

    exception : the full name of the Java class thrown; None if nothing is thrown because Kafka never returns
    message : what its getMessage() gives
    detail : our own words for the caller; default: the message
    """

    exception: str | None

    def __init__(self, message: str | None, detail: str | None = None) -> None:
        super().__init__(detail or message)
        self.message = message


class AdminOperation(KafkaError):
    """AdminUtils' refusal of a placement whose racks are known only in part."""

    exception = "org.apache.kafka.server.common.AdminOperationException"


class IllegalArgument(KafkaError):
    """Java's own."""

    exception = "java.lang.IllegalArgumentException"


class InvalidPartitions(KafkaError):
    """The partition count is no count."""

    exception = "org.apache.kafka.common.errors.InvalidPartitionsException"


class InvalidReplicationFactor(KafkaError):
    """The replication factor is no count, or more than the brokers can hold."""

    exception = "org.apache.kafka.common.errors.InvalidReplicationFactorException"


class KafkaAssignorFails(KafkaError):
    """Kafka's own assignor throws on this group, or never returns: its rebalance would fail, and nobody be assigned anything.

    exception, message : what it throws; None if it never returns
    cause : what in the request brings it about
    remedy : what mends it
    """

    def __init__(self, exception: str | None, message: str | None, *, cause: str, remedy: str) -> None:
        thrown = exception if message is None else f'{exception} ("{message}")'
        does = "never returns" if exception is None else f"throws {thrown}"
        super().__init__(message, f"Kafka's assignor {does}: {cause}; {remedy}")
        self.exception = exception
