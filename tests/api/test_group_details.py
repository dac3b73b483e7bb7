"""What an answer about a group holds beside the assignment: moves, the follow-up, a comparison, warnings."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from service.http.media_types import ARROW_STREAM

URL = "/v1/group-assignments"
TOPIC = {"topic_name": "t", "partitions_count": 6}
COOPERATIVE = {
    "assignor": "cooperative-sticky",
    "topics": [TOPIC],
    "members": [
        {
            "member_id": "a",
            "topic_names": ["t"],
            "generation_id": 3,
            "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 3, 4, 5]}],
        },
        {"member_id": "b", "topic_names": ["t"]},
    ],
}
RANGE = {"assignor": "range", "topics": [TOPIC], "members": [{"member_id": "a"}, {"member_id": "b"}]}


def given_to(**members):
    return [
        {"member_id": name, "partitions": [{"topic_name": "t", "partition_ids": ids}] if ids else []}
        for name, ids in members.items()
    ]


def test_a_cooperative_rebalance_is_answered_with_both_rounds_and_its_moves(client):
    answer = client.post(URL, json=COOPERATIVE).json
    assert answer["assignments"] == given_to(a=[0, 1, 2], b=[])
    assert answer["follow_up"]["assignments"] == given_to(a=[0, 1, 2], b=[3, 4, 5])
    assert answer["follow_up"]["movement"]["added"] == 3
    assert answer["moves"] == [
        {"topic_name": "t", "partition_id": i, "from_member_id": "a", "to_member_id": "b"} for i in range(3, 6)
    ]
    assert "follow_up" not in client.post(URL, json={**COOPERATIVE, "assignor": "sticky"}).json


def test_moves_are_listed_if_they_are_few_or_asked_for(client):
    topics = [{"topic_name": "t", "partitions_count": 400}]
    owned = [{"topic_name": "t", "partition_ids": list(range(400))}]
    body = {"assignor": "range", "topics": topics, "members": [{"member_id": "a"}, {"member_id": "b", "owned_partitions": owned}]}
    assert "moves" not in client.post(URL, json=body).json
    answer = client.post(f"{URL}?moves=true", json=body).json
    assert len(answer["moves"]) == answer["movement"]["moved"] == 200
    assert "moves" not in client.post(f"{URL}?moves=false", json=COOPERATIVE).json
    assert "moves" not in client.post(URL, json=RANGE).json
    assert client.post(f"{URL}?moves=true", json=RANGE).json["moves"] == []


def test_moves_are_a_table_too(client):
    rows = client.post(f"{URL}?moves=true", json=COOPERATIVE, headers={"Accept": "text/csv"}).text
    first = next(csv.DictReader(io.StringIO(rows)))
    assert first == {"topic_name": "t", "partition_id": "3", "from_member_id": "a", "to_member_id": "b"}
    stream = client.post(f"{URL}?moves=true", json=COOPERATIVE, headers={"Accept": ARROW_STREAM}).data
    assert pa.ipc.open_stream(stream).read_all().num_rows == 3


def test_an_unassigned_partition_moves_to_no_member(client):
    members = [{"member_id": "a", "topic_names": [], "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 9]}]}]
    moves = client.post(URL, json={"assignor": "range", "topics": [TOPIC], "members": members}).json["moves"]
    assert [(move["partition_id"], move["from_member_id"], move["to_member_id"]) for move in moves] == [
        (0, "a", None),
        (9, "a", None),
    ]


def test_what_is_expected_is_alike_or_its_differences_are_named(client):
    answer = client.post(URL, json={**RANGE, "expected": given_to(a=[0, 1, 2], b=[3, 4, 5])}).json
    assert (answer["alike"], answer["differences_count"], answer["differences"]) == (True, 0, [])
    answer = client.post(URL, json={**RANGE, "expected": given_to(a=[0, 1, 2, 3, 7])}).json
    assert (answer["alike"], answer["differences_count"]) == (False, 4)
    assert [(each["partition_id"], each["expected_member_ids"], each["member_ids"]) for each in answer["differences"]] == [
        (3, ["a"], ["b"]),
        (4, [], ["b"]),
        (5, [], ["b"]),
        (7, ["a"], []),
    ]


def test_the_follow_up_is_compared_too(client):
    answer = client.post(URL, json={**COOPERATIVE, "expected": given_to(a=[0, 1, 2], b=[3, 4, 5])}).json
    assert (answer["alike"], answer["follow_up"]["alike"]) == (False, True)


def test_a_leader_may_have_seen_an_older_count(client):
    topics = [{"topic_name": "t", "partitions_count": [8, 6]}, {"topic_name": "u", "partitions_count": [2, 4]}]
    expected = [
        {
            "member_id": name,
            "partitions": [{"topic_name": "t", "partition_ids": t}, {"topic_name": "u", "partition_ids": u}],
        }
        for name, t, u in (("a", [0, 1, 2], [0, 1]), ("b", [3, 4, 5], [2, 3]))
    ]
    answer = client.post(URL, json={**RANGE, "topics": topics, "expected": expected}).json
    assert (answer["alike"], answer["partitions_counts"]) == (True, {"t": 6, "u": 4})
    answer = client.post(URL, json={**RANGE, "topics": topics, "expected": []}).json
    assert (answer["alike"], answer["partitions_counts"]) == (False, {"t": 6, "u": 2})  # which differs least


def test_an_older_count_has_its_racks_only(client):
    members = [{"member_id": "a", "rack_id": "y"}, {"member_id": "b", "rack_id": "x"}]
    racks = [["x"], ["y"], ["y"]]
    body = {**RANGE, "members": members, "topics": [{"topic_name": "t", "partitions_count": 2, "partition_racks": racks[:2]}]}
    expected = client.post(URL, json=body).json["assignments"]
    assert [each["partitions"][0]["partition_ids"] for each in expected] == [[1], [0]]  # by racks, not in order
    topics = [{"topic_name": "t", "partitions_count": [3, 2], "partition_racks": racks}]
    answer = client.post(URL, json={**body, "topics": topics, "expected": expected}).json
    assert (answer["alike"], answer["partitions_counts"]) == (True, {"t": 2})
    for each in members:
        each["topic_names"] = ["t"]
    topics.append({"topic_name": "u", "partitions_count": 1})
    answer = client.post(URL, json={**body, "topics": topics, "expected": expected}).json
    assert (answer["alike"], answer["partitions_counts"]) == (True, {"t": 2})


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"expected": given_to(z=[0])}, "/expected/0/member_id"),
        ({"expected": [*given_to(a=[0]), *given_to(a=[1])]}, "/expected/1/member_id"),
        ({"expected": given_to(a=[-1])}, "/expected/0/partitions/0/partition_ids/0"),
        ({"topics": [{"topic_name": "t", "partitions_count": [6]}]}, "/topics/0/partitions_count"),
        ({"topics": [{"topic_name": "t", "partitions_count": []}], "expected": []}, "/topics/0/partitions_count"),
        ({"topics": [{"topic_name": "t", "partitions_count": [6, True]}], "expected": []}, "/topics/0/partitions_count"),
        (
            {"topics": [{"topic_name": "t", "partitions_count": [1, 2], "partition_racks": [["r"]]}], "expected": []},
            "/topics/0/partitions_count",
        ),
        (
            {"topics": [{"topic_name": "t", "partitions_count": [1], "partition_weights": [1]}], "expected": []},
            "/topics/0/partitions_count",
        ),
        ({"topics": [{"topic_name": str(i), "partitions_count": [1, 2]} for i in range(7)], "expected": []}, "/topics"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_named(client, change, pointer):
    response = client.post(URL, json={**RANGE, **change})
    assert (response.status_code, response.json["errors"][0]["pointer"]) == (422, pointer)


def test_what_cannot_matter_is_a_warning(client):
    body = {**RANGE, "members": [{"member_id": "a", "rack_id": "r", "topic_names": ["t", "x", "y"]}]}
    racks, missing = client.post(URL, json=body).json["warnings"]
    assert racks == "The rack_id of a member does not matter, because no topic has partition_racks."
    assert missing == "Members subscribe to topics that are not in `topics`, and so do not exist: 'x', 'y'."
    assert "warnings" not in client.post(URL, json=RANGE).json


def test_java_classes_and_other_protocols_are_understood(client):
    answer = client.post(URL, json={**RANGE, "assignor": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}).json
    assert answer["assignor"] == "cooperative-sticky"
    response = client.post(URL, json={**RANGE, "assignor": "uniform"})
    detail = "There is no assignor 'uniform' in the classic protocol; it needs group_protocol: consumer."
    assert response.json["detail"] == f"/assignor: {detail}"


def test_a_topic_id_may_be_standard_base64(client):
    def ask(topic_id):
        topics = [{**TOPIC, "topic_id": topic_id}]
        return client.post(URL, json={**RANGE, "group_protocol": "consumer", "assignor": "uniform", "topics": topics})

    assert ask("+/A5Xz1bTq2sJ9hW3kQ0+A").json == ask("-_A5Xz1bTq2sJ9hW3kQ0-A").json
    assert ask("+/A5Xz1bTq2sJ9hW3kQ0*A").status_code == 422
    topics = [
        {**TOPIC, "topic_id": "+/A5Xz1bTq2sJ9hW3kQ0+A"},
        {"topic_name": "u", "partitions_count": 1, "topic_id": "-_A5Xz1bTq2sJ9hW3kQ0-A"},
    ]
    assert client.post(URL, json={**RANGE, "topics": topics}).json["errors"][0]["pointer"] == "/topics/1/topic_id"
    share = {"group_id": "g", "partition": 0}
    answers = {
        client.post("/v1/coordinators", json={"share_partition": {**share, "topic_id": topic_id}}).text
        for topic_id in ("+/A5Xz1bTq2sJ9hW3kQ0+A", "-_A5Xz1bTq2sJ9hW3kQ0-A")
    }
    assert len(answers) == 1
