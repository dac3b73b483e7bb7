"""What upgrades change: groups by their assignors, keys by default partitioners, and the steps that libraries accept."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from service.cli import main
from service.core.errors import InvalidQuestion
from service.descriptions import Description
from service.descriptions.upgrades import GroupChange, Software, Upgrade, document, sentences, upgrade
from service.descriptions.version_histories import default_of, setting_of
from service.strategies import GROUP_PROTOCOLS

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]

TOPICS = ({"topic_name": "orders", "partitions_count": 6}, {"topic_name": "__consumer_offsets", "internal": True})


def member(member_id: str, *partition_ids: int, **more: Any) -> Json:
    owned = [{"topic_name": "orders", "partition_ids": list(partition_ids)}]
    return {"member_id": member_id, "topic_names": ["orders"], "owned_partitions": owned, **more}


JAVA = {"assignment_version": 3}
LIBRDKAFKA = {"assignment_version": 0, "assignment_user_data": "empty", "assignment_echoes_subscription": True}
STATIC = [member("x", 0, 1, 2, instance_id="z", client_id="rdkafka"), member("a", 3, 4, 5, client_id="rdkafka")]


def group(group_id: str, assignor: str, members: list[Json], **more: Any) -> Json:
    return {"group_id": group_id, "group_protocol": "classic", "assignor": assignor, "members": members, **more}


GROUPS = (
    group("java", "range", [member("x", 0, 1, 2, instance_id="z"), member("a", 3, 4, 5)], **JAVA),
    group("rd", "range", STATIC, **LIBRDKAFKA),
    group("coop", "cooperative-sticky", [member("a", 0, 1, 2, 3), member("b", 4, 5)], **JAVA),
    {**group("new", "uniform", [member("a", 0, 1, 2), member("b", 3, 4, 5)]), "group_protocol": "consumer"},
    {"group_id": "gone", "group_protocol": "classic", "members": []},
)


def changes(before: str, after: str) -> tuple[Upgrade, dict[str, GroupChange]]:
    """The upgrade, and its groups by name."""
    found = upgrade(Description("snapshot", (), TOPICS, GROUPS), Software.read(before), Software.read(after))
    return found, {each.group_id: each for each in found.groups}


def test_a_change_of_leader() -> None:
    """Java lets the static member come first, librdkafka goes by member id: all partitions change hands, and most keys."""
    found, groups = changes("java", "librdkafka")
    assert groups.keys() == {"java", "coop"}
    java = groups["java"]
    assert (len(found.unaffected), len(found.unknown)) == (2, 1)
    assert (java.assigned_differently, java.moved, java.moved_without_upgrade) == (6, 6, 0)
    assert (groups["java"].before, groups["java"].after) == ("java 4.4.0 range", "librdkafka 2.15.1 range")
    (keys,) = found.keys
    assert (keys.topic_name, keys.before, keys.after) == ("orders", "java:adaptive", "librdkafka:consistent_random")
    assert keys.moved_share == pytest.approx(5 / 6, abs=0.02)


def test_releases_of_a_client() -> None:
    """One restart each; a release that was not compared is stood for by another."""
    found, groups = changes("librdkafka:1.9", "librdkafka:2.16")
    assert groups.keys() == {"rd"}
    assert (groups["rd"].before, groups["rd"].after, groups["rd"].assigned_differently) == (
        "librdkafka 1.9.2 range",
        "librdkafka 2.15.1 range",
        0,
    )
    assert found.notes == ("librdkafka 2.16 was not compared; 2.15.1 stands for it, the newest before it.",)
    assert "with partition.assignment.strategy=range as it is." in groups["rd"].steps[0]
    assert not found.keys


def test_a_release_keeps_its_number() -> None:
    """Even where a later one answers alike."""
    members = [member("x", 0, 1, 2, instance_id="z"), member("a", 3, 4, 5)]
    groups = (group("py", "range", members, client="kafka-python"),)
    states = (Software.read(f"kafka-python:{release}") for release in ("2.0.2", "3.0.12"))
    (found,) = upgrade(Description("snapshot", (), TOPICS, groups), *states).groups
    assert (found.before, found.after) == ("kafka-python 2.0.2 range", "kafka-python 3.0.12 range")
    assert found.assigned_differently == 6


def test_releases_that_were_not_compared() -> None:
    """One release does not stand for two that are to be told apart."""
    found, groups = changes("librdkafka:2.16", "librdkafka:2.17")
    assert len(found.notes) == 2
    assert groups["rd"].problem == ("How releases differ that were not compared is not known: librdkafka 2.15.1 stands for both.")
    assert (groups["rd"].assigned_differently, groups["rd"].moved) == (None, None)
    assert groups["rd"].steps


def test_eager_to_cooperative() -> None:
    """Two rolling restarts of Java's clients; librdkafka's must stop; what moves first is counted through both rebalances."""
    _, groups = changes("eager", "cooperative")
    assert groups.keys() == {"java", "rd"}
    assert [step.split(".")[0][:36] for step in groups["java"].steps] == [
        "Restart the members one by one with ",
        "Wait until all members have joined: ",
        "Restart the members one by one with ",
    ]
    assert "CooperativeStickyAssignor,org.apache.kafka.clients.consumer.RangeAssignor" in groups["java"].steps[0]
    assert "must have the same protocol type" in groups["rd"].steps[0]
    assert groups["rd"].steps[1].startswith("Stop all members, configure partition.assignment.strategy=cooperative-sticky")
    assert groups["java"].moved == 0
    _, back = changes("cooperative", "eager")
    assert back["coop"].after == "java 4.4.0 range"


def test_classic_to_consumer() -> None:
    """The broker's uniform; a group that is uneven is evened out by both."""
    _, groups = changes("classic", "consumer")
    assert groups.keys() == {"java", "rd", "coop"}
    assert groups["coop"].after == "broker 4.4.0 uniform"
    assert (groups["coop"].moved, groups["coop"].moved_without_upgrade) == (1, 1)
    assert "librdkafka 2.12 or later" in groups["rd"].steps[0]


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        ("eager", "cooperative", ["Rolling restarts are refused. Specified partition_assignment_strategy", "Stop all members"]),
        (
            "classic",
            "consumer",
            ["kafka-python 3.0.12 does not have the consumer protocol", "Leave group", "Restart the members"],
        ),
    ],
)
def test_steps_that_kafka_python_accepts(before: str, after: str, steps: list[str]) -> None:
    """No list of eager and cooperative assignors, and no consumer protocol."""
    members = [member(name, client_id="kafka-python-3.0.12") for name in "ab"]
    groups = (group("py", "range", members, assignment_version=0, assignment_user_data="empty"),)
    (found,) = upgrade(Description("snapshot", (), TOPICS, groups), Software.read(before), Software.read(after)).groups
    assert [step.startswith(start) for step, start in zip(found.steps, steps, strict=True)] == [True] * len(steps)


