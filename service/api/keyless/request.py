"""The request of ``/v1/keyless-distributions``: its schemas, and the step into the core's arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from marshmallow import Schema, fields, validate

from service.core.errors import InvalidQuestion, raise_all
from service.core.kafka_versions import since
from service.core.keyless import ADAPTIVE, RULES, STICKY, Keyless
from service.core.model import NONE
from service.web.blueprint import Parts, QuestionSchema
from service.web.context import check_limit, reserve
from service.web.fields import Boolean, Integer, List, Name, Number, Subject, about
from service.web.schemas import KafkaVersion


class KeylessBrokerSchema(Schema):
    """A broker."""

    broker_id = Integer(required=True)
    rack_id = Name(empty=True, allow_none=True, load_default=None)
    waiting_ms = Integer(
        minimum=0,
        load_default=0,
        metadata=about("`adaptive`: for how long the broker has not accepted data of the producer"),
    )


class KeylessPartitionSchema(Schema):
    """A partition, as the producer sees it."""

    partition_id = Integer(required=True, minimum=0)
    leader_id = Integer(allow_none=True, load_default=None, metadata=about("broker; null: no leader"))
    queue_size = Integer(minimum=0, load_default=0, metadata=about("`adaptive`: batches that wait in the producer"))
    batch_records = Number(load_default=1.0, metadata=about("`sticky`: the size at which a batch is sent"))


class ProducersSchema(Schema):
    """Producers of one rack."""

    rack_id = Name(empty=True, allow_none=True, load_default=None, metadata=about("`client.rack`"))
    producers = Integer(minimum=1, load_default=1, metadata=about("the number of producers with these properties"))


@dataclass(frozen=True)
class KeylessQuestion:
    """The question, and the names of its racks."""

    kafka_version: str
    topic_name: str | None
    keyless: Keyless
    producers: list[dict[str, Any]]


class KeylessDistributionsSchema(QuestionSchema):
    """A topic and its producers. Either `partitions_count` alone, all led and nothing queued, or `partitions`."""

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    rule = fields.String(
        validate=validate.OneOf(RULES),
        load_default=ADAPTIVE,
        metadata=about(
            "`round-robin` (up to 2.3), `sticky` (KIP-480, 2.4 to 3.2), `uniform-sticky` and `adaptive` (KIP-794, since 3.3)"
        ),
    )
    partitions_count = Integer(minimum=1)
    partitions = List(
        fields.Nested(KeylessPartitionSchema), validate=validate.Length(min=1), metadata=about("every partition of the topic")
    )
    brokers = List(fields.Nested(KeylessBrokerSchema), load_default=list)
    availability_timeout_ms = Integer(
        minimum=0, load_default=0, metadata=about("`partitioner.availability.timeout.ms`; 0: brokers may be as slow as they like")
    )
    rack_aware = Boolean(load_default=False, metadata=about("`partitioner.rack.aware` (KIP-1123), of producers from Kafka 4.4"))
    producers = List(fields.Nested(ProducersSchema), validate=validate.Length(1, 1000), metadata=about("default: one"))

    def question(self, body: dict[str, Any], **_: Any) -> KeylessQuestion:
        """The question in arrays."""
        producers = body.get("producers") or [{"rack_id": None, "producers": 1}]
        _check_size(body, len(producers))
        _check_rack_aware(body)
        brokers = _brokers(body)
        racks: dict[str | None, int] = {None: NONE}
        for of in (*body["brokers"], *producers):
            racks.setdefault(of["rack_id"], len(racks) - 1)
        keyless = Keyless(
            rule=body["rule"],
            **_columns(body, brokers, racks),
            rack_aware=body["rack_aware"],
            producer_racks=np.array([racks[producer["rack_id"]] for producer in producers], np.int32),
            producer_weights=np.array([producer["producers"] for producer in producers], np.float64),
        )
        return KeylessQuestion(body["kafka_version"], body["topic_name"], keyless, producers)

    def parts(self) -> Parts:
        """The release; the brokers; the partitions."""
        return (_check_rack_aware, _brokers, lambda body: raise_all(_partition_faults(body)) if "partitions" in body else None)


def _check_size(body: dict[str, Any], groups: int) -> None:
    """Raise InvalidQuestion unless the partitions are given in one way, LimitExceeded if there are too many."""
    names = [name for name in ("partitions_count", "partitions") if name in body]
    if len(names) != 1:
        raise InvalidQuestion("Give either partitions_count or partitions.", "partitions")
    size = body["partitions_count"] if names == ["partitions_count"] else len(body["partitions"])
    check_limit("max_placement_cells", size * groups, "partitions × groups of producers", names[0])
    reserve(distribution_bytes(size, groups, listed="partitions" in body))


def _check_rack_aware(body: dict[str, Any]) -> None:
    """Raise InvalidQuestion if producers of the release cannot be rack-aware."""
    if body["rack_aware"] and body["kafka_version"] not in since("4.4.0"):
        raise InvalidQuestion(f"Producers of Kafka {body['kafka_version']} do not have partitioner.rack.aware.", "rack_aware")


def distribution_bytes(partitions: int, groups: int, *, listed: bool) -> int:
    """Most bytes of memory that a distribution takes, its answer included.

    groups : of producers; listed : whether the request lists the partitions, each of which may have a queue of its own
    Measured for 10,000,000 partitions: 71 a partition as JSON, 94 as CSV, 58 as Arrow.
    """
    return partitions * (70 + 40 * groups + (400 + 60 * groups if listed else 0))


def _columns(body: dict[str, Any], brokers: dict[int, dict[str, Any]], racks: dict[str | None, int]) -> dict[str, Any]:
    """Keyless's columns: what it needs of each partition, in the order of their ids."""
    if "partitions_count" in body:
        n = body["partitions_count"]
        return {
            "racks": np.full(n, NONE, np.int32),
            "led": np.ones(n, np.bool_),
            "queue_sizes": np.zeros(n, np.int64),
            "slow": np.zeros(n, np.bool_),
            "batch_records": np.ones(n),
        }
    raise_all(_partition_faults(body))
    partitions = sorted(body["partitions"], key=lambda partition: int(partition["partition_id"]))
    leaders = [brokers.get(partition["leader_id"]) for partition in partitions]
    timeout = body["availability_timeout_ms"]
    return {
        "racks": np.array([racks[leader["rack_id"]] if leader else NONE for leader in leaders], np.int32),
        "led": np.array([partition["leader_id"] is not None for partition in partitions], np.bool_),
        "queue_sizes": np.array([partition["queue_size"] for partition in partitions], np.int64),
        "slow": np.array([leader is not None and 0 < timeout < leader["waiting_ms"] for leader in leaders], np.bool_),
        "batch_records": np.array([partition["batch_records"] for partition in partitions], np.float64),
    }


