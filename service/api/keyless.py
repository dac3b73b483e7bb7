"""Compute the share of each partition in records without a key, from its queue and its leader.

As `text/csv` or Arrow the answer has the columns `partition_id` and `share`. The partition of a single record
depends on chance; `POST /v1/partitions` draws it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from marshmallow import Schema, validate

from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST, since
from service.core.model import NONE
from service.core.printable import counted, first_few, share
from service.decisions.rows import duplicates_in_rows, raise_all
from service.http import fields
from service.http.fields import Bool, Int, Name, Number, Subject
from service.http.forms import AnswerSchema, Form, KafkaVersion, Operation, QuestionSchema, row_of_a_snapshot
from service.http.lists import Array
from service.planner.keyless import ADAPTIVE, RULES, STICKY, Distribution, Keyless, distribution

NAMED: Final = 5
"""Partitions that a sentence names at most."""


@dataclass(frozen=True)
class KeylessQuestion:
    """A topic and its producers. Either ``partitions_count`` alone, all led and nothing queued, or ``partitions``.

    partitions : ``[{partition_id, leader_id, queue_size, batch_records}]``
    brokers : ``[{broker_id, rack_id, waiting_ms}]``
    producers : ``[{rack_id, producers}]``; None: one without a rack
    """

    kafka_version: str = LATEST
    topic_name: str | None = None
    rule: str = ADAPTIVE
    partitions_count: int | None = None
    partitions: list[dict[str, Any]] | None = None
    brokers: list[dict[str, Any]] = field(default_factory=list)
    availability_timeout_ms: int = 0
    rack_aware: bool = False
    producers: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class KeylessAnswer:
    """The share of each partition in the long run. producers : those of the question, or the one by default"""

    question: KeylessQuestion
    producers: list[dict[str, Any]]
    distribution: Distribution

    @property
    def conclusion(self) -> str:
        """Which partitions get the most and which nothing, and what is assumed where partitions are only counted."""
        shares = self.distribution.shares
        highest, empty = np.flatnonzero(np.isclose(shares, shares.max())), np.flatnonzero(shares == 0)
        if len(highest) == len(shares):
            each = f"Each of {counted(len(shares), 'partition')}" if len(shares) > 1 else "The only partition"
            text = f"{each} gets {share(float(shares[0]))} of the records without a key in the long run"
        else:
            which = f"{'Partition' if len(highest) == 1 else 'Partitions'} {first_few(highest.tolist(), NAMED)}"
            gets = f"{'gets' if len(highest) == 1 else 'get'} {share(float(shares.max()))}{' each' * (len(highest) > 1)}"
            times = f"{self.distribution.skew:.3g} × the mean of {counted(len(shares), 'partition')}"
            text = f"{which} {gets} of the records without a key in the long run, {times}"
        assumed = {ADAPTIVE: " and queues are equal", STICKY: " and equal batches"}
        partitions = self.question.partitions
        if partitions is None:
            text += f", as long as all have a leader{assumed.get(self.question.rule, '')}"
        elif all(each["leader_id"] is None for each in partitions):
            text += ", once they have leaders, which none has now"
        nothing = f" {len(empty):,} {'gets' if len(empty) == 1 else 'get'} nothing: {first_few(empty.tolist(), NAMED)}."
        return f"{text}.{nothing * (len(empty) > 0)}"

    @property
    def figures(self) -> Figures:
        """See Figures."""
        items = {"partitions": len(self.distribution.shares)}
        return Figures(self.question.rule, items, self.distribution.skew, self.question.topic_name)


def answer(question: KeylessQuestion, budget: Budget) -> KeylessAnswer:
    """The distribution. Raises InvalidQuestion (all faults at once), and what the budget raises."""
    raise_all(_faults(question))
    producers = question.producers or [{"rack_id": None, "producers": 1}]
    groups = len(producers)
    name = "partitions_count" if question.partitions is None else "partitions"
    size = question.partitions_count if question.partitions is None else len(question.partitions)
    budget.check("max_placement_cells", (size or 0) * groups, "partitions × groups of producers", name)
    # Listed partitions may have a queue each. Measured for 10,000,000: 71 a partition as JSON, 94 as CSV, 58 as Arrow.
    budget.reserve((size or 0) * (70 + 40 * groups + (0 if question.partitions is None else 400 + 60 * groups)))
    racks: dict[str | None, int] = {None: NONE}
    for of in (*question.brokers, *producers):
        racks.setdefault(of["rack_id"], len(racks) - 1)
    brokers = {broker["broker_id"]: broker for broker in question.brokers}
    keyless = Keyless(
        rule=question.rule,
        **_columns(question, brokers, racks),
        rack_aware=question.rack_aware,
        producer_racks=np.array([racks[producer["rack_id"]] for producer in producers], np.int32),
        producer_weights=np.array([producer["producers"] for producer in producers], np.float64),
    )
    return KeylessAnswer(question, producers, distribution(keyless))


def _faults(question: KeylessQuestion) -> Iterator[InvalidQuestion]:
    if (question.partitions_count is None) == (question.partitions is None):
        yield InvalidQuestion("Give either partitions_count or partitions.", "partitions")
    if question.rack_aware and question.kafka_version not in since("4.4.0"):
        detail = f"Producers of Kafka {question.kafka_version} do not have partitioner.rack.aware."
        yield InvalidQuestion(detail, "rack_aware")
    yield from duplicates_in_rows(question.brokers, "broker_id", "brokers")
    yield from _partition_faults(question)


def _columns(question: KeylessQuestion, brokers: dict[int, dict[str, Any]], racks: dict[str | None, int]) -> dict[str, Any]:
    """Keyless's columns: what it needs of each partition, in the order of their ids."""
    if question.partitions is None:
        n = question.partitions_count or 0
        return {
            "racks": np.full(n, NONE, np.int32),
            "led": np.ones(n, np.bool_),
            "queue_sizes": np.zeros(n, np.int64),
            "slow": np.zeros(n, np.bool_),
            "batch_records": np.ones(n),
        }
    partitions = sorted(question.partitions, key=lambda partition: int(partition["partition_id"]))
    leaders = [brokers.get(partition["leader_id"]) for partition in partitions]
    timeout = question.availability_timeout_ms
    return {
        "racks": np.array([racks[leader["rack_id"]] if leader else NONE for leader in leaders], np.int32),
        "led": np.array([partition["leader_id"] is not None for partition in partitions], np.bool_),
        "queue_sizes": np.array([partition["queue_size"] for partition in partitions], np.int64),
        "slow": np.array([leader is not None and 0 < timeout < leader["waiting_ms"] for leader in leaders], np.bool_),
        "batch_records": np.array([partition["batch_records"] for partition in partitions], np.float64),
    }