COOPERATIVE = "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
PYTHON = {"assignment_version": 0, "assignment_user_data": "empty"}


@pytest.mark.parametrize(
    ("groups", "states", "after", "steps"),
    [
        (  # librdkafka has no sticky
            group("py", "sticky", [member("a", client_id="kafka-python-3.0.12")], **PYTHON),
            ("kafka-python", "librdkafka"),
            "librdkafka 2.15.1 range",
            [
                "Restart the members one by one with partition_assignment_strategy=[RangePartitionAssignor, StickyPartition",
                "Wait until",
                "Restart the members one by one with librdkafka and partition.assignment.strategy=range.",
            ],
        ),
        (
            group("java", "range", [member("a")], **JAVA),
            ("java", "kafka-go"),
            "kafka-go 0.4.51 range",
            ["Rolling restarts are refused. Members of both clients cannot be in one group", "Stop all members, configure Group"],
        ),
        (  # a mixed group
            group("mixed", "range", [member("a", client_id="consumer-g-1"), member("b", client_id="kgo")], **JAVA),
            ("eager", "cooperative"),
            "java 4.4.0 cooperative-sticky",
            [
                f"Restart the members one by one with java and {COOPERATIVE},org.apache.kafka.clients.consumer.RangeAssignor, or",
                "Wait until",
                f"Restart the members one by one with java and {COOPERATIVE}, or franz-go and kgo.Balancers(kgo.CooperativeSt",
            ],
        ),
        (
            group("mixed", "range", [member("a", client_id="consumer-g-1"), member("b", client_id="aiokafka-0.14.0")], **JAVA),
            ("eager", "cooperative"),
            "java 4.4.0 cooperative-sticky",
            ["Rolling restarts are refused. Clients of aiokafka have no", "Stop all members, configure partition.assignment"],
        ),
        (
            group("mixed", "range", [member("a", client_id="consumer-g-1"), member("b", client_id="rdkafka")], **JAVA),
            ("java", "librdkafka"),
            "librdkafka 2.15.1 range",
            ["Restart the members of java one by one with librdkafka and partition.assignment.strategy=range.", "The group is"],
        ),
        (
            group("mixed", "range", [member("a", client_id="consumer-g-1"), member("b", client_id="rdkafka")], **JAVA),
            ("classic", "consumer"),
            "broker 4.4.0 uniform",
            [
                "Upgrade the members of java to java 4.0",
                "Upgrade the members of librdkafka to librdkafka 2.12",
                "Leave",
                "Restart",
            ],
        ),
    ],
)
def test_steps_between_libraries(groups: Json, states: tuple[str, str], after: str, steps: list[str]) -> None:
    """By an assignor that both have; each library of a mixed group by its own setting."""
    (found,) = upgrade(Description("snapshot", (), TOPICS, (groups,)), *map(Software.read, states)).groups
    assert (found.after, found.problem) == (after, None)
    assert [step[: len(start)] for step, start in zip(found.steps, steps, strict=True)] == steps


