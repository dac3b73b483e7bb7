"""``/v1/descriptions`` as a caller sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask.testing import FlaskClient

PATH = "/v1/descriptions"
TOPIC = (
    "Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: \n"
)
GROUP = """\
GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
billing  orders  0          100             160             60   c-1          /127.0.0.1  c
billing  orders  1          -               90              -    c-2          /127.0.0.1  c
"""


def test_a_text_is_read_as_it_is(client: FlaskClient) -> None:
    answer = client.post(PATH, data=TOPIC, content_type="text/plain").json
    assert answer["conclusion"] == "Read 1 topic (2 partitions) on 2 brokers. Racks are not known."
    assert answer["forms"] == ["kafka-topics"]
    assert "bodies" not in answer
    (topic,) = answer["snapshot"]["topics"]
    assert [placement["leader"] for placement in topic["placements"]] == [1, None]
    assert all("rack_id" not in broker for broker in answer["snapshot"]["brokers"])


def test_a_text_of_windows_is_read(client: FlaskClient) -> None:
    answer = client.post(PATH, data=TOPIC.encode("utf-16"), content_type="text/plain").json
    assert answer["conclusion"] == "Read 1 topic (2 partitions) on 2 brokers. Racks are not known."


def test_groups_of_which_no_body_is_made_are_counted(client: FlaskClient) -> None:
    groups = GROUP + "".join(f"g-{i}  orders  0  1  2  1  c-1  /127.0.0.1  c\n" for i in range(100))
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [TOPIC, groups]}).json
    assert len(answer["bodies"]["group_assignments"]) == 100
    assert "Bodies are made of the first 100 of 101 groups." in answer["warnings"]


def test_later_texts_complete_earlier_ones(client: FlaskClient) -> None:
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [TOPIC, "broker,rack\n1,a\n2,b\n", GROUP]}).json
    assert answer["conclusion"] == "Read 1 topic (2 partitions) on 2 brokers and 1 group of 2 members with its lag."
    assert [broker["rack_id"] for broker in answer["snapshot"]["brokers"]] == ["a", "b"]
    bodies = answer["bodies"]
    assert bodies["log_dir_plan"] is None
    assert client.post("/v1/reassignments", json=bodies["reassignment"]).status_code == 200
    (group,) = bodies["group_assignments"]
    assert group["topics"][0]["lag"]["committed_offsets"] == [100, None]
    assert client.post("/v1/group-assignments", json=group).status_code == 200


def test_the_body_of_a_request_keeps_its_members(client: FlaskClient) -> None:
    lag = {"committed_offsets": [100, None], "log_end_offsets": [160, 90]}
    body = {
        "assignor": "roundrobin",
        "topics": [{"topic_name": "orders", "partitions_count": 2, "lag": lag}],
        "members": [{"member_id": "a", "topic_names": ["orders"]}, {"member_id": "b", "topic_names": ["orders"]}],
    }
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [json.dumps(body | {"max_moves": 1})]}).json
    assert answer["conclusion"] == "Read 1 topic (2 partitions) and 1 group of 2 members with its lag."
    assert answer["warnings"] == ["Of this JSON only what it describes is read, not max_moves."]
    assert answer["bodies"]["group_assignments"] == [body | {"group_id": "group"}]


def test_counts_that_are_inferred_are_not_called_unknown(client: FlaskClient) -> None:
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [GROUP]}).json
    assert "The partition counts of orders are not listed." in answer["conclusion"]
    assert any("inferred from the group's rows" in warning for warning in answer["warnings"])


def test_nothing_that_is_not_known_is_filled_in(client: FlaskClient) -> None:
    answer = client.post(f"{PATH}?bodies=true", json={"texts": ["broker,rack\n1,a\n"]}).json
    assert answer["conclusion"] == "Read 1 broker."
    assert answer["bodies"] == {"reassignment": None, "log_dir_plan": None, "group_assignments": []}


def test_a_text_of_which_nothing_is_read_is_an_error(client: FlaskClient) -> None:
    problem = client.post(PATH, json={"texts": [TOPIC, "hello"]})
    assert problem.status_code == 422
    assert problem.json["errors"][0]["pointer"] == "/texts/1"
    assert "Not the output of kafka-topics --describe" in problem.json["errors"][0]["detail"]
    assert client.post(PATH, data=b"\xff", content_type="text/plain").status_code == 400
    assert client.post(PATH, data="x", content_type="text/html").status_code == 415
