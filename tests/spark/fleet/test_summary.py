"""The summary of ``fleet``, from the rows that executors wrote."""

from __future__ import annotations

import json
import random

import pyarrow as pa

from service.spark.fleet import summary
from service.spark.fleet.tasks import assignments


def test_the_order_of_the_rows_decides_nothing() -> None:
    """Tasks end in any order: sums of fractions, and groups that are alike, come out the same."""
    draw = random.Random(5)
    counts = {"members": 3, "warnings": [], "follow_up_rebalance": False, **dict.fromkeys(summary.SUMS, 1)}
    rows = [
        {
            **counts,
            "group_id": draw.choice([None, "a", "b"]),
            "group_protocol": "classic",
            "assignor": draw.choice(["range", "sticky"]),
            "own": True,
            "partitions": draw.randrange(100),
            "skew": draw.choice([1.0, 1.1, draw.uniform(1, 2)]),
        }
        for _ in range(200)
    ]
    failed = [{**rows[0], "skew": None, "error": "KafkaError", "detail": f"{i}"} for i in range(30)]
    wrong = [{"error": assignments.WRONG_ROW, "detail": "no body"}]
    texts = set()
    for _ in range(5):
        table = pa.Table.from_pylist(draw.sample(everything := [*rows, *failed, *wrong], len(everything)), assignments.RESULT)
        texts.add(json.dumps(summary.of_groups(table.select(summary.GROUP_COLUMNS))))
    (text,) = texts
    result, curves = json.loads(text)
    assert (result["groups"], result["wrong_rows"], sum(each["failed"] for each in result["assignors"])) == (230, 1, 30)
    assert [row["skew"] for row in result["most_skewed"]] == sorted((row["skew"] for row in rows), reverse=True)[: summary.NAMED]
    assert curves["classic:range"][-1] == max(row["skew"] for row in rows if row["assignor"] == "range")
