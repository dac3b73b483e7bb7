"""What Kafka's tools print, and other descriptions of a cluster, become brokers, topics and groups; faults have their line."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion
from service.descriptions import Description, UnreadableDescription, bodies, read_description
from service.descriptions.model import line_of, lines_of
from tests.support.golden import CHOICE

if TYPE_CHECKING:
    from flask.testing import FlaskClient

SAMPLES = CHOICE / "descriptions"


def sample(name: str) -> str:
    return (SAMPLES / name).read_text()


def fault(text: str) -> str:
    with pytest.raises(UnreadableDescription) as raised:
        read_description(text)
    return str(raised.value)


def owned(description: Description) -> dict[str, dict[str, Any]]:
    return {
        group["group_id"]: {
            member["client_id"]: {p["topic_name"]: p["partition_ids"] for p in member["owned_partitions"]}
            for member in group["members"]
        }
        for group in description.groups
    }


OWNED = {
    "billing": {"billing-a": {"orders": [3, 4, 5]}, "billing-b": {"orders": [0, 1, 2]}},
    "settle": {"settle-a": {"payments": [0, 1]}, "console-consumer": {"payments": [2, 3]}},
    "spaced": {"console-consumer": {"payments": [0, 1, 2, 3]}},
}


# ---- kafka-topics ------------------------------------------------------------------------------------------------------


def test_topics_of_the_real_tool() -> None:
    """Every topic with its id, every partition with its replicas; the warnings around them do not matter."""
    description = read_description("SLF4J: Defaulting to no-operation (NOP) logger implementation\n" + sample("kafka-topics.txt"))
    assert description.form == "kafka-topics"
    assert [topic["topic_name"] for topic in description.topics] == ["orders", "audit.log_v2", "payments"]
    orders = description.topics[0]
    assert orders["topic_id"] == "jkIjj8fcS2GIwo--c_4Xhw"
    assert orders["placements"][4] == {"partition_id": 4, "replicas": [1, 3, 2], "in_sync_replicas": [1, 3, 2], "leader": 1}
    assert [broker["broker_id"] for broker in description.brokers] == [1, 2, 3]


def test_topics_of_old_releases_and_of_a_reassignment() -> None:
    """Kafka 1.1 prints no space after the topic's colons; a partition on its way has the placement that it will have."""
    text = (
        "Topic:t\tPartitionCount:2\tReplicationFactor:1\tConfigs:cleanup.policy=compact\n"
        "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1\tIsr: \n"
        "\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 3,2,1\tIsr: 1\tAdding Replicas: 3,2\tRemoving Replicas: 1\n"
    )
    placements = read_description(text).topics[0]["placements"]
    assert [placement["replicas"] for placement in placements] == [[1], [3, 2]]


@pytest.mark.parametrize("end", ["", "\tConfigs:", "\tSomething: new"])
def test_a_topics_line_may_end_early_or_have_more(end: str) -> None:
    partition = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    text = f"Topic: t\tPartitionCount: 1\tReplicationFactor: 1{end}\n{partition}"
    assert read_description(text).topics[0]["partitions_count"] == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines[:4] + lines[5:], "line 1: The PartitionCount of topic 'orders' is 6, but there are lines for 5 of"),
        (
            lambda lines: lines[:-1],
            "line 11: The PartitionCount of topic 'payments' is 4, but there are lines for 3 of them.",
        ),
        (lambda lines: [*lines, lines[0]], "line 16: The PartitionCount of topic 'orders' is 6, but there are lines for 0 of"),
        (
            lambda lines: [*lines[:2], lines[2].replace("Leader: ", "Leader: 9"), *lines[1:]],
            "line 5: Partition 1 of topic 'orders' has",
        ),
        (
            lambda lines: [lines[2].replace("Partition: 1", "Partition: 2147483648")],
            "line 1: Partition 2147483648 of topic 'orders': ids end at 2147483647.",
        ),
        (lambda lines: [*lines[:2], lines[2][:40], *lines[3:]], "line 3: Not a line of kafka-topics --describe."),
    ],
)
def test_a_fault_in_topics_has_its_line(change: Any, expected: str) -> None:
    """Cut-off, doubled and missing lines."""
    assert fault("\n".join(change(sample("kafka-topics.txt").splitlines()))).startswith(expected)


# ---- kafka-consumer-groups ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["offsets", "offsets-verbose", "members-verbose"])
def test_owners_of_the_real_tool(name: str) -> None:
    """The same owners from each of the tables that tell them."""
    assert owned(read_description(sample(f"kafka-consumer-groups-{name}.txt"))) == OWNED


def test_tables_add_up() -> None:
    """Members, offsets and states pasted one after the other describe one group."""
    names = ("members-verbose", "offsets", "state")
    description = read_description("".join(sample(f"kafka-consumer-groups-{name}.txt") for name in names))
    billing, settle, _ = description.groups
    assert (billing["group_protocol"], billing["assignor"], billing["group_state"]) == ("classic", "range", "Stable")
    assert (settle["group_protocol"], settle["assignor"]) == ("consumer", "uniform")
    assert [member.get("instance_id") for member in billing["members"]] == [None, "i-1"]
    assert billing["committed_offsets"] == [
        {"topic_name": "orders", "partition_ids": [0, 1, 2, 3, 4, 5], "offsets": [3, 0, 0, 0, 0, 0]}
    ]
    assert owned(description) == OWNED


