"""Commands take what people have at hand, and tell where it cannot be read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from service.cli import main
from tests.support.golden import CHOICE, PROJECT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = CHOICE / "descriptions"
TOPICS, MEMBERS = str(SAMPLES / "kafka-topics.txt"), str(SAMPLES / "kafka-consumer-groups-members-verbose.txt")


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


def answer(*arguments: str, stdin: str = "") -> dict[str, Any]:
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_json_that_is_none_is_not_printed_as_a_body(tmp_path):
    file = tmp_path / "body.json"
    file.write_text('{"placements": [\n  {"topic_name": "t",}]}')
    done = CliRunner().invoke(main, ["body", "reassignments", str(file)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: The body is not JSON: ")
    assert "line 2 column 21" in done.stderr


def test_assign_a_group_of_the_tools() -> None:
    """Topics and group from two outputs; Kafka's own assignment comes back, and another assignor's differs."""
    given = answer("assign", MEMBERS, "--snapshot", TOPICS, "--group", "billing")
    assert [row["partitions"][0]["partition_ids"] for row in given["assignments"]] == [[3, 4, 5], [0, 1, 2]]
    other = answer("assign", MEMBERS, "--snapshot", TOPICS, "--group", "billing", "--assignor", "roundrobin")
    assert [row["partitions"][0]["partition_ids"] for row in other["assignments"]] == [[1, 3, 5], [0, 2, 4]]


def test_the_body_of_a_group() -> None:
    """What ``body`` prints is what ``assign`` posts."""
    body = run("body", "group-assignments", MEMBERS, "--snapshot", TOPICS, "--group", "settle").stdout
    assert json.loads(body)["group_protocol"] == "consumer"
    assert answer("assign", stdin=body) == answer("assign", MEMBERS, "--snapshot", TOPICS, "--group", "settle")


def test_a_snapshots_offsets_are_the_lag_that_balanced_evens_out() -> None:
    members = [{"member_id": name, "topic_names": ["t"]} for name in "ab"]
    committed = [{"topic_name": "t", "partition_ids": [0, 2], "offsets": [0, 0]}]
    group = {
        "group_id": "g",
        "group_protocol": "classic",
        "assignor": "range",
        "members": members,
        "committed_offsets": committed,
    }
    topic = {"topic_name": "t", "partitions_count": 3, "log_end_offsets": [5, 9, 7]}
    snapshot = {"snapshot_version": 1, "brokers": [], "topics": [topic], "groups": [group]}
    given = answer("assign", "--assignor", "balanced", stdin=json.dumps(snapshot))
    assert given["weighted_member_load"]["totals"] == [7, 5]
    body = json.loads(run("body", "group-assignments", stdin=json.dumps(snapshot)).stdout)
    assert body["topics"][0]["lag"] == {"committed_offsets": [0, None, 0], "log_end_offsets": [5, 9, 7]}
    assert answer("rebalances", "--scale", "3@1m", stdin=json.dumps(snapshot))["totals"]["rebalances"]
    del topic["log_end_offsets"]
    assert "weighted_member_load" not in answer("assign", stdin=json.dumps(snapshot))


def test_the_frontier_is_a_table_and_a_picture(tmp_path: Path) -> None:
    owned = [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]
    body = json.dumps(
        {
            "topics": [{"topic_name": "t", "partitions_count": 4}],
            "members": [{"member_id": "a", "owned_partitions": owned}, {"member_id": "b"}],
        }
    )
    picture = tmp_path / "frontier.svg"
    shown = run("assign", "--frontier", "--output", "table", "--svg", str(picture), stdin=body)
    assert shown.exit_code == 0, shown.output
    assert [line.split()[:2] for line in shown.stdout.splitlines() if line[0].isdecimal()] == [["0", "4"], ["1", "3"], ["2", "2"]]
    assert "The least worst load with each number of moves" in picture.read_text()
    rows = run("assign", "--frontier", "--output", "csv", stdin=body).stdout.splitlines()
    assert rows == ['"moves","worst_load","stddev","proven"', "0,4,2,true", "1,3,1,true", "2,2,0,true"]
    assert answer("assign", "--max-moves", "1", stdin=body)["member_load"]["counts"] == [3, 1]
    assert run("assign", "--svg", str(picture), stdin=body).exit_code == 2


def test_traffic_between_zones_has_a_price() -> None:
    body = json.dumps(
        {
            "assignor": "range",
            "topics": [
                {
                    "topic_name": "t",
                    "partitions_count": 2,
                    "partition_racks": [["a"], ["a"]],
                    "partition_weights": [1_000_000, 3_000_000],
                }
            ],
            "members": [{"member_id": "m", "rack_id": "a"}, {"member_id": "n", "rack_id": "b"}],
        }
    )
    crossing = {"local_share": 0.25, "cross_zone_bytes_per_second": 3e6, "cost_per_month": 157.68}
    assert answer("assign", "--price-per-gb", "0.02", stdin=body)["zone_traffic"] == pytest.approx(crossing)
    shown = run("assign", "--price-per-gb", "0.02", "--output", "table", stdin=body).stdout
    line = (
        "If consumers fetch from the closest replica (replica.selector.class of brokers, client.rack), share 0.25 can be read on "
        "the reader's rack; then across racks 3,000,000 bytes/s, cost per month 157.68; by default they read from leaders"
    )
    assert line in " ".join(shown.split())
    assert "cost" not in run("assign", "--output", "table", stdin=body).stdout
    placed = json.dumps(
        {
            "brokers": [{"broker_id": 0, "rack_id": "a"}, {"broker_id": 1, "rack_id": "b"}],
            "partitions_count": 2,
            "replication_factor": 1,
            "bytes_per_second": 1_000_000,
        }
    )
    assert answer("place", "--price-per-gb", "0.02", stdin=placed)["zone_traffic"]["cost_per_month"] == pytest.approx(26.28)


def test_an_assignor_that_fails_stands_in_the_comparison() -> None:
    body = json.dumps({"topics": [{"topic_name": "t", "partitions_count": 2}], "members": []})
    shown = run("assign", "--compare", "roundrobin", "--output", "table", stdin=body)
    assert shown.exit_code == 0, shown.output
    assert "CircularIterator" in shown.stdout


def test_place_a_topic_beside_those_that_there_are() -> None:
    """``balanced`` gets the current assignments; broker 3 has the fewest replicas."""
    given = answer("place", TOPICS, "--topic", "new", "--partitions", "1", "--replication-factor", "1", "--placer", "balanced")
    assert given["placements"] == [{"partition_id": 0, "replicas": [3]}]
    result = run("place", TOPICS)
    assert result.exit_code == 2
    assert "--partitions and --replication-factor are needed" in result.stderr


def test_a_cordoned_broker_of_a_snapshot_gets_no_replica() -> None:
    """Nor is its being cordoned in the way of the other commands."""
    brokers = [{"broker_id": i, "rack_id": None, "fenced": False, "cordoned": i == 2} for i in (1, 2, 3)]
    placements = [{"partition_id": 0, "replicas": [2], "in_sync_replicas": [2], "leader": 2}]
    topics = [{"topic_name": "old", "partitions_count": 1, "placements": placements}]
    text = json.dumps({"snapshot_version": 1, "brokers": brokers, "topics": topics, "groups": []})
    for placer in ("striped", "balanced"):
        options = ("--topic", "new", "--partitions", "8", "--replication-factor", "2", "--placer", placer)
        given = answer("place", *options, stdin=text)
        assert {broker for row in given["placements"] for broker in row["replicas"]} == {1, 3}
    audited = run("audit", "--output", "json", stdin=text)
    assert (audited.exit_code, json.loads(audited.stdout)["topic_name"]) == (1, "old")
    assert "1 of 1 partition has just min.insync.replicas in sync" in audited.stderr
    assert answer("reassign", "--drain", "2", "--output", "json", stdin=text)["moves"]


def test_lint_knows_the_cordoned_brokers_of_a_snapshot(tmp_path: Path) -> None:
    """Broker 2 keeps its replica, but gets none."""
    cluster, moves = tmp_path / "cluster.json", tmp_path / "moves.json"
    brokers = [{"broker_id": i, "rack_id": None, "fenced": False, "cordoned": i == 2} for i in (1, 2, 3)]
    rows = [{"partition_id": i, "replicas": [i + 1, i + 2], "in_sync_replicas": [i + 1], "leader": i + 1} for i in (0, 1)]
    topics = [
        {"topic_name": "t", "partitions_count": 2, "placements": [*rows, {**rows[0], "partition_id": 2, "replicas": [1, 3]}]}
    ]
    cluster.write_text(json.dumps({"snapshot_version": 1, "brokers": brokers, "topics": topics, "groups": []}))
    changes = [{"topic": "t", "partition": i, "replicas": replicas} for i, replicas in ((0, [3, 2]), (2, [1, 2]))]
    moves.write_text(json.dumps({"version": 1, "partitions": changes}))
    findings = json.loads(run("lint", str(moves), "--snapshot", str(cluster)).stdout)["findings"]
    errors = [(one["rule"], one["pointer"]) for one in findings if one["severity"] == "error"]
    assert errors == [("cordoned-broker", "/reassignment/partitions/1/replicas/1")]


def test_audit_all_topics_or_some() -> None:
    """A line each; racks by option."""
    racks = ("--rack", "1:a", "--rack", "2:b", "--rack", "3:c")
    lines = run("audit", TOPICS, *racks).stdout.splitlines()
    assert [(json.loads(line)["topic_name"], json.loads(line)["possible"]) for line in lines] == [
        ("orders", True),
        ("audit.log_v2", True),
        ("payments", True),
    ]
    assert not answer("audit", TOPICS, "--topic", "orders", "--placer", "rack-unaware")["possible"]
    body = run("body", "placement-audits", TOPICS, "--topic", "payments").stdout
    assert answer("audit", stdin=body)["topic_name"] == "payments"
    header, *rows = run("audit", TOPICS, *racks, "--output", "csv").stdout.splitlines()
    assert header == '"topic_name","placer","possible","broken_rule","measure","actual","best","typical","worst"'
    assert [row.split(",")[0] for row in rows] == ['"orders"'] * 4 + ['"audit.log_v2"'] * 4 + ['"payments"'] * 4


def test_what_is_at_risk_comes_before_draws() -> None:
    """``check`` says it, and so does a table of ``audit``, with the draws only if asked; the exit status agrees."""
    topics, racks = (str(PROJECT / "tests/cases/operators-cluster" / name) for name in ("topics.txt", "racks.csv"))
    unsafe = "3 of 805 partitions are not rack-safe: audit-log 2 and 5, returns 0."
    ended = run("check", topics, racks)
    document = json.loads(ended.stdout)
    assert (ended.exit_code, document["at_risk"]) == (1, True)
    assert document["conclusion"].endswith(unsafe)
    without = run("check", topics)
    assert "rack-safe" not in without.stdout
    assert "racks are not known (give" in without.stdout
    options = ("--snapshot", racks, "--topic", "returns", "--output", "table")
    told = [run("audit", topics, *options, *more) for more in ((), ("--draws",))]
    assert [each.exit_code for each in told] == [1, 1]
    assert all(each.stdout.startswith("1 of 12 partitions is not rack-safe: returns 0.\n") for each in told)
    assert ["partition 0: racks" in each.stdout for each in told] == [False, True]
    body = run("body", "placement-checks", TOPICS).stdout
    assert run("check", stdin=body).stdout == run("check", TOPICS).stdout
    assert run("check", stdin="{").exit_code == 2


def test_plan_from_a_description() -> None:
    """The body of ``reassign``."""
    body = json.loads(run("body", "reassignments", TOPICS, "--rack", "1:a").stdout)
    assert body["brokers"][0] == {"broker_id": 1, "rack_id": "a"}
    assert [len(topic["placements"]) for topic in body["topics"]] == [6, 2, 4]


def test_rebalances_of_a_group_of_the_tools(tmp_path: Path) -> None:
    """The group from the descriptions, what happens to it from a file; ``body`` prints the first part."""
    group = ("--snapshot", MEMBERS, "--snapshot", TOPICS, "--group", "billing")
    body = json.loads(run("body", "group-rebalances", *group).stdout)
    events = {"events": [{"at_ms": 1000, "type": "member_leaves", "member_id": body["members"][0]["member_id"]}]}
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(events))
    given = answer("rebalances", str(scenario), *group, "--compare", "consumer")
    assert given["totals"]["rebalances"] == 1
    assert given == answer("rebalances", "--compare", "consumer", stdin=json.dumps(body | events))
    assert answer("rebalances", *group)["totals"]["rebalances"] == 0
    scenario.write_text(json.dumps(events | {"topics": []}))
    assert "topics: the snapshot has these" in run("rebalances", str(scenario), *group).stderr


def test_partition_counts_of_a_topic_in_a_snapshot(tmp_path: Path) -> None:
    """The current count and the rates of the topic; an option wins."""
    topic = {"topic_name": "orders", "partitions_count": 2, "records_per_second": [1.5, 2], "bytes_per_second": [10, 20]}
    snapshot, keys = tmp_path / "snapshot.json", tmp_path / "keys.csv"
    snapshot.write_text(json.dumps({"snapshot_version": 1, "brokers": [], "topics": [topic], "groups": []}))
    keys.write_text("key,size\na,1\nb,2\nb,3\n")
    body = json.loads(run("body", "partition-count-plans", str(snapshot), "--partitions", "2,4").stdout)
    expected = {"partitions_counts": [2, 4], "topic_name": "orders", "current_partitions_count": 2, "records_per_second": 3.5}
    assert body == expected
    arguments = ("plan", str(keys), "--partitions", "2,4", "--snapshot", str(snapshot), "--topic", "orders")
    given = answer(*arguments)
    assert given["current_partitions_count"] == 2
    assert given["plans"][0]["busiest"]["records_per_second"] in (3.5, 3.5 * 2 / 3)
    assert given["plans"][0]["bytes"] is None
    sized = answer(*arguments, "--bytes-column", "size")
    assert sized["plans"][0]["busiest"]["bytes_per_second"] in (30, 25)
    topic["records_per_second"] = [1.5, None]
    snapshot.write_text(json.dumps({"snapshot_version": 1, "brokers": [], "topics": [topic], "groups": []}))
    assert answer(*arguments)["plans"][0]["busiest"]["records_per_second"] is None
    assert answer(*arguments, "--current-partitions", "4")["current_partitions_count"] == 4
    assert "No topic 'other'" in run(*arguments[:-1], "other").stderr
    assert "--topic names a topic of --snapshot" in run("plan", str(keys), "--partitions", "2", "--topic", "orders").stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        (("assign",), "", "standard input: The file is empty. Give the name of a file, or pipe its content into this command."),
        (("partitions",), "\n", "standard input: The file is empty. Give the name of a file"),
        (("assign", "--snapshot", "/dev/null"), "", "/dev/null: The file is empty.\n"),
        (("assign",), "hello\n", "standard input, line 1: Not the output of kafka-topics"),
        (("assign",), "null", "or another tool of Kafka, nor a JSON object."),
        (("assign",), "[]", "standard input, line 1: JSON that is not a description of a cluster."),
        (("audit",), '{"partitions":[\n{"topic":"t"}]}', "standard input, line 2: partition is missing."),
        (("assign", MEMBERS), "", "Which group? 'billing', 'settle', 'spaced'."),
        (("audit", TOPICS, "--topic", "nope"), "", "No topic 'nope'"),
        (("audit", TOPICS, "--rack", "a"), "", "'a' is not of the form ID:RACK, such as 1:a."),
    ],
)
def test_what_cannot_be_read(arguments: tuple[str, ...], stdin: str, expected: str) -> None:
    """One sentence, with file and line."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code != 0
    assert expected in result.stderr


