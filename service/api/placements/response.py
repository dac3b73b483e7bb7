"""The answer of ``POST /v1/replica-placements``: its schema, its JSON, its table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from marshmallow import Schema, fields

from service.core.kernels import kernel
from service.core.model import Bytes, Cluster, Int32s
from service.core.placers.load import COUNTS, Load, rack_load
from service.core.ragged import put
from service.decisions.groups.rows import NAME
from service.web.fields import about
from service.web.json.codec import dumps
from service.web.json.writing import COMMA, in_blocks, write_number
from service.web.responses import json_lists, json_objects
from service.web.schemas import CountsSchema, ImplementationSchema

UNNAMED: Final = "topic"
"""The name in `reassignment` of a topic that the request does not name."""


@dataclass(frozen=True)
class Placed:
    """A topic's placement.

    partition_ids : int32[partitions]
    replicas : int32[partitions, replication_factor], indices of brokers, the leader first
    """

    topic_name: str
    partition_ids: Int32s
    replicas: Int32s


class PlacementSchema(Schema):
    """Where a partition's replicas go."""

    partition_id = fields.Integer()
    replicas = fields.List(fields.Integer(), metadata=about("broker ids, the leader (the preferred replica) first"))


class BrokerLoadSchema(Schema):
    """What brokers get, over all topics placed."""

    broker_ids = fields.List(fields.Integer(), metadata=about("in request order"))
    replicas = fields.Nested(CountsSchema)
    leaders = fields.Nested(CountsSchema)


class RackLoadSchema(Schema):
    """What racks get, over all topics placed."""

    rack_ids = fields.List(
        fields.String(allow_none=True), metadata=about("in the order in which they first appear; null: no rack")
    )
    replicas = fields.Nested(CountsSchema)
    leaders = fields.Nested(CountsSchema)


class ReassignedSchema(Schema):
    """One partition of a reassignment."""

    topic = fields.String()
    partition = fields.Integer()
    replicas = fields.List(fields.Integer())


class ReassignmentSchema(Schema):
    """What ``kafka-reassign-partitions --reassignment-json-file`` reads."""

    version = fields.Integer()
    partitions = fields.List(fields.Nested(ReassignedSchema))


class TopicPlacementSchema(Schema):
    """What became of one of several topics."""

    topic_name = fields.String()
    placements = fields.List(fields.Nested(PlacementSchema))
    error = fields.String(metadata=about("Kafka's name of the error, if it refuses this topic"))
    exception = fields.String(metadata=about("the Java class that Kafka throws"))
    message = fields.String(allow_none=True, metadata=about("Kafka's message"))


class ControllerPlacementSchema(PlacementSchema):
    """A partition that a controller has made."""

    in_sync_replicas = fields.List(fields.Integer())
    leader = fields.Integer()


class ControllerTopicSchema(TopicPlacementSchema):
    """What a controller answers for one topic; errors by the protocol's names."""

    placements = fields.List(fields.Nested(ControllerPlacementSchema))


class ReplicaPlacementAnswerSchema(Schema):
    """The placement; which of `placements`, `topics`, `results` and `proposed_json` it has goes by the request's form."""

    kafka_version = fields.String()
    placer = fields.String()
    implementation = fields.Nested(ImplementationSchema)
    placements = fields.List(fields.Nested(PlacementSchema), metadata=about("one topic"))
    topics = fields.List(fields.Nested(TopicPlacementSchema), metadata=about("several topics, in request order"))
    results = fields.List(
        fields.List(fields.Nested(ControllerTopicSchema)), metadata=about("operations: for each, its topics in order")
    )
    proposed_json = fields.String(metadata=about("kafka-reassign-generate: what the tool prints"))
    broker_load = fields.Nested(BrokerLoadSchema)
    rack_load = fields.Nested(RackLoadSchema)
    reassignment = fields.Nested(
        ReassignmentSchema,
        metadata=about(
            "the placement as the file that kafka-reassign-partitions takes; a topic without a `topic_name` is "
            f'called "{UNNAMED}". Not for operations'
        ),
    )
    explanation = fields.Dict(
        metadata=about("with `explain=true`: draws and lists, and for each replica the rule that placed it")
    )


def load_documents(cluster: Cluster, load: Load) -> dict[str, Any]:
    """An answer's `broker_load` and `rack_load`. load : of the brokers"""
    rack_ids, of_racks = rack_load(cluster, load)
    return {
        "broker_load": {"broker_ids": cluster.broker_ids, **_measures(load)},
        "rack_load": {"rack_ids": rack_ids, **_measures(of_racks)},
    }


def _measures(load: Load) -> dict[str, Any]:
    return {
        name: {"counts" if name in COUNTS else "totals": totals, **asdict(load.spread(name))}
        for name, totals in load.totals.items()
    }


def placements_json(cluster: Cluster, placed: Placed) -> Iterator[bytes]:
    """``[{"partition_id", "replicas"}]``, in pieces."""
    yield b"["
    yield from _rows_json(cluster, placed, b'{"partition_id":', b',"replicas":[', b"]}")
    yield b"]"


