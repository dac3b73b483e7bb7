"""What the summary of ``fleet`` holds for the service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from service.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from flask.testing import FlaskClient

TOPICS = [{"topic_name": f"t{i}", "partitions_count": 1} for i in range(4)]
MEMBERS = [{"member_id": "a", "topic_names": ["t0", "t1", "t2", "t3"]}, {"member_id": "b", "owned_partitions": []}]
GROUPS: list[dict[str, Any]] = [
    {"group_id": "uneven", "assignor": "range", "topics": TOPICS, "members": MEMBERS},
    {"group_id": "worse", "assignor": "range", "topics": TOPICS, "members": [*MEMBERS, {"member_id": "c"}]},
    {"group_id": "even", "assignor": "sticky", "topics": TOPICS, "members": MEMBERS},
    {"assignor": "range", "topics": TOPICS, "members": MEMBERS},
]


@pytest.mark.slow
@pytest.mark.parametrize("body_column", [None, "body"])
@pytest.mark.usefixtures("spark")
def test_groups_that_another_assignor_evens_out_are_named_with_their_requests(
    client: FlaskClient, tmp_path: Path, body_column: str | None
) -> None:
    """As rows and as JSON: each body is the group's own with the assignor that is more even, those that gain most first."""
    if body_column is None:
        source = tmp_path / "groups.jsonl"
        source.write_text("".join(json.dumps(group) + "\n" for group in GROUPS))
        more = []
    else:
        source = tmp_path / "groups.parquet"
        pq.write_table(pa.table({body_column: [json.dumps(group) for group in GROUPS]}), source)
        more = ["--body-column", body_column]
    command = ["pipeline", "fleet", str(source), "--assignor", "roundrobin", *more, "--into", str(tmp_path / "out")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    questions = json.loads((tmp_path / "out" / "summary.json").read_text())["groups"]["group_assignments"]
    assert [question["group_id"] for question in questions] == ["worse", "uneven"]
    for question, skew in zip(questions, (1.5, 1.0), strict=True):
        own = next(group for group in GROUPS if group.get("group_id") == question["group_id"])
        assert question == {**own, "group_protocol": "classic", "assignor": "roundrobin"}
        answer = client.post("/v1/group-assignments", json=question)
        assert answer.status_code == 200, answer.text
        assert answer.json["member_load"]["skew"] == skew
