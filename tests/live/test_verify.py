"""``verify`` and the other commands on a live cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient, NewPartitions

from service.cli import main
from service.live.verification import check_groups
from tests.live.clients import ASSIGNORS, eventually, members_of
from tests.live.test_snapshot import look
from tests.support.broker import await_leaders

if TYPE_CHECKING:
    from tests.live.conftest import SecuredBroker

pytestmark = pytest.mark.slow


def run(*arguments: str) -> tuple[int, str]:
    """Exit status and standard output of the command line."""
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.stdout


def test_groups_of_java_and_of_brokers_are_alike(secured: SecuredBroker, tmp_path: Path) -> None:
    """Every classic assignor of Java, and both protocols that the broker assigns, as they join one after the other."""
    broker = secured.plain
    topics = [broker.topic(7), broker.topic(3)]
    assignors = {"range": "Range", "roundrobin": "RoundRobin", "sticky": "Sticky", "cooperative-sticky": "CooperativeSticky"}
    sizes = dict.fromkeys((*assignors, "uniform", "simple"), 3)
    with members_of(broker) as members:
        for i in range(3):
            for group_id, name in assignors.items():
                classic = {"group_protocol": "classic", "partition_assignment_strategy": f"{ASSIGNORS}.{name}Assignor"}
                members.java(group_id, topics[: 1 + i % 2], **classic)
            members.java("uniform", topics, group_protocol="consumer")
            members.java("simple", topics[:1], share=True)
            partial = dict.fromkeys(sizes, i + 1)
            snapshot = eventually(lambda: look(broker, *sizes), lambda snapshot, sizes=partial: _is_complete(snapshot, sizes))
            findings = {finding.name: finding for finding in check_groups(snapshot, ())}
            assert findings.keys() == sizes.keys()
            others = {name: finding.reason for name, finding in findings.items() if finding.verdict != "alike"}
            assert "initialized" in others.pop("simple", "initialized")
            assert others == {}
        assert findings["cooperative-sticky"].reason == "as its leader computed it"
        assert findings["uniform"].reason == "the next rebalance would move nothing"
        commands = ["verify", "--bootstrap-server", broker.bootstrap, *(part for group in sizes for part in ("--group", group))]
        eventually(lambda: json.loads(run(*commands)[1])["totals"]["alike"], lambda alike: alike == 6)
        snapshot = look(broker, *sizes)
        status, output = run(*commands, "--output", "junit")
        suite = fromstring(output).find("testsuite")  # noqa: S314 - our own
        assert suite is not None
        assert (status, suite.get("tests"), suite.get("failures")) == (0, "6", "0")
    _formats(snapshot, tmp_path)


def _formats(snapshot: dict[str, Any], folder: Path) -> None:
    """A snapshot file of any format gives the same verdicts, and a group that was tampered with is told."""
    from service.cli.live.snapshot import write_snapshot  # noqa: PLC0415 - beside its use

    groups = [part for group in snapshot["groups"] for part in ("--group", group["group_id"])]
    for form in ("json", "jsonl", "parquet"):
        with (folder / form).open("wb") as file:
            write_snapshot(snapshot, form, file)
        status, output = run("verify", "--snapshot", str(folder / form), *groups)
        assert (status, json.loads(output)["totals"]) == (0, {"alike": 6, "differs": 0, "not_checked": 0})
    group = next(group for group in snapshot["groups"] if group["group_id"] == "range")
    first, second = (member["owned_partitions"][0]["partition_ids"] for member in group["members"][:2])
    first.append(second.pop())
    (folder / "json").write_text(json.dumps(snapshot))
    status, output = run("verify", "--snapshot", str(folder / "json"), *groups)
    finding = next(finding for finding in json.loads(output)["findings"] if finding["name"] == "range")
    assert (status, finding["verdict"], finding["differences_count"]) == (1, "differs", 1)
    (difference,) = finding["differences"]
    assert difference["member_ids"] == [group["members"][0]["member_id"]]
    assert difference["expected_member_ids"] == [group["members"][1]["member_id"]]


def _is_complete(snapshot: dict[str, Any], sizes: dict[str, int]) -> bool:
    """Has every group its members, and have these reached their targets, which have all partitions of their topics?

    Leaders and the coordinator may assign before they know of topics that have just been created.
    """
    return all(
        group["group_state"] == "Stable"
        and group.get("group_epoch") == group.get("assignment_epoch")
        and len(group.get("members", ())) == sizes[group["group_id"]]
        and (group["group_protocol"] == "share" or _owned_count(group) == _partitions_count(snapshot, group))
        and all(
            member.get("assigned_partitions", member["owned_partitions"]) == member["owned_partitions"]
            and member.get("member_epoch") == group.get("group_epoch")
            for member in group["members"]
        )
        for group in snapshot["groups"]
    ) and len(snapshot["groups"]) == len(sizes)


def _owned_count(group: dict[str, Any]) -> int:
    return sum(len(part["partition_ids"]) for member in group["members"] for part in member["owned_partitions"])


def _partitions_count(snapshot: dict[str, Any], group: dict[str, Any]) -> int:
    read = {name for member in group["members"] for name in member["topic_names"]}
    return sum(topic["partitions_count"] for topic in snapshot["topics"] if topic["topic_name"] in read)


def test_what_librdkafka_assigns(secured: SecuredBroker) -> None:
    """A group that librdkafka leads is compared with its assignor, in which static members do not come first."""
    broker = secured.plain
    topics = [broker.topic(5), broker.topic(7)]
    with members_of(broker) as members:
        for i in range(3):
            static = {"group_instance_id": f"static-{i}"} if i == 1 else {}
            members.librdkafka("rd", topics[: 1 + i % 2], partition_assignment_strategy="roundrobin", **static)
        snapshot = eventually(lambda: look(broker, "rd"), lambda snapshot: _is_complete(snapshot, {"rd": 3}))
    (finding,) = check_groups(snapshot, ())
    assert (finding.by, finding.verdict) == ("librdkafka:roundrobin", "alike")
    assert "its leader is librdkafka: it wrote version 0 of assignments with empty user data" in finding.reason


def test_leader_with_old_metadata(secured: SecuredBroker) -> None:
    """Partitions that the leader has not seen yet are not a difference."""
    broker = secured.plain
    topic = broker.topic(4)
    with members_of(broker) as members:
        for _ in range(2):
            members.java("old-metadata", [topic], group_protocol="classic", metadata_max_age_ms="300000")
        eventually(lambda: look(broker, "old-metadata"), lambda snapshot: _is_complete(snapshot, {"old-metadata": 2}))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_partitions([NewPartitions(topic, 6)])[topic].result(120)
        await_leaders(admin, topic, 6)
        snapshot = look(broker, "old-metadata")
        assert snapshot["groups"][0]["group_state"] == "Stable"
    (finding,) = check_groups(snapshot, ())
    assert (finding.verdict, finding.reason) == ("alike", f"as its leader computed it when it knew 4 of 6 partitions of {topic}")


def test_keys(secured: SecuredBroker) -> None:
    """The partitioner of a topic's records is named."""
    broker = secured.plain
    topic = broker.topic(12)
    broker.produce(topic, [(f"key-{i}", "") for i in range(300)], partitioner="murmur2_random")
    status, output = run("verify", "--bootstrap-server", broker.bootstrap, "--topic", topic, "--sample-keys", "200")
    findings = [finding for finding in json.loads(output)["findings"] if finding["kind"] == "keys"]
    assert [(status, finding["name"], finding["verdict"]) for finding in findings] == [(0, topic, "alike")]
    assert findings[0]["by"].startswith("java")


def test_placements(secured: SecuredBroker, tmp_path: Path) -> None:
    """What the controller has placed is possible; a placement that breaks a rule is told, with the rule."""
    topic = secured.plain.topic(6)
    status, output = run("verify", "--bootstrap-server", secured.plain.bootstrap, "--topic", topic)
    (finding,) = json.loads(output)["findings"]
    assert (status, finding["kind"], finding["by"], finding["verdict"]) == (0, "topic", "striped", "alike")
    snapshot = look(secured.plain, "none")
    described = next(described for described in snapshot["topics"] if described["topic_name"] == topic)
    described["placements"][3]["replicas"] = [1, 1]
    (tmp_path / "snapshot.json").write_text(json.dumps(snapshot))
    status, output = run("verify", "--snapshot", str(tmp_path / "snapshot.json"), "--topic", topic)
    (finding,) = json.loads(output)["findings"]
    assert (status, finding["verdict"]) == (1, "differs")
    assert finding["reason"].startswith("replication-factor")
