"""The functions of the library. Each asks an app in this process, so its answer is exactly the service's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import urlencode

import pyarrow as pa
from werkzeug.test import Client

from service.app import create_app
from service.arrow.key_types import TYPE_OF_FORMAT
from service.cli import request_bodies
from service.cli.local_client import UNLIMITED
from service.config import Settings
from service.core.keys.columns import BYTES
from service.web.json_codec import dumps, loads
from service.web.responses import ARROW_STREAM, JSON

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

Output: TypeAlias = Literal["dict", "arrow", "pandas"]
"""The form of an answer: the JSON document, or its main table as a pyarrow.Table or a pandas.DataFrame."""

Rows: TypeAlias = "Iterable[Mapping[str, Any]] | pa.Table | pd.DataFrame"
"""A list of the request: dicts, or a table with a column for each field (a null is an absent field)."""


class Rejected(ValueError):
    """The request is invalid, or Kafka rejects it; ``str()`` is the reason.

    problem : the problem document of the service: ``type``, ``detail``, ``errors`` with JSON pointers, Kafka's ``error``
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem["detail"])
        self.problem = problem


def partitions(
    keys: Any, partitions_count: int, partitioner: str = "java", *, key_format: str | None = None, **fields: Any
) -> npt.NDArray[np.int32]:
    """The partition of each key, int32[n], as the partitioner of a client computes it.

    keys : list, NumPy array, pandas Series or Arrow array of text, bytes, integers, floats or booleans. None (in pandas also NaN)
        is a record without a key. Integers are ``long``, floats ``double``, unless ``key_format`` names another serializer.
    fields : the other fields of ``POST /v1/partitions``, such as ``random_seed`` and ``counter``
    Raises Rejected, and pyarrow.ArrowException for keys of several types.
    """
    question = {"partitioner": partitioner, "partitions_count": partitions_count, "key_format": key_format, **fields}
    answer = _post_stream("/v1/partitions", question, {"key": _keys(keys, key_format)}, ARROW_STREAM)
    return cast("npt.NDArray[np.int32]", _table(answer).column("partition_id").to_numpy())


