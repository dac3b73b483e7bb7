"""Golden requests of ``vectors/partitions`` as the core's questions, one value at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.keys import columns
from service.core.partitioners import PARTITIONERS, Answer, Partitioner, Question, allocate, check_options

if TYPE_CHECKING:
    from service.core.model import Keys

SUSPECTS = [one for one in PARTITIONERS if one.hashes_record_key and not one.name.startswith(("pinot:", "event-hubs:"))]
"""The partitioners that some string tells apart, if they are not of one class."""

IDS = ("available_partitions", "queue_sizes", "partition_ids", "random_values")


def keys_of(values: list[bytes | None]) -> Keys:
    """Keys from Python bytes."""
    return columns.byte_strings(values)


def column(values: list[Any], key_format: str) -> columns.Column:
    """JSON values as a column."""
    if key_format in (*columns.TEXTS, *columns.BYTES):
        return columns.from_text(columns.strings(values), key_format)
    present = np.array([value is not None for value in values], np.bool_)
    valid = None if present.all() else present
    if key_format in columns.INTEGERS:
        return columns.integers(np.array([value or 0 for value in values], np.int64), valid, key_format)
    if key_format in columns.FLOATS:
        return columns.floats(np.array([0.0 if value is None else float(value) for value in values]), valid, key_format)
    return columns.Numbers(np.array([bool(value) for value in values]), valid)


def question(request: dict[str, Any]) -> tuple[Partitioner, Question]:
    """The question of a golden request."""
    partitioner = PARTITIONERS[request["partitioner"]]
    key_format = request.get("key_format", "string")
    values = request.get("keys", [None] * len(request.get("random_values", ())))
    options: dict[str, Any] = {}
    if "records" in request:
        values = [record.get("key") for record in request["records"]]
        options["bytes"] = np.array([record["bytes"] for record in request["records"]])
        options["enable_switch"] = np.array([record["enable_switch"] for record in request["records"]])
    for name in set(request) - {"partitioner", "partitions_count", "key_format", "keys", "records", "explicit_partition"}:
        value = request[name]
        if name == "window":
            value = (value["start"], value["size"])
        elif value is not None and name in IDS:
            value = np.array(value, np.int32)
        elif isinstance(value, list):
            value = np.array(value, np.int64)
        options[name] = value
    check_options(partitioner, [name for name, value in options.items() if value is not None], lambda name: (name,))
    if "explicit_partition" in request:
        options["explicit"] = np.full(len(values), request["explicit_partition"], np.int32)
        options["explicit_given"] = np.ones(len(values), np.bool_)
    encoded = partitioner.encoding.run(column(values, key_format), key_format)
    return partitioner, Question(request.get("partitions_count", 1), encoded, key_format, **options)


def ask(request: dict[str, Any]) -> Answer:
    """The core's answer to a golden request."""
    return allocate(*question(request))