def test_what_is_skipped_is_noted(tmp_path: Path) -> None:
    """On standard error, with the file; a file that Windows wrote is read as well."""
    session = tmp_path / "session.txt"
    session.write_bytes(("$ kafka-topics.sh --describe\n" + (SAMPLES / "kafka-topics.txt").read_text()).encode("utf-16"))
    result = run("assign", MEMBERS, "--snapshot", str(session), "--group", "billing")
    assert result.exit_code == 0, result.stderr
    skipped, _, leader = result.stderr.splitlines()
    assert skipped == f"{session}: Line 1 is skipped: $ kafka-topics.sh --describe"
    assert leader.startswith("Note on group 'billing': its leader is assumed to be Kafka's own client, but could be librdkafka")

    assert json.loads(result.stdout) == answer("assign", MEMBERS, "--snapshot", TOPICS, "--group", "billing")


def test_sizes_for_a_throttle(tmp_path: Path) -> None:
    """From kafka-log-dirs, also as its JSON alone; without them, the error names what brings them. Racks from a table."""
    sizes, racks = tmp_path / "sizes.json", tmp_path / "racks.csv"
    topics = str(SAMPLES / "kafka-topics-2.8.2.txt")
    sizes.write_text((SAMPLES / "kafka-log-dirs.txt").read_text().splitlines()[-1])
    racks.write_text("broker,rack\n1,a\n2,b\n3,c\n")
    arguments = ("reassign", topics, "--drain", "3", "--replication-factor", "1", "--throttle", "1000")
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "--throttle needs the size of each partition: add --snapshot FILE with the output of kafka-log-dirs" in refused.stderr
    given = answer(*arguments, "--snapshot", str(sizes), "--snapshot", str(racks))
    assert given["moves"]["bytes"] > 0
    assert given["duration_seconds"] > 0
    body = json.loads(run("body", "reassignments", str(sizes), "--snapshot", topics, "--snapshot", str(racks)).stdout)
    assert [broker["rack_id"] for broker in body["brokers"]] == ["a", "b", "c"]


