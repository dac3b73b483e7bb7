"""``reassign``: tables, JSON and files from every form of input."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from service.cli import main
from service.core.printable import printable
from tests.support.forked import on_a_terminal
from tests.support.golden import PROJECT

QUESTION = {
    "brokers": [{"broker_id": i, "rack_id": "ab"[i % 2]} for i in range(4)],
    "topics": [
        {
            "topic_name": "orders",
            "placements": [{"partition_id": i, "replicas": row} for i, row in enumerate([[0, 1], [1, 0], [0, 3]])],
            "partition_bytes": [100, 200, 300],
        }
    ],
}


def run(*arguments, text=""):
    return CliRunner().invoke(main, ["reassign", *arguments], input=text)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "question.json"
    path.write_text(json.dumps(QUESTION))
    return str(path)


def test_a_pipe_gets_the_services_own_answer(client, file):
    assert run(file).stdout.encode() == client.post("/v1/reassignments", json=QUESTION).data + b"\n"


def test_the_moves_as_csv(client, file, tmp_path):
    accept = {"Accept": "text/csv"}
    assert run(file, "--output", "csv").stdout.encode() == client.post("/v1/reassignments", json=QUESTION, headers=accept).data
    refused = run(file, "--output", "csv", "--out", str(tmp_path / "plan"))
    assert (refused.exit_code, (tmp_path / "plan").exists()) == (2, False)


def test_options_change_the_question(client, file):
    options = [
        "--drain",
        "0",
        "--add",
        "7:a",
        "--excluded-topics",
        "orders",
        "--excluded-topics",
        "o?ders",
        "--included-topics",
        "o*",
        "--objective",
        "even",
        "--throttle",
        "50",
        "--cordon",
        "1",
        "--destination",
        "7",
        "--destination",
        "2",
    ]
    body = {
        **QUESTION,
        "brokers": [
            {**QUESTION["brokers"][0], "draining": True},
            *({**broker, "cordoned": True} if broker["broker_id"] == 1 else broker for broker in QUESTION["brokers"][1:]),
            {"broker_id": 7, "rack_id": "a"},
        ],
        "excluded_topics": ["orders", "o?ders"],
        "included_topics": ["o*"],
        "destinations": [7, 2],
        "objective": "even",
        "limits": {"throttle_bytes_per_second": 50},
    }
    assert run(file, *options).stdout.encode() == client.post("/v1/reassignments", json=body).data + b"\n"
    answer = json.loads(run(file, "--add", "7:a", "--replace", "0=7").stdout)
    assert {move["reason"] for move in answer["reasons"]} <= {"replaces broker 0", "leader"}


def test_fields_without_an_option_come_from_a_file_beside_the_cluster(tmp_path):
    """Here two of the brokers are the only ones that may hold the topic; a field that the cluster has is refused."""
    topics = str(PROJECT / "tests" / "vectors" / "descriptions" / "kafka-topics.txt")
    (tmp_path / "more.json").write_text('{"limits": {"moves_per_batch": 1}}')
    ended = run(str(tmp_path / "more.json"), "--snapshot", topics, "--drain", "1", "--add", "9", "--racks", "none")
    assert max(batch["moves"] for batch in json.loads(ended.stdout)["batches"]) == 1
    (tmp_path / "more.json").write_text('{"topics": [], "limits": {}}')
    assert "topics: the snapshot has these." in run(str(tmp_path / "more.json"), "--snapshot", topics).stderr


def test_zero_is_a_limit(client, file):
    answered = client.post("/v1/reassignments", json=QUESTION | {"max_moves": 0, "objective": "even", "limits": {}}).data
    assert json.loads(answered)["moves"]["replicas"] == 0
    assert run(file, "--objective", "even", "--max-moves", "0").stdout.encode() == answered + b"\n"


def test_the_output_of_kafka_topics_is_a_placement():
    text = (PROJECT / "tests" / "vectors" / "descriptions" / "kafka-topics.txt").read_text()
    ended = run("-", "--drain", "1", "--add", "9", "--racks", "none", text=text)
    assert ended.exit_code == 0, ended.stderr
    rows = [row["replicas"] for row in json.loads(ended.stdout)["reassignment"]["partitions"]]
    assert rows
    assert all(1 not in row for row in rows)


def test_sizes_alone_are_no_placement():
    ended = run(str(PROJECT / "tests" / "vectors" / "descriptions" / "kafka-log-dirs.txt"), "--drain", "1")
    assert ended.exit_code != 0
    assert "The placement is not known. Describe the topics as well: kafka-topics --describe." in ended.stderr


def test_a_snapshot_has_sizes_and_capacities():
    placements = [{"partition_id": i, "replicas": [i % 2, 2], "in_sync_replicas": [2]} for i in (1, 0)]
    snapshot = {
        "snapshot_version": 1,
        "brokers": [{"broker_id": i, "rack_id": "ab"[i % 2], "capacity_bytes": 1_000, "used_bytes": 30} for i in range(4)],
        "topics": [{"topic_name": "t", "partitions_count": 2, "partition_bytes": [10, 20], "placements": placements}],
    }
    ended = run("-", "--drain", "2", "--racks", "none", "--throttle", "1", text=json.dumps(snapshot))
    assert ended.exit_code == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert answer["moves"]["bytes"] == 30
    assert answer["before"]["broker_load"]["bytes"]["totals"] == [10.0, 20.0, 30.0, 0.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--drain", "9"], "Unknown broker 9."),
        (["--add", "0"], "Broker 0 exists."),
        (["--add", "x"], "'x' is not a broker id."),
        (["--replication-factor", "5"], "Replication factor 5 makes 15 replicas for 4 usable brokers"),
        (["--replication-factor", "5"], "  Remedy: Lower the replication factor to 4."),
    ],
)
def test_errors_are_on_standard_error(file, options, words):
    ended = run(file, *options)
    assert ended.exit_code in (1, 2)
    assert words in ended.stderr
    assert ended.stdout == ""


def test_a_text_that_is_nothing_known_is_refused():
    ended = run("-", text="hello")
    assert ended.exit_code == 2
    assert "line 1" in ended.stderr


def test_files_hold_the_batches_and_their_way_back(file, tmp_path):
    folder = tmp_path / "plan"
    ended = run(file, "--drain", "0", "--moves-per-broker", "1", "--out", str(folder))
    answer = json.loads(ended.stdout)
    assert len(answer["batches"]) == 3
    for i, batch in enumerate(answer["batches"], 1):
        for name in ("reassignment", "rollback"):
            assert json.loads((folder / f"{name}-{i:02}.json").read_text()) == batch[name]
    assert json.loads((folder / "preferred-leader-elections.json").read_text()) == answer["preferred_leader_elections"]
    report = (folder / "plan.md").read_text()
    assert "| orders | 0 | 0 | 2 | drains broker 0 |" in report
    assert "throttle" in report
    picture = ET.fromstring((folder / "plan.svg").read_text())  # noqa: S314 - the service wrote it
    assert (
        len([each for each in picture.iter() if each.get("class") in ("before", "after") and each.tag.endswith("rect")]) == 2 * 4
    )


def test_the_commands_carry_the_throttle_and_the_rollback_is_in_reverse(file, tmp_path):
    folder = tmp_path / "plan"
    assert run(file, "--drain", "0", "--moves-per-broker", "1", "--throttle", "50", "--out", str(folder)).exit_code == 0
    report = (folder / "plan.md").read_text()
    commands = [line.partition("--reassignment-json-file ")[2] for line in report.splitlines() if "-json-file" in line]
    there, back = (
        [line for i in order for line in (f"{name}-{i:02}.json --throttle 50 --execute", f"{name}-{i:02}.json --verify")]
        for name, order in (("reassignment", (1, 2, 3)), ("rollback", (3, 2, 1)))
    )
    assert [line for line in commands if line] == [*there, *back]
    assert report.count("kafka-leader-election") == 2
    assert "`--verify` also takes the throttle off" in report
    assert "\nEmpties broker 0 with 3 copies, the fewest possible: its 3 replicas of the 1 topic given leave.\n" in report
    assert "0.8" not in report
    assert "if Kafka reaches 80% of it and a batch takes 2 s beside the copying" in report


def test_a_rack_option_adds_a_broker_without_replicas(file):
    ended = run(file, "--rack", "9:b", "--drain", "1")
    answer = json.loads(ended.stdout)
    assert 9 in answer["after"]["broker_load"]["broker_ids"]
    assert ended.stderr == "Broker 9 has no replicas now; it counts as part of the cluster, as with --add.\n"
    assert "'9' is not of the form ID:RACK, such as 1:a." in run(file, "--rack", "9").stderr


HOSTILE = [
    "<script>alert(1)</script>", "a|b", "a\\|b", "[x](javascript:alert(1))", "![x](http://e.org/x.png)", "__bold__", "*em*",
    "`code`", "http://e.org/x", "www.e.org", "<http://e.org>", "a@e.org", "&lt;b&gt;", "#1", ":smile:",
    "~~no~~", "line\nbreak", "_x_y_",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_topics_name_is_no_markup(tmp_path, name):
    """What GitHub would make of it, links without brackets included, is the name as it is."""
    topic = {**QUESTION["topics"][0], "topic_name": name}
    racks = [{"broker_id": i, "rack_id": name if i == 3 else str(i)} for i in range(4)]
    body = {"brokers": racks, "topics": [{**topic, "placements": [{"partition_id": 0, "replicas": [0, 3]}]}]}
    body["topics"][0]["partition_bytes"] = [1]
    path, folder = tmp_path / "question.json", tmp_path / "plan"
    path.write_text(json.dumps({**body, "racks": "none"}))
    assert run(str(path), "--drain", "3", "--out", str(folder)).exit_code == 0
    report = (folder / "plan.md").read_text()
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(report)
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert kinds <= {"text", "text_special", "softbreak", "code_inline", "image", "strong_open", "strong_close"}
    images = [child.attrs["src"] for token in tokens for child in token.children or () if child.type == "image"]
    assert images == ["plan.svg"]
    cells = [token.content for token in tokens if token.type == "inline" and "drains broker 3" not in token.content]
    shown = ["".join(child.content for child in token.children) for token in tokens if token.type == "inline" and token.children]
    assert printable(name) in shown
    assert any(f"Rack {printable(name)} is emptied" in text for text in shown)
    assert not [cell for cell in cells if re.search(r"https?://|www\.e|\w@\w", cell)]


def test_a_folder_with_batches_of_a_longer_plan_is_left_alone(file, tmp_path):
    folder = tmp_path / "plan"
    assert run(file, "--drain", "0", "--moves-per-broker", "1", "--out", str(folder)).exit_code == 0
    before = (folder / "plan.md").read_bytes()
    ended = run(file, "--drain", "0", "--out", str(folder))
    assert ended.exit_code == 2
    assert "has files of another plan: reassignment-02.json, reassignment-03.json, rollback-02.json" in ended.stderr
    assert (folder / "plan.md").read_bytes() == before


def test_a_terminal_gets_tables(file):
    text = on_a_terminal("reassign", file, "--drain", "0", TERM="dumb", COLUMNS="120")
    assert "drains broker 0" in text
    assert "3 replicas copied · 600 bytes (lower bound 3)" in text


def test_the_frontier_as_json_files_and_csv(file, tmp_path):
    options = [file, "--add", "8:a", "--add", "9:b", "--frontier"]
    body = json.loads(run(*options, "--max-moves", "1", "--out", str(tmp_path / "plan")).stdout)
    assert (body["moves"]["replicas"], [point["copies"] for point in body["frontier"]]) == (1, [0, 1, 2, 3])
    picture = ET.fromstring((tmp_path / "plan" / "frontier.svg").read_text())  # noqa: S314 - our own
    assert len(picture.findall(".//{*}circle")) == 4
    assert "| 3 | 400 |" in (tmp_path / "plan" / "plan.md").read_text()
    assert run(*options, "--output", "csv").stdout.startswith('"copies","bytes"')
    table = run(*options, "--output", "table").stdout
    assert re.search(r"^3 +400 +0.0 +0.0 +proven *$", table, re.MULTILINE), table
    refused = run(file, "--max-moves", "1", "--tolerance", "0.1")
    assert (refused.exit_code, "Not allowed together with max_moves" in refused.stderr) == (2, True)


def test_a_demotion_moves_leaders_only_unless_replicas_have_to_move(client, file):
    first, *rest = QUESTION["brokers"]
    body = {**QUESTION, "brokers": [{**first, "demoted": True}, *rest], "limits": {}, "leaders": "demote"}
    assert run(file, "--demote", "0").stdout.encode() == client.post("/v1/reassignments", json=body).data + b"\n"
    body = {**QUESTION, "brokers": [{**first, "demoted": True}, *rest[:2], {**rest[2], "draining": True}], "limits": {}}
    assert run(file, "--demote", "0", "--drain", "3").stdout.encode() == client.post("/v1/reassignments", json=body).data + b"\n"


def test_into_writes_the_results_of_the_job(client, file, tmp_path):
    """Without Spark; as the service plans them, and as the job does (tests/pipeline/spark/reassign)."""
    into = tmp_path / "results"
    shown = run(file, "--drain", "3", "--balance", "leaders,bytes", "--into", str(into))
    assert shown.exit_code == 0, shown.stderr
    summary = json.loads((into / "summary.json").read_text())
    assert json.loads(shown.stdout) == summary
    body = json.loads(json.dumps(QUESTION)) | {"balance": ["leaders", "bytes"]}
    body["brokers"][3]["draining"] = True
    answer = client.post("/v1/reassignments", json=body).json
    assert (summary["job"], summary["balance"], summary["moves"]) == ("reassign", "leaders,bytes", answer["moves"])
    assert pq.read_table(into / "moves.parquet").num_rows == len(answer["reasons"])
    assert {path.name for path in into.glob("*.parquet")} == {"reassignment.parquet", "moves.parquet", "batches.parquet"}
    assert "--drain 3 · --balance leaders,bytes" in re.sub(r"<[^>]+>", "", (into / "report.html").read_text())


def test_into_says_what_is_wrong_and_writes_nothing(file, tmp_path):
    into = tmp_path / "results"
    assert run("--into", str(into), text='{"brokers": []}').exit_code == 2
    assert run(file, "--output", "csv", "--into", str(into)).exit_code == 2
    both = run(file, "--into", str(into), "--out", str(tmp_path / "files"))
    assert (both.exit_code, both.stderr.splitlines()[-1]) == (2, "Error: Give either --into or --out.")
    assert not list(tmp_path.glob("results/*"))
    into.mkdir()
    snapshot = into / "snapshot.json"
    snapshot.write_text(json.dumps({"brokers": [{"broker_id": 9}]}))
    within = run(file, "--snapshot", str(snapshot), "--into", str(into))
    assert within.exit_code == 2
    assert "contains the source" in within.stderr
    assert [*into.iterdir()] == [snapshot]
