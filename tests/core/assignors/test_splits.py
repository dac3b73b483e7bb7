"""Readers that form no group: Flink's, Spark's and MirrorMaker's own code on a JVM, and what Beam and Druid are known to do."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from service.core.assignors import GROUP_PROTOCOLS
from service.core.errors import InvalidQuestion
from tests.support.groups import group_of, named
from tests.support.parity import Assignors

if TYPE_CHECKING:
    from collections.abc import Iterator

FLINK = ("flink-core", "flink-core-api", "flink-annotations", "flink-connector-base")
MIRROR = ("connect-mirror", "connect-mirror-client", "connect-api", "connect-runtime", "connect-json", "connect-transforms")
JARS = (
    "org.apache.flink:flink-connector-kafka:3.4.0-1.20",
    *(f"org.apache.flink:{name}:1.20.1" for name in FLINK),
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    *(f"org.apache.kafka:{name}:4.3.1" for name in (*MIRROR, "kafka-clients")),
)
REAL = ("flink:kafka-source", "spark:kafka-source", "mirror-maker:source")

Body = dict[str, Any]


def drawn(random: Random) -> Body:
    """Topics in the order of their names, and readers."""
    names = sorted(
        {f"{random.choice(('orders', 'été-', 'a.b-', 'Z'))}{random.randint(0, 999)}" for _ in range(random.randint(1, 9))}
    )
    topics = [{"topic_name": name, "partitions_count": random.randint(1, 12)} for name in names]
    return {"topics": topics, "members": [{"member_id": f"r{i}"} for i in range(random.randint(1, 9))]}


def owners(name: str, body: Body) -> dict[str, int]:
    """The reader of each partition, as the JVM's program names them."""
    group = group_of(body)
    rows = named(group, GROUP_PROTOCOLS["splits"][name].run(group).rows)
    return {f"{topic}-{i}": int(member[1:]) for member, partitions in rows.items() for topic, i in partitions}


@pytest.fixture(scope="module")
def program() -> Iterator[Assignors]:
    """The readers' own code."""
    program = Assignors("Splits.java", *JARS)
    yield program
    program.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_the_real_code(name: str, program: Assignors) -> None:
    """Random topics and readers; MirrorMaker's only where no two topics share a slot of its HashMap."""
    random, compared = Random(5), 0
    for _ in range(60):
        body = drawn(random)
        assignor = GROUP_PROTOCOLS["splits"][name]
        if name.startswith("mirror") and assignor.warnings is not None and assignor.warnings(group_of(body)):
            continue
        assert owners(name, body) == program.assign(name.partition(":")[0], body)["owners"], body
        compared += 1
    assert compared > 15


def test_beam() -> None:
    """By topic and number in turn; more splits than partitions leave some without."""
    topics = [{"topic_name": name, "partitions_count": 2} for name in "ba"]
    body = {"topics": topics, "members": [{"member_id": f"r{i}"} for i in range(5)]}
    assert owners("beam:kafka-io", body) == {"a-0": 0, "a-1": 1, "b-0": 2, "b-1": 3}


def test_druid() -> None:
    """One topic by the number of the partition; of several, |31 × hash + partition|: "a" has 97, "b" 98."""
    members = [{"member_id": f"r{i}"} for i in range(4)]
    topics = [{"topic_name": name, "partitions_count": 2} for name in "ab"]
    assert owners("druid:kafka", {"topics": topics[:1], "members": members}) == {"a-0": 0, "a-1": 1}
    assert owners("druid:kafka", {"topics": topics, "members": members}) == {"a-0": 3, "a-1": 0, "b-0": 2, "b-1": 3}


def test_all_readers_read_everything() -> None:
    """A reader of some topics only is none; without readers nobody reads."""
    topics = [{"topic_name": name, "partitions_count": 2} for name in "ab"]
    for assignor in GROUP_PROTOCOLS["splits"]:
        with pytest.raises(InvalidQuestion, match="leave out topic_names"):
            assignor.run(group_of({"topics": topics, "members": [{"member_id": "r0", "topic_names": ["a"]}]}))
        assert len(assignor.run(group_of({"topics": topics, "members": []})).rows.values) == 0