def _partition_faults(question: KeylessQuestion) -> Iterator[InvalidQuestion]:
    """Partitions that are impossible, or have a field that the rule does not use."""
    partitions = question.partitions or []
    count, known, broker_ids = len(partitions), set(), {broker["broker_id"] for broker in question.brokers}
    for i, partition in enumerate(partitions):
        partition_id, leader_id = partition["partition_id"], partition["leader_id"]
        if partition_id >= count:
            yield InvalidQuestion(
                f"Must be in [0, {count}), with {counted(count, 'partition')}.", "partitions", i, "partition_id"
            )
        elif partition_id in known:
            yield InvalidQuestion(f"Duplicate partition_id {partition_id}.", "partitions", i, "partition_id")
        known.add(partition_id)
        if broker_ids and leader_id is not None and leader_id not in broker_ids:
            yield InvalidQuestion(f"Unknown broker {leader_id}.", "partitions", i, "leader_id")
        for name, nothing, rule in (("queue_size", 0, ADAPTIVE), ("batch_records", 1.0, STICKY)):
            if partition[name] != nothing and question.rule != rule:
                yield InvalidQuestion(f"The rule {question.rule} does not use {name}.", "partitions", i, name)


@row_of_a_snapshot("fenced", "cordoned", "capacity_bytes", "used_bytes")
class KeylessBrokerSchema(Schema):
    """A broker."""

    broker_id = Int(required=True)
    rack_id = Name(empty=True, load_default=None)
    waiting_ms = Int("`adaptive`: for how long the broker has not accepted data of the producer", minimum=0, load_default=0)


class KeylessPartitionSchema(Schema):
    """A partition, as the producer sees it."""

    partition_id = Int(required=True, minimum=0)
    leader_id = Int("broker; null: no leader", load_default=None)
    queue_size = Int("`adaptive`: batches that wait in the producer", minimum=0, load_default=0)
    batch_records = Number("`sticky`: the size at which a batch is sent", load_default=1.0)


