"""How many partitions a topic should have: the question, and its answer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.keys.columns import Column, data_bytes
from service.core.measures import spread
from service.core.model import Int64s
from service.decisions import keys as key_values
from service.decisions.keys import Stream, dictionary_of, from_arrow
from service.decisions.partitions import chosen
from service.decisions.rows import MOST, duplicates_in_list, faults_of, raise_all
from service.planner.attribution.equivalents import most_hashing_bytes
from service.planner.sizing.conclusions import LimitReach, reach
from service.planner.sizing.counter import KeyCounter, hashing_rule, moduli_of
from service.planner.sizing.distinct_keys import BYTES, MAX_KEYS, RECORDS
from service.planner.sizing.plans import (
    CountLimits,
    CountPlan,
    Rates,
    Throughput,
    check_not_empty,
    plans,
    proposed_counts,
    throughput,
)

DISTINCT_BYTES: Final = 130
HASHED_BYTES: Final = 12
"""Memory of a distinct key, and for each partitioner. Measured with one: 87 for 1,000,000 keys, 125 for 600,000."""

TEXT_FACTOR: Final = 12
"""Memory for each byte of a key that is listed: six bytes in JSON, and a copy while that grows. Measured: 2.7 for letters."""

RESIDUE_BYTES: Final = 64
"""Memory for each residue in the tables of a partitioner. Measured for two counts of 1,000,000: 44; for 200 around 10,000: 54."""

SMALL_BATCH, GATHERED = 4_000, 500
"""Bytes of keys in a batch that is counted together with others, and how many: about 2 MB, and 1 MB for the batches."""

ROW_BYTES, CELL_BYTES = 7, 10
"""Memory for each row of a stream's batch, and for each of its columns, beside their own bytes, of which nulls may take none.
Measured: 7 for nulls, 16 for a dictionary without text, 22 for booleans with records and bytes."""


@dataclass(frozen=True)
class KeyBatch:
    """A batch of keys.

    records, bytes : int64[n], of each key; None: one record, unknown bytes
    """

    column: Column
    key_format: str
    records: Int64s | None
    bytes: Int64s | None
    rows: int


@dataclass(frozen=True)
class PlansQuestion:
    """Keys, or what is known of each, and the partition counts that come into question; or the topic's throughput; or both.

    keys : a list as JSON has it, or a Stream with ``key`` and perhaps ``records`` and ``bytes``
    histogram : a dict of columns key, records and bytes; is_sample : whether it is a sample, scaled to the weight of all
    target, producer and consumer in MB/s (10⁶ bytes)
    """

    keys: Any = None
    histogram: dict[str, Any] | None = None
    partitioners: list[str] | None = None
    partitions_counts: list[int] | None = None
    current_partitions_count: int | None = None
    key_format: str | None = None
    is_sample: bool = False
    duration_seconds: float | None = None
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    target_mb_per_second: float | None = None
    producer_mb_per_second: float | None = None
    consumer_mb_per_second: float | None = None
    max_partition_records_per_second: float | None = None
    max_partition_bytes_per_second: float | None = None
    max_skew: float | None = None
    hottest_keys: int = 10
    topic_name: str | None = None
    kafka_version: str = LATEST

    @property
    def limits(self) -> CountLimits:
        """What every partition must keep."""
        writes = self.producer_mb_per_second, "producers write to one partition"
        reads = self.consumer_mb_per_second, "one consumer reads"
        slowest = min(((rate, who) for rate, who in (writes, reads) if rate is not None), default=(None, ""))
        return CountLimits(self.max_partition_records_per_second, self.max_partition_bytes_per_second, self.max_skew, *slowest)


@dataclass(frozen=True)
class Counted:
    """The keys, counted. plans : of each partitioner and count; key_format : of the keys; rows : of the question"""

    counts: KeyCounter
    plans: list[CountPlan]
    reached: list[LimitReach]
    key_format: str
    rows: int


@dataclass(frozen=True)
class PlansAnswer:
    """The plans.

    throughput : what the topic's throughput needs; None if it is unknown
    counted : None: the question is about throughput alone
    """

    question: PlansQuestion
    throughput: Throughput | None
    counted: Counted | None

    @property
    def figures(self) -> Figures:
        """See Figures. The skew is that of what the topic has, not of what it might have."""
        if self.counted is None:
            return Figures("throughput", {"keys": 0})
        counts, name = self.counted.counts, self.question.topic_name
        strategy = counts.names[0] if len(counts.names) == 1 else "several"
        skew = None
        if name is not None and counts.current is not None:
            skew = spread(counts.totals(counts.names[0], counts.current).records).skew
        return Figures(strategy, {"keys": self.counted.rows}, skew, name)


def answer(question: PlansQuestion, budget: Budget) -> PlansAnswer:
    """Plan the counts. Raises InvalidQuestion (all faults at once), and what the budget raises."""
    raise_all(_faults(question))
    needed = _throughput(question)
    if question.keys is None and question.histogram is None:
        if needed is not None and all(getattr(question, name) is None for name in OF_KEYS):
            return PlansAnswer(question, needed, None)
        raise InvalidQuestion("Give either keys or histogram.", "keys")
    counts = _counter(question, needed, budget)
    key_format, rows, reserve_keys = "string", 0, budget.reserve_largest()
    for batch in _batches(question, budget):
        key_format, rows = batch.key_format, rows + batch.rows
        held = (DISTINCT_BYTES + HASHED_BYTES * len(counts.names)) * min(rows, MAX_KEYS)
        reserve_keys(held + counts.distinct.named_bytes + data_bytes(batch.column) + most_hashing_bytes(batch.column))
        counts.add(batch.column, key_format, batch.records, batch.bytes)
    field = "histogram" if question.histogram is not None else "key" if isinstance(question.keys, Stream) else "keys"
    check_not_empty(counts, field)
    rates = _rates(question, counts)
    listed = (text for column in (RECORDS, BYTES) for text, *_ in counts.distinct.heaviest(column, question.hottest_keys))
    budget.reserve(TEXT_FACTOR * sum(map(len, listed)))
    results = plans(counts, rates, question.limits)
    proposed = question.partitions_counts is None
    reached = reach(counts, results, rates, question.limits, key_format, proposed=proposed)
    return PlansAnswer(question, needed, Counted(counts, results, reached, key_format, rows))


def _faults(question: PlansQuestion) -> Iterator[InvalidQuestion]:
    yield from faults_of(
        lambda: _throughput(question),
        lambda: partitioner_names(question.partitioners),
        lambda: raise_all(duplicates_in_list(question.partitions_counts or (), "partitions_counts")),
    )
    yield from _rate_faults(question)
    if question.keys is not None and question.histogram is not None:
        yield InvalidQuestion("Give either keys or histogram.", "histogram")


def _counter(question: PlansQuestion, needed: Throughput | None, budget: Budget) -> KeyCounter:
    """What counts the keys. Raises LimitExceeded; reserves memory."""
    names = partitioner_names(question.partitioners)
    counts, current = question.partitions_counts, question.current_partitions_count
    if counts is None:
        counts = list(proposed(question, needed))
    cells = "partitions × partitioners"
    budget.check("max_plan_cells", sum(counts) * len(names), cells, "partitions_counts")
    if needed is not None and needed.partitions_count not in counts:
        counts = [*counts, needed.partitions_count]
        explained = f"{cells}, with the {needed.partitions_count} partitions that the throughput needs,"
        budget.check("max_plan_cells", sum(counts) * len(names), explained, "target_mb_per_second")
    budget.check("max_plan_cells", sum({*counts, current or 0}) * len(names), cells, "current_partitions_count")
    budget.reserve(RESIDUE_BYTES * sum(moduli_of(tuple(counts), current)) * len(names))
    return KeyCounter(tuple(names), tuple(counts), current)


def _rates(question: PlansQuestion, counts: KeyCounter) -> Rates:
    """What the topic takes in: as given, or by the duration."""
    seconds = question.duration_seconds
    if not counts.has_bytes:
        for field in ("bytes_per_second", "max_partition_bytes_per_second"):
            if getattr(question, field) is not None:
                raise InvalidQuestion("Requires the bytes of each key.", field)
    target = question.target_mb_per_second
    if seconds is None:
        return Rates(question.records_per_second, question.bytes_per_second, target)
    return over(seconds, counts, target)


def over(seconds: float, counts: KeyCounter, target: float | None = None) -> Rates:
    """The rates of records that were written in so many seconds. target : MB/s that the topic must reach"""
    records, sizes = (counts.all + counts.keyless).tolist()
    return Rates(records / seconds, sizes / seconds if counts.has_bytes else None, target)


def proposed(question: PlansQuestion, needed: Throughput | None) -> tuple[int, ...]:
    """The counts to compare if none are given."""
    least = [needed.partitions_count] if needed is not None else []
    for name in ("records_per_second", "bytes_per_second"):
        rate, limit = getattr(question, name), getattr(question, f"max_partition_{name}")
        if rate and limit:
            least.append(ceil(rate / limit))
    return proposed_counts(question.current_partitions_count, max(least, default=None))


THROUGHPUT: Final = ("target_mb_per_second", "producer_mb_per_second", "consumer_mb_per_second")

OF_KEYS: Final = (
    "partitioners", "partitions_counts", "key_format", "max_partition_records_per_second", "max_partition_bytes_per_second",
    "max_skew",
)  # fmt: skip
"""Fields that make no sense without keys."""


def _throughput(question: PlansQuestion) -> Throughput | None:
    """What the topic's throughput needs; None if the body does not have it."""
    target, producer, consumer = (getattr(question, name) for name in THROUGHPUT)
    if target is None:
        raise_all(
            InvalidQuestion("Requires target_mb_per_second.", name) for name in THROUGHPUT if getattr(question, name) is not None
        )
        return None
    if producer is None and consumer is None:
        raise InvalidQuestion("Requires producer_mb_per_second or consumer_mb_per_second.", "target_mb_per_second")
    return throughput(target, producer, consumer)


