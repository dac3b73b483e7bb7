"""From a group's rows and the lag of its partitions to a request."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from service.pipeline.spark.tasks.group_requests import weighted_by_lag


@pytest.mark.parametrize(
    ("assignor", "asked"),
    [("sticky", "sticky"), ("partition-allocator", "partition-allocator"), ("house-rules", None), (None, None)],
)
def test_a_request_names_the_groups_own_assignor_where_the_service_knows_it(assignor: str | None, asked: str | None) -> None:
    """By whichever of its names: groups that ask the service call its ``balanced`` otherwise."""
    lags = pa.table({"topic": ["t", "t"], "partition": [0, 1], "partitions_count": [2, 2], "weight": [5.0, None]})
    members = pa.Table.from_pylist(
        [
            {
                "group": "g",
                "protocol": "classic",
                "assignor": assignor,
                "empty": False,
                "subscribed": ["t"],
                "members": json.dumps([{"member_id": "a"}]),
                "member_id": None,
                "topic": None,
                "partition": None,
            },
            {"group": "g", "member_id": "a", "topic": "t", "partition": 1},
        ]
    )
    (question,) = weighted_by_lag(lags, members)["question"].to_pylist()
    assert json.loads(question) == {
        "group_protocol": "classic",
        "assignor": asked,
        "group_id": "g",
        "topics": [{"topic_name": "t", "partitions_count": 2, "partition_weights": [5.0, 0.0]}],
        "members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [1]}]}],
    }
