"""Commands about groups, with what people paste."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import main

CASES = Path(__file__).parent
HEADER = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
"""Columns of kafka-consumer-groups --describe; rows of as many words need not line up."""


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def case(name: str) -> str:
    return str(CASES / name)


def pasted(folder: Path, *rows: str, name: str = "group.txt") -> str:
    (folder / name).write_text("\n".join((HEADER, *rows, "")))
    return str(folder / name)


@pytest.fixture
def topics(tmp_path: Path) -> str:
    """Topics with four and with two partitions, of one replica each."""
    lines = []
    for topic, count in (("a", 4), ("b", 2)):
        lines.append(f"Topic: {topic}\tPartitionCount: {count}\tReplicationFactor: 1\tConfigs: ")
        lines += [f"\tTopic: {topic}\tPartition: {i}\tLeader: 1\tReplicas: 1\tIsr: 1" for i in range(count)]
    (tmp_path / "topics.txt").write_text("\n".join(lines))
    return str(tmp_path / "topics.txt")


def test_members_uses_the_lag_of_a_paste() -> None:
    group = (case("lag-in-the-paste/group.txt"), "--snapshot", case("lag-in-the-paste/topics.txt"))
    answer = json.loads(run("member-counts", *group).stdout)
    assert answer["current"]["worst_load"] == 450_000
    assert answer["worth_using"] == [1]
    limited = run("member-counts", *group, "--consumption-rate", "500", "--max-lag", "60s")
    assert limited.exit_code == 1
    assert "900 s of lag" in json.loads(limited.stdout)["out_of_reach"]["max_lag_seconds"]


def test_a_body_names_the_release_of_its_client() -> None:
    answer = json.loads(run("assign", case("kafka-python-2-roundrobin/body.json")).stdout)
    found = {
        (member["member_id"], partitions["topic_name"]): partitions["partition_ids"]
        for member in answer["assignments"]
        for partitions in member["partitions"]
    }
    assert found == {("w1", "letters"): [0, 2], ("w2", "letters"): [1], ("w2", "boxes"): [0, 2], ("w3", "boxes"): [1]}


def test_a_lag_of_several_topics_with_gaps_is_used_as_far_as_it_is_known(tmp_path: Path, topics: str) -> None:
    members = pasted(tmp_path, *(f"g a {i} 100 1{i}0 {i}0 m1-{i % 2} /h m1" for i in range(4)), "g b 0 - 50 - m1-0 /h m1")
    body = json.loads(run("body", "member-count-plans", members, "--snapshot", topics).stdout)
    assert [topic["lag"] for topic in body["topics"]] == [
        {"committed_offsets": [100] * 4, "log_end_offsets": [100, 110, 120, 130]},
        {"committed_offsets": [None, None], "log_end_offsets": [50, None]},
    ]


def test_the_lag_of_a_group_without_members_counts_for_new_ones(tmp_path: Path, topics: str) -> None:
    idle = pasted(tmp_path, *(f"g a {i} 100 1{i}0 {i}0 - - -" for i in range(4)))
    assert "has no members" in run("member-counts", idle, "--snapshot", topics).stderr
    answer = json.loads(run("member-counts", idle, "--snapshot", topics, "--members", "2").stdout)
    assert answer["current_members_count"] == 2
    assert answer["current"]["worst_load"] == 50, "0 and 10, 20 and 30 of range"


@pytest.mark.parametrize("command", ["assign", "rebalances", "member-counts", "body group-assignments"])
def test_only_the_groups_table_infers_partition_counts(command: str) -> None:
    file = case("only-the-group-table/group.txt")
    result = run(*command.split(), file)
    assert result.exit_code == 0
    assert "inferred from the group's rows, which have each partition once: parcels 3." in result.stderr
    given = run(*command.split(), file, "--topic", "parcels:3")
    assert given.stdout == result.stdout
    assert "inferred" not in given.stderr


def test_plan_infers_the_partition_count_of_a_paste(tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("key\na\nb\n")
    group = case("only-the-group-table/group.txt")
    result = run("plan", str(tmp_path / "keys.csv"), "--snapshot", group, "--partitions", "3,6")
    assert json.loads(result.stdout)["current_partitions_count"] == 3
    assert "parcels 3" in result.stderr


def test_a_command_says_which_tool_has_what_is_missing(tmp_path: Path, topics: str) -> None:
    assert "has no group: kafka-consumer-groups --describe prints it" in run("assign", topics).stderr
    lagless = pasted(tmp_path, *(f"g a {i} - - - m1-0 /h m1" for i in range(4)))
    assert "kafka-consumer-groups --describe prints it" in run("member-counts", lagless, "--consumption-rate", "5").stderr


def test_a_gap_is_asked_for_and_a_group_without_members_gives_a_guess(tmp_path: Path) -> None:
    gap = pasted(tmp_path, "g a 0 1 1 0 m1-0 /h m1", "g a 2 1 1 0 m1-0 /h m1")
    assert "--topic a:2" in run("assign", gap).stderr
    assert run("assign", gap, "--topic", "a:3").exit_code == 0
    assert "does not read 'c'; it reads a" in run("assign", gap, "--topic", "a:3", "--topic", "c:1").stderr
    idle = pasted(tmp_path, "g a 0 1 1 0 - - -", "g a 1 1 1 0 - - -")
    result = run("assign", idle, "--members", "1")
    assert "Partition counts are a guess: a 2." in result.stderr
    assert len(json.loads(result.stdout)["assignments"]) == 1


def test_members_complete_a_paste(tmp_path: Path, topics: str) -> None:
    group = pasted(tmp_path, *(f"g a {i} 1 1 0 m1-{i // 2} /h m1" for i in range(4)))
    answer = json.loads(run("assign", group, "--snapshot", topics, "--members", "4").stdout)
    ids = [each["member_id"] for each in answer["assignments"]]
    assert ids[:2] == ["m1-0", "m1-1"]
    assert all(new.startswith("m1-") and len(new) > 36 for new in ids[2:]), "as likely before as behind each of these"
    assert answer["movement"]["retained"] + answer["movement"]["moved"] == 4
    fewer = json.loads(run("assign", group, "--snapshot", topics, "--members", "m1-1,x").stdout)
    assert [each["member_id"] for each in fewer["assignments"]] == ["m1-1", "x"]
    alone = json.loads(run("assign", "--snapshot", topics, "--members", "3", "--topic", "a:8").stdout)
    assert alone["member_load"]["max"] == 3, "no group is described: the members read the topics given"
    assert run("assign", "--topic", "a:8").stderr.endswith("Missing option '--members'.\n")


@pytest.mark.parametrize("command", ["assign", "rebalances --scale 4", "member-counts"])
def test_a_paste_that_refutes_that_all_read_all_topics(command: str) -> None:
    folder = case("sentence-subscriptions-assumed") + "/"
    result = run(*command.split(), folder + "mixgrp.txt", "--snapshot", folder + "mixtop.txt")
    read, first = result.stderr.splitlines()[:2]
    assert read.startswith("Read 2 topics")
    assert "does not look as if all members read all topics" in first
    assert first.endswith("; audit-9b7e8d52-5f0e-4a86-8a35-6a1d9f0c2e44 reads audit. Assumed so.")
    if command == "assign":
        assert json.loads(result.stdout)["movement"]["moved"] == 0


def test_an_assumption_that_fits_is_said_and_one_that_only_has_no_better_too(tmp_path: Path, topics: str) -> None:
    of_range = [f"g {topic} {i} 1 1 0 m1-{i // half} /h m1" for topic, half in (("a", 2), ("b", 1)) for i in range(2 * half)]
    fits = run("assign", pasted(tmp_path, *of_range), "--snapshot", topics)
    assert "The description has no subscriptions: all 2 members are assumed to read all 2 topics." in fits.stderr
    odd = [f"g a {i} 1 1 0 m1-{i in (1, 2):d} /h m1" for i in range(4)] + [f"g b {i} 1 1 0 m1-{1 - i} /h m1" for i in range(2)]
    unexplained = run("assign", pasted(tmp_path, *odd), "--snapshot", topics)
    assert "although range (the default) would then not assign what they own" in unexplained.stderr
    sticky = pasted(tmp_path, "g a 0 1 1 0 m1-0 /h m1", "g b 0 1 1 0 m1-1 /h m1", name="sticky.txt")
    assert "looks like cooperative-sticky, not like range" in run("assign", sticky).stderr
    one_topic = pasted(tmp_path, *(f"g a {i} 1 1 0 m1-{i // 2} /h m1" for i in range(4)))
    assert "subscriptions" not in run("assign", one_topic, "--snapshot", topics).stderr


def concluded(*words: str) -> str:
    answer = json.loads(run("member-counts", *words).stdout)
    assert run("member-counts", *words, "--output", "table").stdout.replace("\n", " ").startswith(answer["conclusion"][:60])
    return answer["conclusion"]


def test_a_quantifier_ranges_over_what_was_planned_or_is_proven() -> None:
    orders = ("--topic", "orders:12", "--members", "2")
    assert concluded(*orders, "--members-counts", "2,3", "--max-load", "2") == (
        "Neither 2 nor 3 members are within the limits; 6 members would be (12 partitions ÷ 2)."
    )
    assert concluded(*orders, "--members-counts", "12,24", "--max-load", "4") == (
        "Of the numbers planned (12 and 24), 12 members are the fewest within the limits; now there are 2, not within them; "
        "3 members would do (12 partitions ÷ 4), which was not planned."
    )
    assert concluded(*orders, "--max-load", "4").startswith("3 members are the fewest within the limits;")
    assert concluded(*orders, "--members-counts", "2,3").endswith("3 is the largest number planned; more may gain.")
    assert concluded(*orders, "--members-counts", "2,12").endswith("More than 12 members gain nothing.")
    share = concluded(*orders, "--group-protocol", "share", "--members-counts", "12,24")
    assert "gain nothing" not in share, "several members share a partition"


def test_the_unit_is_pods() -> None:
    assert concluded(case("sentence-threads-per-pod/threads.json")) == (
        "1 pod of 5 members is the fewest pods within the limits; now there are 3 members, within them too, but no whole "
        "number of pods."
    )


def test_further_members_read_what_the_last_one_reads() -> None:
    file = case("sentence-further-members-subscribe-like-the-last/two.json")
    text = "More members gain nothing if they read audit (as the last one does): clicks has 12 partitions with 1 reader."
    assert concluded(file).startswith(text)
    assert concluded(file, "--max-load", "6").startswith(
        "No number of members is within the limits as long as further ones read audit (as the last one does): clicks has 12 "
    )


def test_one_partition_has_all_the_lag(tmp_path: Path) -> None:
    text = concluded(case("one-partition-has-all-the-lag/body.json"))
    assert text.startswith(
        "All of the lag (450,000) is on 1 of 64 partitions, te-0, which only one member can read: more members cannot"
    )
    assert "no better" not in text
    lag = {"committed_offsets": [5, 5, 5, 5], "log_end_offsets": [9, 5, 7, 5]}
    body = {"topics": [{"topic_name": "t", "partitions_count": 4, "lag": lag}], "members": [{"member_id": "a"}]}
    file = tmp_path / "body.json"
    file.write_text(json.dumps(body))
    two = "All of the lag (6) is on 2 of 4 partitions, t-0, t-2: more than 2 members cannot shorten it"
    assert concluded(str(file)).startswith(two)
    lag["log_end_offsets"] = [5, 5, 5, 5]
    file.write_text(json.dumps(body))
    assert concluded(str(file)).startswith("There is no lag, which does not tell")
    lag["log_end_offsets"] = [5, 5, 5, 1]
    file.write_text(json.dumps(body))
    (negative, *_) = json.loads(run("member-counts", str(file)).stdout)["warnings"]
    assert negative.startswith(
        "1 of 4 partitions has a committed offset beyond the end of the log (t-3): there is nothing to read"
    )


def test_what_is_not_committed_is_not_known() -> None:
    folder = case("sentence-uncommitted-lag")
    expected = (
        "2 of 4 partitions have no committed offset (orders-2, orders-3). With auto.offset.reset=earliest that is 1,800,000 "
        "records of lag: No number of members is within the limits: orders-2 alone has 90,000 s of lag, and only one member can "
        "read it. With latest: 1 member is the fewest within the limits; now there are 2, also within them."
    )
    assert concluded(folder + "/lagnull.json") == expected
    assert concluded(folder + "/lagnull.txt", "--consumption-rate", "10", "--max-lag", "60s") == expected
    unknown = run("member-counts", folder + "/lagnull.json")
    assert unknown.exit_code == 1
    assert json.loads(unknown.stdout)["plans"][0]["meets"] == {"max_lag_seconds": None}
    latest = run("member-counts", folder + "/lagnull.json", "--offset-reset-policy", "latest")
    assert latest.exit_code == 0
    assert json.loads(latest.stdout)["conclusion"].startswith("1 member is the fewest within the limits")
    earliest = json.loads(run("member-counts", folder + "/offset_reset.json").stdout)
    assert earliest["conclusion"].startswith("No number of members is within the limits: orders-0 alone has 90,000 s of lag")
    assert earliest["policies"][-1]["total_lag"] == earliest["plans"][0]["worst_load"], "KEDA counts the same"


def test_a_log_end_or_a_topic_that_is_not_known_is_named(tmp_path: Path) -> None:
    known = {"committed_offsets": [5, 5], "log_end_offsets": [9, -1]}
    topics = [{"topic_name": "t", "partitions_count": 2, "lag": known}, {"topic_name": "u", "partitions_count": 1}]
    file = tmp_path / "body.json"
    file.write_text(json.dumps({"topics": topics, "members": [{"member_id": "a"}], "limits": {"max_load": 4}}))
    text = concluded(str(file))
    assert text == (
        "2 of 3 partitions have no known log end (t-1, u-0), so what is to be read there is not known. Without that: 1 member is "
        "the fewest within the limits."
    )
    answer = json.loads(run("member-counts", str(file)).stdout)
    assert answer["current"]["worst_load_at_most"] is None
    assert answer["recommended"] is None


OPERATORS = ("operators-cluster/members.txt", "--snapshot", case("operators-cluster/topics.txt"), "--assignor", "range")


def test_five_members_more_of_an_operators_group() -> None:
    result = run("assign", case(OPERATORS[0]), *OPERATORS[1:], "--members", "30")
    answer = json.loads(result.stdout)
    assert len(answer["assignments"]) == 30
    found = re.search(r"in 50 draws ([0-9]+) to ([0-9]+) \(([0-9.]+) on average\) partitions move", result.stderr)
    assert found
    least, most, mean = map(float, found.groups())
    assert 44 <= least <= answer["movement"]["moved"] <= most <= 140
    assert 110 < mean < 130, "120 in 2,000 draws by Kafka's own range"
    assert f"{answer['movement']['moved']} of 144 owned partitions move" in answer["conclusion"]


def test_the_lag_of_an_operators_group_counts(tmp_path: Path) -> None:
    members = json.loads(run("body", "group-assignments", case(OPERATORS[0]), *OPERATORS[1:]).stdout)["members"]
    rows = [
        f"billing {part['topic_name']} {i} 100 {100 + 7 * i} {7 * i} {member['member_id']} /h consumer-billing-1"
        for member in members
        for part in member["owned_partitions"]
        for i in part["partition_ids"]
    ]
    lag = pasted(tmp_path, *rows, name="lag.txt")
    answer = json.loads(
        run("member-counts", case(OPERATORS[0]), *OPERATORS[1:], "--snapshot", lag, "--consumption-rate", "3000").stdout
    )
    assert answer["plans"][0]["worst_load"] == sum(int(row.split()[5]) for row in rows)
    assert answer["conclusion"].endswith("Lag is not a rate: partitions may have none because members read them.")