# ---- lint --------------------------------------------------------------------------------------------------------------

BAD = """{"version": 1, "partitions": [
  {"topic": "orders", "partition": 0, "replicas": [1, 2, 3]},
  {"topic": "orders",
   "partition": 1,
   "replicas": [
     2,
     2,
     9
   ]},
  {"topic": "orders", "partition": 7, "replicas": [1]}
]}"""


@pytest.fixture
def bad(tmp_path: Path) -> str:
    file = tmp_path / "moves 1.json"
    file.write_text(BAD)
    return str(file)


def test_lint_exits_with_1_on_errors(bad: str, tmp_path: Path) -> None:
    """And with 0 if there are warnings only."""
    result = run("lint", bad, "--snapshot", TOPICS)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["counts"] == {"error": 3, "warning": 1, "note": 0}
    fine = tmp_path / "fine.json"
    fine.write_text('{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2,3]}]}')
    result = run("lint", str(fine), "--snapshot", TOPICS, "--output", "table")
    assert result.exit_code == 0
    assert "no-op" in result.stdout


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_lint_reads_what_windows_writes(encoding: str, tmp_path: Path) -> None:
    moves = tmp_path / "moves.json"
    moves.write_text('{"version":1,"partitions":[]}', encoding=encoding)
    assert run("lint", str(moves), "--snapshot", TOPICS).exit_code == 0
    moves.write_bytes(b'{"version":"\xff"}')
    refused = run("lint", str(moves), "--snapshot", TOPICS)
    assert (refused.exit_code, refused.stderr) == (2, f"Error: {moves}: The file is not UTF-8 text.\n")


