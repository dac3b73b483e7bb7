"""Partitions → group members: one million partitions over two thousand members."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from benchmarks import jvm
from benchmarks.harness import Row, benchmark, seconds
from benchmarks.servers import post, post_seconds, serving
from service.core.assignors import GROUP_PROTOCOLS
from service.core.model import NONE, Group, Ragged, Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

JSON = "application/json"
PATH = "/v1/group-assignments"
CLASSIC = GROUP_PROTOCOLS["classic"]
ASSIGNORS = ("range", "roundrobin")


def member_names(members: int) -> tuple[str, ...]:
    """Ids as Kafka's consumers have them: ``consumer-orders-17-`` and a random UUID."""
    random_ = random.Random(1)
    return tuple(f"consumer-orders-{i + 1}-{uuid.UUID(int=random_.getrandbits(128), version=4)}" for i in range(members))


def topic_names(topics: int) -> tuple[str, ...]:
    """``topic-0000`` … in their order."""
    return tuple(f"topic-{i:04d}" for i in range(topics))


def fresh_group(members: int, topics: int, partitions: int) -> Group:
    """Every member subscribes to every topic and owns nothing."""
    first = np.arange(0, (topics + 1) * partitions, partitions, dtype=np.int32)
    subscribed = np.tile(np.arange(topics, dtype=np.int32), members)
    return Group(
        topics=Topics(names=topic_names(topics), first=first, racks=None, ids=(None,) * topics),
        member_ids=member_names(members),
        instance_ids=(None,) * members,
        rack_ids=(),
        racks=np.full(members, NONE, np.int32),
        subscriptions=Ragged(np.arange(0, len(subscribed) + 1, topics, dtype=np.int32), subscribed),
        generations=np.full(members, -1, np.int32),
        owned=Ragged(np.zeros(members + 1, np.int32), np.empty(0, np.int32)),
        unknown_topic_names=(),
        unknown_partitions=np.empty((0, 2), np.int32),
    )


def fresh_body(assignor: str, members: int, topics: int, partitions: int) -> dict[str, Any]:
    """The same group as a request; members that name no topics subscribe to all."""
    return {
        "group_protocol": "classic",
        "assignor": assignor,
        "topics": [{"topic_name": name, "partitions_count": partitions} for name in topic_names(topics)],
        "members": [{"member_id": name} for name in member_names(members)],
    }


@benchmark(
    *(
        Row(
            f"groups/{name}",
            "s",
            1.0,
            "assign(group) on prepared input, 1,000,000 partitions × 2,000 members ÷ the JVM's assign()",
        )
        for name in ASSIGNORS
    ),
    rounds=2,
)
def assign(members: int = 2_000, topics: int = 1_000, partitions: int = 1_000) -> Iterator[Sides]:
    """1,000 topics of 1,000 partitions, to all of which every member subscribes, from nothing."""
    jvm.require()
    group = fresh_group(members, topics, partitions)

    def ours() -> list[float]:
        return [seconds(CLASSIC[name].run, group, runs=11) for name in ASSIGNORS]

    def reference() -> list[float]:
        shape = (str(members), str(topics), str(partitions), "homogeneous", "fresh")
        runs = [jvm.times("time-groups.sh", f"classic-{name}", *shape, wanted=({},)) for name in ASSIGNORS]
        return [lines[0]["median_ms"] / 1000 for lines in runs]

    yield ours, reference


@benchmark(
    *(
        Row(
            f"groups/{name}-http",
            "s",
            3.0,
            "the whole request, every partition owned before ÷ orjson on both bodies + assign(group)",
        )
        for name in ASSIGNORS
    ),
    rounds=3,
)
def http(members: int = 2_000, topics: int = 1_000, partitions: int = 1_000) -> Iterator[Sides]:
    """Each member comes with what the same assignor gave it before: a million owned partitions in, a million assigned out."""
    group = fresh_group(members, topics, partitions)
    with serving("service", "serve") as port:
        asked: list[bytes] = []
        answered: list[Any] = []
        for name in ASSIGNORS:
            body = fresh_body(name, members, topics, partitions)
            before = orjson.loads(post(port, PATH, orjson.dumps(body), JSON))["assignments"]
            for member, assignment in zip(body["members"], before, strict=True):
                member["generation_id"] = 1
                member["owned_partitions"] = assignment["partitions"]
            asked.append(orjson.dumps(body))
            answered.append(orjson.loads(post(port, PATH, asked[-1], JSON)))

        def ours() -> list[float]:
            return [post_seconds(port, PATH, body, JSON, runs=3) for body in asked]

        def reference() -> list[float]:
            return [
                seconds(orjson.loads, body, runs=3) + seconds(orjson.dumps, answer, runs=3) + seconds(CLASSIC[name].run, group)
                for name, body, answer in zip(ASSIGNORS, asked, answered, strict=True)
            ]

        yield ours, reference