def partitioner_names(partitioners: Sequence[str] | None) -> list[str]:
    """The partitioners' full names, by default Java's. Raises InvalidQuestion as ``chosen``, and for one that hashes no keys."""
    names = [each.name for each in chosen(partitioners or ["java"])]
    faults = []
    for i, name in enumerate(names):
        try:
            hashing_rule(name)
        except InvalidQuestion as error:
            error.field = ("partitioners", i)
            faults.append(error)
    raise_all(faults)
    return names


def _rate_faults(question: PlansQuestion) -> Iterator[InvalidQuestion]:
    """Rates that are given twice, and limits of rates that are not given."""
    for name in ("records_per_second", "bytes_per_second"):
        given, limit = getattr(question, name) is not None, f"max_partition_{name}"
        if given and question.duration_seconds is not None:
            yield InvalidQuestion("duration_seconds already gives the topic's rates.", name)
        if getattr(question, limit) is not None and not given and question.duration_seconds is None:
            yield InvalidQuestion(f"Requires {name} or duration_seconds.", limit)


def _batches(question: PlansQuestion, budget: Budget) -> Iterator[KeyBatch]:
    """The keys, from the stream or from one of the two lists."""
    key_format = question.key_format or "string"
    if question.histogram is not None:
        return iter([_of_histogram(question.histogram, key_format, budget)])
    if isinstance(question.keys, Stream):
        return _of_stream(question.keys, question.key_format, budget)
    budget.check("max_keys", len(question.keys), "keys", "keys")
    column, own_format = key_values.read(question.keys, question.key_format, budget)
    return iter([KeyBatch(column, own_format, None, None, len(question.keys))])


