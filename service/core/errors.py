"""The core's errors: this service's own, and Kafka's.

::

    AllocatorError                  a question without an answer, and the reason
    ├── InvalidQuestion             breaks this service's own rules: what is wrong, and where
    │   ├── UnknownStrategy         no partitioner, assignor or placer of that name
    │   └── LimitExceeded           larger than this installation allows
    ├── NoPlan                      no plan for a reassignment, and what would mend it
    │   ├── Infeasible              rules that no placement keeps together: proven
    │   └── NotFound                the search ended without a plan, and without a proof that there is none
    ├── PluginError                 an installed plug-in's fault, not the caller's
    │   ├── PluginFailed            it raised an error, or cannot be loaded
    │   └── PluginBrokeARule        its answer breaks a rule of its interface
    └── KafkaError                  Kafka's own error, with its class name and its message
        ├── AdminOperation
        ├── IllegalArgument
        ├── InvalidPartitions
        ├── InvalidReplicationFactor
        ├── KafkaAssignorFails      a group that Kafka's own assignor, or a client's, cannot assign
        └── ...                     each in the module that raises it, if only one does

The class name in kebab case is the last part of the problem's ``type``. Nothing here knows a status code.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from service.core.printable import did_you_mean, meant

MAX_ERRORS: Final = 100
"""Most faults of one kind that one answer lists."""

FEW_NAMES: Final = 12
"""Up to this many known names, an error lists them all."""

LONGEST_NAME: Final = 200
"""Characters of an unknown name that an error repeats."""


class AllocatorError(Exception):
    """A question without an answer; ``str()`` is the reason, a sentence for the caller."""


class InvalidQuestion(AllocatorError):
    """The question breaks a rule of this service.

    field : path to the offending value, names and rows: ``("members", 3, "member_id")``; empty for the whole question
    others : further faults of the same question
    """

    def __init__(self, detail: str, *field: str | int) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.others: list[InvalidQuestion] = []


class UnknownStrategy(InvalidQuestion):
    """An unknown partitioner, assignor or placer.

    kind : "partitioner", "assignor" or "placer"; it is also the name of the request's field
    known : every name; aliases : other names of the same
    likely : known names that describe what this name means, such as a product that uses a client
    """

    def __init__(
        self, kind: str, name: str, known: tuple[str, ...], likely: tuple[str, ...] = (), aliases: Iterable[str] = ()
    ) -> None:
        listed = f"; it must be one of {', '.join(known)}."
        if len(known) > FEW_NAMES:
            listed = f".{meant(likely) or did_you_mean(name, (*known, *aliases))} GET /v1/{kind}s lists all {len(known)}."
        super().__init__(f"There is no {kind} {name[:LONGEST_NAME]!r}{listed}", kind)
        self.kind = kind
        self.name = name
        self.known = known


class LimitExceeded(InvalidQuestion):
    """The question is larger than this installation allows.

    limit : the setting's name (``MAX_KEYS``); allowed : its value; requested : what the request needs
    """

    def __init__(self, limit: str, allowed: int, requested: int, what: str, *field: str | int) -> None:
        super().__init__(f"{requested} {what} exceed the limit {limit} = {allowed}.", *field)


@dataclass(frozen=True)
class Clash:
    """One of the rules that clash. rule : its name in the request; detail : what it demands here"""

    rule: str
    detail: str


class NoPlan(AllocatorError):
    """There is no plan.

    clash : the smallest set of rules that cannot be kept together, or with which no plan was found
    remedies : what would mend it, each by itself
    """

    def __init__(self, detail: str, clash: tuple[Clash, ...], remedies: tuple[str, ...]) -> None:
        super().__init__(detail)
        self.clash = clash
        self.remedies = remedies


class Infeasible(NoPlan):
    """No placement keeps all rules."""


class NotFound(NoPlan):
    """No plan was found within the bounds of the search, but nothing proves that there is none."""


class PluginError(AllocatorError):
    """A fault of an installed plug-in, which the message names.

    plugin : its kind, name and distribution, without anything of the request
    """

    def __init__(self, plugin: str, fault: str) -> None:
        super().__init__(f"{plugin} {fault}")
        self.plugin = plugin


class PluginFailed(PluginError):
    """The plug-in raised an error, or cannot be loaded."""


class PluginBrokeARule(PluginError):
    """The plug-in's answer breaks a rule of its interface."""


class KafkaError(AllocatorError):
    """Kafka itself rejects this, with this exception and message.

    exception : the full name of the Java class thrown; None if Kafka throws nothing because it never returns
    message : the result of its getMessage()
    detail : this service's words for the caller; default: the message
    """

    exception: str | None

    def __init__(self, message: str | None, detail: str | None = None) -> None:
        super().__init__(detail or message)
        self.message = message


class AdminOperation(KafkaError):
    """AdminUtils rejects a placement if only some brokers have racks."""

    exception = "org.apache.kafka.server.common.AdminOperationException"


class IllegalArgument(KafkaError):
    """Java's own."""

    exception = "java.lang.IllegalArgumentException"


class InvalidPartitions(KafkaError):
    """The partition count is not positive."""

    exception = "org.apache.kafka.common.errors.InvalidPartitionsException"


class InvalidReplicationFactor(KafkaError):
    """The replication factor is not positive, or larger than the number of brokers."""

    exception = "org.apache.kafka.common.errors.InvalidReplicationFactorException"


class KafkaAssignorFails(KafkaError):
    """Kafka's own assignor, or a client's, throws on this group, or never returns: no member would get partitions.

    exception, message : the exception, by its name in the library's language; None if nothing is thrown
    cause : the cause in the request
    remedy : the change that avoids it
    library : whose assignor it is
    does : what it does instead of throwing: it never returns, or ends its own process
    """

    def __init__(
        self,
        exception: str | None,
        message: str | None,
        *,
        cause: str,
        remedy: str,
        library: str = "Kafka",
        does: str = "never returns",
    ) -> None:
        thrown = exception if message is None else f'{exception} ("{message}")'
        does = does if exception is None else f"throws {thrown}"
        super().__init__(message, f"{library}'s assignor {does}: {cause}; {remedy}")
        self.exception = exception
