"""``reassign``: the plan of the service, from tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.core.errors import AllocatorError
from service.parameters import TOPIC_LEADERS
from service.pipeline.analyses import reassign as outcomes
from service.pipeline.files.rejected import WrongTable
from service.pipeline.spark import reassign as job
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flask.testing import FlaskClient

    from service.pipeline.analyses.results import Outcome
    from service.pipeline.spark.io.sinks import Pipeline

BROKERS = "broker_id,rack_id,draining\n0,a,\n1,b,\n2,b,\n3,a,\n7,b,true\n"
ROWS = {"orders": [[7, 0], [0, 7], [0, 1]], "payments": [[3, 7], [1, 3]]}
TOPICS = [
    {
        "topic_name": topic,
        "placements": [{"partition_id": i, "replicas": row} for i, row in enumerate(rows)],
        "partition_bytes": [100 * (i + 1) for i in range(len(rows))],
    }
    for topic, rows in ROWS.items()
]
OPTIONS: dict[str, Any] = {
    "excluded_topics": (), "replication_factor": None, "objective": "even", "racks": "strict", "leaders": "balance",
    "balance": "replicas", "moves_per_broker": 1, "moves_per_batch": None, "bytes_in_flight": None,
    "throttle_bytes_per_second": 100, "throttle_utilization": 0.8, "batch_seconds": 2.0,
}  # fmt: skip


def planned(pipeline: Pipeline, placements: str, brokers: str, **options: Any) -> Outcome:
    return job.run(pipeline, placements=Source.parse(placements, {}), brokers=Source.parse(brokers, {}), **(OPTIONS | options))


def targets(rows: list[dict[str, Any]]) -> dict[tuple[str, int], list[int]]:
    return {(row["topic"], row["partition"]): row["replicas"] for row in rows}


@pytest.fixture
def placements(tmp_path: Path) -> str:
    rows = [
        {"topic_name": topic, "partition_id": i, "replicas": row, "partition_bytes": 100 * (i + 1)}
        for topic, lists in reversed(ROWS.items())
        for i, row in enumerate(lists)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "placements.parquet")
    return str(tmp_path / "placements.parquet")


def test_a_table_gets_the_services_plan(
    pipeline: Pipeline, client: FlaskClient, placements: str, write: Callable[[str, str], str]
) -> None:
    outcome = planned(pipeline, placements, write("brokers.csv", BROKERS))
    body = {
        "objective": "even",
        "brokers": [
            {"broker_id": b, "rack_id": rack, "draining": b == 7} for b, rack in zip((0, 1, 2, 3, 7), "abbab", strict=True)
        ],
        "topics": TOPICS,
        "limits": {"moves_per_broker": 1, "throttle_bytes_per_second": 100},
    }
    answer = client.post("/v1/reassignments", json=body).json
    assert outcome.summary["moves"] == answer["moves"]
    assert targets(outcome.tables[outcomes.REASSIGNMENT].to_pylist()) == targets(answer["reassignment"]["partitions"])
    assert [(row["moves"], row["bytes"], row["duration_seconds"]) for row in outcome.tables[outcomes.STEPS].to_pylist()] == [
        (batch["moves"], batch["bytes"], batch["duration_seconds"]) for batch in answer["batches"]
    ]
    assert outcome.summary["effects"] == answer["effects"]
    assert (outcome.summary["pace"], outcome.summary["duration_seconds"]) == (answer["pace"], answer["duration_seconds"])
    assert outcome.summary["before"]["replicas"]["skew"] == answer["before"]["broker_load"]["replicas"]["skew"]
    assert outcome.summary["after"]["zone_traffic"] == answer["after"]["zone_traffic"]
    assert len(outcome.tables[outcomes.MOVES]) == len(answer["reasons"])
    assert outcome.summary["after"]["replicas"]["counts"].tolist() == answer["after"]["broker_load"]["replicas"]["counts"]


def test_the_page_names_brokers_and_batches_and_begins_with_what_the_plan_does(
    pipeline: Pipeline, placements: str, write: Callable[[str, str], str]
) -> None:
    outcome = planned(pipeline, placements, write("brokers.csv", BROKERS), objective="fewest-moves")
    assert outcome.report.verdict == (
        "Empties broker 7 with 3 copies, the fewest possible: its 3 replicas of the 2 topics given leave."
    )
    page = outcome.report.html()
    assert "No replica changes its rack" in page
    axis = page[page.index("<svg") : page.index("</svg>")]
    assert [re.search(rf">{broker}</text>", axis) is not None for broker in (0, 1, 2, 3, 7)] == [True] * 5
    batches = page[page.index(">Batches<") :]
    for row in outcome.tables[outcomes.STEPS].to_pylist():
        assert f"{row['bytes']} B" in batches
        assert f"{row['duration_seconds']:.1f} s" in batches


def test_replicas_may_be_text(pipeline: Pipeline, write: Callable[[str, str], str]) -> None:
    text = 'topic_name,partition_id,replicas\nt,0,"[7, 0]"\nt,1,"0,1"\n'
    outcome = planned(pipeline, write("placements.csv", text), write("brokers.csv", BROKERS), throttle_bytes_per_second=None)
    assert outcome.summary["moves"]["bytes"] is None
    assert outcome.tables[outcomes.REASSIGNMENT].column("current_replicas").to_pylist()[0] == [7, 0]


@pytest.mark.parametrize(
    ("text", "brokers", "message"),
    [
        ("topic_name,partition_id\nt,0\n", BROKERS, "replicas"),
        (
            'topic_name,partition_id,replicas\nt,0,"1"\nt,x,"1"\n',
            BROKERS,
            "partition_id of row 2 is 'x', which is not of type int32",
        ),
        ('topic_name,partition_id,replicas\nt,0,"1"\nt,,"1"\n', BROKERS, "partition_id of row 2 is missing"),
        ('topic_name,partition_id,replicas\nt,0,"1, b"\n', BROKERS, r"replicas of row 1 is '1, b', which is not of type list"),
        ('topic_name,partition_id,replicas\nt,0,"1"\n', BROKERS + "4,a,maybe\n", "draining of row 6 is 'maybe', .* type bool"),
        ('topic_name,partition_id,replicas\nt,0,"1"\n', BROKERS + "5000000000,a,\n", "broker_id of row 6 is '5000000000'"),
        ('topic_name,partition_id,replicas\nt,0,"1"\n', BROKERS + "4\n", r"brokers\.csv: Not readable as a record: 4$"),
        ('topic_name,partition_id,replicas\nt,0,"1,1"\n', BROKERS, "Duplicate broker 1."),
        ('topic_name,partition_id,replicas\nt,0,"1"\n', BROKERS + "1,a,\n", "Duplicate broker_id 1."),
        (
            'topic_name,partition_id,replicas\nt,0,"1"\n',
            BROKERS,
            "Column partition_bytes is required for --balance bytes, thr",
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_named(
    pipeline: Pipeline, write: Callable[[str, str], str], text: str, brokers: str, message: str
) -> None:
    with pytest.raises((WrongSource, WrongTable), match=message):
        planned(pipeline, write("placements.csv", text), write("brokers.csv", brokers))


PLACED = {"topic_name": ["t", "t", "s"], "partition_id": [0, 1, 0], "replicas": [[0], [1], [0]], "partition_bytes": [5, 6, 7]}


@pytest.mark.parametrize(
    ("placements", "brokers", "message"),
    [
        ({"partition_bytes": [5, None, None]}, {}, "placements.csv: partition_bytes of row 2 is missing."),
        ({"partition_bytes": [5, 6, -7]}, {}, "placements.csv: partition_bytes of row 3 is -7; it must not be negative."),
        (
            {"replicas": [[0], [], [0]]},
            {},
            "placements.csv: Topic 't' must have a name .*, a replica of each partition, and sizes",
        ),
        ({name: values[:0] for name, values in PLACED.items()}, {}, "placements.csv: There are no records."),
        ({}, {"broker_id": [], "weight": []}, "brokers.csv: There are no records."),
        ({}, {"broker_id": [0, None]}, "brokers.csv: broker_id of row 2 is missing."),
        ({}, {"weight": [1.0, -1.0]}, "brokers.csv: Row 2 must have a positive weight, limits from 0 "),
    ],
)
def test_a_row_that_no_plan_can_have_is_named(placements: dict, brokers: dict, message: str) -> None:
    kinds = pa.schema([*outcomes.PLACED.items(), ("partition_bytes", pa.int64())])
    placed = pa.table({**PLACED, **placements}, kinds)
    kinds_of_brokers = pa.schema({"broker_id": pa.int32(), "weight": pa.float64()})
    cluster = pa.table({"broker_id": [0, 1], "weight": [1.0, 2.0], **brokers}, kinds_of_brokers)
    with pytest.raises(WrongTable, match=message):
        outcomes.reassign(("placements.csv", placed), ("brokers.csv", cluster), objective="even")


def test_what_cannot_be_fails_with_the_clash(pipeline: Pipeline, placements: str, write: Callable[[str, str], str]) -> None:
    with pytest.raises(AllocatorError, match="Replication factor 5 makes 25 replicas for 4 usable brokers"):
        planned(pipeline, placements, write("brokers.csv", BROKERS), replication_factor=5)


def test_leaders_of_each_topic_and_brokers_that_replace_others(
    pipeline: Pipeline, client: FlaskClient, placements: str, write: Callable[[str, str], str]
) -> None:
    """Broker 7 is gone, and broker 4 is new."""
    brokers = [{"broker_id": b, "rack_id": rack} for b, rack in zip((0, 1, 3, 4), "abac", strict=True)]
    table = "broker_id,rack_id\n" + "".join(f"{b['broker_id']},{b['rack_id']}\n" for b in brokers)
    rules = (TOPIC_LEADERS.convert(text, None, None) for text in ("*=1:0", "orders=1:1"))
    options = {"objective": "fewest-moves", "topic_leaders": tuple(rules), "infer_replaces": True}
    outcome = planned(pipeline, placements, write("brokers.csv", table), throttle_bytes_per_second=None, **options)
    body = {
        "brokers": brokers,
        "topics": TOPICS,
        "min_topic_leaders": [
            {"topics": topic, "leaders": 1, "broker_ids": [broker]} for topic, broker in (("*", 0), ("orders", 1))
        ],
        "infer_replaces": True,
        "limits": {"moves_per_broker": 1},
    }
    answer = client.post("/v1/reassignments", json=body).json
    assert outcome.summary["inferred_replaces"] == answer["inferred_replaces"]
    assert outcome.summary["warnings"] == answer["warnings"]
    assert outcome.summary["moves"] == answer["moves"]
    assert targets(outcome.tables[outcomes.REASSIGNMENT].to_pylist()) == targets(answer["reassignment"]["partitions"])
    assert answer["inferred_replaces"] == [{"broker_id": 4, "replaces": 7}]


def test_topics_by_themselves_replicas_in_sync_and_a_time_for_all_batches(
    pipeline: Pipeline, client: FlaskClient, placements: str, write: Callable[[str, str], str]
) -> None:
    options = {"per_topic": True, "min_insync_replicas": 1, "duration_seconds": 9, "throttle_bytes_per_second": 10}
    outcome = planned(pipeline, placements, write("brokers.csv", BROKERS), **options)
    body = {
        "objective": "even",
        "per_topic": True,
        "min_insync_replicas": 1,
        "brokers": [
            {"broker_id": b, "rack_id": rack, "draining": b == 7} for b, rack in zip((0, 1, 2, 3, 7), "abbab", strict=True)
        ],
        "topics": TOPICS,
        "limits": {"moves_per_broker": 1, "duration_seconds": 9, "throttle_bytes_per_second": 10},
    }
    answer = client.post("/v1/reassignments", json=body).json
    assert targets(outcome.tables[outcomes.REASSIGNMENT].to_pylist()) == targets(answer["reassignment"]["partitions"])
    for name in ("throttle_bytes_per_second", "throttle_needed_bytes_per_second", "duration_seconds"):
        assert outcome.summary[name] == answer[name]
    assert answer["throttle_needed_bytes_per_second"] > 10
    with pytest.raises(AllocatorError, match="in sync"):
        planned(pipeline, placements, write("brokers.csv", BROKERS), replication_factor=1, min_insync_replicas=2)


def test_the_frontier_is_a_table_and_a_section(pipeline: Pipeline, placements: str, write: Callable[[str, str], str]) -> None:
    brokers = write("brokers.csv", BROKERS)
    outcome = planned(pipeline, placements, brokers, objective=None, max_moves=4, frontier=True)
    points = outcome.tables["frontier.parquet"]
    assert points.column_names == ["copies", "bytes", "spread", "stddev", "proven"]
    assert outcome.summary["moves"]["replicas"] in points.column("copies").to_pylist()
    assert "Copies against evenness" in outcome.report.html()
    assert planned(pipeline, placements, brokers, objective=None).summary["objective"] == "fewest-moves"