@pytest.mark.parametrize(
    ("names", "setting"),
    [
        (["range", "sticky"], "partition.assignment.strategy=org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka."),
        (["balanced", "cooperative-sticky"], "partition.assignment.strategy=partitionallocator.clients.RemoteAssignor,org.ap"),
        (["librdkafka:range", "librdkafka:roundrobin"], "partition.assignment.strategy=range,roundrobin"),
        (["franz-go:range", "franz-go:sticky"], "kgo.Balancers(kgo.RangeBalancer(), kgo.StickyBalancer())"),
        (
            ["sarama:range", "sarama:sticky"],
            "Consumer.Group.Rebalance.GroupStrategies: NewBalanceStrategyRange(), NewBalanceStrategySticky()",
        ),
        (
            ["aiokafka:range", "aiokafka:sticky"],
            "partition_assignment_strategy=[RangePartitionAssignor, StickyPartitionAssignor]",
        ),
        (["kafkajs:RoundRobinAssigner"], "partitionAssigners: [PartitionAssigners.roundRobin]"),
        (
            ["kafka-go:range", "kafka-go:roundrobin"],
            "GroupBalancers: []kafka.GroupBalancer{kafka.RangeGroupBalancer{}, kafka.RoundRobinGroupBalancer{}}",
        ),
    ],
)
def test_settings(names: list[str], setting: str) -> None:
    """A list of assignors, as each client has it in its configuration."""
    assert setting_of(tuple(GROUP_PROTOCOLS["classic"][name] for name in names)).startswith(setting)


def test_releases_of_kafka() -> None:
    """Brokers and Java's clients; what a release does not have is a problem of that group alone."""
    _, groups = changes("kafka:3.9", "kafka:4.4")
    assert groups.keys() == {"java", "coop", "new"}
    assert groups["new"].problem is not None
    assert "uniform does not support Kafka 3.9.2" in groups["new"].problem
    assert groups["java"].assigned_differently == 0
    _, later = changes("kafka:4.0.0", "kafka:4.4")
    assert (later["new"].before, later["new"].assigned_differently) == ("broker 4.0.0 uniform", 0)


@pytest.mark.parametrize(
    ("client", "release", "name"),
    [
        ("kafkajs", "1", "kafkajs:legacy"),
        ("kafkajs", "2.2.4", "kafkajs"),
        ("java", "2.3", "java-2.3"),
        ("java", "2.4.1", "java"),
        ("java", None, "java:adaptive"),
    ],
)
def test_default_partitioners(client: str, release: str | None, name: str) -> None:
    """By the release that first had them."""
    assert default_of(client, release).partitioner == name


