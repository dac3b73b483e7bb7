"""Can two topics be joined: is the same key on the same partition of both, and if not, what has to change?

Goals
    What Kafka Streams requires of the inputs of a join ("co-partitioning requirements"): the same partition count, the same
    partitioning strategy, the same key bytes. Streams checks only the counts (CopartitionedTopicsEnforcer);
    if the rest differs, it starts and silently misses matches.
Method
    Each step from a key to a partition is compared separately: key bytes, hash, sign rule, count.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.keys.columns import BYTES, LOW_BYTES, PULSAR, PULSAR_UTF8, SPARK
from service.core.partitioners import PARTITIONERS, Partitioner
from service.core.partitioners.model import AS_NULL, HASHED
from service.core.printable import counted
from service.planner.attribution.equivalents import classify, hash_all, probe_keys

NUMBERS: Final = {
    "short": "2 bytes of a short",
    "int": "4 bytes of an int",
    "long": "8 bytes of a long",
    "float": "4 bytes of a float",
    "double": "8 bytes of a double",
    "boolean": "1 byte of a boolean",
}


BY_CHANCE: Final = 0.05
"""How much the share of keys that meet may differ from what chance gives and count as that."""

HASH_BITS: Final = 32
"""Bits of the hashes whose sign rules are compared."""


@dataclass(frozen=True)
class Topic:
    """One side of the join."""

    topic_name: str
    partitions_count: int
    partitioner: Partitioner
    key_format: str

    def key_bytes(self) -> str:
        """A description of a key's bytes; "text" and "bytes" may be the same."""
        if self.key_format in NUMBERS:
            return f"{NUMBERS[self.key_format]}, {'little' if self.partitioner.encoding is SPARK else 'big'}-endian"
        if self.key_format in BYTES:
            return "base64 text" if self.partitioner.encoding in (PULSAR, PULSAR_UTF8) else "bytes"
        return "text"


@dataclass(frozen=True)
class Setting:
    """A partitioner of the topic's own client that agrees with the other topic, and the setting that selects it."""

    topic_name: str
    partitioner: str
    setting: str


@dataclass(frozen=True)
class Difference:
    """Why equal keys are on different partitions.

    what : "partitions_count", "partitioner_ignores_keys", "hash", "sign_rule" or "key_bytes"
    values : the first topic's, and the second's
    remedies : alternatives; each is enough
    """

    what: str
    values: tuple[str, str]
    detail: str
    remedies: tuple[str, ...]
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True)
class Copartitioning:
    """The verdict on two topics.

    meeting : the expected share of equal keys that are on the same partition of both
    streams_message : the message with which Kafka Streams refuses to start; None: it starts
    notes : conditions, and what happens to records with an empty key
    """

    differences: tuple[Difference, ...]
    meeting: float
    streams_message: str | None
    notes: tuple[str, ...]

    @property
    def joinable(self) -> bool:
        """Is every key of one topic on the same partition of the other?"""
        return not self.differences


def copartitioning(first: Topic, second: Topic) -> Copartitioning:
    """Whether two topics can be joined, and what has to change."""
    possible = [_key_bytes(first, second)]
    if (first.partitions_count, second.partitions_count) != (1, 1):  # with one partition, the partitioner has no choice
        possible.insert(0, _ignoring(first, second) or _hashes(first, second))
    others = [difference for difference in possible if difference is not None]
    of_counts = _counts(first, second, same_hashes=not others)
    differences = (*([] if of_counts is None else [of_counts]), *others)
    return Copartitioning(differences, _meeting(first, second, differences), _streams(first, second), _notes(first, second))


def check(topic: Topic) -> None:
    """Raise InvalidQuestion if the partitioner cannot place keys of the format."""
    partitioner = topic.partitioner
    if partitioner.hash is not None and partitioner.hashing_rule is None:
        raise InvalidQuestion(f"The partitioner {partitioner.name} {partitioner.without_rule}.", "partitioner")
    if not partitioner.hashes_record_key:
        raise InvalidQuestion(f"The partitioner {partitioner.name} does not hash the record's key.", "partitioner")
    if topic.key_format not in partitioner.encoding.formats:
        known = ", ".join(partitioner.encoding.formats)
        detail = f"The partitioner {partitioner.name} does not accept {topic.key_format} keys; it accepts {known}."
        raise InvalidQuestion(detail, "key_format")