def fingerprint(
    keys: Any, partition_ids: Any, partitions_count: int | None = None, *, key_format: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Which partitioners put these keys on these partitions: the answer of ``POST /v1/partitioner-fingerprints``.

    keys : as of ``partitions``; partition_ids : the partition of each key; partitions_count : default: inferred
    fields : the other fields of the endpoint, such as ``partitioners`` (a list of the names to consider)
    Raises Rejected.
    """
    columns = {"key": _keys(keys, key_format), "partition_id": _array(partition_ids).cast(pa.int32())}
    question = {"partitions_count": partitions_count, "key_format": key_format, **fields}
    return cast("dict[str, Any]", loads(_post_stream("/v1/partitioner-fingerprints", question, columns, JSON)))


def assign(
    topics: Mapping[str, int] | Rows,
    members: int | Rows | Iterable[str],
    assignor: str = "range",
    *,
    owned: Rows | None = None,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """Assign partitions to the members of a group, as ``POST /v1/group-assignments`` does.

    topics : topic → partition count, or rows with ``topic_name`` and ``partitions_count``
    members : a number of members, their ids, or rows with ``member_id`` and the other fields of a member
    owned : the partitions that members own: rows with ``topic_name``, ``partition_id``, ``member_id``, such as the table of an
        earlier answer
    output : "dict" is the answer's document; "arrow" and "pandas" its table: ``topic_name``, ``partition_id``, ``member_id``
    fields : the other fields of the endpoint, such as ``group_protocol``
    Raises Rejected.
    """
    body = {
        "assignor": assignor,
        "topics": request_bodies.topics(topics) if isinstance(topics, Mapping) else _rows(topics),
        "members": request_bodies.members(members) if isinstance(members, int) else _members(members),
        **fields,
    }
    if owned is not None:
        _give(_rows(owned), body["members"])
    return _answer("/v1/group-assignments", body, output)


def place(
    brokers: int | Rows,
    partitions_count: int,
    replication_factor: int,
    placer: str = "striped",
    *,
    racks: int | None = None,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """Place the replicas of a topic on brokers, as ``POST /v1/replica-placements`` does.

    brokers : a number of brokers (with ids from 0), or rows with ``broker_id``, ``rack_id``, ``fenced``
    racks : with a number of brokers: how many racks they are on, in turn
    output : "dict" is the answer's document; "arrow" and "pandas" its table: ``topic_name``, ``partition_id``, ``replicas``
    fields : the other fields of the endpoint, such as ``random_seed`` and ``topic_name``
    Raises Rejected.
    """
    body = {
        "placer": placer,
        "partitions_count": partitions_count,
        "replication_factor": replication_factor,
        "brokers": request_bodies.brokers(brokers, racks) if isinstance(brokers, int) else _rows(brokers),
        **fields,
    }
    return _answer("/v1/replica-placements", body, output)


def _array(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    of_pandas = type(values).__module__.partition(".")[0] == "pandas"  # where NaN is a missing value
    return pa.array(values, from_pandas=of_pandas)


def _keys(keys: Any, key_format: str | None) -> pa.Array | pa.ChunkedArray:
    array = _array(keys)
    if key_format in TYPE_OF_FORMAT:
        return array.cast(TYPE_OF_FORMAT[key_format])
    if key_format in BYTES and pa.types.is_null(array.type):
        return array.cast(pa.binary())
    return array


def _rows(rows: Rows | Iterable[str]) -> list[dict[str, Any]]:
    if hasattr(rows, "itertuples"):  # a DataFrame, whose index is no field
        rows = pa.Table.from_pandas(rows, preserve_index=False)
    if isinstance(rows, pa.Table):
        return [{name: value for name, value in row.items() if value is not None} for row in rows.to_pylist()]
    return [dict(cast("Mapping[str, Any]", row)) for row in rows]


def _members(members: Rows | Iterable[str]) -> list[dict[str, Any]]:
    if isinstance(members, pa.Table) or hasattr(members, "itertuples"):
        return _rows(members)
    return [{"member_id": member} if isinstance(member, str) else dict(member) for member in members]


def _give(owned: list[dict[str, Any]], members: list[dict[str, Any]]) -> None:
    """Enter the partitions of ``owned`` as ``owned_partitions`` of the members; those of other members are nobody's."""
    by_member: dict[str, dict[str, list[int]]] = {}
    for row in owned:
        if "member_id" in row:  # an unassigned partition has none
            by_member.setdefault(row["member_id"], {}).setdefault(row["topic_name"], []).append(row["partition_id"])
    for member in members:
        ids = by_member.get(member["member_id"], {})
        member["owned_partitions"] = [{"topic_name": name, "partition_ids": sorted(ids[name])} for name in ids]


@cache
def _client() -> Client:
    """A client of an app without limits. It ignores the variables that configure a server."""
    limits: dict[str, Any] = {name: UNLIMITED for name in Settings.__dataclass_fields__ if name.startswith("max_")}
    limits |= {"max_concurrent": 1_000, "max_queued": 1_000, "max_subjects": 1_000}
    return Client(create_app(Settings(auth="off", **limits)))


def _post(path: str, body: bytes, content_type: str, accept: str) -> bytes:
    response = _client().post(path, data=body, content_type=content_type, headers={"Accept": accept})
    if response.status_code != 200:
        raise Rejected(loads(response.get_data()))
    return response.get_data()


def _post_stream(path: str, question: dict[str, Any], columns: dict[str, Any], accept: str) -> bytes:
    query = {name: _text(value) for name, value in question.items() if value is not None}
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return _post(f"{path}?{urlencode(query)}", sink.getvalue().to_pybytes(), ARROW_STREAM, accept)


def _text(value: Any) -> str:
    """A value as a query has it."""
    if isinstance(value, str | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return ",".join(map(str, value))


def _answer(path: str, body: dict[str, Any], output: Output) -> Any:
    if output not in ("dict", "arrow", "pandas"):
        raise ValueError(f"output must be 'dict', 'arrow' or 'pandas', not {output!r}")
    if output == "dict":
        return loads(_post(path, dumps(body), JSON, JSON))
    table = _table(_post(path, dumps(body), JSON, ARROW_STREAM))
    return table if output == "arrow" else table.to_pandas()


def _table(stream: bytes) -> pa.Table:
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()
