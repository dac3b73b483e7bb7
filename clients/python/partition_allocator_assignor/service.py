"""The service, asked once within a deadline, and whether its answer is taken."""

from __future__ import annotations

import json
import ssl
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from partition_allocator_assignor.group import Assignment, Group, Partition

FAILURES: Final = frozenset({"timeout", "unreachable", "status", "unreadable", "unsound", "error"})
"""Outcomes after which the service is left alone, if there are three in a row."""


class Refused(Exception):
    """The service's answer is not taken. outcome : why, a word"""

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


@dataclass
class Service:
    """Where it is, and who asks. token : a bearer token, or what gives one; context : for TLS"""

    url: str
    token: str | Callable[[], str] | None
    context: ssl.SSLContext | None
    deadline: float

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"url must begin with http://host or https://host: {self.url!r}")

    def ask(self, make_body: Callable[[], dict[str, Any]], judge: Callable[[Any], Assignment], longest: int) -> Assignment:
        """``judge`` of its answer; all of it happens on a daemon thread, which is left behind at the deadline. Raises Refused.

        longest : bytes that an answer can have
        """
        found: list[Assignment | BaseException] = []

        def run() -> None:
            try:
                found.append(judge(self._post(json.dumps(make_body()).encode(), longest)))
            except BaseException as error:  # noqa: BLE001 (the thread that waits decides)
                found.append(error)

        thread = threading.Thread(target=run, name="partition-allocator", daemon=True)
        thread.start()
        thread.join(self.deadline)
        if not found:
            raise Refused("timeout", f"no answer within {self.deadline} s")
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    def _post(self, body: bytes, longest: int) -> Any:
        parts, end = urlsplit(self.url), time.monotonic() + self.deadline
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            token = self.token() if callable(self.token) else self.token
            if token:
                headers["Authorization"] = f"Bearer {token}"
            host = parts.hostname or ""
            connection = (
                HTTPSConnection(host, parts.port, timeout=self.deadline, context=self.context)
                if parts.scheme == "https"
                else HTTPConnection(host, parts.port, timeout=self.deadline)
            )
            with closing(connection):
                connection.request("POST", f"{parts.path.rstrip('/')}/v1/group-assignments", body, headers)
                with connection.getresponse() as response:
                    if response.status != 200:
                        raise Refused("status", f"status {response.status}")
                    read = bytearray()
                    while len(read) <= longest and (piece := response.read1(1 << 16)):
                        if time.monotonic() > end:
                            raise Refused("timeout", f"the answer was cut off after {self.deadline} s")
                        read += piece
        except TimeoutError as error:
            raise Refused("timeout", str(error)) from error
        except (OSError, HTTPException) as error:
            raise Refused("unreachable", repr(error)) from error
        if len(read) > longest:
            raise Refused("unreadable", f"the answer is longer than {longest} bytes")
        try:
            return json.loads(read)
        except ValueError as error:
            raise Refused("unreadable", str(error)) from error


class CircuitBreaker:
    """Open for five minutes after three failures in a row; then one more failure opens it again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._failures, self._last = clock, 0, 0.0

    @property
    def is_open(self) -> bool:
        """Is the service to be left alone?"""
        return self._failures >= 3 and self._clock() - self._last < 300

    def record(self, *, failed: bool) -> None:
        """What came of a request."""
        self._failures, self._last = self._failures + 1 if failed else 0, self._clock()


def assignment_of(document: Any) -> Assignment:
    """Member → partitions, of an answer. Raises Refused."""
    try:
        return {
            each["member_id"]: [(part["topic_name"], i) for part in each["partitions"] for i in part["partition_ids"]]
            for each in document["assignments"]
        }
    except (TypeError, KeyError) as error:
        raise Refused("unreadable", f"the answer is no assignment: {error!r}") from error


def judged(
    group: Group,
    target: Assignment,
    local: Callable[[], Assignment],
    max_moves: int | None,
    weights: dict[Partition, float] | None,
) -> Assignment:
    """The target, if it is taken; raises Refused. local : the final assignment of cooperative-sticky"""
    owner: dict[Partition, str] = {}
    partitions = group.partitions()
    for member, assigned in target.items():
        for partition in assigned:
            if partition not in partitions or partition[0] not in group.subscriptions.get(member, ()):
                raise Refused("unsound", f"{partition} cannot be read by {member}")
            if partition in owner:
                raise Refused("unsound", f"{partition} is assigned twice")
            owner[partition] = member
    if len(owner) < len(partitions):
        raise Refused("unsound", f"{len(partitions) - len(owner)} partitions are not assigned")
    moves = sum(member not in group.owners.get(partition, {member}) for partition, member in owner.items())
    if max_moves is not None and moves > max_moves:
        raise Refused("moves", f"{moves} partitions would change owners")

    def worst(assignment: Assignment) -> float:
        return max(sum(1 if weights is None else weights[each] for each in assigned) for assigned in assignment.values())

    if (load := worst(target)) > (least := worst(local())):
        raise Refused("worse", f"a member would have a load of {load} instead of {least}")
    return target
