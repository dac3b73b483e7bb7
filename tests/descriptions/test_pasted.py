"""What people paste: several outputs in any order, and what a terminal shows around them."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from service.descriptions import Description, UnreadableDescription, read_description
from tests.support.golden import CHOICE

if TYPE_CHECKING:
    from collections.abc import Callable

RACKS = {1: "a", 2: "b", 3: "c"}


def sample(name: str) -> str:
    return (CHOICE / "descriptions" / name).read_text()


TOPICS, MEMBERS = sample("kafka-topics.txt"), sample("kafka-consumer-groups-members-verbose.txt")
STATE, OFFSETS = sample("kafka-consumer-groups-state.txt"), sample("kafka-consumer-groups-offsets.txt")
SIZES = sample("kafka-log-dirs.txt")


def racks(description: Description) -> dict[int, str | None]:
    return {broker["broker_id"]: broker.get("rack_id") for broker in description.brokers}


def content(description: Description) -> Any:
    """What it describes, without the order of its parts."""
    groups = {
        group["group_id"]: {**group, "members": {member["member_id"]: member for member in group["members"]}}
        for group in description.groups
    }
    topics = {topic["topic_name"]: topic for topic in description.topics}
    return groups, topics, {broker["broker_id"]: broker for broker in description.brokers}


# ---- around the output -------------------------------------------------------------------------------------------------


def test_a_session_of_a_shell() -> None:
    """Commands, warnings and notices are skipped, counted, and the first one quoted."""
    text = (
        "$ kafka-topics.sh --bootstrap-server b:9092 --describe\n"
        "[2026-11-23 09:00:00,000] WARN The configuration 'x' was supplied but isn't known. (AdminClientConfig)\n"
        f"{TOPICS}\nroot@host:/# kafka-consumer-groups.sh --describe --all-groups --members --verbose\n"
        f"{MEMBERS}\n\nError: Consumer group 'other' does not exist.\n$ \n"
    )
    description = read_description(text)
    assert content(description) == content(read_description(TOPICS).merged(read_description(MEMBERS)))
    shown = "$ kafka-topics.sh --bootstrap-server b:9092 --describe"
    assert description.notes == (f"5 lines are skipped, the first is line 1: {shown}",)


def test_nothing_is_skipped_without_a_note() -> None:
    assert read_description(TOPICS).notes == read_description(MEMBERS + STATE).notes == ()
    (only,) = read_description(TOPICS + "(END)\n").notes
    assert only == f"Line {TOPICS.count(chr(10)) + 1} is skipped: (END)"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\x1b[1m" + text.replace("\n", "\x1b[K\n\x1b[32m") + "\x1b[0m",
        lambda text: "\x1b]0;a title\x07" + text,
        lambda text: text.replace("    ", " \t"),
        lambda text: "\n".join(line.rstrip() for line in text.split("\n")),
    ],
    ids=["Windows", "mark", "blank lines", "colours", "title", "tabs", "trimmed"],
)
@pytest.mark.parametrize("name", ["kafka-topics.txt", "kafka-consumer-groups-offsets.txt", "kafka-log-dirs.txt"])
def test_what_terminals_and_editors_change(name: str, change: Callable[[str], str]) -> None:
    assert content(read_description(change(sample(name)))) == content(read_description(sample(name)))


@pytest.mark.parametrize("width", [80, 100, 132])
@pytest.mark.parametrize("text", [TOPICS, MEMBERS, OFFSETS], ids=["topics", "members", "offsets"])
def test_wrapped_lines_are_put_together(text: str, width: int) -> None:
    """As a pager breaks them. Of a topic's configs, whose end nothing tells, the first line is read."""
    broken = "\n".join(line[i : i + width] for line in text.split("\n") for i in range(0, max(len(line), 1), width))
    description = read_description(broken)
    described, whole = content(description), content(read_description(text))
    for topic in (*described[1].values(), *whole[1].values()):
        topic.pop("min_insync_replicas", None)
    assert described == whole


# ---- several outputs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_outputs_in_any_order(seed: int) -> None:
    """In one text, or in several files; the members keep what any of the tables says of them."""
    parts = [TOPICS, MEMBERS, STATE, OFFSETS, SIZES]
    expected = content(read_description("".join(parts)))
    random.Random(seed).shuffle(parts)
    assert content(read_description("\n".join(parts))) == expected
    whole = read_description(parts[0])
    for part in parts[1:]:
        whole = whole.merged(read_description(part))
    assert content(whole) == expected


