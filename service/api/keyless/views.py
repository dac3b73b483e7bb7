"""``/v1/keyless-distributions``: the expected share of each partition in the records that have no key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from flask import request
from marshmallow import Schema, fields, post_load, validate

from service.config import environment_name
from service.core.errors import InvalidQuestion, LimitExceeded
from service.core.keyless import ADAPTIVE, RULES, STICKY, Keyless, distribution
from service.core.model import NONE
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import decision, settings
from service.web.fields import Boolean, Integer, Number, Subject, about
from service.web.schemas import KafkaVersion

if TYPE_CHECKING:
    from flask import Response

    from service.core.keyless import Distribution

blueprint = Blueprint("keyless-distributions", __name__, description="records without a key → shares of the partitions")


class KeylessBrokerSchema(Schema):
    """A broker."""

    broker_id = Integer(required=True)
    rack_id = fields.String(allow_none=True, load_default=None)
    waiting_ms = Integer(
        minimum=0,
        load_default=0,
        metadata=about("`adaptive`: for how long the producer has had data that the broker did not take"),
    )


class KeylessPartitionSchema(Schema):
    """A partition, as the producer sees it."""

    partition_id = Integer(required=True, minimum=0)
    leader_id = Integer(allow_none=True, load_default=None, metadata=about("broker; null: no leader"))
    queue_size = Integer(minimum=0, load_default=0, metadata=about("`adaptive`: batches that wait in the producer"))
    batch_records = Number(load_default=1.0, metadata=about("`sticky`: how large a batch becomes before it is sent"))


class ProducersSchema(Schema):
    """Producers of one rack."""

    rack_id = fields.String(allow_none=True, load_default=None, metadata=about("`client.rack`"))
    producers = Integer(minimum=1, load_default=1, metadata=about("how many, writing alike"))


@dataclass(frozen=True)
class KeylessQuestion:
    """The question, and the names of its racks."""

    kafka_version: str
    topic_name: str | None
    keyless: Keyless
    producers: list[dict[str, Any]]


class KeylessDistributionsSchema(Schema):
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
    partitions = fields.List(
        fields.Nested(KeylessPartitionSchema), validate=validate.Length(min=1), metadata=about("every partition of the topic")
    )
    brokers = fields.List(fields.Nested(KeylessBrokerSchema), load_default=list)
    availability_timeout_ms = Integer(
        minimum=0,
        load_default=0,
        metadata=about("`partitioner.availability.timeout.ms`; 0: brokers may be as slow as they like"),
    )
    rack_aware = Boolean(load_default=False, metadata=about("`partitioner.rack.aware` (KIP-1123), of producers from Kafka 4.4"))
    producers = fields.List(fields.Nested(ProducersSchema), validate=validate.Length(1, 1000), metadata=about("default: one"))

    @post_load
    def ask(self, body: dict[str, Any], **_: Any) -> KeylessQuestion:
        """The question in arrays."""
        producers = body.get("producers") or [{"rack_id": None, "producers": 1}]
        _check_size(body, len(producers))
        brokers = _brokers(body["brokers"])
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


def _check_size(body: dict[str, Any], groups: int) -> None:
    """Raise InvalidQuestion unless the partitions are given in one way, and not too many."""
    names = [name for name in ("partitions_count", "partitions") if name in body]
    if len(names) != 1:
        raise InvalidQuestion("one of partitions_count and partitions is wanted", "/partitions")
    size = body["partitions_count"] if names == ["partitions_count"] else len(body["partitions"])
    cells, allowed = size * groups, settings().max_placement_cells
    if cells > allowed:
        limit = environment_name("max_placement_cells")
        raise LimitExceeded(limit, allowed, cells, "partitions × groups of producers", f"/{names[0]}")


def _columns(body: dict[str, Any], brokers: dict[int, dict[str, Any]], racks: dict[str | None, int]) -> dict[str, Any]:
    """What Keyless wants to know of each partition, by its id."""
    if "partitions_count" in body:
        n = body["partitions_count"]
        return {
            "racks": np.full(n, NONE, np.int32),
            "led": np.ones(n, np.bool_),
            "queue_sizes": np.zeros(n, np.int64),
            "slow": np.zeros(n, np.bool_),
            "batch_records": np.ones(n),
        }
    _check_partitions(body, brokers)
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


def _check_partitions(body: dict[str, Any], brokers: dict[int, dict[str, Any]]) -> None:
    """Raise InvalidQuestion for the first partition that cannot be, or that says what its rule does not ask."""
    count, seen = len(body["partitions"]), set()
    for i, partition in enumerate(body["partitions"]):
        partition_id, leader_id = partition["partition_id"], partition["leader_id"]
        if partition_id >= count:
            raise InvalidQuestion(f"there are {count} partitions, 0 to {count - 1}", f"/partitions/{i}/partition_id")
        if partition_id in seen:
            raise InvalidQuestion(f"partition {partition_id} is there twice", f"/partitions/{i}/partition_id")
        seen.add(partition_id)
        if brokers and leader_id is not None and leader_id not in brokers:
            raise InvalidQuestion(f"there is no broker {leader_id}", f"/partitions/{i}/leader_id")
        for name, nothing, rule in (("queue_size", 0, ADAPTIVE), ("batch_records", 1.0, STICKY)):
            if partition[name] != nothing and body["rule"] != rule:
                raise InvalidQuestion(f"{name} means nothing to the rule {body['rule']}", f"/partitions/{i}/{name}")


def _brokers(given: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    brokers: dict[int, dict[str, Any]] = {}
    for i, broker in enumerate(given):
        if broker["broker_id"] in brokers:
            raise InvalidQuestion(f"broker {broker['broker_id']} is there twice", f"/brokers/{i}/broker_id")
        brokers[broker["broker_id"]] = broker
    return brokers


class ProducersSharesSchema(Schema):
    """What the producers of one rack do."""

    rack_id = fields.String(allow_none=True)
    producers = fields.Integer()
    shares = fields.List(fields.Float(), metadata=about("of each partition in these producers' records"))
    same_rack = fields.Float(metadata=about("the share of their records that stays in their rack"))
    cumulative_frequency_table = fields.List(
        fields.Integer(), allow_none=True, metadata=about("KIP-794's, of `table_partition_ids`; null: Kafka draws evenly")
    )
    table_partition_ids = fields.List(fields.Integer(), allow_none=True)


class KeylessDistributionsAnswerSchema(Schema):
    """Where the records go in the long run."""

    kafka_version = fields.String()
    rule = fields.String()
    rack_aware = fields.Boolean()
    shares = fields.List(fields.Float(), metadata=about("of each partition in all records; they add up to 1"))
    min = fields.Float()
    max = fields.Float()
    mean = fields.Float()
    stddev = fields.Float()
    skew = fields.Float(metadata=about("max ÷ mean: 1.0 is perfectly even"))
    producers = fields.List(fields.Nested(ProducersSharesSchema))


@blueprint.post("/v1/keyless-distributions")
@blueprint.arguments(KeylessDistributionsSchema)
@blueprint.response(200, KeylessDistributionsAnswerSchema)
@blueprint.doc(operationId="distributeKeyless")
def distribute_keyless(question: KeylessQuestion) -> Response:
    """Say which share of the records without a key each partition gets, given what waits for it and where its leader is.

    As `text/csv` or Arrow the answer has the columns `partition_id` and `share`. Where a single record goes is a matter of
    chance, which `POST /v1/partitions` draws.
    """
    report = decision("keyless", question.keyless.rule)
    with report.compute():
        found = distribution(question.keyless)
    report.sees(partitions=len(found.shares))
    report.gives(found.skew, subject=question.topic_name)
    with report.render():
        media_type = responses.wanted()
        if media_type != responses.JSON and "Accept" in request.headers:
            ids = np.arange(len(found.shares), dtype=np.int32)
            return responses.table(pa.table({"partition_id": ids, "share": found.shares}), media_type)
        return responses.answer(_document(question, found))


def _document(question: KeylessQuestion, found: Distribution) -> dict[str, Any]:
    shares = found.shares
    return {
        "kafka_version": question.kafka_version,
        "rule": question.keyless.rule,
        "rack_aware": question.keyless.rack_aware,
        "shares": shares,
        "min": float(shares.min()),
        "max": float(shares.max()),
        "mean": float(shares.mean()),
        "stddev": float(shares.std()),
        "skew": found.skew,
        "producers": [
            {
                **producer,
                "shares": of.shares,
                "same_rack": of.same_rack,
                "cumulative_frequency_table": of.frequency_table,
                "table_partition_ids": of.partition_ids,
            }
            for producer, of in zip(question.producers, found.producers, strict=True)
        ],
    }
