"""What a program can be compared with: each assignor and each partitioner that answers the same in every run."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from service.clients.connect import PROTOCOLS
from service.conformance import groups, shrinking
from service.conformance.connect import PROTOCOL, ConnectSubject
from service.conformance.shrinking import Expected, TopicPartition, failing, named_members
from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError, InvalidQuestion, KafkaAssignorFails, UnknownStrategy
from service.core.partitioners import PARTITIONERS, Partitioner
from service.core.printable import counted
from service.core.registry import released
from service.decisions.groups.answer import answer as assign
from service.decisions.groups.question import of_rows
from service.decisions.partitions import PartitionsQuestion
from service.decisions.partitions import answer as allocate
from service.strategies import GROUP_PROTOCOLS, Assignor

MOST_KEYS: Final = 30
_BOUNDS: Final = (0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
_COUNTS: Final = (1, 2, 3, 12, 50, 1000, 2**31 - 1)


def keys(random: Random, key_format: str) -> list[Any]:
    """Some keys: bytes for "base64", else texts or numbers of 64 bits; at the bounds now and then, and beyond ASCII."""
    make = {"base64": _data, "string": _text, "long": _number}[key_format]
    return [make(random) for _ in range(random.randint(1, MOST_KEYS))]


def partitions_count(random: Random) -> int:
    """The partitions of a topic: mostly some, also one, and as many as there can be."""
    return random.choice((*_COUNTS, random.randint(1, 300)))


def _data(random: Random) -> bytes:
    if random.random() < 0.5:
        return _text(random).encode()
    return random.randbytes(random.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, random.randint(0, 70))))


def _text(random: Random) -> str:
    if random.random() < 0.5:
        return f"{random.choice(('order-', 'user/', '', 'device-'))}{random.randint(0, 10**9)}"
    return "".join(random.choice("aZ09_-.é東\U0001f418") for _ in range(random.randint(0, 20)))


def _number(random: Random) -> int:
    return random.choice(_BOUNDS) if random.random() < 0.2 else random.randint(-(2**63), 2**63 - 1)


SPLITS: Final = "splits"
"""The protocol whose groups never rebalance: nothing depends on what readers had."""

REBALANCES: Final = (1, 1, 3, 6)
"""How many rebalances a random group goes through."""


@dataclass(frozen=True)
class AssignorSubject:
    """An assignor. name : "classic/range"; options : ``kafka_version`` and ``client_version`` of its questions, if given"""

    protocol: str
    assignor: Assignor
    options: tuple[tuple[str, str], ...] = ()

    operation = "group-assignments"

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.protocol}/{self.assignor.name}"

    def request(self, group: Json) -> Json:
        """The question about a group, as the service takes it."""
        group = groups.read_by_all(group) if self.protocol == SPLITS else group
        return {**group, "group_protocol": self.protocol, "assignor": self.assignor.name, **dict(self.options)}

    def expected(self, request: Json) -> Expected | None:
        """The answer; None for a question that has none or several, which is not asked."""
        try:
            found = assign(of_rows(**request), Budget())
        except KafkaAssignorFails as fails:
            return None if fails.exception is None else Expected(fails=True)
        except AllocatorError:
            return None
        group, assignment = found.first.group, found.first.outcome.assignment
        if self.assignor.warnings and self.assignor.warnings(group):
            return None
        names = group.topic_names

        def named(partitions: Any) -> list[TopicPartition]:
            topics, ids = group.topic_partitions(partitions)
            return [(names[topic], i) for topic, i in zip(topics.tolist(), ids.tolist(), strict=True)]

        owners: dict[TopicPartition, tuple[str, ...]] = {}
        for member, member_id in enumerate(group.member_ids):
            for partition in named(assignment.rows.row(member)):
                owners[partition] = (*owners.get(partition, ()), member_id)
        chance = frozenset(() if assignment.left_open is None else named(assignment.left_open.partitions))
        certain = {each: tuple(sorted(who)) for each, who in owners.items() if each not in chance}
        return Expected(owners=certain, chance=chance)

    def recorded(self, answer: Json) -> Expected:
        """What a library answered, as a vector has it."""
        if "error" in answer:
            return Expected(fails=True)
        return Expected(owners=_owners_in(answer["assignments"]))

    def fault(self, expected: Expected, answer: Json) -> str | None:
        """What is wrong with a program's answer."""
        if expected.fails or "error" in answer:
            return None if expected.fails == ("error" in answer) else failing(expected, answer)
        try:
            owners = _owners_in(answer.get("assignments"))
        except ValueError as malformed:
            return str(malformed)
        wanted = expected.owners or {}
        for topic, i in sorted(wanted.keys() | owners.keys()):
            mine, theirs = wanted.get((topic, i), ()), owners.get((topic, i), ())
            if mine != theirs and (topic, i) not in expected.chance:
                return f"partition {i} of {topic!r} goes to {named_members(theirs)} instead of {named_members(mine)}"
        return None

    def questions(self, seed: str) -> Iterator[Json]:
        """A random group, and what becomes of it. seed : another one is another group"""
        random = Random(seed)  # noqa: S311 - cases, not secrets
        group = self._sent(groups.first_group(self.protocol, random))
        for rebalance in range(random.choice(REBALANCES)):
            request = self.request(group)
            yield request
            expected = self.expected(request)
            if self.protocol == SPLITS or expected is None or expected.fails or expected.chance:
                return
            after = expected.assignments(member["member_id"] for member in group["members"])
            if self.protocol == "classic":
                group = self._sent(groups.change(random, group, after, rebalance + 1))
            else:
                group = groups.change_of_coordinator(random, group, after)

    def smaller(self, request: Json) -> Iterator[Json]:
        """The question with one thing left out."""
        rest = {name: value for name, value in request.items() if name not in ("topics", "members")}
        for less in shrinking.smaller({"topics": request["topics"], "members": request["members"]}):
            yield {**rest, **less}

    def _sent(self, group: Json) -> Json:
        """The group as members of other clients can have it; Java's classes are asked anything."""
        return groups.sendable(group) if ":" in self.assignor.name else group