def test_a_group_without_members() -> None:
    """The notice alone says that it has none."""
    description = read_description("\nConsumer group 'idle' has no active members.\n")
    assert description.groups == ({"group_id": "idle", "members": []},)
    (idle,) = read_description(sample("kafka-consumer-groups-no-members.txt")).groups
    assert idle == {
        "group_id": "idle",
        "group_state": "Empty",
        "members": [],
        "committed_offsets": [{"topic_name": "payments", "partition_ids": [0, 1, 2], "offsets": [195, 98, 157]}],
    }
    header = sample("kafka-consumer-groups-no-members.txt").splitlines()[3]
    with pytest.raises(UnreadableDescription, match="of a table the rows are needed"):
        read_description(header)
    warned = read_description(f"Warning: Consumer group 'billing' is rebalancing.\n{MEMBERS}")
    assert content(warned) == content(read_description(MEMBERS))


def test_the_last_list_of_members_counts() -> None:
    """A member that has left is not kept."""
    later = "\n".join(line for line in MEMBERS.split("\n") if "billing-a" not in line)
    billing = read_description(OFFSETS).merged(read_description(later)).groups[0]
    assert [member["client_id"] for member in billing["members"]] == ["billing-b"]


# ---- brokers and sizes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        sample("kafka-broker-api-versions.txt"),
        sample("kafka-broker-api-versions-2.8.2.txt"),
        sample("kafka-cluster-endpoints.txt"),
        sample("kafka-configs-brokers.txt"),
        "broker,rack\n1,a\n2,b\n3,c\n",
        "broker_id;rack_id\r\n1; a\r\n2; b\r\n\r\n3; c\r\n",
        "1:a\n2:b\n3:c",
    ],
    ids=["api-versions", "api-versions-2.8.2", "endpoints", "configs", "csv", "semicolons", "pairs"],
)
def test_racks(text: str) -> None:
    description = read_description(text)
    assert racks(description) == RACKS
    assert description.notes == ()
    assert racks(read_description(TOPICS).merged(description)) == RACKS


def test_brokers_without_a_rack() -> None:
    """And those that are fenced."""
    text = (
        "a:9092 (id: 1 rack: null isFenced: true) -> (\n)\nID         HOST      PORT       RACK STATE      ENDPOINT_TYPE\n"
        "2          b         9092            fenced     broker\n"
    )
    assert read_description(text).brokers == ({"broker_id": 1, "fenced": True}, {"broker_id": 2, "fenced": True})


def test_a_table_of_racks_beside_other_output() -> None:
    table = "".join(f"{broker['broker_id']},r{broker['broker_id']}\n" for broker in read_description(TOPICS).brokers)
    for text in (f"{TOPICS}\nbroker,rack\n{table}", f"broker,rack\n{table}{TOPICS}"):
        read = read_description(text)
        assert read.topics == read_description(TOPICS).topics
        assert all(broker["rack_id"] == f"r{broker['broker_id']}" for broker in read.brokers)
        assert read.notes == read_description(TOPICS).notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("broker,rack\n1,a\nb,2", "line 3: Not a broker and its rack, such as 1,a."),
        ("1,a\n1,b", "line 2: Duplicate broker 1."),
    ],
)
def test_a_fault_in_a_table_of_racks(text: str, expected: str) -> None:
    with pytest.raises(UnreadableDescription) as raised:
        read_description(text)
    assert raised.value.detail == expected


def test_sizes_of_partitions() -> None:
    """Each that of its largest replica; a future replica, a copy that is not complete yet, does not count."""
    document = json.loads(SIZES.split("\n")[2])
    largest: dict[str, int] = {}
    for broker in document["brokers"]:
        for folder in broker["logDirs"]:
            for row in folder["partitions"]:
                largest[row["partition"]] = max(row["size"], largest.get(row["partition"], 0))
    for topic in read_description(SIZES).topics:
        for i, size in enumerate(topic["partition_bytes"]):
            assert size == largest[f"{topic['topic_name']}-{i}"]
    future = sample("kafka-log-dirs-future-replica.txt")
    grown = re.sub(r'"size":[0-9]+(,"offsetLag":-?[0-9]+,"isFuture":true)', r'"size":99999999\1', future)
    assert grown != future
    assert read_description(grown).topics == read_description(future).topics


def test_sizes_that_are_not_complete() -> None:
    """A topic some of whose partitions have no size gets none, however large the id of one is."""
    row = {"partition": "t-9999999999", "size": 1, "isFuture": False}
    folder = {"error": "KafkaStorageException", "logDir": "/a", "partitions": [row]}
    description = read_description(json.dumps({"version": 1, "brokers": [{"broker": 1, "logDirs": [folder]}]}))
    assert description.topics == ()
    reported, missing = description.notes
    assert reported == "Broker 1 reports an error for a log directory: KafkaStorageException"
    assert missing == "Some partitions of topic 't' have no size."