def test_members_of_old_releases() -> None:
    """Up to Kafka 4.0 partitions are in parentheses; a client id may contain spaces."""
    text = (
        "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\n"
        "g               c-1             /10.0.0.1       my client       3               orders(0,1), payments(2)\n"
        "g               c-2             /10.0.0.1       c               0               -\n"
    )
    description = read_description(text)
    assert owned(description) == {"g": {"my client": {"orders": [0, 1], "payments": [2]}, "c": {}}}
    cut = text.replace(", payments(2)", "")
    assert fault(cut) == "line 3: ASSIGNMENT does not list #PARTITIONS partitions; is the line cut off?"


def test_rows_that_do_not_line_up() -> None:
    """A paste with its spaces collapsed is read by its words, if these are as many as the columns."""
    lines = sample("kafka-consumer-groups-offsets.txt").splitlines()
    collapsed = "\n".join(" ".join(line.split()) for line in lines)
    assert owned(read_description(collapsed)) == OWNED
    assert fault(collapsed + "\nbilling orders 0") == f"line {len(lines) + 1}: A row of 9 columns is expected."
    assert fault(collapsed.replace("orders 4", "orders four")).endswith("PARTITION is not a number: 'four'.")


# ---- JSON --------------------------------------------------------------------------------------------------------------


def test_cruise_control_tells_what_kafka_topics_tells() -> None:
    """The same placements, though a partition is listed under each state that it is in; and the brokers without replicas."""
    described, topics = read_description(sample("cruise-control.json")), read_description(sample("kafka-topics.txt"))
    assert described.form == "cruise-control"
    assert {t["topic_name"]: t["placements"] for t in described.topics} == {
        t["topic_name"]: t["placements"] for t in topics.topics
    }
    assert [broker["broker_id"] for broker in described.brokers] == [1, 2, 3, 4]


def test_a_reassignment() -> None:
    """Kafka's own JSON; not all partitions of a topic need to be in it."""
    text = '{"version":1,"partitions":[\n{"topic":"t","partition":3,"replicas":[2,1],"log_dirs":["any","any"]}\n]}'
    assert read_description(text).topics == ({"topic_name": "t", "placements": [{"partition_id": 3, "replicas": [2, 1]}]},)


SNAPSHOT = {
    "snapshot_version": 1,
    "brokers": [{"broker_id": 1, "rack_id": "a", "fenced": False}, {"broker_id": 2, "rack_id": "b"}],
    "topics": [
        {
            "topic_name": "orders",
            "topic_id": "jkIjj8fcS2GIwo--c_4Xhw",
            "partitions_count": 2,
            "internal": False,
            "placements": [
                {"partition_id": 0, "replicas": [1, 2], "in_sync_replicas": [1, 2]},
                {"partition_id": 1, "replicas": [2], "in_sync_replicas": [2]},
            ],
        }
    ],
    "groups": [
        {
            "group_id": "billing",
            "group_protocol": "classic",
            "assignor": "range",
            "group_state": "Stable",
            "members": [
                {"member_id": "c1", "client_id": "c", "instance_id": None, "rack_id": "b", "topic_names": ["orders", "gone"]}
            ],
        }
    ],
}


def test_a_snapshots_group_is_a_request(client: FlaskClient) -> None:
    """Racks come from the placements; what the endpoint does not take is left out; a topic that does not exist stays a name."""
    body = bodies.group_assignment(read_description(json.dumps(SNAPSHOT)), "billing")
    assert body["topics"] == [
        {
            "topic_name": "orders",
            "topic_id": "jkIjj8fcS2GIwo--c_4Xhw",
            "partitions_count": 2,
            "partition_racks": [["a", "b"], ["b"]],
        }
    ]
    assert body["members"] == [{"member_id": "c1", "rack_id": "b", "topic_names": ["orders", "gone"]}]
    assert client.post("/v1/group-assignments", json=body).status_code == 200


def test_groups_of_the_tools_are_requests(client: FlaskClient) -> None:
    """With the topics beside them; Kafka's own assignment comes back."""
    names = ("members-verbose", "state")
    groups = read_description("".join(sample(f"kafka-consumer-groups-{name}.txt") for name in names))
    description = groups.merged(read_description(sample("kafka-topics.txt")))
    for group_id in OWNED:
        body = bodies.group_assignment(description, group_id)
        answer = client.post("/v1/group-assignments", json=body).get_json()
        assert {row["member_id"]: row["partitions"] for row in answer["assignments"]} == {
            member["member_id"]: member["owned_partitions"] for member in body["members"]
        }