def _counts(first: Topic, second: Topic, *, same_hashes: bool) -> Difference | None:
    a, b = first.partitions_count, second.partitions_count
    if a == b:
        return None
    fewer, more = (first, second) if a < b else (second, first)
    n, m = fewer.partitions_count, more.partitions_count
    detail = f"a key's hash is taken modulo {a} in one topic and modulo {b} in the other"
    if m % n == 0 and same_hashes:
        detail += f"; {m} being a multiple of {n}, partition p of {more.topic_name} belongs to partition p mod {n} of the other"
    repartitioned = f"Kafka Streams: repartition() with Repartitioned.numberOfPartitions({m})"
    return Difference(
        "partitions_count",
        (str(a), str(b)),
        detail,
        (
            f"copy {fewer.topic_name} into a topic of {m} partitions ({repartitioned}); to add partitions would move no record",
            f"copy {more.topic_name} into a topic of {counted(n, 'partition')}",
            "join with a GlobalKTable or by foreign key, which needs no co-partitioning",
        ),
    )


def _ignoring(first: Topic, second: Topic) -> Difference | None:
    ignoring = [topic for topic in (first, second) if topic.partitioner.hash is None]
    if not ignoring:
        return None
    settings = tuple(setting for topic in ignoring for setting in _settings(topic, second if topic is first else first))
    names = " and ".join(topic.topic_name for topic in ignoring)
    return Difference(
        "partitioner_ignores_keys",
        (first.partitioner.name, second.partitioner.name),
        f"the partitions of {names} do not depend on the key",
        (
            f"write {names} with a partitioner that hashes the key, and copy the existing records",
            f"repartition {names} by key before the join",
        ),
        settings,
    )


def _hashes(first: Topic, second: Topic) -> Difference | None:
    a, b = first.partitioner.hashing_rule, second.partitioner.hashing_rule
    assert a is not None  # noqa: S101 - _ignoring and check have checked
    assert b is not None  # noqa: S101
    if a.hash == b.hash and (a.sign == b.sign or _signs_agree(first, second)):
        return None
    settings = (*_settings(first, second), *_settings(second, first))
    remedies = [
        f"write {one.topic_name} with {one.partitioner} ({one.setting}), and copy the existing records" for one in settings
    ]
    remedies.append(f"repartition {first.topic_name} or {second.topic_name} by one client before the join")
    if a.hash != b.hash:
        share = _measured(first, second)
        agree = "so that equal keys meet only by chance" if share is None else f"which agree on {share:.1%} of random keys"
        detail = f"the keys are hashed by different functions, {agree}"
        return Difference("hash", (a.hash.name, b.hash.name), detail, tuple(remedies), settings)
    detail = f"the hash is the same, but what becomes of a negative one is not: {a.sign.rule} and {b.sign.rule}"
    return Difference("sign_rule", (a.sign.name, b.sign.name), detail, tuple(remedies), settings)


def _signs_agree(first: Topic, second: Topic) -> bool:
    """Do two sign rules give each hash the same partition, as ``mask`` and ``unsigned`` do with a power of two?"""
    a, b = first.partitioner.hashing_rule, second.partitioner.hashing_rule
    assert a is not None  # noqa: S101 - _hashes has checked
    assert b is not None  # noqa: S101
    if a.hash.bits != HASH_BITS:
        return False
    bounds = np.iinfo(np.int32)
    drawn = np.random.default_rng(0).integers(bounds.min, bounds.max, 4096, np.int32)
    hashes = np.concatenate([drawn, np.array([bounds.min, bounds.min + 1, -2, -1, 0, 1, bounds.max], np.int32)])
    counts = {first.partitions_count, second.partitions_count}
    return all(np.array_equal(a.sign.run(hashes, count), b.sign.run(hashes, count)) for count in counts)


