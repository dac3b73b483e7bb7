"""The command line answers as the service does: a table on a terminal, JSON everywhere else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from service.cli import main
from tests.server.test_server import QUESTIONS
from tests.support.forked import on_a_terminal
from tests.support.golden import lines

COMMANDS = {"partitions": "/v1/partitions", "assign": "/v1/group-assignments", "place": "/v1/replica-placements"}


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "service", *arguments], input=stdin, capture_output=True, text=True, check=False)


def run_here(*arguments: str, stdin: str = "") -> Result:
    """The command in this process, which need not import what it needs."""
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_gets_the_services_own_answer(client, command, tmp_path):
    path = COMMANDS[command]
    file = tmp_path / "question.json"
    file.write_text(json.dumps(QUESTIONS[path]))
    answer = run_here(command, str(file))
    assert answer.stdout_bytes == client.post(path, json=QUESTIONS[path]).data + b"\n"
    assert run_here(command, stdin=file.read_text()).stdout == answer.stdout, "standard input is the default"
    if command == "assign":
        assert run(command, str(file)).stdout == answer.stdout


@pytest.mark.parametrize(
    ("command", "shown"),
    [("partitions", "a       3"), ("assign", "c1      4    orders 0 2 4 6"), ("place", "replicas (leader first)")],
)
def test_a_terminal_gets_a_table(command, shown, tmp_path):
    file = tmp_path / "question.json"
    file.write_text(json.dumps(QUESTIONS[COMMANDS[command]]))
    text = on_a_terminal(command, str(file), TERM="dumb")
    assert shown in text
    assert ("skew" in text) == (command != "partitions"), "fewer keys than partitions have none"


def test_a_problem_goes_to_standard_error_with_its_place():
    ended = run("partitions", stdin='{"partitions_count": 0, "keys": []}')
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "/partitions_count" in ended.stderr


def test_no_fault_is_printed_twice():
    ended = run_here("partitions", stdin='{"partitions_count": 6, "keys": [], "partitioner": "librdkafka:murmer2"}')
    assert ended.stderr.count("murmer2") == 1
    assert len(ended.stderr) < 300
    ended = run_here("partitions", stdin='{"partition_count": 6, "keys": []}')
    assert ended.stderr == (
        "Error: 2 faults\n  /partitions_count: Missing data for required field.\n"
        "  /partition_count: Unknown field. Did you mean 'partitions_count'?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "path", "body"),
    [
        (
            "partitions order-1 order-2 --partitions 6 --partitioner librdkafka",
            "/v1/partitions",
            {"partitions_count": 6, "partitioner": "librdkafka:consistent_random", "keys": ["order-1", "order-2"]},
        ),
        (
            "partition 7 -- -8 --partitions 6 --key-format long",
            "/v1/partitions",
            None,
        ),
        (
            "assign --topic orders:12 --members 2 --assignor range",
            "/v1/group-assignments",
            {
                "assignor": "range",
                "topics": [{"topic_name": "orders", "partitions_count": 12}],
                "members": [{"member_id": "member-1"}, {"member_id": "member-2"}],
            },
        ),
        (
            'splits --members 1 --starting-offsets {"t":{"0":2}} --ending-offsets {"t":{"0":8}} --min-partitions 2',
            "/v1/group-assignments",
            {
                "group_protocol": "splits",
                "assignor": "spark:kafka-source",
                "min_partitions": 2,
                "topics": [
                    {"topic_name": "t", "partitions_count": 1, "lag": {"committed_offsets": [2], "log_end_offsets": [8]}},
                ],
                "members": [{"member_id": "executor-1"}],
            },
        ),
        (
            "place --brokers 4 --racks 2 --replication-factor 2 --topic orders:3",
            "/v1/replica-placements",
            {
                "topic_name": "orders",
                "partitions_count": 3,
                "replication_factor": 2,
                "brokers": [{"broker_id": i, "rack_id": f"rack-{i % 2 + 1}"} for i in range(4)],
            },
        ),
        (
            "place --brokers 1,5 --replication-factor 2",
            "/v1/replica-placements",
            {"partitions_count": 1, "replication_factor": 2, "brokers": [{"broker_id": 1}, {"broker_id": 5}]},
        ),
    ],
)
def test_options_say_what_a_body_says(client, arguments, path, body):
    ended = run_here(*arguments.split())
    if body is None:
        assert ended.exit_code == 2, "after --, every word is a key, also an option"
    else:
        assert ended.stdout.encode() == client.post(path, json=body).data + b"\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("partitions a b", "Missing option '--partitions'"),
        ("partitions order-1", "order-1: No such file or directory. To give keys as arguments, add --partitions."),
        ('splits --members 1 --ending-offsets {"t":{"0":8}}', "Missing option '--starting-offsets'"),
        ('splits --members 1 --starting-offsets {"t":{"1":8}} --ending-offsets {"t":{"1":8}}', "topic 't' lacks partition 0"),
        ("assign --topic orders:12", "Missing option '--members'"),
        ("assign --topic orders --members 2", "'orders' is not a topic and its number of partitions"),
        ("place --racks 3", "Missing option '--brokers'"),
        (
            "place --brokers 3 --topic orders:x",
            "Invalid value for '--topic': 'orders:x' is not a topic and its number of partitions",
        ),
        ("assign --topic orders:12 --members -1", "'-1' is not a number of members, at most 9999999, or ids"),
        ("assign --topic orders:12 --members 10000000", "'10000000' is not a number of members"),
        ("rebalances --topic orders:12 --members 2.5", "'2.5' is not a number of members"),
        ("place --brokers x,y", "neither a number of brokers nor ids"),
        ("place request.json --brokers 3", "not both"),
        ("partitions a --partitions 3 --explain --output csv", "--explain is for --output json"),
        ("partitoin a", "No such command 'partitoin'. Did you mean 'partitions'?"),
        ("pipeline skw", "No such command 'skw'. Did you mean 'skew'?"),
        ("body group-assignment", "No such command 'group-assignment'. Did you mean 'group-assignments' or 'reassignments'?"),
    ],
)
def test_bad_usage_is_status_2_and_a_sentence(arguments, text):
    ended = run_here(*arguments.split())
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert text in ended.stderr


def test_csv_is_the_services_table():
    assert run_here("partitions", "order-1", "--partitions", "6", "--output", "csv").stdout == '"record","partition_id"\n0,4\n'


def test_explain_is_passed_on():
    assert "explanation" in json.loads(run_here("partitions", "--explain", stdin='{"partitions_count": 2, "keys": ["a"]}').stdout)


@pytest.mark.parametrize("name", ["placement/controller", "placement/reassign-generate", "placement/striped-topics"])
def test_every_kind_of_placement_has_a_table(name):
    case = next(case for case in lines(name) if "error" not in case["expected"])
    assert "replicas (leader first)" in run_here("place", "--output", "table", stdin=json.dumps(case["request"])).stdout


def test_a_wrong_setting_of_the_server_is_named(monkeypatch):
    monkeypatch.setenv("ALLOCATOR_MAX_KEYS", "many")
    ended = run("serve", stdin="{}")
    assert ended.returncode == 2
    assert ended.stderr == "Error: ALLOCATOR_MAX_KEYS: Not a valid integer.\n"