def test_lint_as_a_table_has_lines(bad: str) -> None:
    """The lines of the file."""
    printed = run("lint", bad, "--snapshot", TOPICS, "--output", "table").stdout.splitlines()
    rows = [line.split()[:3] for line in printed if line[:1].isdecimal() and "  " in line]
    assert rows == [
        ["2", "warning", "no-op"],
        ["7", "error", "duplicate-replica"],
        ["8", "error", "unknown-broker"],
        ["10", "error", "unknown-partition"],
    ]


def test_lint_as_sarif(bad: str) -> None:
    """SARIF 2.1.0: what a code host needs of each result."""
    log = json.loads(run("lint", bad, "--snapshot", TOPICS, "--output", "sarif").stdout)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    assert driver["name"] == "partition-allocator"
    assert [result["level"] for result in results] == ["warning", "error", "error", "error"]
    for result in results:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert [place["region"]["startLine"] for place in places] == [2, 7, 8, 10]
    assert places[0]["artifactLocation"]["uri"].endswith("moves%201.json")


def test_lint_of_a_file_that_is_not_json(tmp_path: Path) -> None:
    """The line of the fault."""
    file = tmp_path / "moves.json"
    file.write_text('{"version": 1,\n "partitions": [}')
    result = run("lint", str(file), "--snapshot", TOPICS)
    assert result.exit_code == 2
    assert "moves.json, line 2: Malformed JSON" in result.stderr


def test_other_assignors_beside_the_answer() -> None:
    """By protocol, client and name, in a row each."""
    arguments = ("assign", "--topic", "orders:6", "--members", "2", "--compare", "librdkafka:range", "--compare", "consumer")
    document, shown = (run(*arguments, "--output", form) for form in ("json", "table"))
    rows = [(row["group_protocol"], row["assignor"]) for row in json.loads(document.stdout)["comparisons"]]
    assert rows == [("classic", "librdkafka:range"), ("consumer", "uniform")]
    assert "classic librdkafka:range" in shown.stdout