def controller_placements_json(cluster: Cluster, placed: Placed) -> orjson.Fragment:
    """``[{"partition_id", "replicas", "in_sync_replicas", "leader"}]``: a controller's new partitions."""
    in_sync = ~cluster.fenced[placed.replicas]
    offsets = np.concatenate([[0], np.cumsum(np.count_nonzero(in_sync, axis=1))]).astype(np.int32)
    return _list(
        json_objects(
            partition_id=_numbers(placed.partition_ids),
            replicas=_replicas(cluster, placed),
            in_sync_replicas=json_lists(offsets, cluster.broker_ids[placed.replicas[in_sync]]),
            leader=_numbers(cluster.broker_ids[placed.replicas[:, 0]]),
        )
    )


def reassignment_json(cluster: Cluster, placed: Sequence[Placed], *, log_dirs: bool = False) -> Iterator[bytes]:
    """``{"version":1,"partitions":[{"topic","partition","replicas"}]}``, to the letter as Kafka's tool prints it, in pieces.

    log_dirs : with ``"log_dirs":["any", …]`` besides, as ``--generate`` has them
    """
    yield b'{"version":1,"partitions":['
    comma = b""
    for topic in placed:
        if len(topic.partition_ids):
            yield comma
            yield from _reassigned(cluster, topic, log_dirs=log_dirs)
            comma = b","
    yield b"]}"


def _reassigned(cluster: Cluster, placed: Placed, *, log_dirs: bool) -> Iterator[bytes]:
    after = b"]"
    if log_dirs:
        after += b',"log_dirs":[' + b",".join([b'"any"'] * placed.replicas.shape[1]) + b"]"
    before = b'{"topic":' + dumps(placed.topic_name) + b',"partition":'
    return _rows_json(cluster, placed, before, b',"replicas":[', after + b"}")


def in_quotes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A text as a JSON string. pieces : whole characters each"""
    yield b'"'
    for piece in pieces:
        yield dumps(piece.decode())[1:-1]
    yield b'"'


def placements_table(cluster: Cluster, placed: Sequence[Placed], *, listed: bool) -> pa.Table:
    """The columns topic_name, partition_id and replicas, a row for each partition.

    listed : replicas as lists of numbers, else as text with commas between, as kafka-topics prints them
    """
    topic = np.repeat(np.arange(len(placed), dtype=np.int32), [len(each.partition_ids) for each in placed])
    replicas = [_rows(cluster, each) for each in placed]
    empty = pa.array([], pa.list_(pa.int32()))
    lists = pa.concat_arrays([pa.ListArray.from_arrays(pa.array(o, pa.int32()), pa.array(v)) for o, v in replicas] or [empty])
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(topic), pa.array([each.topic_name for each in placed], NAME)),
            "partition_id": pa.array(np.concatenate([each.partition_ids for each in placed] or [np.empty(0, np.int32)])),
            "replicas": lists if listed else pc.binary_join(lists.cast(pa.list_(NAME)), ","),
        }
    )


def _rows(cluster: Cluster, placed: Placed) -> tuple[Int32s, Int32s]:
    """The broker ids of a placement as offsets and values."""
    partitions, factor = placed.replicas.shape
    return np.arange(partitions + 1, dtype=np.int32) * np.int32(factor), cluster.broker_ids[placed.replicas].ravel()


def _replicas(cluster: Cluster, placed: Placed) -> pa.Array:
    return json_lists(*_rows(cluster, placed))


def _numbers(values: Int32s) -> pa.Array:
    return pc.cast(pa.array(values), NAME)


def _list(texts: pa.Array) -> orjson.Fragment:
    everything = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    return orjson.Fragment(b"[" + pc.binary_join(everything, ",")[0].as_buffer().to_pybytes() + b"]")


def _rows_json(cluster: Cluster, placed: Placed, before: bytes, between: bytes, after: bytes) -> Iterator[bytes]:
    """For each partition ``before``, its id, ``between``, its broker ids and ``after``; commas between the ids and the rows.

    A kernel, because the string functions of Arrow take ten times as long as the placement itself.
    """
    opened, middle, closed = (np.frombuffer(bytearray(piece), np.uint8) for piece in (before, between, after))

    def write(rows: slice) -> Bytes:
        return _write_rows(opened, middle, closed, placed.partition_ids[rows], cluster.broker_ids[placed.replicas[rows]])

    partitions, factor = placed.replicas.shape
    return in_blocks(partitions, len(before) + len(between) + len(after) + 12 * (1 + factor), write)


@kernel
def _write_rows(before: Bytes, between: Bytes, after: Bytes, ids: Int32s, replicas: Int32s) -> Bytes:
    """The text of ``_rows_json``, uint8[...]. ids : int32[rows]; replicas : int32[rows, replication_factor]"""
    longest = len(before) + len(between) + len(after) + 12 * (1 + replicas.shape[1])
    text = np.empty(len(ids) * longest, np.uint8)
    at = 0
    for row in range(len(ids)):
        if row > 0:
            text[at] = COMMA
            at += 1
        at = write_number(ids[row], text, put(before, text, at))
        at = put(between, text, at)
        for i in range(replicas.shape[1]):
            if i > 0:
                text[at] = COMMA
                at += 1
            at = write_number(replicas[row, i], text, at)
        at = put(after, text, at)
    return text[:at]
