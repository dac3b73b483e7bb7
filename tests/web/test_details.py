"""``detail=full``: figures that few need are in an answer only then, in every place, and in the contract they are optional."""

from __future__ import annotations

import pytest

GROUP = {
    "topics": [{"topic_name": "t", "partitions_count": 3}],
    "members": [{"member_id": "a"}, {"member_id": "b"}],
    "compare": [{"group_protocol": "consumer"}],
}
KEYS = {"partitions_counts": [2, 3], "keys": ["a", "b", "c"]}
QUESTIONS = {
    "/v1/group-assignments": (GROUP, {"stddev"}),
    "/v1/partition-count-plans": (KEYS, {"stddev", "gini", "relative_error", "method"}),
    "/v1/partitioner-fingerprints": (
        {"partitions_count": 6, "observations": [{"key": "order-1", "partition_id": 4}, {"key": "order-2", "partition_id": 3}]},
        {"log10_chance", "chance_of_any"},
    ),
    "/v1/keyless-distributions": ({"partitions_count": 3}, {"stddev"}),
}


def names(value: object) -> set[str]:
    """Those of all members of a document."""
    if isinstance(value, dict):
        return set(value).union(*map(names, value.values()))
    return set().union(*map(names, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("path", QUESTIONS)
def test_details_are_left_out_unless_asked_for(client, path):
    body, details = QUESTIONS[path]
    short, full = (client.post(f"{path}{query}", json=body).json for query in ("", "?detail=full"))
    assert names(full) - names(short) == details
    assert not names(short) & details


def test_another_value_is_refused(client):
    refused = client.get("/v1/partitions?key=a&partitions_count=3&detail=more")
    assert (refused.status_code, refused.json["errors"][0]["detail"]) == (422, "Must be full.")
    assert "stddev" in client.get("/v1/partitions?key=a&partitions_count=3&detail=full").json["distribution"]
