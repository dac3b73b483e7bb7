"""Key → partition: the question, and its answer."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from operator import itemgetter
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa

from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion, UnknownStrategy
from service.core.frozen import frozen
from service.core.kafka_versions import LATEST
from service.core.keys.columns import SERIALIZED, Column
from service.core.measures import Spread, distribution, spread
from service.core.model import Bools, Int32s, Int64s, Keys
from service.core.partitioners import PARTITIONERS, Answer, Partitioner, Question, allocate, check_options
from service.core.partitioners.allocation import explain
from service.core.partitioners.model import Options
from service.decisions import keys as key_values
from service.decisions.rows import faults_of, raise_all
from service.planner.attribution.equivalents import hashing_bytes


def chosen(names: Sequence[str] | None) -> list[Partitioner]:
    """The partitioners of a question's ``partitioners``; None: every one.

    Raises InvalidQuestion for one that does not exist, and for one that is listed twice, by whichever of its names.
    """
    if names is None:
        return list(PARTITIONERS)
    raise_all(_faults_of_names([*map(PARTITIONERS.full_name, names)]))
    return [PARTITIONERS[name] for name in names]


def _faults_of_names(names: Sequence[str]) -> Iterator[InvalidQuestion]:
    for i, name in enumerate(names):
        try:
            PARTITIONERS[name]
        except UnknownStrategy as error:
            error.field = ("partitioners", i)
            yield error
        if name in names[:i]:
            yield InvalidQuestion(f"Duplicate partitioner {name!r}.", "partitioners", i)


MAX_COUNTS: Final = 100_000
"""Most partitions whose counts an answer lists one by one."""

OPTIONS: Final = tuple(each.name for each in fields(Options))


_values_of_options: Final = itemgetter(*OPTIONS)

OF_QUESTION: Final = key_values.fields_of(explicit=("explicit_partition",))
OF_KEY: Final = key_values.fields_of(keys=("key",))
OF_RECORDS: Final = key_values.fields_of(keys=("records", "key"), explicit=("records", "partition"))


@frozen
class PartitionsQuestion(Options):
    """Records of one topic. What a partitioner has no use for must be None.

    keys : a list as JSON has it, or a column of Arrow's (see ``key_values.read``); or records : a dict of columns key, partition,
        bytes and enable_switch
    explicit_partition : that the caller names, of all records
    window : ``{start, size}``
    explain : whether to tell how each key came to its partition
    places : where the request has what the core calls keys and explicit partitions, if it has no records
    """

    partitioner: str = "java"
    kafka_version: str = LATEST
    partitions_count: int | None = None
    topic_name: str | None = None
    key_format: str | None = None
    keys: Any = None
    records: dict[str, Any] | None = None
    explicit_partition: int | None = None
    window: dict[str, int] | None = None
    explain: bool = False
    places: key_values.fields_of = OF_QUESTION


@frozen
class PartitionsAnswer:
    """Where the records go.

    counts : int64[partitions_count], records per partition, None above MAX_COUNTS; evenness : their spread. Both None for tokens.
        A partition out of range, which only KafkaJS lets through, is in neither
    explanation : a step for each key, if asked for
    """

    question: PartitionsQuestion
    partitioner: Partitioner
    result: Answer
    counts: Int64s | None
    evenness: Spread | None
    explanation: list[dict[str, Any]] | None

    @property
    def figures(self) -> Figures:
        """See Figures. The skew of one key says nothing of its topic."""
        count = len(self.result.partitions)
        skew = None if self.evenness is None or count <= 1 else self.evenness.skew
        return Figures(self.partitioner.name, {"keys": count}, skew, self.question.topic_name)


def answer(question: PartitionsQuestion, budget: Budget) -> PartitionsAnswer:
    """Allocate the records. Raises InvalidQuestion (all faults at once), the client's own errors, and what the budget raises."""
    try:
        partitioner = _partitioner(question)
        options = _options(question, partitioner)
        _check_records(question)
    except InvalidQuestion:
        raise_all(_faults(question, budget))
        raise
    with question.places if question.records is None else OF_RECORDS:
        column, key_format = _keys(question, budget)
        if partitioner.encoding is not SERIALIZED:
            budget.reserve(hashing_bytes(column))
        asked = _asked(question, partitioner, column, key_format, options)
        result = allocate(partitioner, asked)
    counts = evenness = None
    if not partitioner.gives_tokens:
        counts, evenness = _distribution(cast("Int32s", result.partitions), asked.partitions_count)
    return PartitionsAnswer(
        question, partitioner, result, counts, evenness, explain(partitioner, asked, result) if question.explain else None
    )


def _faults(question: PartitionsQuestion, budget: Budget) -> Iterator[InvalidQuestion]:
    def check_keys() -> None:
        with question.places if question.records is None else OF_RECORDS:
            _keys(question, budget)

    return faults_of(lambda: _options(question, _partitioner(question)), lambda: _check_records(question), check_keys)


