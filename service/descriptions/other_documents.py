"""JSON of tools beside Kafka's: kcat, rpk, Kafka Connect's REST API, Burrow, kt, Strimzi's resources."""

from __future__ import annotations

import re
from typing import Any, Final

from service.core.documents import Json
from service.core.printable import counted
from service.core.wire.connect_protocol import CONNECT
from service.descriptions.kcat import read_kcat
from service.descriptions.model import Description
from service.descriptions.rpk import read_rpk
from service.descriptions.source import Source
from service.descriptions.strimzi import read_resource
from service.descriptions.topic_rows import TopicRows, offsets_by_topic

_STATUS: Final = {"name", "connector", "tasks"}
CONNECT_GROUP: Final = "connect-cluster"
"""The name of a group of Connect: the example of ``group.id`` in Kafka's configuration; its REST API does not tell it."""


def read_other(document: Json, source: Source) -> Description | None:
    """What a document of another tool describes; None if it is none of these. Raises UnreadableDescription."""
    for read in (read_kcat, read_rpk, read_resource, _read_connect, _read_burrow, _read_kt):
        description = read(document, source)
        if description is not None:
            return description
    return None


def is_other(document: Json) -> bool:
    """Is this a document of one of these tools, by its members?"""
    keys = document.keys()
    return bool(
        {"originating_broker", "brokers"} <= keys
        or {"summary", "partitions"} <= keys
        or document.get("apiVersion")
        or _statuses(document)
        or ({"error", "message", "request"} <= keys)
        or ("name" in keys and keys & {"offsets", "partitions"} and keys <= {"name", "topic", "offsets", "partitions", "config"})
    )


def _read_connect(document: Json, source: Source) -> Description | None:
    """``/connectors/x/status``, or ``/connectors?expand=status``: the group of the workers, with what runs on each.

    ``expand=info`` alone lists connectors and tasks, but not where they run.
    """
    statuses = _statuses(document)
    if not statuses:
        if document and all(isinstance(each, dict) and isinstance(each.get("info"), dict) for each in document.values()):
            source.refuse("Kafka Connect's expand=info does not tell workers: ask for /connectors?expand=status.", ())
        return None
    workers: dict[str, Json] = {}
    idle = []
    for path, status in statuses:
        name = source.member(status, "name", str, path)
        connector = source.member(status, "connector", dict, path)
        for task, row in [(None, connector), *((row, row) for row in source.rows(status, "tasks", path))]:
            if row.get("state") in ("UNASSIGNED", "DESTROYED") or not row.get("worker_id"):
                idle.append(name if task is None else f"{name}-{task.get('id')}")
                continue
            url = source.member(row, "worker_id", str, path)
            worker = workers.setdefault(url, {"member_id": url, "url": url, "connectors": [], "tasks": {}})
            if task is None:
                worker["connectors"].append(name)
            else:
                worker["tasks"].setdefault(name, []).append(source.member(task, "id", int, path))
    members = []
    for worker in workers.values():
        tasks = [{"connector_name": name, "task_ids": sorted(ids)} for name, ids in worker["tasks"].items()]
        members.append({**worker, "tasks": tasks})
    unknown = (
        f"Kafka Connect's REST API gives neither the workers' group.id, called {CONNECT_GROUP!r} here, nor their member ids: "
        "workers are named by their addresses. Workers on which nothing runs are not listed."
    )
    notes = [unknown]
    if idle:
        notes.append(f"{counted(len(idle), 'connector or task', 'connectors or tasks')} on no worker, such as {idle[0]}.")
    group = {"group_id": CONNECT_GROUP, "group_protocol": CONNECT, "members": members}
    return Description("connect", groups=(group,), notes=tuple(notes))


def _statuses(document: Json) -> list[tuple[tuple[str, ...], Json]]:
    """The status of each connector, with its path; none if the document has another shape."""
    if document.keys() >= _STATUS and isinstance(document["connector"], dict):
        return [((), document)]
    found: list[tuple[tuple[str, ...], Any]] = [
        ((name, "status"), each.get("status") if isinstance(each, dict) else None) for name, each in document.items()
    ]
    return found if all(isinstance(status, dict) and status.keys() >= _STATUS for _, status in found) else []