@pytest.mark.parametrize(
    ("group_id", "expected"),
    [
        (None, "Which group? 'billing', 'settle', 'spaced'."),
        ("b", "No group 'b'; it must be one of 'billing', 'settle', 'spaced'."),
    ],
)
def test_which_group(group_id: str | None, expected: str) -> None:
    """The names that there are, when none or another is asked for."""
    with pytest.raises(InvalidQuestion) as raised:
        bodies.group_assignment(read_description(sample("kafka-consumer-groups-offsets.txt")), group_id)
    assert raised.value.detail == expected


def test_a_group_without_its_topics() -> None:
    """kafka-consumer-groups does not print partition counts: they are inferred from its rows, and said to be."""
    description = read_description(sample("kafka-consumer-groups-offsets.txt"))
    body, assumed = bodies.assumed_group(description, "billing")
    assert all(topic["partitions_count"] > 0 for topic in body["topics"])
    assert "inferred" in " ".join(assumed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1: Empty."),
        ("hello", "line 1: Not the output of kafka-topics"),
        ("[1]", "line 1: JSON that is not a description of a cluster."),
        ('{"a":\n1', "line 2: Malformed JSON"),
        ("{}", "line 1: JSON that is not a description of a cluster."),
        ('{"partitions":[\n{"topic":"t","partition":0,\n"replicas":[1,\n"2"]}]}', "line 4: replicas: not an integer."),
        ('{"partitions":[\n{"topic":"t","partition":true,"replicas":[]}]}', "line 2: partition: not an integer."),
        ('{"partitions":[\n\n{"topic":"t","replicas":[]}]}', "line 3: partition is missing."),
        ('{"partitions":[\n' + '{"topic":"t","partition":0,"replicas":[1]},\n' * 2 + "{}]}", "line 3: Duplicate partition 0"),
        ('{"snapshot_version":\n2}', "line 2: snapshot_version 2 is not supported; 1 is."),
        ('{"brokers":[{"broker_id":1},\n{"broker_id":1}]}', "line 2: Duplicate broker_id 1."),
        (
            '{"partitions":[\n{"topic":"t","partition":2147483648,"replicas":[1]}]}',
            "line 2: Partition 2147483648 of topic 't': ids end at 2147483647.",
        ),
        ('{"topics":[],\n"brokers":[{"broker_id":2147483648}]}', "line 2: Broker 2147483648: ids end at 2147483647."),
        (
            "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\ng t 2147483648 1 2 1 c /h c",
            "line 2: Partition 2147483648",
        ),
        ('{"groups":[{"group_id":"g",\n"committed_offsets":[{"topic_name":"t"}]}]}', "line 2: partition_ids is missing."),
        ('{"KafkaPartitionState":{"urp":[]}}', "line 1: Partitions are missing: ask Cruise Control with verbose=true."),
        ("[" * 100_000, "line 1: Malformed JSON"),
    ],
)
def test_faults_have_their_line(text: str, expected: str) -> None:
    """Of JSON as of text."""
    assert fault(text).startswith(expected)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=3), values, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_lines_of_values(value: Any) -> None:
    """Printed with a value on each line, every value begins where the printer put it."""
    expected: list[tuple[tuple[str | int, ...], Any]] = []

    def walk(value: Any, path: tuple[str | int, ...]) -> None:
        expected.append((path, value))
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            walk(inner, (*path, key))

    walk(value, ())
    text = json.dumps(value, indent=1)
    lines = lines_of(text, [path for path, _ in expected])
    assert len(lines) == len(expected)
    for path, inner in expected:
        first = json.dumps(inner, indent=1).splitlines()[0]
        assert first in text.splitlines()[lines[path] - 1]
        assert line_of(text, (*path, "nowhere", 1)) == lines[path]


NAMES = (
    "kafka-topics.txt",
    "kafka-consumer-groups-members-verbose.txt",
    "kafka-console-consumer-records.txt",
    "cruise-control.json",
)
TEXTS = [sample(name) for name in NAMES]


@given(st.text(max_size=80) | st.sampled_from(TEXTS), st.data())
def test_no_text_crashes_a_reader(text: str, data: st.DataObject) -> None:
    """It is read, or refused."""
    start, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 30))
    inserted = data.draw(st.text(max_size=3) | st.just("9" * 5_000))
    with contextlib.suppress(UnreadableDescription):
        read_description(text[:start] + inserted + text[start + length :])


def test_rates_of_a_snapshot_are_what_producers_write():
    """The growth of a partition; where it shrank meanwhile, its records × their mean size; nothing where one is not known."""
    topic = {
        "topic_name": "t",
        "placements": [{"partition_id": i, "replicas": [0]} for i in range(2)],
        "partitions_count": 2,
        "partition_bytes": [1000, 600],
        "bytes_per_second": [50.0, None],
        "records_per_second": [5.0, 4.0],
        "log_start_offsets": [0, 100],
        "log_end_offsets": [90, 300],
    }
    described = Description("snapshot", ({"broker_id": 0},), (topic,))
    assert bodies.reassignment(described)["topics"][0]["partition_bytes_per_second"] == [50.0, 12.0]
    unknown = Description("snapshot", ({"broker_id": 0},), ({**topic, "log_start_offsets": [0, 300]},))
    assert "partition_bytes_per_second" not in bodies.reassignment(unknown)["topics"][0]
