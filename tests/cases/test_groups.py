"""Commands about groups, with what people paste."""

import json
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
    answer = json.loads(run("members", *group).stdout)
    assert answer["current"]["worst_load"] == 450_000
    assert answer["worth_using"] == [1]
    limited = run("members", *group, "--rate", "500", "--max-lag", "60s")
    assert limited.exit_code == 1
    assert "900 s of lag" in json.loads(limited.stdout)["out_of_reach"]["max_lag_seconds"]


def test_a_lag_of_several_topics_with_gaps_is_used_as_far_as_it_is_known(tmp_path: Path, topics: str) -> None:
    members = pasted(tmp_path, *(f"g a {i} 100 1{i}0 {i}0 m1-{i % 2} /h m1" for i in range(4)), "g b 0 - 50 - m1-0 /h m1")
    body = json.loads(run("body", "member-count-plans", members, "--snapshot", topics).stdout)
    assert [topic["lag"] for topic in body["topics"]] == [
        {"committed_offsets": [100] * 4, "log_end_offsets": [100, 110, 120, 130]},
        {"committed_offsets": [None, None], "log_end_offsets": [50, None]},
    ]


def test_the_lag_of_a_group_without_members_counts_for_new_ones(tmp_path: Path, topics: str) -> None:
    idle = pasted(tmp_path, *(f"g a {i} 100 1{i}0 {i}0 - - -" for i in range(4)))
    assert "has no members" in run("members", idle, "--snapshot", topics).stderr
    answer = json.loads(run("members", idle, "--snapshot", topics, "--members", "2").stdout)
    assert answer["current_members_count"] == 2
    assert answer["current"]["worst_load"] == 50, "0 and 10, 20 and 30 of range"


@pytest.mark.parametrize("command", ["assign", "rebalances", "members", "body group-assignments"])
def test_only_the_groups_table_infers_partition_counts(command: str) -> None:
    file = case("only-the-group-table/group.txt")
    result = run(*command.split(), file)
    assert result.exit_code == 0
    assert "inferred from the group's rows, which have each partition once: parcels 3." in result.stderr
    given = run(*command.split(), file, "--topic", "parcels:3")
    assert given.stdout == result.stdout
    assert "inferred" not in given.stderr


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
    assert all(len(new) == len("m1-") + 36 for new in ids[2:])
    assert answer["movement"]["retained"] + answer["movement"]["moved"] == 4
    fewer = json.loads(run("assign", group, "--snapshot", topics, "--members", "m1-1,x").stdout)
    assert [each["member_id"] for each in fewer["assignments"]] == ["m1-1", "x"]
    alone = json.loads(run("assign", "--snapshot", topics, "--members", "3", "--topic", "a:8").stdout)
    assert alone["member_load"]["max"] == 3, "no group is described: the members read the topics given"
    assert run("assign", "--topic", "a:8").stderr.endswith("Missing option '--members'.\n")


@pytest.mark.parametrize("command", ["assign", "rebalances --scale 4", "members"])
def test_a_paste_that_refutes_that_all_read_all_topics(command: str) -> None:
    folder = case("sentence-subscriptions-assumed") + "/"
    result = run(*command.split(), folder + "mixgrp.txt", "--snapshot", folder + "mixtop.txt")
    first = result.stderr.splitlines()[0]
    assert "does not look as if all members read all topics" in first
    assert first.endswith("; audit-9b7e8d52-5f0e-4a86-8a35-6a1d9f0c2e44 reads audit. Assumed so.")
    if command == "assign":
        assert json.loads(result.stdout)["movement"]["moved"] == 0


def test_an_assumption_that_fits_is_said_and_one_that_only_has_no_better_too(tmp_path: Path, topics: str) -> None:
    of_range = [f"g {topic} {i} 1 1 0 m1-{i // half} /h m1" for topic, half in (("a", 2), ("b", 1)) for i in range(2 * half)]
    fits = run("assign", pasted(tmp_path, *of_range), "--snapshot", topics)
    assert "The description has no subscriptions: all 2 members are assumed to read all 2 topics." in fits.stderr
    odd = [f"g a {i} 1 1 0 m1-{i % 2} /h m1" for i in range(4)] + [f"g b {i} 1 1 0 m1-{i} /h m1" for i in range(2)]
    unexplained = run("assign", pasted(tmp_path, *odd), "--snapshot", topics)
    assert "although range (the default) would then not assign what they own" in unexplained.stderr
    one_topic = pasted(tmp_path, *(f"g a {i} 1 1 0 m1-{i // 2} /h m1" for i in range(4)))
    assert "subscriptions" not in run("assign", one_topic, "--snapshot", topics).stderr
