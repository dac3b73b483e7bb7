"""What Kafka Connect's workers and their leader send one another when they join and when they are assigned work.

============ ==================================================================================================================
metadata     version, url, config offset; in versions 1 and 2 also the allocation: the assignment that the worker had before
assignment   version, error, leader, its url, config offset, what to start; in versions 1 and 2 also what to stop, and a delay
============ ==================================================================================================================

Version 0 is that of the eager protocol, which workers call ``default`` when they join, 1 of ``compatible``, 2 of ``sessioned``.
What comes after the config offset may be absent. A connector itself is written as its task -1.

Source: IncrementalCooperativeConnectProtocol, ConnectProtocol, ExtendedAssignment, org.apache.kafka.common.protocol.types.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from service.core.budget import check_time
from service.core.errors import InvalidQuestion
from service.wire.errors import BufferUnderflow, Schema, Unreadable
from service.wire.reader import Document, java_text

T = TypeVar("T")

CONNECT: Final = "connect"
"""The protocol type of Connect's groups."""
PROTOCOLS: Final = {"default": "eager", "compatible": "compatible", "sessioned": "sessioned"}
"""What is agreed on when workers join → the value of ``connect.protocol``, which the assignors are called by."""
NO_ERROR: Final = 0
CONNECTOR_TASK: Final = -1
"""The task id that stands for the connector itself."""

CONNECTORS: Final = 1_000
"""Connectors that are read between two looks at the time."""

TaskIds = Mapping[str, tuple[int, ...]]
"""Connector → ids of tasks, CONNECTOR_TASK for the connector itself among them, both in the order of the bytes."""


@dataclass(frozen=True)
class WorkerAssignment:
    """What a leader tells a worker.

    error : 1 if the leader did not know the newest configuration, and assigned nothing
    config_offset : the offset in the topic of configurations that the assignment is of
    assigned, revoked : what to start (in the eager protocol all that it is to run), and what to stop
    delay_ms : after which the worker is to join again; 0: it need not
    """

    version: int
    error: int
    leader_id: str
    leader_url: str
    config_offset: int
    assigned: TaskIds
    revoked: TaskIds
    delay_ms: int


@dataclass(frozen=True)
class WorkerMetadata:
    """What a worker tells when it joins. allocation : the assignment that it had before, with all that it runs; None: none"""

    version: int
    url: str
    config_offset: int
    allocation: WorkerAssignment | None


def read_worker_assignment(data: bytes) -> WorkerAssignment:
    """An assignment; bytes after its end are ignored. Raises Unreadable."""
    return _assignment(_Reader(data, 0))


def read_worker_metadata(data: bytes) -> WorkerMetadata:
    """A worker's metadata; bytes after its end are ignored. Raises Unreadable."""
    reader = _Reader(data, 0)
    version = _version(reader)
    url, offset = reader.field("url", reader.text), reader.field("config-offset", reader.int64)
    held = reader.field("allocation", reader.nullable_bytes) if reader.left else None
    return WorkerMetadata(version, url, offset, None if held is None else _assignment(held))


def runs(protocol: str, metadata: WorkerMetadata, assignment: WorkerAssignment) -> dict[str, dict[int, None]]:
    """What a worker runs once it has its assignment: connector → tasks, first what is new, then what it keeps.

    protocol : as workers call it when they join. Source: WorkerCoordinator.onJoinComplete.
    """
    work = {name: dict.fromkeys(ids) for name, ids in assignment.assigned.items()}
    if PROTOCOLS.get(protocol) == "eager" or metadata.allocation is None:
        return work
    for name, ids in metadata.allocation.assigned.items():
        stopped = set(assignment.revoked.get(name, ()))
        kept = [i for i in ids if i not in stopped]
        if kept:
            work.setdefault(name, {}).update(dict.fromkeys(kept))
    return work


def _version(reader: _Reader) -> int:
    version = reader.field("version", reader.int16)
    if version < 0:
        raise Schema(f"Unsupported subscription version: {version}", 0, f"there is no version {version}")
    return version