def _read_burrow(document: Json, source: Source) -> Description | None:
    """Burrow's ``/v3/kafka/CLUSTER/consumer/GROUP``, and its ``/status`` and ``/lag``, the former only of lagging partitions."""
    if not {"error", "message", "request"} <= document.keys():
        return None
    if document["error"]:
        source.refuse(f"Burrow reports an error: {document['message']}.", ())
    status, request = document.get("status"), document["request"]
    listed: list[tuple[str, int, Json, Json | None]] = []
    if isinstance(status, dict) and "partitions" in status:
        group_id, total = source.member(status, "group", str, ("status",)), status.get("partition_count")
        for i, row in enumerate(source.rows(status, "partitions", ("status",))):
            path = ("status", "partitions", i)
            partition = source.member(row, "partition", int, path)
            listed.append((source.member(row, "topic", str, path), partition, row, row.get("end")))
        if isinstance(total, int) and total != len(listed):
            partial = f"Burrow's /status lists {len(listed)} of {total} partitions, those that lag; its /lag lists all."
            return _burrow_group(group_id, listed, partial)
    elif isinstance(document.get("topics"), dict):
        uri = str(request.get("url", "") if isinstance(request, dict) else "").rstrip("/")
        match = re.search(r"/consumer/([^/?]+)", uri)
        group_id = match[1] if match else "group"
        for name in document["topics"]:
            for i, row in enumerate(source.rows(document["topics"], name, ("topics",))):
                known = [each for each in row.get("offsets") or () if isinstance(each, dict)]
                listed.append((name, i, row, known[-1] if known else None))
    else:
        source.refuse("Burrow's answer has no offsets of a group: ask for /v3/kafka/CLUSTER/consumer/GROUP/lag.", ())
    return _burrow_group(group_id, listed)


def _burrow_group(group_id: str, listed: list[tuple[str, int, Json, Json | None]], partial: str = "") -> Description:
    """The group. Ends of logs are commits with their lag.

    listed : topic, partition, its row, and its last commit; partial : what is missing, and then the members are not known
    """
    rows, members, owned, committed = TopicRows(), {}, {}, {}  # type: TopicRows, dict[str, Json], dict[str, Any], dict[str, Any]
    for topic, partition, row, last in listed:
        offset, lag = (last or {}).get("offset"), row.get("current_lag", row.get("current-lag"))
        known = isinstance(offset, int) and isinstance(lag, int)
        committed.setdefault(topic, {})[partition] = offset if isinstance(offset, int) else None
        rows.offsets(topic, partition, end=offset + lag if known else None)  # type: ignore[operator]  # both are integers
        if row.get("owner"):
            client_id = row.get("client_id") or ""
            member_id = f"{client_id}{row['owner']}" if client_id else row["owner"]
            members.setdefault(member_id, {"member_id": member_id, "client_id": client_id, "host": row["owner"].lstrip("/")})
            owned.setdefault(member_id, {}).setdefault(topic, []).append(partition)
    notes = ["The ends of logs are committed offsets with the lag that Burrow reports.", *([partial] if partial else ())]
    group: Json = {"group_id": group_id, "committed_offsets": offsets_by_topic(committed)}
    if members and not partial:
        notes.append("Burrow does not tell member ids: members are told apart by client id and host.")
        group["members"] = [
            {**member, "owned_partitions": [{"topic_name": name, "partition_ids": ids} for name, ids in owned[each].items()]}
            for each, member in members.items()
        ]
    return Description("burrow", topics=rows.topics(), groups=(group,), notes=tuple(notes))


def _read_kt(document: Json, source: Source) -> Description | None:
    """A line of ``kt group`` (offsets and lag of a group in a topic) or of ``kt topic -partitions -leaders -replicas``."""
    if not isinstance(document.get("name"), str) or not document.keys() <= {"name", "topic", "offsets", "partitions", "config"}:
        return None
    name, rows = document["name"], TopicRows()
    if "offsets" in document:
        topic, committed = source.member(document, "topic", str, ()), {}
        for i, row in enumerate(source.rows(document, "offsets", ())):
            partition, offset, lag = source.member(row, "partition", int, ("offsets", i)), row.get("offset"), row.get("lag")
            committed[partition] = offset if isinstance(offset, int) and offset >= 0 else None
            rows.offsets(topic, partition, end=offset + lag if isinstance(offset, int) and isinstance(lag, int) else None)
        group = {"group_id": name, "committed_offsets": offsets_by_topic({topic: committed})}
        return Description("kt", topics=rows.topics(), groups=(group,))
    if "partitions" not in document:
        return None
    for i, row in enumerate(source.rows(document, "partitions", ())):
        partition = source.member(row, "id", int, ("partitions", i))
        rows.offsets(name, partition, start=row.get("oldest"), end=row.get("newest"))
        if "replicas" in row:
            in_sync = source.broker_ids(row, "isrs", ("partitions", i)) if "isrs" in row else None
            rows.place(name, partition, source.broker_ids(row, "replicas", ("partitions", i)), in_sync)
    brokers = tuple({"broker_id": broker} for broker in sorted(rows.brokers()))
    return Description("kt", brokers, rows.topics(complete=True))
