"""Places each topic of a table, and audits its current placement by Kafka's rules: Arrow in, Arrow out. Executors run this.

A row has the fields of ``POST /v1/replica-placements`` for one topic, and optionally its current ``placements``, as answered.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import AllocatorError, InvalidQuestion, PluginFailed
from service.core.jvm.hashing import string_hash_code
from service.core.jvm.random import JavaRandom
from service.core.kafka_versions import LATEST
from service.core.measures import NOT_KNOWN, Load, load_of, placed_traffic, rows_of_topics
from service.core.model import Cluster, Int32s, PlacementRequest, Ragged, indices_in
from service.core.placers.audit import Audit, audit
from service.decisions.placements.answer import BROKER, read_cluster, uncordoned
from service.decisions.rows import NAME, columns
from service.pipeline.analyses import nested_columns
from service.pipeline.analyses.fleet.assignments import WRONG_ROW
from service.strategies import PLACERS, Placer

PLACEMENTS: Final = pa.list_(pa.struct({"partition_id": pa.int32(), "replicas": pa.list_(pa.int32())}))
INTEGERS: Final = ("partitions_count", "replication_factor", "start_partition_id", "start_index", "replica_shift")
COLUMNS: Final = {
    "topic_name": NAME,
    "placer": NAME,
    "kafka_version": NAME,
    **dict.fromkeys(INTEGERS, pa.int32()),
    "random_seed": pa.int64(),
    "brokers": pa.list_(BROKER),
    "placements": PLACEMENTS,
    nested_columns.CORRUPT: NAME,
}

LOADS: Final = pa.list_(pa.struct({"broker_id": pa.int32(), "replicas": pa.int64(), "leaders": pa.int64()}))
PARTITION_IDS: Final = pa.list_(pa.int32())
RESULT: Final = pa.schema(
    {
        **columns("topic_name string, placer string, kafka_version string, partitions int, replication_factor int"),
        "placements": PLACEMENTS,
        "broker_load": LOADS,
        **columns("replica_skew double, leader_skew double, local_share double, obeys boolean"),
        "doubled": PARTITION_IDS,
        "unknown_brokers": PARTITION_IDS,
        "wrong_factor": PARTITION_IDS,
        "crowded_racks": PARTITION_IDS,
        "unled": PARTITION_IDS,
        **columns("copies long, leader_changes long, most_leaders int"),
        "current_broker_load": LOADS,
        **columns(
            "current_replica_skew double, current_leader_skew double, current_local_share double, error string, "
            "exception string, detail string, record string"
        ),
    }
)
"""A row for each topic. From ``placements`` on, the result of the placer; from ``obeys`` on, the audit of the current placement
(``service.core.placers.audit``), null if the row has no ``placements``. ``error`` as in ``assignments``."""

MOST: Final = 10**8
"""Most replicas of one topic, to bound an executor's memory."""


def check_columns(schema: pa.Schema, *, brokers_apart: bool) -> None:
    """Raise InvalidQuestion unless the table's columns can be topics. brokers_apart : the brokers are in a table of their own"""
    nested_columns.required(schema, {}, ("topic_name",) if brokers_apart else ("topic_name", "brokers"))
    if "placements" not in schema.names and not {"partitions_count", "replication_factor"} <= set(schema.names):
        raise InvalidQuestion("The table needs the column placements, or partitions_count and replication_factor.")
    nested_columns.required(schema, COLUMNS, ())


def place_topics(
    batches: Iterable[pa.RecordBatch], placer: str | None, brokers: list[dict[str, Any]] | None
) -> Iterator[pa.RecordBatch]:
    """RESULT rows of every topic in the batches.

    placer : for the rows that name none; default ``striped``
    brokers : the cluster, ``[{"broker_id", "rack_id", "fenced"}]``, for the rows that have none
    """
    everywhere = pa.array(brokers, BROKER) if brokers is not None else None
    for batch in batches:
        yield from nested_columns.gathered(
            (_place_row(row, placer, everywhere) for row in nested_columns.rows_of(batch, COLUMNS)), RESULT, {}
        )


def _place_row(row: dict[str, pa.Array], placer: str | None, everywhere: pa.StructArray | None) -> dict[str, Any]:
    """The result of a topic, for ``gathered``."""
    plain = {name: column[0].as_py() for name, column in row.items() if name not in ("brokers", "placements")}
    result: dict[str, Any] = {"topic_name": plain["topic_name"], "placer": plain.get("placer") or placer or "striped"}
    try:
        nested_columns.check_line(row)
        version = result["kafka_version"] = plain.get("kafka_version") or LATEST
        strategy = _placer(result, version)
        cluster, usable = _clusters(row.get("brokers"), everywhere, strategy)
        current = _current(row["placements"], cluster) if "placements" in row and row["placements"][0].is_valid else None
        request = _request(plain, current, version)
    except InvalidQuestion as error:
        return {**result, "error": WRONG_ROW, **nested_columns.rejection(row, error)}
    except PluginFailed as error:
        return {**result, **nested_columns.failure(error)}
    result |= {"partitions": request.partitions_count, "replication_factor": request.replication_factor}
    # Each topic has its own seed, from the row or from its name, so that its placement does not depend on other rows.
    seed = plain.get("random_seed")
    random = JavaRandom(string_hash_code(plain["topic_name"]) if seed is None else seed)
    try:
        placement = strategy.run(usable, request, random)
        rows = rows_of_topics([placement])
        load = load_of(usable, rows)
        replicas = usable.broker_ids[placement]
        offsets = np.arange(len(replicas) + 1, dtype=np.int32) * np.int32(replicas.shape[1])
        lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(replicas.ravel()))
        result |= {
            "placements": _one_row({"partition_id": pa.array(request.partition_ids()), "replicas": lists}),
            "broker_load": _loads(usable, load),
            "replica_skew": load.spread("replicas").skew,
            "leader_skew": load.spread("leaders").skew,
            "local_share": _local_share(usable, rows),
        }
        if current is not None:
            ids, replicas = current
            result |= _audited(cluster, ids, audit(cluster, replicas, request.replication_factor))
            result["current_local_share"] = _local_share(cluster, replicas)
    except AllocatorError as error:
        result |= nested_columns.failure(error)
    return result


