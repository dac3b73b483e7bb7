"""A service that real consumers ask, and what can go wrong with it."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from service.app import create_app
from tests.support.serving import answering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flask import Flask

Body = dict[str, Any]
Rows = list[tuple[str, int, str]]


@dataclass
class Adviser:
    """The service, until ``fault`` says what it does instead; it answers JSON and CSV alike."""

    fault: Callable[[Body, Rows], Any] | None = None
    """From the body and the right answer to another answer, or to (status, headers, bytes)."""
    url: str = ""
    asked: list[Body] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    """Set at the end, for answers that are waiting."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        """WSGI."""
        text = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        body = json.loads(text)
        self.asked.append(body)
        self.tokens.append(environ.get("HTTP_AUTHORIZATION"))
        right = _app().test_client().post("/v1/group-assignments", data=text, content_type="application/json")
        if right.status_code != 200:
            status, headers, answer = right.status, {}, right.data
        else:
            rows = [
                (part["topic_name"], partition, each["member_id"])
                for each in right.get_json()["assignments"]
                for part in each["partitions"]
                for partition in part["partition_ids"]
            ]
            other = self.fault(body, rows) if self.fault else rows
            if isinstance(other, tuple):
                status, headers, answer = other
            else:
                status, headers, answer = "200 OK", {}, written(other, as_csv="csv" in environ.get("HTTP_ACCEPT", ""))
        start_response(status, list(headers.items()))
        return [answer]


@cache
def _app() -> Flask:
    """The service; its kernels are compiled, as those of a server are."""
    app = create_app()
    members = [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0]}]}, {"member_id": "b"}]
    topic = {"topic_name": "t", "partitions_count": 3}
    for more in ({}, {"partition_weights": [2, 1, 1]}, {"partition_racks": [["x"]] * 3}):
        body = {"assignor": "balanced", "topics": [topic | more], "members": [{"rack_id": "x"} | each for each in members]}
        app.test_client().post("/v1/group-assignments", json=body)
    return app


def written(rows: Rows, *, as_csv: bool) -> bytes:
    """The rows as the service writes them."""
    if as_csv:
        lines = [f'"{topic}",{partition},"{member}"' for topic, partition, member in rows]
        return "\n".join(['"topic_name","partition_id","member_id"', *lines, ""]).encode()
    of: dict[str, dict[str, list[int]]] = {}
    for topic, partition, member in rows:
        of.setdefault(member, {}).setdefault(topic, []).append(partition)
    assignments = [
        {"member_id": member, "partitions": [{"topic_name": topic, "partition_ids": ids} for topic, ids in topics.items()]}
        for member, topics in of.items()
    ]
    return json.dumps({"assignments": assignments}).encode()


@contextmanager
def advising(certificate: tuple[str, str] | None = None) -> Iterator[Adviser]:
    """A running one. certificate : the files of its certificate and key, for TLS"""
    adviser = Adviser()
    _app()
    with answering(adviser, certificate) as url:
        adviser.url = url
        try:
            yield adviser
        finally:
            adviser.over.set()


def faults(adviser: Adviser) -> dict[str, tuple[str, Callable[[Body, Rows], Any]]]:
    """What can go wrong, and the outcome that each is to have."""

    def late(_: Body, rows: Rows) -> Rows:
        adviser.over.wait(10)
        return rows

    return {
        "after ten seconds": ("timeout", late),
        "503": ("status", lambda *_: ("503 SERVICE UNAVAILABLE", {"Retry-After": "1"}, b"full")),
        "redirect": ("status", lambda *_: ("307 TEMPORARY REDIRECT", {"Location": adviser.url}, b"")),
        "nonsense": ("unreadable", lambda *_: ("200 OK", {}, b"<html>It works!</html>")),
        "cut off": ("unreadable", lambda _, rows: ("200 OK", {}, written(rows, as_csv=True)[:-4])),
        "endless": ("unreadable", lambda _, rows: ("200 OK", {}, written(rows * 500, as_csv=True))),
        "another group's partitions": ("unsound", lambda _, rows: [("theirs", i, member) for _, i, member in rows]),
        "another group's members": ("unsound", lambda _, rows: [(topic, i, "theirs") for topic, i, _ in rows]),
        "beyond the end": ("unsound", lambda _, rows: [(topic, i + 1, member) for topic, i, member in rows]),
        "a partition twice": ("unsound", lambda _, rows: [*rows, (*rows[0][:2], rows[-1][2])]),
        "a partition left out": ("unsound", lambda _, rows: rows[1:]),
        "all to one": ("worse", lambda _, rows: [(topic, i, rows[0][2]) for topic, i, _ in rows]),
    }