def _settings(topic: Topic, other: Topic) -> tuple[Setting, ...]:
    """The partitioner of the topic's client that hashes like the other topic's partitioner, if there is one."""
    client, rule = topic.partitioner.name.partition(":")[0], other.partitioner.hashing_rule
    fitting = [
        one
        for one in PARTITIONERS
        if one.name.partition(":")[0] == client
        and rule is not None
        and (one.hash, one.sign, one.encoding.run) == (rule.hash, rule.sign, rule.encoding.run)
    ]
    # Prefer one that keeps the rule for records without a key.
    fitting.sort(key=lambda one: one.null.rule != topic.partitioner.null.rule)
    return tuple(Setting(topic.topic_name, one.name, one.setting) for one in fitting[:1])


def _key_bytes(first: Topic, second: Topic) -> Difference | None:
    a, b = first.key_bytes(), second.key_bytes()
    if a == b or {a, b} == {"text", "bytes"}:
        return None
    return Difference(
        "key_bytes",
        (f"{first.key_format}: {a}", f"{second.key_format}: {b}"),
        "the serializers make different bytes of the same key",
        (
            f"serialize the keys of both topics as {first.key_format}, and copy what is in {second.topic_name}",
            f"serialize the keys of both topics as {second.key_format}, and copy what is in {first.topic_name}",
            "map the keys of one to the other's type and repartition before the join (Kafka Streams does so after selectKey())",
        ),
    )


def _meeting(first: Topic, second: Topic, differences: tuple[Difference, ...]) -> float:
    """Measured on random keys; the share that chance gives if the bytes or the hashes are unrelated."""
    if not differences:
        return 1.0
    unrelated = {"key_bytes", "partitioner_ignores_keys"} & {difference.what for difference in differences}
    measured = None if unrelated else _measured(first, second)
    return _chance(first, second) if measured is None else measured


def _chance(first: Topic, second: Topic) -> float:
    return 1 / max(first.partitions_count, second.partitions_count)


def _measured(first: Topic, second: Topic) -> float | None:
    """The share of random keys that both place alike; None for what chance gives."""
    partitions = []
    for topic in (first, second):
        classes = classify([topic.partitioner], first.key_format, has_null=False, has_empty=False).classes
        if not classes:
            return None
        hashes = hash_all(classes, probe_keys(first.key_format), first.key_format)
        partitions.append(hashes.partitions(topic.partitions_count)[0])
    share = float(np.mean(partitions[0] == partitions[1]))
    return share if abs(share - _chance(first, second)) > BY_CHANCE else None


def _streams(first: Topic, second: Topic) -> str | None:
    """The message of CopartitionedTopicsEnforcer.getSamePartitions in 4.3.1, which follows the thread's name."""
    if first.partitions_count == second.partitions_count:
        return None
    names = sorted(
        ((topic.topic_name, topic.partitions_count) for topic in (first, second)),
        key=lambda one: one[0].encode("utf-16-be", "surrogatepass"),
    )
    counts = ", ".join(f"{name}={count}" for name, count in names)
    return f"Invalid topology: Topics not co-partitioned: [{{{counts}}}]"


def _notes(first: Topic, second: Topic) -> tuple[str, ...]:
    notes = []
    formats = {first.key_format, second.key_format}
    if {first.key_bytes(), second.key_bytes()} == {"text", "bytes"}:
        notes.append("the bytes of one topic's keys have to be the UTF-8 of the other's")
    elif formats == {"string", "uuid"}:
        notes.append("the strings have to be UUIDs in lower case, as UUIDSerializer writes them")
    if (first.partitions_count, second.partitions_count) == (1, 1):
        return (*notes, "with one partition each, all records are on the same one, whatever the partitioners")
    rules = {topic.partitioner.empty_key for topic in (first, second)}
    if rules == {HASHED, AS_NULL} and formats <= {"string", *BYTES}:  # a number is never empty
        notes.append("records with an empty key need not meet: one partitioner treats an empty key as no key")
    if [topic.partitioner.encoding for topic in (first, second)].count(LOW_BYTES) == 1:
        notes.append("keys with other characters than ASCII need not meet: one partitioner hashes the low byte of each")
    a, b = first.partitioner.hashing_rule, second.partitioner.hashing_rule
    if a is not None and b is not None and a.hash == b.hash and a.sign != b.sign and _signs_agree(first, second):
        notes.append("with this number of partitions, the sign rules agree; with others they need not")
    return tuple(notes)