def test_placements_from_zookeeper() -> None:
    """AdminUtils shifts followers by one more each time round, striped does not; both could place a single row."""
    rows = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3], [2, 0], [3, 1]]
    placements = [{"partition_id": i, "replicas": replicas} for i, replicas in enumerate(rows)]
    topics = (
        {"topic_name": "orders", "partitions_count": 8, "placements": placements},
        {"topic_name": "one", "partitions_count": 1, "placements": placements[:1]},
        {"topic_name": "unknown", "partitions_count": 2, "placements": placements[1:2]},
    )
    cluster = Description("snapshot", tuple({"broker_id": i} for i in range(4)), topics, ())
    found = upgrade(cluster, Software.read("zookeeper:3.9"), Software.read("kafka:4.4")).placements
    assert [(each.topic_name, each.before, each.after, each.possible_before, each.possible_after) for each in found] == [
        ("orders", "rack-unaware", "striped", True, False),
        ("one", "rack-unaware", "striped", True, True),
    ]
    assert found[0].verdict.startswith("The placer striped could not have placed the topic this way on brokers without racks")
    assert upgrade(cluster, Software.read("kafka:2.8"), Software.read("kafka:4.4")).placements == found
    for before, after in (("kafka:3.9", "kafka:4.4"), ("zookeeper:2.8", "zookeeper:3.9"), ("java:2.8", "java:4.4")):
        assert not upgrade(cluster, Software.read(before), Software.read(after)).placements


def test_keys_of_kafkajs() -> None:
    """Version 2 has another default partitioner."""
    found, _ = changes("kafkajs:1", "kafkajs:2")
    assert [(each.before, each.after) for each in found.keys] == [("kafkajs:legacy", "kafkajs")]


def test_records_without_a_key() -> None:
    """A release can change where they go, and leave keys where they are."""
    found, _ = changes("librdkafka:1.5", "librdkafka:2.12")
    assert [(each.moved_share, each.null_keys) for each in found.keys] == [
        (0, "a random available partition each → one random partition for sticky.partitioning.linger.ms (KIP-480)")
    ]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("consumer", "classic", "An upgrade from consumer to classic is not supported"),
        ("zookeeper:4.1", "kafka", "Kafka has had no ZooKeeper since 4.0"),
        ("kafka:3.9", "zookeeper:3.9", "cannot go back from KRaft"),
        ("java:3.9", "kafka:4.4", "kafka stands for brokers"),
        (
            "nobody",
            "java",
            "There is no 'nobody'; it must be one of kafka, zookeeper, java, .*, eager, .*, consumer.",
        ),
        ("eager:1", "cooperative", "eager is a protocol and has no releases."),
        ("java:new", "java", "java:new: 'new' is not a release."),
    ],
)
def test_what_is_no_upgrade(before: str, after: str, says: str) -> None:
    """It is named."""
    with pytest.raises(InvalidQuestion, match=says):
        changes(before, after)