# ---- releases ----------------------------------------------------------------------------------------------------------


def test_tables_of_older_releases() -> None:
    """2.8 knows classic groups alone; 3.9 prints assignments without topics, so the offsets have to tell them."""
    old = read_description("".join(sample(f"kafka-consumer-groups-{what}-2.8.2.txt") for what in ("members-verbose", "state")))
    assert [(group["group_id"], group["assignor"]) for group in old.groups] == [("billing", "range")]
    owned = {m["client_id"]: m["owned_partitions"][0]["partition_ids"] for m in old.groups[0]["members"]}
    assert owned == {"billing-a": [3, 4, 5], "billing b": [0, 1, 2]}
    members = sample("kafka-consumer-groups-members-verbose-3.9.1.txt")
    newer = read_description(members)
    assert "owned_partitions" not in newer.groups[0]["members"][0]
    assert newer.notes[0].startswith("ASSIGNMENT lists partitions without their topics, as Kafka 3.9 prints them")
    both = read_description(members + sample("kafka-consumer-groups-offsets-3.9.1.txt"))
    assert both.notes == ()
    assert {m["client_id"]: m["owned_partitions"][0]["partition_ids"] for m in both.groups[0]["members"]} == owned


def test_a_proposed_reassignment_is_not_the_current_one() -> None:
    """``kafka-reassign-partitions --generate`` prints both; ``--execute`` prints the one to go back to."""
    current, proposed = (
        json.dumps({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [n]}]}) for n in (1, 2)
    )
    text = f"Current partition replica assignment\n{current}\n\nProposed partition reassignment configuration\n{proposed}\n"
    description = read_description(text)
    assert description.topics[0]["placements"] == [{"partition_id": 0, "replicas": [1]}]
    assert description.notes[0].startswith("2 lines are skipped, the first is line 4: Proposed partition")
    executed = read_description(sample("kafka-reassign-partitions-execute.txt"))
    assert executed.topics[0]["placements"] == [{"partition_id": 1, "replicas": [1, 2, 3]}]


# ---- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x" * 5_000_000, "line 1: Not the output of"),
        (" " * 5_000_000, "line 1: Empty."),
        ("\n" * 5_000_000, "line 1: Empty."),
        ("\x1b]" * 1_000_000, "line 1: Empty."),
        ("Topic: a " + " " * 500_000 + "\n", "line 1: Not a line of kafka-topics --describe."),
        ("noise\n" * 20_000, "line 1: More than 10,000 lines are not output of Kafka's tools."),
        ('{"level": "warn"}\n' * 20_000, "line 1: More than 10,000 lines are not output of Kafka's tools."),
    ],
    ids=["a line", "blanks", "line ends", "escapes", "a topic", "noise", "JSON"],
)
def test_the_work_is_bounded(text: str, expected: str) -> None:
    with pytest.raises(UnreadableDescription) as raised:
        read_description(text)
    assert raised.value.detail.startswith(expected)


def test_a_line_too_long_beside_a_table() -> None:
    (only,) = read_description(MEMBERS + "a " * 2_000_000).notes
    assert len(only) < 150


PLACEMENTS = [{"topic": "parcels", "partition": i, "replicas": [i + 1, i + 2], "log_dirs": ["any", "any"]} for i in range(3)]
FURTHER = "\tElr: N/A\tNew-Field: {x, y}\tDirectories: a, b"
FLOW = "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: parcels}\nspec: {partitions: 3, replicas: 2}\n"


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(json.dumps(row) for row in PLACEMENTS),  # jq -c '.partitions[]'
        "\n".join(sorted(TOPICS.splitlines())),
        re.sub("(Isr: .*)", rf"\1{FURTHER}", TOPICS),
        FLOW,
    ],
    ids=["jq", "sorted", "fields to come", "flow"],
)
def test_placements_as_they_are_passed_on(text: str) -> None:
    description = read_description(text)
    assert description.topics
    assert all(len(topic.get("placements", range(3))) == topic.get("partitions_count", 3) for topic in description.topics)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OFFSETS.splitlines()[1], "Its lines are known, but none describes"),
        (json.dumps({"version": 2, "partitions": {"0": [1, 2]}}), "JSON that is not a description"),
        (json.dumps({"groupId": "g", "partitions": [{"topic": "t", "partition": 0}]}), "JSON that is not a description"),
        (
            "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaRebalance\nmetadata:\n  name: full\n",
            "KafkaRebalance 'full' describes no",
        ),
    ],
    ids=["header", "zookeeper", "console", "rebalance"],
)
def test_a_text_that_describes_nothing_is_refused(text: str, expected: str) -> None:
    with pytest.raises(UnreadableDescription, match=expected):
        read_description(text)
