"""``detail=full``: figures that few need are in an answer only then, in every place, and in the contract they are optional."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import partition_allocator as library
from service.cli import main

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


def test_the_library_and_the_command_line_have_them_too():
    body, details = QUESTIONS["/v1/group-assignments"]
    short, full = (library.assign(**body, **more) for more in ({}, {"detail": "full"}))
    assert names(full) - names(short) == details
    command = ["assign", "--topic", "t:3", "--members", "a,b", "--compare", "consumer"]
    short, full = (json.loads(CliRunner().invoke(main, [*command, *more]).stdout) for more in ((), ("--detail", "full")))
    assert names(full) - names(short) == details
    refused = CliRunner().invoke(main, [*command, "--detail", "full", "--output", "csv"])
    assert (refused.exit_code, "--detail is for --output json, not csv." in refused.stderr) == (2, True)


def test_a_simulation_with_all_details_has_its_assignments():
    answer = library.rebalances({"t": 3}, 2, detail="full")
    assert (answer["detail"], "assignments" in answer["rebalances"][0]) == ("assignments", True)
    command = ["rebalances", "--topic", "t:3", "--members", "2", "--scale", "3", "--detail", "full"]
    assert json.loads(CliRunner().invoke(main, command).stdout)["detail"] == "assignments"