@dataclass(frozen=True)
class PartitionerSubject:
    """A partitioner, for records with a key. name : such as "partitioner/java"."""

    partitioner: Partitioner

    operation = "partitions"
    options = ()

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"partitioner/{self.partitioner.name}"

    @property
    def key_format(self) -> str:
        """In which its keys are sent: bytes, texts or numbers."""
        return next(each for each in ("base64", "string", "long") if each in self.partitioner.encoding.formats)

    def expected(self, request: Json) -> Expected | None:
        """The answer; None if the client refuses the keys."""
        try:
            result = allocate(PartitionsQuestion(**request), Budget()).result
        except AllocatorError:
            return None
        return Expected(partitions=tuple(result.partitions.tolist()))

    def recorded(self, answer: Json) -> Expected:
        """What a library answered, as a vector has it."""
        return Expected(partitions=tuple(answer["partitions"]))

    def fault(self, expected: Expected, answer: Json) -> str | None:
        """What is wrong with a program's answer."""
        got = answer.get("partitions")
        if "error" in answer:
            return failing(expected, answer)
        if not isinstance(got, list) or len(got) != len(expected.partitions):
            return f'"partitions" is not a list of {counted(len(expected.partitions), "partition")}'
        wrong = next((i for i, pair in enumerate(zip(got, expected.partitions, strict=True)) if pair[0] != pair[1]), None)
        return None if wrong is None else f"key {wrong} goes to partition {got[wrong]} instead of {expected.partitions[wrong]}"

    def questions(self, seed: str) -> Iterator[Json]:
        """Random keys. seed : other ones are other keys"""
        random = Random(seed)  # noqa: S311 - cases, not secrets
        drawn = keys(random, self.key_format)
        yield {
            "partitioner": self.partitioner.name,
            "partitions_count": partitions_count(random),
            "key_format": self.key_format,
            "keys": [base64.b64encode(key).decode() for key in drawn] if self.key_format == "base64" else drawn,
        }

    def smaller(self, request: Json) -> Iterator[Json]:
        """The question with keys left out, or with fewer partitions."""
        yield from ({**request, "keys": part} for part in shrinking.parts(request["keys"]))
        if request["partitions_count"] > 1:
            yield {**request, "partitions_count": request["partitions_count"] // 2}


Subject = AssignorSubject | ConnectSubject | PartitionerSubject


def subject_of(name: str, options: dict[str, str]) -> Subject:
    """The subject of a name: "partitioner/java", "consumer/uniform", "connect/eager", or "range" alone for the classic protocol.

    options : ``kafka_version`` and ``client_version`` of assignors. Raises InvalidQuestion.
    """
    family, slash, rest = name.partition("/")
    if slash and family == "partitioner":
        partitioner = PARTITIONERS[rest]
        if not _is_certain(partitioner):
            raise InvalidQuestion(f"{rest} does not decide by the key alone, so there is nothing to compare.")
        return PartitionerSubject(partitioner)
    protocol, assignor = (family, rest) if slash else ("classic", name)
    if protocol == PROTOCOL:
        if "client_version" in options:
            raise InvalidQuestion("Connect is released with Kafka: give kafka_version instead of client_version.")
        released(PROTOCOLS, assignor, options.get("kafka_version"))  # which it must have
        return ConnectSubject(assignor, tuple(sorted(options.items())))
    if protocol not in GROUP_PROTOCOLS:
        raise UnknownStrategy("group_protocol", protocol, ("partitioner", *GROUP_PROTOCOLS, PROTOCOL))
    found = GROUP_PROTOCOLS[protocol][assignor]
    kafka_version = options.get("kafka_version")
    found.of_release(kafka_version or found.kafka_versions[-1], options.get("client_version"))  # which it must have
    return AssignorSubject(protocol, found, tuple(sorted(options.items())))


def _is_certain(partitioner: Partitioner) -> bool:
    """Does it decide by the key alone where there is one, and take keys that can be sent?"""
    return (
        partitioner.hash is not None
        and not partitioner.gives_tokens
        and bool({"base64", "string", "long"} & set(partitioner.encoding.formats))
    )


def _owners_in(assignments: Any) -> dict[TopicPartition, tuple[str, ...]]:
    """Who gets each partition. Raises ValueError, which says what is malformed."""
    owners: dict[TopicPartition, tuple[str, ...]] = {}
    try:
        for one in assignments:
            for part in one["partitions"]:
                for i in part["partition_ids"]:
                    place = (str(part["topic_name"]), int(i))
                    owners[place] = tuple(sorted((*owners.get(place, ()), str(one["member_id"]))))
    except (TypeError, KeyError, ValueError):
        form = '{"member_id", "partitions": [{"topic_name", "partition_ids"}]}'
        raise ValueError(f'"assignments" is not a list of {form}') from None
    return owners