def _partition_faults(body: dict[str, Any]) -> Iterator[InvalidQuestion]:
    """Partitions that are impossible, or have a field that the rule does not use."""
    count, known, broker_ids = len(body["partitions"]), set(), {broker["broker_id"] for broker in body["brokers"]}
    for i, partition in enumerate(body["partitions"]):
        partition_id, leader_id = partition["partition_id"], partition["leader_id"]
        if partition_id >= count:
            yield InvalidQuestion(f"There are {count} partitions, 0 to {count - 1}.", "partitions", i, "partition_id")
        elif partition_id in known:
            yield InvalidQuestion(f"Duplicate partition_id {partition_id}.", "partitions", i, "partition_id")
        known.add(partition_id)
        if broker_ids and leader_id is not None and leader_id not in broker_ids:
            yield InvalidQuestion(f"Unknown broker {leader_id}.", "partitions", i, "leader_id")
        for name, nothing, rule in (("queue_size", 0, ADAPTIVE), ("batch_records", 1.0, STICKY)):
            if partition[name] != nothing and body["rule"] != rule:
                yield InvalidQuestion(f"The rule {body['rule']} does not use {name}.", "partitions", i, name)


def _brokers(body: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The brokers by id."""
    brokers: dict[int, dict[str, Any]] = {}
    faults = []
    for i, broker in enumerate(body["brokers"]):
        if broker["broker_id"] in brokers:
            faults.append(InvalidQuestion(f"Duplicate broker_id {broker['broker_id']}.", "brokers", i, "broker_id"))
        brokers[broker["broker_id"]] = broker
    raise_all(faults)
    return brokers