def _partitioner(question: PartitionsQuestion) -> Partitioner:
    """The partitioner. Raises InvalidQuestion also if it needs a partition count that is missing, or gives tokens instead."""
    partitioner = PARTITIONERS[question.partitioner]
    if partitioner.gives_tokens == (question.partitions_count is not None):
        raise InvalidQuestion(
            f"The partitioner {partitioner.name} gives tokens, not partitions."
            if partitioner.gives_tokens
            else "Missing data for required field.",
            "partitions_count",
        )
    return partitioner


def _options(question: PartitionsQuestion, partitioner: Partitioner) -> dict[str, Any]:
    """The options that are given. Raises InvalidQuestion for those that the partitioner does not use."""
    options = {name: value for name, value in zip(OPTIONS, _values_of_options(vars(question)), strict=True) if value is not None}
    if question.window is not None:
        options["window"] = (question.window["start"], question.window["size"])
    if question.records is not None:
        options |= _record_options(question.records)
    if options:
        check_options(partitioner, options, partial(_place, question))
    return options


def _place(question: PartitionsQuestion, option: str) -> tuple[str | int, ...]:
    """Where the question has an option: of records, at the first that has it."""
    if question.records is None or option not in question.records:
        return (option,)
    return "records", question.records[option].is_valid().index(True).as_py(), option


def _check_records(question: PartitionsQuestion) -> None:
    """Raise InvalidQuestion unless the records are given once."""
    if question.keys is not None and question.records is not None:
        raise InvalidQuestion("Give either keys or records.", "records")
    if question.keys is None and question.records is None and question.random_values is None:
        raise InvalidQuestion("Give either keys or records.", "keys")


def _keys(question: PartitionsQuestion, budget: Budget) -> tuple[Column, str]:
    """The keys, and their format."""
    values = _values(question)
    budget.check("max_keys", len(values), "keys", "keys")
    if question.explain:
        budget.check("max_explained", len(values), "keys to be explained", "explain")
    return key_values.read(values, question.key_format, budget)


def _values(question: PartitionsQuestion) -> Any:
    """The keys, none for as many records as there are random values if nothing else is given."""
    if question.records is not None:
        return question.records["key"]
    if question.keys is None:
        return [None] * (0 if question.random_values is None else len(question.random_values))
    return question.keys


def _asked(
    question: PartitionsQuestion, partitioner: Partitioner, column: Column, key_format: str, options: dict[str, Any]
) -> Question:
    """The core's question."""
    encoding = partitioner.encoding
    if key_format not in encoding.formats:
        known = ", ".join(encoding.formats)
        detail = f"The partitioner {partitioner.name} does not accept {key_format} keys; it accepts {known}."
        raise InvalidQuestion(detail, "key_format")
    keys = encoding.run(column, key_format)
    named = None if question.records is None else question.records["partition"]
    explicit, has_explicit = _explicit(question.explicit_partition, named, keys)
    count = 1 if question.partitions_count is None else question.partitions_count
    return Question(count, keys, key_format, explicit, has_explicit, **options)


def _distribution(partitions: Int32s, partitions_count: int) -> tuple[Int64s | None, Spread]:
    """Records per partition, and their spread."""
    if partitions_count > MAX_COUNTS:
        in_range = partitions[(partitions >= 0) & (partitions < partitions_count)]
        return None, spread(np.unique(in_range, return_counts=True)[1], partitions_count)
    return distribution(partitions, partitions_count)


def _record_options(records: dict[str, Any]) -> dict[str, Any]:
    """The records' ``bytes`` and ``enable_switch``, as ``java:sticky`` needs them."""
    options: dict[str, Any] = {}
    sizes, switches = records["bytes"], records["enable_switch"]
    if sizes.null_count < len(sizes):
        if sizes.null_count:
            row = sizes.is_null().index(True).as_py()
            raise InvalidQuestion("Required, because another record has it.", "records", row, "bytes")
        options["bytes"] = np.array(sizes)
    if switches.null_count < len(switches):
        options["enable_switch"] = np.array(switches.fill_null(True))
    return options


def _explicit(of_all: int | None, partitions: pa.Int32Array | None, keys: Keys) -> tuple[Any, Bools | None]:
    """The partitions that the caller names, int32[n], and which records have one, bool[n]."""
    if partitions is not None and partitions.null_count < len(keys):
        if of_all is not None:
            raise InvalidQuestion("Not allowed together with records that name a partition.", "explicit_partition")
        return np.array(partitions.fill_null(0)), np.array(partitions.is_valid().to_numpy(zero_copy_only=False))
    if of_all is None:
        return None, None
    return np.full(len(keys), of_all, np.int32), np.ones(len(keys), np.bool_)
