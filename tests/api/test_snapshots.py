"""What a snapshot lists can be sent as it is to the endpoints that take brokers and topics of a cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.support.golden import PROJECT

if TYPE_CHECKING:
    from flask.testing import FlaskClient

SNAPSHOT: Final = json.loads((PROJECT / "tests/vectors/snapshots/three-brokers.json").read_text())
"""Of three brokers with three disks each, with ``--interval``; without groups."""

BROKERS, TOPICS = SNAPSHOT["brokers"], SNAPSHOT["topics"]
CLUSTER = {"brokers": BROKERS, "topics": TOPICS}
MEMBERS = [{"member_id": name, "topic_names": [topic["topic_name"] for topic in TOPICS]} for name in ("a", "b")]
CRASH = {"at_ms": 1000, "type": "member_crashes", "member_id": "a"}
FULL = {"partition_bytes", "log_start_offsets", "records_per_second", "bytes_per_second", "topic_id", "internal"}

BODIES: Final[dict[str, dict[str, Any]]] = {
    "/v1/reassignments": CLUSTER,
    "/v1/reassignments:lint": {**CLUSTER, "reassignment": {"partitions": []}},
    "/v1/placement-checks": CLUSTER,
    "/v1/log-dir-plans": {"brokers": SNAPSHOT["log_dirs"], "topics": TOPICS},
    "/v1/replica-placements": {"brokers": BROKERS, "partitions_count": 4, "replication_factor": 2},
    "/v1/placement-audits": {"brokers": BROKERS, "placements": TOPICS[1]["placements"]},
    "/v1/keyless-distributions": {"brokers": BROKERS, "partitions_count": 3},
    "/v1/group-assignments": {"topics": TOPICS, "members": MEMBERS},
    "/v1/member-count-plans": {"topics": TOPICS, "members": MEMBERS, "members_counts": [2, 3]},
    "/v1/group-rebalances": {"topics": TOPICS, "members": MEMBERS, "events": [CRASH]},
}


@pytest.mark.parametrize("path", BODIES)
def test_it_is_taken_as_it_is(client: FlaskClient, path: str) -> None:
    """And what the question does not use makes no difference."""
    assert TOPICS[0].keys() >= FULL
    answer = client.post(path, json=BODIES[path])
    assert answer.status_code == 200, answer.json
    used = {"topic_name", "topic_id", "partitions_count", "placements", "partition_bytes"}
    if "group" in path or "member" in path:
        used -= {"placements", "partition_bytes"}
    elif "topics" in BODIES[path]:
        used -= {"topic_id", "partitions_count"}
    plain = dict(BODIES[path])
    if "topics" in plain:
        plain["topics"] = [{name: row[name] for name in row.keys() & used} for row in TOPICS]
    assert client.post(path, json=plain).data == answer.data


def test_decodings_take_the_ids_of_its_topics(client: FlaskClient) -> None:
    body = {"kind": "offsets_topic", "topics": TOPICS, "records": []}
    assert "topics" not in str(client.post("/v1/decodings", json=body).json.get("errors"))