def _placer(named: dict[str, Any], version: str) -> Placer:
    if not named["topic_name"]:
        raise InvalidQuestion("Must not be null or empty.", "topic_name")
    return PLACERS[named["placer"]].at(version)


def _clusters(column: pa.Array | None, everywhere: pa.StructArray | None, placer: Placer) -> tuple[Cluster, Cluster]:
    """The row's own brokers, or those of all rows, and those of them that may get new replicas; raises InvalidQuestion."""
    rows = everywhere
    if column is not None and column[0].is_valid:
        try:
            rows = nested_columns.compact(nested_columns.conform(column, COLUMNS["brokers"]).flatten())
        except pa.ArrowInvalid as error:
            raise InvalidQuestion(str(error), "brokers") from None
    if rows is None or not len(rows):
        raise InvalidQuestion("The row has no brokers.", "brokers")
    ids = rows.field("broker_id")
    if ids.null_count or len(ids.unique()) < len(ids):
        raise InvalidQuestion("A broker_id is missing or duplicate.", "brokers")
    usable = read_cluster(uncordoned(rows))
    if len(usable) < len(rows) and "cordoned" not in placer.options:
        raise InvalidQuestion(f"The placer {placer.name} does not support cordoned.", "brokers")
    return read_cluster(rows), usable


def _current(column: pa.Array, cluster: Cluster) -> tuple[Int32s, Ragged]:
    """The row's partition ids, and partition → brokers, NONE for unknown ones; raises InvalidQuestion."""
    try:
        rows = nested_columns.compact(nested_columns.conform(column, PLACEMENTS).flatten())
    except pa.ArrowInvalid as error:
        raise InvalidQuestion(str(error), "placements") from None
    ids, replicas = rows.field("partition_id"), rows.field("replicas")
    if rows.null_count or ids.null_count or replicas.null_count or replicas.values.null_count or not len(rows):
        raise InvalidQuestion("Must not be empty, and each partition needs partition_id and replicas.", "placements")
    if len(ids.unique()) < len(ids):
        raise InvalidQuestion("Duplicate partition_id.", "placements")
    brokers = indices_in(cluster.broker_ids, np.array(replicas.values, np.int32))
    return np.array(ids, np.int32), Ragged(np.array(replicas.offsets, np.int32), brokers)


def _request(plain: dict[str, Any], current: tuple[Int32s, Ragged] | None, version: str) -> PlacementRequest:
    """What is to be placed: what the row says, or as much as it has."""
    count, factor = plain.get("partitions_count"), plain.get("replication_factor")
    if current is not None:
        lengths = current[1].lengths()
        count = len(lengths) if count is None else count
        factor = int(np.bincount(lengths).argmax()) if factor is None else factor  # what most partitions have
    if count is None or factor is None:
        raise InvalidQuestion("The row has neither placements nor partitions_count and replication_factor.")
    if count * factor > MOST:
        raise InvalidQuestion(
            f"{count * factor} replicas are more than an executor places of one topic ({MOST}).", "partitions_count"
        )
    options = {name: plain.get(name) for name in ("start_index", "replica_shift")}
    return PlacementRequest(count, factor, plain.get("start_partition_id") or 0, **options, kafka_version=version)


def _audited(cluster: Cluster, ids: Int32s, current: Audit) -> dict[str, Any]:
    places = {"doubled": current.doubled, "unknown_brokers": current.unknown, "wrong_factor": current.wrong_factor}
    places |= {"crowded_racks": current.crowded, "unled": current.unled}
    return {
        "obeys": current.obeys,
        **{name: pa.array([ids[rows]], PARTITION_IDS) for name, rows in places.items()},
        "copies": current.copies,
        "leader_changes": current.leader_changes,
        "most_leaders": current.most_leaders,
        "current_broker_load": _loads(cluster, current.load),
        "current_replica_skew": current.load.spread("replicas").skew,
        "current_leader_skew": current.load.spread("leaders").skew,
    }


def _local_share(cluster: Cluster, placement: Ragged) -> float | None:
    """The share that is read on the reader's rack, if as many readers are on each; None without racks."""
    return (placed_traffic(cluster, placement, None) or NOT_KNOWN).local_share


def _loads(cluster: Cluster, load: Load) -> pa.ListArray:
    columns = {"broker_id": cluster.broker_ids, "replicas": load.replicas, "leaders": load.leaders}
    return _one_row({name: pa.array(column) for name, column in columns.items()})


def _one_row(columns: dict[str, pa.Array]) -> pa.ListArray:
    """A list of structs with these members."""
    values = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