def _assignment(reader: _Reader) -> WorkerAssignment:
    version = _version(reader)
    return WorkerAssignment(
        version,
        reader.required("error", reader.int16),
        reader.required("leader", reader.text),
        reader.required("leader-url", reader.text),
        reader.required("config-offset", reader.int64),
        reader.field("assignment", reader.connectors) if reader.left else {},
        reader.field("revoked", reader.connectors) if reader.left else {},
        reader.field("delay", reader.int32) if reader.left else 0,
    )


class _Reader:
    """Values one after the other; a fault is the one that Kafka's ``Schema.read`` throws.

    start : where the data begins in the message
    """

    def __init__(self, data: bytes, start: int) -> None:
        self.data, self.at, self.start = data, 0, start

    @property
    def left(self) -> int:
        """Bytes that are still to be read."""
        return len(self.data) - self.at

    def field(self, name: str, read: Callable[[], T]) -> T:
        """A field's value."""
        try:
            return read()
        except Unreadable as cause:
            text = f"Error reading field '{name}': {cause.message or cause.exception}"
            raise Schema.because_of(cause, text) from None

    def required(self, name: str, read: Callable[[], T]) -> T:
        """The value of a field that a message may not end before."""
        if not self.left:
            text = f"Missing value for field '{name}' which has no default value."
            cause = Schema(text, self.start + self.at, f"{name} is missing")
            raise Schema.because_of(cause, f"Error reading field '{name}': {text}")
        return self.field(name, read)

    def int16(self) -> int:
        """Two bytes."""
        return self._integer(2)

    def int32(self) -> int:
        """Four bytes."""
        return self._integer(4)

    def int64(self) -> int:
        """Eight bytes."""
        return self._integer(8)

    def text(self) -> str:
        """A string, not null."""
        at, size = self.at, self.int16()
        if size < 0:
            raise self._fault(f"String length {size} cannot be negative", at, f"a string has a length of {size} bytes")
        if size > self.left:
            text = f"Error reading string of length {size}, only {self.left} bytes available"
            raise self._fault(text, at, f"a string has a length of {size} bytes, and {self.left} are left")
        return java_text(self._take(size))

    def nullable_bytes(self) -> _Reader | None:
        """Bytes, to be read in turn; None: null."""
        at, size = self.at, self.int32()
        if size < 0:
            return None
        if size > self.left:
            text = f"Error reading bytes of size {size}, only {self.left} bytes available"
            raise self._fault(text, at, f"a length of {size} bytes, and {self.left} are left")
        start = self.start + self.at
        return _Reader(self._take(size), start)

    def connectors(self) -> TaskIds:
        """Tasks by connector; null: none. The tasks of a connector that is listed twice are joined."""
        count = self._count("connectors", nullable=True)
        tasks: dict[str, list[int]] = {}
        for i in range(count):
            if i % CONNECTORS == 0:
                check_time()
            name, ids = self.field("connector", self.text), self.field("tasks", self._tasks)
            tasks.setdefault(name, []).extend(ids)
        return {name: tuple(ids) for name, ids in tasks.items()}

    def _tasks(self) -> tuple[int, ...]:
        count = self._count("tasks")
        if 4 * count > self.left:
            missing = self.start + self.at + self.left // 4 * 4
            raise BufferUnderflow(None, missing, f"a task takes 4 bytes, and {self.left % 4} are left")
        return struct.unpack(f">{count}i", self._take(4 * count))

    def _count(self, what: str, *, nullable: bool = False) -> int:
        at, size = self.at, self.int32()
        if size < 0 and nullable:
            return 0
        if size < 0:
            raise self._fault(f"Array size {size} cannot be negative", at, f"a list of {size} {what}")
        if size > self.left:
            text = f"Error reading array of size {size}, only {self.left} bytes available"
            raise self._fault(text, at, f"a list of {size} {what}, and {self.left} bytes are left")
        return size

    def _integer(self, size: int) -> int:
        if size > self.left:
            raise BufferUnderflow(None, self.start + self.at, f"an integer takes {size} bytes, and {self.left} are left")
        return int.from_bytes(self._take(size), signed=True)

    def _take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        self.at += size
        return taken

    def _fault(self, text: str, at: int, reason: str) -> Schema:
        return Schema(text, self.start + at, reason)


# Captured groups of Kafka Connect as requests for ``/v1/connect-assignments``.

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
