"""``disks``: from what Kafka's tools print, or a snapshot, to the files that Kafka's own tool executes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from service.api.log_dirs import EXAMPLE
from service.cli import main
from tests.support.golden import CHOICE

SAMPLES = CHOICE / "descriptions"
TOLD = (str(SAMPLES / "kafka-log-dirs.txt"), "--snapshot", str(SAMPLES / "kafka-topics.txt"))


def run(*arguments, text=""):
    return CliRunner().invoke(main, ["log-dirs", *arguments], input=text)


def snapshot(used=(900, 100), capacity=1_000):
    replicas = [{"topic_name": "t", "partition_ids": [0, 1], "partition_bytes": [500, 300]}]
    dirs = [
        {
            "log_dir": path,
            "capacity_bytes": capacity,
            "used_bytes": amount,
            "cordoned": False,
            "replicas": replicas * (path == "/a"),
        }
        for path, amount in zip(("/a", "/b"), used, strict=True)
    ]
    placements = [{"partition_id": i, "replicas": [2, 1], "in_sync_replicas": [1], "leader": 1} for i in (0, 1)]
    return json.dumps(
        {
            "snapshot_version": 1,
            "brokers": [{"broker_id": 1, "rack_id": None, "capacity_bytes": 2_000}, {"broker_id": 2}],
            "log_dirs": [{"broker_id": 1, "log_dirs": dirs}],
            "topics": [{"topic_name": "t", "partitions_count": 2, "internal": False, "placements": placements}],
        }
    )


def test_kafkas_tools_tell_all_that_it_takes():
    """The placement keeps its order, the sizes are those of this broker's replicas."""
    ended = run(*TOLD, "--drain", "1:/var/lib/kafka/more1", "--excluded-topics", "payments")
    assert ended.exit_code == 1, ended.stderr
    answer = json.loads(ended.stdout)
    assert answer["conclusion"].startswith("/var/lib/kafka/more1 of broker 1 keeps 3 replicas, of payments,")
    told = json.loads((SAMPLES / "kafka-log-dirs.txt").read_text().splitlines()[-1])
    (folder,) = [each for each in told["brokers"][0]["logDirs"] if each["logDir"].endswith("more1")]
    assert answer["moves"]["bytes"] == sum(row["size"] for row in folder["partitions"] if row["partition"].startswith("orders"))
    for row in answer["reassignment"]["partitions"]:
        moved = [at for at, path in enumerate(row["log_dirs"]) if path == "/var/lib/kafka/data1"]
        assert [row["replicas"][at] for at in moved] == [1]
        assert set(row["log_dirs"]) <= {"any", "/var/lib/kafka/data1"}
    assert {row["topic_name"] for row in answer["reasons"]} == {"orders"}


def test_a_pipe_gets_the_services_own_answer(client):
    body = json.dumps(EXAMPLE)
    assert run("-", text=body).stdout.encode() == client.post("/v1/log-dir-plans", json=EXAMPLE).data + b"\n"
    changed = {**EXAMPLE, "objective": "even", "max_moves": 3, "limits": {**EXAMPLE["limits"], "moves_per_log_dir": 1}}
    answer = client.post("/v1/log-dir-plans", json=changed).data + b"\n"
    assert run("-", "--objective", "even", "--max-moves", "3", "--moves-per-log-dir", "1", text=body).stdout.encode() == answer


def test_a_snapshot_has_the_sizes_of_the_disks():
    """100 bytes of each disk are not Kafka's. A broker that does not tell its directories is named."""
    ended = run("--disk-threshold", "0.85", text=snapshot())
    answer = json.loads(ended.stdout)
    assert [row["to"] for row in answer["reasons"]] == ["/b"]
    assert answer["after"]["usage"] == [0.6, 0.4]
    assert "The log directories of broker 2 are not known" in ended.stderr


def test_directories_on_one_disk_have_no_sizes():
    """Both report the disk that they share, however little is in one of them; so they are evened out by what is in them."""
    shared = snapshot(used=(950, 950))
    ended = run("--objective", "even", text=shared)
    answer = json.loads(ended.stdout)
    assert "Log directories of broker 1 report the same size and use" in ended.stderr
    assert answer["after"]["bytes"]["totals"] == [500, 300]
    assert answer["after"]["usage"] == [None, None]
    refused = run("--disk-threshold", "0.9", text=shared)
    assert refused.exit_code == 2
    assert "--disk-threshold: " in refused.stderr


def test_files_hold_the_batches_and_their_way_back(tmp_path):
    folder = tmp_path / "plan"
    options = ("--drain", "/a", "--moves-per-broker", "1", "--throttle", "100", "--out", str(folder), "--output", "table")
    ended = run(*options, text=snapshot())
    assert ended.exit_code == 0, ended.stderr
    assert ended.stdout.startswith("Empties /a of broker 1 with ")
    assert "the fewest bytes possible" in ended.stdout
    first = json.loads((folder / "reassignment-01.json").read_text())
    assert first == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2, 1], "log_dirs": ["any", "/b"]}]}
    assert json.loads((folder / "rollback-02.json").read_text())["partitions"][0]["log_dirs"] == ["any", "/a"]
    report = (folder / "plan.md").read_text()
    command = "--reassignment-json-file reassignment-02.json --replica-alter-log-dirs-throttle 100 --execute"
    assert command in report
    assert "| 1 | /a | 2 | 0 | 900 | 100 | 90.0% | 10.0% |" in report
    assert "| t | 0 | 1 | /a | /b | drains /a |" in report


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*TOLD, "--drain", "/none"), "No broker has a log directory '/none'."),
        ((*TOLD, "--cordon", "2:/var/lib/kafka/data1"), "Broker 2 has no log directory '/var/lib/kafka/data1'."),
        ((*TOLD, "--broker", "9"), "The log directories of broker 9 are not known."),
        (TOLD[:1], "The placement is not known. Describe the topics as well: kafka-topics --describe."),
        (TOLD[2:], "The log directories are not known. Give a snapshot, or the output of kafka-log-dirs --describe"),
    ],
)
def test_errors_are_on_standard_error(arguments, words):
    ended = run(*arguments)
    assert ended.exit_code == 2
    assert words in ended.stderr
    assert ended.stdout == ""
