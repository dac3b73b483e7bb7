"""Output of tools beside Kafka's, and logs of consumers: what is read of each, and what commands make of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from service.descriptions import Description, UnreadableDescription, read_description
from tests.cases.test_groups import CASES, case, run

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = CASES / "other-tools"


def read(name: str) -> Description:
    return read_description((TOOLS / name).read_text())


def owned(group: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    return {
        member["member_id"]: {part["topic_name"]: part["partition_ids"] for part in member["owned_partitions"]}
        for member in group["members"]
    }


def placements(description: Description) -> dict[str, list[list[int]]]:
    return {
        topic["topic_name"]: [placement["replicas"] for placement in topic["placements"]]
        for topic in description.topics
        if "placements" in topic
    }


# ---- share and Streams groups --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["members.txt", "members-verbose.txt"])
def test_a_share_group_is_assigned_as_one(file: str) -> None:
    ended = run("assign", case(f"share-group-tool/{file}"), "--snapshot", case("share-group-tool/topics.txt"))
    answer = json.loads(ended.stdout)
    assert (answer["group_protocol"], answer["assignor"]) == ("share", "simple")
    assert "leader" not in ended.stderr


def test_offsets_of_a_share_group_are_no_members() -> None:
    ended = run("assign", case("share-group-tool/offsets.txt"), "--snapshot", case("share-group-tool/topics.txt"))
    assert (ended.exit_code, ended.stderr.splitlines(keepends=True)[-1]) == (
        2,
        "Error: The members of group 'packers' are not known: kafka-share-groups --describe --members lists them.\n",
    )


def test_members_without_partitions_belong_to_the_group_that_the_other_rows_tell() -> None:
    header = "GROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS  ASSIGNMENT"
    idle, share, classic = "g m1 /h c 0 -", "g m2 /h c 2 a:0,1", "g m2 /h c 2 a(0,1)"
    [group] = read_description(f"{header}\n{idle}\n{share}").groups
    assert (group["group_protocol"], owned(group)) == ("share", {"m1": {}, "m2": {"a": [0, 1]}})
    for rows in ((idle, classic), (idle,)):
        [group] = read_description("\n".join((header, *rows))).groups
        assert "group_protocol" not in group
        assert len(group["members"]) == len(rows)


@pytest.mark.parametrize("file", ["streams-members-4.3.txt", "streams-members-4.0.txt"])
def test_a_streams_group_has_tasks_and_is_not_answered_as_another(file: str) -> None:
    [group] = read(file).groups
    assert group["group_protocol"] == "streams"
    assert group["members"][0]["tasks"]["active"][0] == {"subtopology_id": "0", "partition_ids": [0, 1]}
    assert group["members"][0]["tasks"]["standby"] == [{"subtopology_id": "1", "partition_ids": [0]}]
    ended = run("assign", str(TOOLS / file))
    assert ended.exit_code == 2
    assert "POST /v1/streams-assignments" in ended.stderr


# ---- topics ----------------------------------------------------------------------------------------------------------------


def test_kcat_lists_brokers_without_replicas() -> None:
    ended = run("audit", case("metadata-of-kcat/kcat.txt"))
    assert ended.exit_code == 1  # something is at risk
    assert "broker 4 comes next here" in ended.stdout
    moved = json.loads(run("reassign", case("metadata-of-kcat/kcat.json"), "--objective", "even").stdout)
    assert moved["before"]["broker_load"]["broker_ids"] == [1, 2, 3, 4]
    texts = [(CASES / "metadata-of-kcat" / name).read_text() for name in ("kcat.txt", "kcat.json")]
    for description in map(read_description, texts):
        assert placements(description) == {"parcels": [[1, 2], [2, 3], [3, 1]]}


def test_kcat_without_leaders_and_topics() -> None:
    description = read("kcat-errors.txt")
    assert placements(description) == {"orders": [[7, 1], [7]]}
    assert description.topics[0]["placements"][0]["in_sync_replicas"] == []
    assert [broker["broker_id"] for broker in description.brokers] == [1, 7]
    assert description.notes == ("The partitions of topic 'gone' are not known: Broker: Unknown topic or partition.",)


def test_rpk_describes_topic_and_group() -> None:
    ended = run("assign", case("rpk-describe/group.txt"), "--snapshot", case("rpk-describe/topic.txt"))
    answer = json.loads(ended.stdout)
    assert (answer["assignor"], answer["implementation"]["client"]) == ("franz-go:cooperative-sticky", "franz-go")
    assert [assignment["partitions"][0]["partition_ids"] for assignment in answer["assignments"]] == [[0, 1, 2], [3, 4, 5]]
    topic = read_description((CASES / "rpk-describe/topic.txt").read_text())
    assert placements(topic) == {"parcels": [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2], [2, 1, 3], [3, 2, 1]]}
    assert topic.topics[0]["log_end_offsets"] == [120, 131, 119, 140, 99, 111]
    assert not topic.notes or "ascending" not in " ".join(topic.notes)


def test_rpk_of_other_releases_and_commands() -> None:
    assert placements(read("rpk-topic-20.txt")) == {"parcels": [[1, 2, 3], [2, 3, 1], [3, 1, 2]]}
    cluster = read("rpk-cluster.txt")
    assert [broker.get("rack_id") for broker in cluster.brokers] == ["a", "b", None]
    assert {topic["topic_name"]: topic["partitions_count"] for topic in cluster.topics} == {"orders": 12, "parcels": 3}
    [empty] = read("rpk-group-empty.txt").groups
    assert (empty["group_state"], empty["members"]) == ("Empty", [])
    assert empty["committed_offsets"][0]["offsets"] == [110, None]


def test_rpk_sorts_replicas() -> None:
    header, rows = "PARTITION  LEADER  EPOCH  REPLICAS  HIGH-WATERMARK", ("0  2  1  [1 2]  5", "1  1  1  [1 2]  5")
    text = "\n".join(("NAME  a", "PARTITIONS  2", header, *rows))
    assert "preferred leaders are not known" in " ".join(read_description(text).notes)
    assert "preferred" not in " ".join(read_description(text.replace("1  1  1  [1 2]", "1  1  1  [2 1]")).notes)
    with pytest.raises(UnreadableDescription, match="not named"):
        read_description("\n".join((header, *rows)))


def test_members_that_rpk_leaves_out_are_missed() -> None:
    ended = run("assign", str(TOOLS / "rpk-group-with-idle-member.txt"), "--topic", "parcels:2")
    assert ended.exit_code == 2
    assert "has 3 members, of which 2 are listed" in ended.stderr


def test_offsets_give_counts_and_ends() -> None:
    description = read("get-offsets.txt")
    assert "partition 2 of topic 'orders' has the most: 52 of 130 records, 1.2 times" in description.notes[0]
    counts = {topic["topic_name"]: (topic["partitions_count"], topic["log_end_offsets"]) for topic in description.topics}
    assert counts == {"orders": (3, [47, 31, 52]), "parcels-eu": (1, [9])}
    [both] = read_description("a:0:5\na:1:9\na:0:2\na:1:9\n").topics
    assert (both["log_start_offsets"], both["log_end_offsets"]) == ([2, 9], [5, 9])
    [starts] = read_description("$ kafka-get-offsets.sh --topic a --time -2\na:0:5\na:1:\n").topics
    assert starts == {"topic_name": "a", "partitions_count": 2, "log_start_offsets": [5, None]}
    gap = read_description("a:0:5\na:2:9\n")
    assert "partitions_count" not in gap.topics[0]
    assert "Not all partitions of topic 'a'" in " ".join(gap.notes)


def test_strimzi() -> None:
    topics = {topic.pop("topic_name"): topic for topic in read("kafkatopics.yaml").topics}
    assert topics["orders"] == {"partitions_count": 12, "replication_factor": 3, "min_insync_replicas": 2}, (
        "not the last applied 6"
    )
    assert topics["Parcels_EU"]["partitions_count"] == 3
    assert [topic["partitions_count"] for topic in read("kafkatopics.txt").topics] == [12, 6]
    as_json = {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaTopic",
        "metadata": {"name": "a"},
        "spec": {"partitions": 4, "config": {"min.insync.replicas": "2"}},
    }
    [topic] = read_description(json.dumps({"apiVersion": "v1", "kind": "List", "items": [as_json]})).topics
    assert topic == {"topic_name": "a", "partitions_count": 4, "min_insync_replicas": 2}
    ended = run("reassign", str(TOOLS / "kafkarebalance.yaml"), "--objective", "even")
    assert ended.exit_code == 2
    assert "describes no placement; its proposal moves 24 replicas, 1024 MB, 5 leaders" in ended.stderr


def test_kt() -> None:
    assert placements(read("kt-topic.json")) == {"orders": [[2, 1], [1, 2]], "parcels": [[1, 2]]}
    description = read("kt-group.json")
    assert description.groups[0]["committed_offsets"] == [{"topic_name": "orders", "partition_ids": [0, 1], "offsets": [6, None]}]
    assert description.topics[0]["log_end_offsets"] == [10, 7]


# ---- groups ----------------------------------------------------------------------------------------------------------------


def test_connect_status() -> None:
    description = read("connect-status.json")
    [group] = description.groups
    assert group["group_protocol"] == "connect"
    assert {member["member_id"]: member["connectors"] for member in group["members"]} == {
        "10.0.0.1:8083": ["pg-source"],
        "10.0.0.2:8083": ["s3-sink"],
    }
    assert "s3-sink-2" in description.notes[-1]
    answer = json.loads(run("assign", str(TOOLS / "connect-status.json")).stdout)
    assert answer["group_protocol"] == "connect"
    with pytest.raises(UnreadableDescription, match="expand=status"):
        read_description('{"a": {"info": {"name": "a", "config": {}, "tasks": []}}}')


@pytest.mark.parametrize("file", ["burrow-lag.json", "burrow-consumer.json"])
def test_burrow(file: str) -> None:
    description = read(file)
    [group] = description.groups
    assert group["group_id"] == "billing"
    assert owned(group) == {"billing-a/10.0.0.1": {"orders": [0]}, "billing-b/10.0.0.2": {"orders": [1]}}
    assert group["committed_offsets"][0]["offsets"] == [110, 50]
    assert description.topics[0]["log_end_offsets"] == [120, 90]
    assert json.loads(run("member-counts", str(TOOLS / file)).stdout)["plans"][0]["worst_load"] == 50


def test_burrow_lists_only_partitions_that_lag_in_its_status() -> None:
    document = json.loads((TOOLS / "burrow-lag.json").read_text())
    document["status"]["partition_count"] = 6
    description = read_description(json.dumps(document))
    assert "lists 2 of 6 partitions" in " ".join(description.notes)
    assert "members" not in description.groups[0]


# ---- logs ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "assignor", "count"),
    [("consumer-4.3.1.log", "range", 8), ("consumer-2.4.log", "range", 6), ("librdkafka-2.0.2.log", "librdkafka:range", 8)],
)
def test_assign_says_whether_the_assignor_gives_what_the_log_has(file: str, assignor: str, count: int) -> None:
    answer = json.loads(run("assign", str(TOOLS / file)).stdout)
    assert (answer["assignor"], answer["alike"]) == (assignor, True)
    assert answer["conclusion"] == f"The assignor {assignor} gives exactly what is expected: {count} partitions, 2 members."
    other = json.loads(run("assign", str(TOOLS / file), "--assignor", "roundrobin").stdout)
    assert not other["alike"]
    assert f"gives {other['differences_count']} of {count} partitions to other members than expected" in other["conclusion"]
    shown = run("assign", str(TOOLS / file), "--output", "table").stdout
    assert shown.startswith(f"The assignor {assignor} gives exactly")


def test_a_changed_log_is_not_alike(tmp_path: Path) -> None:
    text = (TOOLS / "consumer-2.4.log").read_text()
    changed = text.replace("late-orders-0, orders-0, orders-1]), ", "late-orders-0, orders-0, orders-2]), ").replace(
        "[late-orders-1, orders-2, orders-3]", "[late-orders-1, orders-1, orders-3]"
    )
    (tmp_path / "changed.log").write_text(changed)
    assert json.loads(run("assign", str(tmp_path / "changed.log")).stdout)["differences_count"] == 2


def test_messages_in_json_and_without_context() -> None:
    [group] = read("consumer.json.log").groups
    assert (group["group_id"], group["assignor"], group["leader"]) == ("billing", "cooperative-sticky", "pod-0-aaaa")
    assert owned(group) == {"pod-0-aaaa": {"orders": [0, 2]}, "pod-1-bbbb": {"orders": [1]}}
    assert group["members"][0]["instance_id"] == "pod-0"
    [bare] = read_description("Finished assignment for group at generation 1: {a-1=Assignment(partitions=[b-c-0])}").groups
    assert owned(bare) == {"a-1": {"b-c": [0]}}
    with pytest.raises(UnreadableDescription, match="cut off"):
        read_description("Finished assignment for group at generation 1: {a-1=Assignment(partitions=[b-c-0")


def test_members_own_logs_are_read_where_the_leaders_is_missing(tmp_path: Path) -> None:
    context = "[Consumer clientId=c, groupId=g]"
    text = "\n".join(
        f"2026-01-01 00:00:00 INFO {context} {message}"
        for message in (
            "Subscribed to topic(s): a",
            "Successfully joined group with generation Generation{generationId=3, memberId='c-1', protocol='range'}",
            "Adding newly assigned partitions: a-0, a-1",
            "Revoke previously assigned partitions a-0, a-1",
            "Successfully joined group with generation Generation{generationId=4, memberId='c-1', protocol='range'}",
            "Adding newly assigned partitions: a-1",
            "Revoke previously assigned partitions a-1",
        )
    )
    description = read_description(text)
    assert owned(description.groups[0]) == {"c-1": {"a": [1]}}
    assert description.groups[0]["members"][0]["topic_names"] == ["a"]
    assert "members whose logs are not here are not known" in " ".join(description.notes)
    (tmp_path / "member.log").write_text(text)
    answer = json.loads(run("assign", str(tmp_path / "member.log"), "--topic", "a:2").stdout)
    assert "expected" not in answer["conclusion"], "one member's log is not the group's assignment"


def test_a_member_of_an_old_log_is_its_client_if_only_one_can_be() -> None:
    two = (TOOLS / "consumer-2.4.log").read_text()
    [group] = read_description(two).groups
    assert "leader" not in group
    assert not any("topic_names" in member for member in group["members"])
    [group] = read_description(two.replace("consumer-billing-1-bbbb", "consumer-billing-2-bbbb")).groups
    assert group["leader"] == "consumer-billing-1-aaaa"
    assert [member.get("topic_names") for member in group["members"]] == [["late-orders", "orders"], None]


def test_members_of_a_share_group_gain_beyond_the_partitions() -> None:
    group = (case("share-group-tool/members.txt"), "--snapshot", case("share-group-tool/topics.txt"))
    shown = run("member-counts", *group, "--output", "table").stdout
    assert "More may gain as well" in shown
    assert "gain nothing" not in shown
    assert json.loads(run("member-counts", *group, "--members-counts", "1-4").stdout)["worth_using"] == [1, 2, 4]


@pytest.mark.parametrize(
    "document",
    [
        {"topicName": "a", "partitions": [{"id": 1, "replicas": [2, 1]}, {"id": 0, "replicas": [1, 2]}]},
        {"name": "a", "partitions": [{"partitionId": i, "leader": 1, "replicas": [1 + i, 2 - i], "isr": [1]} for i in (0, 1)]},
        {
            "topics": [
                {"topic": "a", "partitions": [{"partition": i, "replicas": [{"id": 1 + i}, {"id": 2 - i}]} for i in (0, 1)]}
            ]
        },
        {
            "name": "a",
            "partitions": [
                {
                    "partition": i,
                    "replicas": [{"broker": 1 + i, "inSync": True}, {"broker": 2 - i, "inSync": False}],
                    "offsetMax": 7,
                }
                for i in (0, 1)
            ],
        },
    ],
)
def test_topics_of_clients_and_consoles(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "topic.json").write_text(json.dumps(document))
    description = read_description(json.dumps(document))
    assert placements(description) == {"a": [[1, 2], [2, 1]]}
    assert description.topics[0]["partitions_count"] == 2
    assert run("audit", str(tmp_path / "topic.json")).exit_code in {0, 1}  # 1: something is at risk
    with pytest.raises(UnreadableDescription, match="not an integer"):
        read_description(
            json.dumps(document).replace("[1, 2]", '["x"]').replace('"id": 1', '"id": "x"').replace('r": 1', 'r": "x"')
        )


def test_groups_share_no_fields() -> None:
    notice, header = (
        "Share group 'a' has no active members.",
        "GROUP COORDINATOR (ID) STATE GROUP-EPOCH ASSIGNMENT-EPOCH #MEMBERS",
    )
    text = f"{notice}\n{header}\na h:1 (1) Empty 1 1 0\nb h:1 (1) Stable 1 1 2\n"
    assert [group["group_state"] for group in read_description(text).groups] == ["Empty", "Stable"]
    assert [group.get("group_state") for group in read_description(notice).groups] == [None]


def test_lag_of_a_streams_group_without_offsets_is_not_a_missing_commit() -> None:
    [group] = read_description("GROUP TOPIC PARTITION OFFSET-LAG\ng words 0 12\n").groups
    assert group == {"group_id": "g", "group_protocol": "streams"}


@pytest.mark.parametrize(
    ("generation", "members", "follow_up"), [(1, 1, ""), (2, 2, "more"), (3, 2, ""), (4, 3, "more"), (5, 3, "")]
)
def test_each_rebalance_of_a_cooperative_log(generation: int, members: int, follow_up: str, tmp_path: Path) -> None:
    text = (TOOLS / "consumer-4.3.1-cooperative.log").read_text()
    end = text.index("\n", text.index(f"Finished assignment for group at generation {generation}:"))
    (tmp_path / "cut.log").write_text(text[:end])
    answer = json.loads(run("assign", str(tmp_path / "cut.log")).stdout)
    assert answer["follow_up_rebalance"] is bool(follow_up)
    counted = f"{members} member{'s' * (members > 1)}"
    assert answer["conclusion"] == f"The assignor cooperative-sticky gives exactly what is expected: 11 partitions, {counted}."


def test_a_sticky_log_says_what_is_not_known_of_it() -> None:
    text = (TOOLS / "consumer-4.3.1-cooperative.log").read_text()
    assert not read_description(text).notes
    without = "\n".join(line for line in text.split("\n") if "Performing" not in line)
    assert "assign says whether cooperative-sticky keeps the assignment" in " ".join(read_description(without).notes)
    range_log = (TOOLS / "consumer-2.4.log").read_text()
    assert "keeps" not in " ".join(read_description(range_log).notes)