def test_the_command(tmp_path: Path) -> None:
    """A table with the steps below it; JSON has the same."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps({"snapshot_version": 1, "brokers": [], "topics": TOPICS, "groups": GROUPS}))
    command = ["upgrade", str(path), "--from", "eager", "--to", "cooperative", "--output"]
    shown, document = (CliRunner().invoke(main, [*command, form]) for form in ("table", "json"))
    assert shown.exit_code == 0, shown.output
    assert "Steps for rd:\n1. Rolling restarts are refused." in shown.stdout
    answer = json.loads(document.stdout)
    assert [each["group_id"] for each in answer["groups"]] == ["java", "rd"]
    assert answer["conclusion"].startswith("Of 5 groups, ")
    assert answer["conclusion"].replace(". ", ".\n").splitlines()[0] in shown.stdout
    alone = {"topics": TOPICS, "groups": GROUPS}
    files = [tmp_path / f"{name}.json" for name in alone]
    for file, (name, rows) in zip(files, alone.items(), strict=True):
        file.write_text(json.dumps({name: rows}))
    for several in (files, [files[0], "--snapshot", files[1]]):
        assert CliRunner().invoke(main, ["upgrade", *map(str, several), *command[2:], "json"]).stdout == document.stdout
    refused = CliRunner().invoke(main, ["upgrade", str(path), "--from", "consumer", "--to", "classic"])
    assert (refused.exit_code, "from consumer to classic is not supported" in refused.stderr) == (2, True)


def told(before: str, after: str, groups: tuple[Json, ...], topics: tuple[Json, ...] = TOPICS, client: str | None = None) -> Json:
    """The document, whose sentences have the numbers of its lists."""
    found = document(upgrade(Description("snapshot", (), topics, groups), Software.read(before), Software.read(after), client))
    counts = re.findall(r"(\d+) (?:is|are) (not affected|not known|not compared|assigned)", found["conclusion"])
    said: Counter[str] = Counter()
    for number, what in counts:
        said[what] += int(number)
    compared = sum(each["assigned_differently"] is not None for each in found["groups"])
    lists = {"not affected": found["groups_not_affected"], "not known": found["groups_not_known"]}
    expected = {what: len(rows) for what, rows in lists.items()} | {"assigned": compared}
    assert +said == +Counter(expected | {"not compared": len(found["groups"]) - compared}), found["conclusion"]
    return found


UNTOLD = group("untold", "range", [member("a", 0, 1, 2), member("b", 3, 4, 5)])
ACME = group("acme", "acme", [member("a", 0, 1)])


@pytest.mark.parametrize(
    ("states", "unaffected", "untold"),
    [
        (
            ("librdkafka:1.9", "librdkafka:2.15"),
            {"java": "its client is java", "coop": "its client is java", "new": "the coordinator assigns it: protocol consumer"},
            {"untold": "it is not known whether its client is librdkafka"},
        ),
        (("kafka:4.0", "kafka:4.4"), {"rd": "its client is librdkafka"}, {}),
        (
            ("cooperative", "eager"),
            {"new": "the coordinator assigns it", **dict.fromkeys(("java", "rd", "untold"), "range is not cooperative")},
            {},
        ),
    ],
)
def test_reasons(states: tuple[str, str], unaffected: dict[str, str], untold: dict[str, str]) -> None:
    """Each group that is not planned has one, and what is not known is not called unaffected."""
    answer = told(*states, (*GROUPS, UNTOLD, ACME))
    unknown = {"gone": "it has no members", "acme": "its assignor acme is not known", **untold}
    for name, expected in (("groups_not_affected", unaffected), ("groups_not_known", unknown)):
        found = {each["group_id"]: each["because"] for each in answer[name]}
        assert found.keys() == expected.keys()
        assert all(found[group_id].startswith(because) for group_id, because in expected.items())


def test_a_client_that_nothing_tells() -> None:
    """It is planned if somebody says which it is; where it is assumed, the sentence says so."""
    states = ("librdkafka:1.9", "librdkafka:2.15")
    open_answer, planned = told(*states, (UNTOLD,)), told(*states, (UNTOLD,), client="librdkafka")
    assert open_answer["conclusion"].startswith("Of 1 group, none is known to be affected. 1 is not known: untold (it is")
    assert "--client" in open_answer["conclusion"]
    assert planned["conclusion"].startswith("Of 1 group, 1 is assigned as before (untold).")
    assert "--client" not in planned["conclusion"]
    assert "The client of untold is assumed" in told("java", "librdkafka", (UNTOLD,))["conclusion"]
    assert "assumed" not in told("java", "librdkafka", GROUPS[:1])["conclusion"]
    assert told(*states, ())["conclusion"].startswith("The description has no group.")


def test_keys_without_topics() -> None:
    """That none is described is no reason for keys to stay."""
    moves = "The default partitioner changes from librdkafka:consistent_random to java:adaptive: keys move if producers"
    without, with_topics = (told("librdkafka:1.9", "java:4.4", GROUPS, topics)["conclusion"] for topics in ((), TOPICS))
    assert moves in without
    assert moves in with_topics
    assert ("which topics is not known" in without, "which topics is not known" in with_topics) == (True, False)
    assert "keys stay where they are." in told("java:3.9", "java:4.4", GROUPS, ())["conclusion"]
    assert "keys" not in told("eager", "cooperative", GROUPS)["conclusion"]


def test_default_partitioners_that_hash_keys_alike_leave_them_where_they_are() -> None:
    for before, after in (("java:2.3", "java:3.9"), ("java:3.2", "franz-go"), ("kafkajs:1.9", "kafkajs:2.3"), ("sarama", "java")):
        found, _ = changes(before, after)
        text, moved = " ".join(sentences(found)), {each.moved_share for each in found.keys}
        assert ("they stay where they are" in text) == (moved == {0.0}), text
        assert ("keys move" in text) == (moved != {0.0}), text