class ProducersSchema(Schema):
    """Producers of one rack."""

    rack_id = Name("`client.rack`", empty=True, load_default=None)
    producers = Int("the number of producers with these properties", minimum=1, load_default=1)


class KeylessDistributionsSchema(QuestionSchema):
    """A topic and its producers. Either `partitions_count` alone, all led and nothing queued, or `partitions`."""

    asks = KeylessQuestion

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    rule = fields.String(
        "`round-robin` (up to 2.3), `sticky` (KIP-480, 2.4 to 3.2), `uniform-sticky` and `adaptive` (KIP-794, since 3.3)",
        validate=validate.OneOf(RULES),
        load_default=ADAPTIVE,
    )
    partitions_count = Int(minimum=1)
    partitions = Array(fields.Nested(KeylessPartitionSchema), "every partition of the topic", validate=validate.Length(min=1))
    brokers = Array(fields.Nested(KeylessBrokerSchema), load_default=list)
    availability_timeout_ms = Int(
        "`partitioner.availability.timeout.ms`; 0: slow brokers are not avoided", minimum=0, load_default=0
    )
    rack_aware = Bool("`partitioner.rack.aware` (KIP-1123), of producers from Kafka 4.4", load_default=False)
    producers = Array(fields.Nested(ProducersSchema), "default: one", validate=validate.Length(1, 1000))


class ProducersSharesSchema(AnswerSchema):
    """What the producers of one rack do."""

    rack_id = fields.String(allow_none=True)
    producers = fields.Integer()
    shares = fields.List(fields.Float(), "of each partition in these producers' records")
    same_rack = fields.Float("the share of their records that stays in their rack")
    cumulative_frequency_table = fields.List(
        fields.Integer(), "KIP-794's, of `table_partition_ids`; null: Kafka draws evenly", allow_none=True
    )
    table_partition_ids = fields.List(fields.Integer(), allow_none=True)


class KeylessDistributionsAnswerSchema(AnswerSchema):
    """Where the records go in the long run."""

    kafka_version = fields.String()
    conclusion = fields.String("which partitions get the most, and which nothing, in sentences")
    rule = fields.String()
    rack_aware = fields.Boolean()
    shares = fields.List(fields.Float(), "of each partition in all records; they add up to 1")
    min = fields.Float()
    max = fields.Float()
    mean = fields.Float()
    stddev = fields.Float("the standard deviation", detail=True)
    skew = fields.Float("max ÷ mean: 1.0 is perfectly even")
    producers = fields.List(fields.Nested(ProducersSharesSchema))


def document(answer: KeylessAnswer) -> dict[str, Any]:
    """The answer, as KeylessDistributionsAnswerSchema has it."""
    question, result, shares = answer.question, answer.distribution, answer.distribution.shares
    return {
        "kafka_version": question.kafka_version,
        "conclusion": answer.conclusion,
        "rule": question.rule,
        "rack_aware": question.rack_aware,
        "shares": shares,
        "min": float(shares.min()),
        "max": float(shares.max()),
        "mean": float(shares.mean()),
        "stddev": float(shares.std()),
        "skew": result.skew,
        "producers": [
            {
                **producer,
                "shares": of.shares,
                "same_rack": of.same_rack,
                "cumulative_frequency_table": of.frequency_table,
                "table_partition_ids": of.partition_ids,
            }
            for producer, of in zip(answer.producers, result.producers, strict=True)
        ],
    }


def table(answer: KeylessAnswer) -> pa.Table:
    """The share of each partition."""
    result = answer.distribution
    return pa.table({"partition_id": np.arange(len(result.shares), dtype=np.int32), "share": result.shares})


FORM: Final = Form(KeylessDistributionsSchema(), answer, KeylessDistributionsAnswerSchema, document, table)

EXAMPLE: Final = {
    "rule": "adaptive",
    "partitions": [{"partition_id": 0, "leader_id": 1, "queue_size": 0}, {"partition_id": 1, "leader_id": 2, "queue_size": 3}],
    "brokers": [{"broker_id": 1}, {"broker_id": 2}],
}

OPERATION: Final = Operation("distributeKeyless", "keyless", "records without a key → shares of the partitions", EXAMPLE)
