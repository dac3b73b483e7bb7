"""Readers that form no group, beside their own code on a JVM."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.find_spark_home import _find_spark_home

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.decisions.groups.answer import answer
from service.decisions.groups.question import of_rows
from service.decisions.groups.tables import ranges_table
from service.strategies import GROUP_PROTOCOLS
from tests.support.groups import group_of, named
from tests.support.parity import Assignors

if TYPE_CHECKING:
    from collections.abc import Iterator

FLINK = ("flink-core", "flink-core-api", "flink-annotations", "flink-connector-base")
MIRROR = ("connect-mirror", "connect-mirror-client", "connect-api", "connect-runtime", "connect-json", "connect-transforms")
BEAM = ("sdks-java-io-kafka", "sdks-java-core", "sdks-java-extensions-avro", "model-pipeline")
JARS = (
    "org.apache.flink:flink-connector-kafka:3.4.0-1.20",
    *(f"org.apache.flink:{name}:1.20.1" for name in FLINK),
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    *(f"org.apache.kafka:{name}:4.3.1" for name in (*MIRROR, "kafka-clients")),
    *(f"org.apache.beam:beam-{name}:2.69.0" for name in BEAM),
    "org.apache.beam:beam-vendor-grpc-1_69_0:0.1",
    "org.apache.beam:beam-vendor-guava-32_1_2-jre:0.1",
    *(f"org.apache.druid:druid-{name}:33.0.0" for name in ("indexing-service", "processing", "server")),
    "org.apache.druid.extensions:druid-kafka-indexing-service:33.0.0",
    "it.unimi.dsi:fastutil-core:8.5.4",
    "org.apache.maven:maven-artifact:3.6.0",
)
REAL = ("flink:kafka-source", "spark:kafka-source", "druid:kafka", "mirror-maker:source")

LEAST = "polygenelubricants"
"""Its hash code is the least integer, and so is that times 31."""

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
    """The readers' own code, Spark's included."""
    program = Assignors("Splits.java", *JARS, more_classes=f"{_find_spark_home()}/jars/*")
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


def of_spark(body: Body) -> tuple[dict[str, int], list[list[Any]]]:
    """The executor that each partition prefers, and the ranges, as the JVM's program names them."""
    fields = ("min_partitions", "max_records_per_partition")
    options = {"group_protocol": "splits", "assignor": "spark:kafka-source", **{name: body.get(name) for name in fields}}
    first = answer(of_rows(body["topics"], body["members"], **options), Budget()).first
    rows = named(first.group, first.rows)
    preferred = {f"{topic}-{i}": int(member[1:]) for member, partitions in rows.items() for topic, i in partitions}
    columns = ranges_table(first.group, first.outcome.assignment.ranges, first.outcome.owners).to_pydict()
    return preferred, [[f"{topic}-{i}", start, end] for topic, i, start, end, _ in zip(*columns.values(), strict=True)]


@st.composite
def batches(draw: st.DrawFn) -> Body:
    """Topics with a batch of records, few or as many as can be, and Spark's options."""
    topics = []
    for name in draw(st.lists(st.sampled_from(("a", "b", "orders", "été")), min_size=1, max_size=3, unique=True)):
        sizes = draw(st.lists(st.integers(-3, 40) | st.integers(0, 2 ** draw(st.integers(1, 58))), min_size=1, max_size=6))
        starts = [draw(st.integers(3, 1000)) for _ in sizes]
        ends = [start + size for start, size in zip(starts, sizes, strict=True)]
        lag = {"committed_offsets": starts, "log_end_offsets": ends}
        topics.append({"topic_name": name, "partitions_count": len(sizes), "lag": lag})
    body: Body = {"topics": topics, "members": [{"member_id": f"r{i}"} for i in range(draw(st.integers(0, 4)))]}
    if draw(st.booleans()):
        body["min_partitions"] = draw(st.integers(1, 60))
    if draw(st.booleans()):
        largest = max(end - start for topic in topics for start, end in zip(*topic["lag"].values(), strict=True))
        body["max_records_per_partition"] = draw(st.integers(max(1, largest // 100), max(1, largest + 1)))
    return body


@pytest.mark.slow
@given(body=batches())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spark_divides_as_its_own_code_does(body: Body, program: Assignors) -> None:
    """Ranges and preferred executors, with minPartitions and maxRecordsPerPartition, near the largest offsets too."""
    theirs = program.assign("spark", body)
    assert of_spark(body) == (theirs["owners"], sorted(theirs["ranges"], key=in_order))


def in_order(row: list[Any]) -> tuple[str, int, int]:
    """By topic, partition and offset."""
    topic, _, partition = row[0].rpartition("-")
    return topic, int(partition), row[1]


@pytest.mark.slow
def test_beams_own_code(program: Assignors) -> None:
    """Beam's splits, where there are as many as members or fewer; else the number of splits is in the error."""
    random = Random(6)
    for _ in range(60):
        body = drawn(random)
        splits = program.assign("beam", body)["splits"]
        if len(splits) <= len(body["members"]):
            expected = {partition: i for i, partitions in enumerate(splits) for partition in partitions}
            assert owners("beam:kafka-io", body) == expected, body
        else:
            with pytest.raises(InvalidQuestion, match=f"Beam makes {len(splits)} splits"):
                owners("beam:kafka-io", body)


def test_beam() -> None:
    """By topic and number in turn; more splits than partitions leave some without."""
    topics = [{"topic_name": name, "partitions_count": 2} for name in "ba"]
    body = {"topics": topics, "members": [{"member_id": f"r{i}"} for i in range(5)]}
    assert owners("beam:kafka-io", body) == {"a-0": 0, "a-1": 1, "b-0": 2, "b-1": 3}
    with pytest.raises(InvalidQuestion, match="Beam makes 4 splits where 3 are wanted"):
        owners("beam:kafka-io", {**body, "members": body["members"][:3]})


def test_druid() -> None:
    """One topic by the number of the partition; of several, |31 × hash + partition|: "a" has 97, "b" 98."""
    members = [{"member_id": f"r{i}"} for i in range(4)]
    topics = [{"topic_name": name, "partitions_count": 2} for name in "ab"]
    assert owners("druid:kafka", {"topics": topics[:1], "members": members}) == {"a-0": 0, "a-1": 1}
    assert owners("druid:kafka", {"topics": topics, "members": members}) == {"a-0": 3, "a-1": 0, "b-0": 2, "b-1": 3}
    least = [{"topic_name": name, "partitions_count": 1} for name in ("b", LEAST)]
    assert owners("druid:kafka", {"topics": least, "members": members})[f"{LEAST}-0"] == 0
    with pytest.raises(InvalidQuestion, match="negative number"):
        owners("druid:kafka", {"topics": least, "members": members[:3]})


def test_all_readers_read_everything() -> None:
    """A reader of some topics only is none; without readers nobody reads."""
    topics = [{"topic_name": name, "partitions_count": 2} for name in "ab"]
    for assignor in GROUP_PROTOCOLS["splits"]:
        with pytest.raises(InvalidQuestion, match="leave out topic_names"):
            assignor.run(group_of({"topics": topics, "members": [{"member_id": "r0", "topic_names": ["a"]}]}))
        assert len(assignor.run(group_of({"topics": topics, "members": []})).rows.values) == 0