def _of_histogram(columns: dict[str, Any], key_format: str, budget: Budget) -> KeyBatch:
    budget.check("max_keys", len(columns["key"]), "keys", "histogram")
    weights: dict[str, Int64s | None] = {"records": None, "bytes": None}
    for name in weights:
        column = columns[name]
        if column.null_count < len(column):
            if column.null_count:
                row = column.is_null().index(True).as_py()
                raise InvalidQuestion("Required, because another row has it.", "histogram", row, name)
            weights[name] = np.array(column)
    with key_values.fields_of(keys=("histogram", "key")):
        column, own_format = key_values.read(columns["key"], key_format, budget)
    return KeyBatch(column, own_format, **weights, rows=len(columns["key"]))


def _of_stream(stream: Stream, key_format: str | None, budget: Budget) -> Iterator[KeyBatch]:
    first, reserve_largest = 0, budget.reserve_largest()
    for batch in _gathered(stream.batches(("key",), ("records", "bytes"))):
        budget.check("max_keys", first + len(batch), "keys", "key")
        reserve = _adding_up(reserve_largest)
        reserve((ROW_BYTES + CELL_BYTES * batch.num_columns) * len(batch))
        if len(batch):
            try:
                column, own_format = from_arrow(batch.column("key"), key_format, reserve)
            except InvalidQuestion as error:
                if error.field[0] == "keys":
                    error.field = ("key", first + int(error.field[1]))
                raise
            weights = {
                name: _weights(batch.column(name), name, first) if name in batch.schema.names else None
                for name in ("records", "bytes")
            }
            yield KeyBatch(column, own_format, **weights, rows=len(batch))
        first += len(batch)


def _adding_up(reserve: Callable[[int], None]) -> Callable[[int], None]:
    """A ``reserve`` for one batch, whose parts are there together. reserve : of ``Budget.reserve_largest``"""
    taken = 0

    def reserve_more(size: int) -> None:
        nonlocal taken
        taken += size
        reserve(taken)

    return reserve_more


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, small ones of one dictionary together: to count a batch takes 150 µs, however few keys it has."""
    few = list[pa.RecordBatch]()
    for batch in batches:
        keys = batch.column("key")
        values = keys.dictionary if pa.types.is_dictionary(keys.type) else keys  # one of which is as likely as another
        is_small = values.nbytes / max(1, len(values)) * len(keys) < SMALL_BATCH
        if few and not (is_small and dictionary_of(keys) == dictionary_of(few[0].column("key"))):
            yield pa.Table.from_batches(few)
            few.clear()
        few.append(batch)
        if not is_small or len(few) == GATHERED:
            yield pa.Table.from_batches(few)
            few.clear()
    if few:
        yield pa.Table.from_batches(few)


def _weights(array: pa.ChunkedArray, name: str, first: int) -> Int64s:
    """int64[n], a column of records or bytes; first : number of its first row in the stream."""
    if not pa.types.is_integer(array.type):
        raise InvalidQuestion(f"A column of {array.type} cannot hold these numbers; use integers.", name)
    if array.null_count:
        raise InvalidQuestion("Field may not be null.", name, first + array.is_null().index(True).as_py())
    values = np.array(array.to_numpy())
    outside = (values < 0) | (values > MOST)
    if outside.any():
        i = int(outside.argmax())
        raise InvalidQuestion(f"{values[i]} is not in [0, 2^53].", name, first + i)
    return values.astype(np.int64)
