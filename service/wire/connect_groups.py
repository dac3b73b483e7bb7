"""Captured groups of Kafka Connect as requests for ``/v1/connect-assignments``."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from service.core.errors import InvalidQuestion
from service.wire.connect_protocol import (
    CONNECTOR_TASK,
    PROTOCOLS,
    WorkerAssignment,
    read_worker_assignment,
    read_worker_metadata,
    runs,
)
from service.wire.reader import Document

MOST_GAPS: Final = 100_000
"""Tasks that no worker runs, though a later one of their connector runs, beyond which a group is not a request."""


def work_document(tasks: Mapping[str, Iterable[int]], prefix: str = "") -> Document:
    """``connectors`` and ``tasks`` as in the workers of a request. prefix : of both names"""
    by_connector = {name: list(ids) for name, ids in tasks.items()}
    named = ((name, [i for i in ids if i != CONNECTOR_TASK]) for name, ids in by_connector.items())
    return {
        f"{prefix}connectors": [name for name, ids in by_connector.items() if CONNECTOR_TASK in ids],
        f"{prefix}tasks": [{"connector_name": name, "task_ids": ids} for name, ids in named if ids],
    }


def assignment_document(assignment: WorkerAssignment) -> Document:
    """What a leader told a worker."""
    return {
        "error": assignment.error,
        "leader_id": assignment.leader_id,
        "leader_url": assignment.leader_url,
        "config_offset": assignment.config_offset,
        **work_document(assignment.assigned),
        **work_document(assignment.revoked, "revoked_"),
        "delay_ms": assignment.delay_ms,
    }


def worker_document(member_id: str, protocol: str, metadata: bytes, assignment: bytes) -> Document:
    """A worker, and what it runs once it has its assignment. Raises Unreadable.

    protocol : as workers call it when they join
    metadata, assignment : its bytes; no assignment: it has none yet
    """
    joined = read_worker_metadata(metadata)
    document: Document = {"member_id": member_id, "url": joined.url, "config_offset": joined.config_offset}
    if not assignment:
        return document | work_document({})
    told = read_worker_assignment(assignment)
    before = {} if joined.allocation is None else joined.allocation.assigned
    document |= work_document(runs(protocol, joined, told))
    return document | {"before": work_document(before), "assignment": assignment_document(told)}


def connect_request(group_id: str, protocol: str | None, workers: Iterable[Mapping[str, Any]]) -> Document:
    """A request for the group's next rebalance. Raises InvalidQuestion.

    protocol : as workers call it, or as it is configured
    workers : each with ``member_id``, ``connectors`` and ``tasks``

    The group does not tell which connectors and tasks are configured: they are those that run, and tasks with smaller ids.
    """
    rows = [{name: worker.get(name) or [] for name in ("member_id", "connectors", "tasks")} for worker in workers]
    ids = {row["member_id"] for row in rows}
    leaders = {worker["assignment"]["leader_id"] for worker in workers if worker.get("assignment")}
    leader = {"leader_id": leaders.pop()} if len(leaders) == 1 and leaders <= ids else {}
    assignor = {} if protocol is None else {"assignor": PROTOCOLS.get(protocol, protocol)}
    connectors = _configured(rows)
    head = {"group_protocol": "connect", "group_id": group_id, **assignor, **leader}
    return {**head, "rounds": [{"connectors": connectors, "workers": rows}]}


def _configured(workers: Iterable[Mapping[str, Any]]) -> list[Document]:
    """The connectors that run, each with the number of its tasks up to the last one that runs."""
    tasks: dict[str, set[int]] = {name: set() for worker in workers for name in worker["connectors"]}
    for worker in workers:
        for part in worker["tasks"]:
            tasks.setdefault(part["connector_name"], set()).update(part["task_ids"])
    gaps = 0
    for name, ids in tasks.items():
        if min(ids, default=0) < 0:
            raise InvalidQuestion(f"The connector {name!r} has a task {min(ids)}.")
        gaps += max(ids, default=-1) + 1 - len(ids)
    if gaps > MOST_GAPS:
        raise InvalidQuestion(f"{gaps} tasks run nowhere, though later tasks of the same connectors do.")
    return [{"connector_name": name, "tasks_count": max(tasks[name], default=-1) + 1} for name in sorted(tasks)]
