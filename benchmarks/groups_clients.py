"""Partitions → group members: other clients' assignors against the libraries themselves, the assignor alone on prepared input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.harness import Row, Skipped, benchmark, seconds
from benchmarks.shapes import SCENARIOS, Shape, body_of, group_of, member_id, numbers_of, topic_names
from service.core.model import Ragged
from service.strategies import GROUP_PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides
    from tests.support.clients import Library

LIBRARIES: Final = {
    "librdkafka": ("range", "roundrobin", "cooperative-sticky"),
    "franz-go": ("range", "roundrobin", "sticky", "cooperative-sticky"),
}
SHAPES: Final = (Shape(100, 100, 100), Shape(1_000, 100, 1_000))
SLOW: Final = ("librdkafka", "cooperative-sticky")
"""The library takes half a minute for 10,000 partitions, and more than two for 100,000."""


def library(client: str) -> Library:
    """The library, as the parity run has it. Raises Skipped."""
    from tests.support.clients import CRATES, Library, NotHere, librdkafka, of_go  # noqa: PLC0415 - it builds the libraries

    try:
        return Library(of_go(client, "-gcflags=") if client == "franz-go" else librdkafka(list(CRATES)[-1], seconds=120))
    except NotHere as reason:
        raise Skipped(str(reason)) from None


def declare(client: str, name: str, shape: Shape) -> None:
    """A row per scenario; without previous assignments only the first differs."""
    size = f"{shape.members:,} members × {shape.topics * shape.partitions:,} partitions"
    slow = (client, name) == SLOW
    scenarios = SCENARIOS[: 2 if slow else 4] if name.endswith("sticky") else SCENARIOS[:1]
    rows = [Row(f"groups/{client}-{name}/{shape}/{each}", "s", 1.0, f"assign(), {size} ÷ the library's") for each in scenarios]

    @benchmark(*rows, rounds=1 if slow else 2)
    def assign(shape: Shape = shape) -> Iterator[Sides]:
        """Members own the library's fresh assignment."""
        run, asked = GROUP_PROTOCOLS["classic"][f"{client}:{name}"].run, library(client)
        try:
            answer = asked.assign(name, owning(shape, "fresh", None))
            before = _rows(shape, answer["answers"][0] if "answers" in answer else answer["assignments"])
            bodies = {each: owning(shape, each, None if each == "fresh" else before) for each in scenarios}
            groups = {each: group_of(shape, each, None if each == "fresh" else before) for each in scenarios}

            def ours() -> list[float]:
                return [seconds(run, groups[each], runs=11) for each in scenarios]

            def reference() -> list[float]:
                return [min(asked.assign(name, bodies[each])["seconds"] for _ in range(1 if slow else 3)) for each in scenarios]

            yield ours, reference
        finally:
            asked.close()


def owning(shape: Shape, scenario: str, before: Ragged | None) -> dict[str, Any]:
    """The body of a group whose members own these rows of the fresh group's partitions."""
    names, body = topic_names(shape), body_of(shape, scenario)
    for member, number in zip(body["members"], numbers_of(shape, scenario), strict=True):
        member.setdefault("topic_names", list(names))
        if before is not None and number < shape.members:
            topics, ids = np.divmod(before.row(number), shape.partitions)
            member["generation_id"] = 1
            member["owned_partitions"] = [
                {"topic_name": names[topic], "partition_ids": ids[topics == topic].tolist()} for topic in np.unique(topics)
            ]
    return body


def _rows(shape: Shape, assignments: dict[str, dict[str, list[int]]]) -> Ragged:
    """Ragged member → partitions of the fresh group."""
    first = {name: i * shape.partitions for i, name in enumerate(topic_names(shape))}
    rows = [
        sorted(first[name] + i for name, ids in assignments.get(member_id(number), {}).items() for i in ids)
        for number in range(shape.members)
    ]
    return Ragged(np.cumsum([0, *map(len, rows)]).astype(np.int32), np.array([i for row in rows for i in row], np.int32))


for _client, _names in LIBRARIES.items():
    for _name in _names:
        for _shape in SHAPES[:1] if (_client, _name) == SLOW else SHAPES:
            declare(_client, _name, _shape)
