"""Partitions → group members over HTTP: a million partitions, all owned before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from benchmarks.groups import SUBJECTS, Subject
from benchmarks.harness import Row, benchmark, seconds
from benchmarks.servers import post, post_seconds, serving
from benchmarks.shapes import Shape, body_of, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

JSON = "application/json"
PATH = "/v1/group-assignments"


def owned_body(subject: Subject, shape: Shape, port: int) -> dict[str, Any]:
    """A request whose members own what the assignor assigned to them before, by the service on ``port``."""
    body = {"group_protocol": subject.protocol, "assignor": subject.name, **body_of(shape)}
    before = orjson.loads(post(port, PATH, orjson.dumps(body), JSON))["assignments"]
    for member, assignment in zip(body["members"], before, strict=True):
        member["generation_id"] = 1
        member["owned_partitions"] = assignment["partitions"]
    return body


def declare(subject: Subject) -> None:
    """One row per assignor."""
    what = "the whole request, 2,000 × 1,000,000, all owned before ÷ orjson on both bodies + assign(group)"

    @benchmark(Row(f"groups/{subject}/http", "s", 3.0, what), rounds=3)
    def http(shape: Shape = Shape(2_000, 1_000, 1_000)) -> Iterator[Sides]:  # noqa: B008 - it is frozen
        """Members own what the same assignor assigned before: a million owned partitions in, a million assigned out."""
        fresh = group_of(shape)
        group = group_of(shape, "again", subject.run(fresh).rows)
        with serving("service", "serve") as port:
            asked = orjson.dumps(owned_body(subject, shape, port))
            answer = orjson.loads(post(port, PATH, asked, JSON))

            def reference() -> list[float]:
                parts = (orjson.loads, asked), (orjson.dumps, answer), (subject.run, group)
                return [sum(seconds(work, argument, runs=3) for work, argument in parts)]

            yield lambda: [post_seconds(port, PATH, asked, JSON, runs=3)], reference


for _subject in SUBJECTS:
    declare(_subject)
