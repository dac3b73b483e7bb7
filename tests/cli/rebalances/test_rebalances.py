"""``partition-allocator rebalances``."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from service.cli import main
from service.cli.rebalances.pictures import cause, rebalance_rows, total_rows, way
from service.decisions.rebalances.conclusions import seconds
from tests.support.golden import CHOICE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("few_draws")

SAMPLES = CHOICE / "descriptions"

BODY: dict[str, Any] = {
    "assignor": "range",
    "topics": [{"topic_name": "t0", "partitions_count": 6}],
    "members": [{"member_id": "c1"}, {"member_id": "<c2>"}],
    "events": [{"at_ms": 20_000, "type": "member_leaves", "member_id": "c1"}],
    "timing": {"poll_interval_ms": 0},
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "body.json"
    path.write_text(json.dumps(BODY))
    return str(path)


def test_json_in_a_pipe(file: str) -> None:
    result = CliRunner().invoke(main, ["rebalances", file, "--compare", "consumer:uniform:static", "--compare", "classic"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["totals"]["rebalances"] == 1
    compared = [(one["group_protocol"], one["assignor"], one["static"]) for one in document["comparisons"]]
    assert compared == [("consumer", "uniform", True), ("classic", "range", None)]


def test_balanced_is_cooperative_or_eager(file: str) -> None:
    words = ["rebalances", file, "--compare", "classic:balanced", "--compare", "classic:balanced:eager:static"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [one["rebalance_protocol"] for one in document["comparisons"]] == ["cooperative", "eager"]
    assert [row[0] for row in total_rows(document)][1:] == ["classic balanced", "classic balanced eager static"]


def test_tables_on_a_terminal(file: str) -> None:
    answer = json.loads(CliRunner().invoke(main, ["rebalances", file]).stdout)
    rows = rebalance_rows(answer, BODY)
    assert [(*row[:6], row[-1]) for row in rows] == [
        ("0 s", "6 s", "1", "2", "0", "0", "forms"),
        ("20 s", "1 s", "2", "1", "0", "0", "c1 leaves"),
    ]
    assert total_rows(answer)[0][:2] == ("classic range", "1")


def test_csv(file: str) -> None:
    result = CliRunner().invoke(main, ["rebalances", file, "--output", "csv"])
    assert result.exit_code == 0, result.output
    header, *rows = csv.reader(result.stdout.splitlines())
    at = header.index("at_ms")
    assert [row[at] for row in rows] == ["0", "20000"]
    refused = CliRunner().invoke(main, ["rebalances", file, "--output", "csv", "--svg", "picture.svg"])
    assert "not csv" in refused.output


def test_a_picture_and_a_page(file: str, tmp_path: Path) -> None:
    svg, html = tmp_path / "picture.svg", tmp_path / "page.html"
    result = CliRunner().invoke(main, ["rebalances", file, "--svg", str(svg), "--html", str(html), "--compare", "consumer"])
    assert result.exit_code == 0, result.output
    picture = ET.fromstring(svg.read_text())  # noqa: S314 (its own picture)
    texts = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "<c2>" in texts
    assert texts[0].startswith("Partitions are without a reader for the shortest time with ")
    kinds = {element.get("class") for element in picture.iter("{http://www.w3.org/2000/svg}rect")}
    assert kinds == {"paper", "reads", "idle"}  # they read nothing until the group has formed
    assert "<c2>" not in html.read_text()
    assert html.read_text().count("<table>") == 2
    below_a_heading = 'y="26">blue: '
    assert (below_a_heading in html.read_text(), below_a_heading in svg.read_text()) == (True, False)


def test_a_lane_shows_the_timeline_of_its_totals(tmp_path: Path) -> None:
    """A comparison has totals only, so each way is asked by itself; with the same timings, it comes to the same totals."""
    svg = tmp_path / "picture.svg"
    ways = ("consumer", "classic:cooperative-sticky:static", "classic:sticky:dynamic")
    arguments = [part for way in ways for part in ("--compare", way)]
    events = ["--rolling-restart", "5s/10s", "--scale", "8@5m", "--join", "c9@6m", "--poll-interval", "2s"]
    group = ["--topic", "orders:12", "--members", "5"]
    result = CliRunner().invoke(main, ["rebalances", *group, *events, *arguments, "--svg", str(svg)])
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    texts = [element.text or "" for element in ET.fromstring(svg.read_text()).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    for one in (answer, *answer["comparisons"]):
        expected = f"{one['totals']['rebalances']} rebalances, idle {seconds(one['totals']['idle_partition_ms'])}"
        assert texts[texts.index(way(one)) + 1] == expected


# ---- a timeline by options ---------------------------------------------------------------------------------------------

GROUP = ("--topic", "orders:12", "--topic", "payments:6", "--members", "3")


def test_options_say_what_the_body_says() -> None:
    """Each event and timing; a time is that after the @, otherwise one minute."""
    options = (
        *("--join", "c4@500ms", "--leave", "c4@1s", "--crash", "c1@2s", "--stall", "c2/6m@3s", "--restart", "c3/1.5s"),
        *("--rolling-restart", "5s/10s@2m", "--scale", "5@3m", "--subscribe", "c2/orders@4m", "--add-partitions", "orders:24@5m"),
        *("--create-topic", "new:3@6m", "--delete-topic", "payments@7m", "--change-assignor", "sticky@8m"),
        *("--change-protocol", "consumer/1s/2s@1h", "--poll-interval", "1s"),
        *("--session-timeout", "50s", "--rebalance-timeout", "5m"),
    )
    events = [
        {"at_ms": 500, "type": "member_joins", "member": {"member_id": "c4"}},
        {"at_ms": 1_000, "type": "member_leaves", "member_id": "c4"},
        {"at_ms": 2_000, "type": "member_crashes", "member_id": "c1"},
        {"at_ms": 3_000, "type": "member_stalls", "member_id": "c2", "for_ms": 360_000},
        {"at_ms": 60_000, "type": "member_restarts", "member_id": "c3", "down_ms": 1_500},
        {"at_ms": 120_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 10_000},
        {"at_ms": 180_000, "type": "scales", "members_count": 5},
        {"at_ms": 240_000, "type": "subscription_changes", "member_id": "c2", "topic_names": ["orders"]},
        {"at_ms": 300_000, "type": "partitions_added", "topic_name": "orders", "partitions_count": 24},
        {"at_ms": 360_000, "type": "topic_created", "topic": {"topic_name": "new", "partitions_count": 3}},
        {"at_ms": 420_000, "type": "topic_deleted", "topic_name": "payments"},
        {"at_ms": 480_000, "type": "assignor_changes", "assignors": ["sticky"]},
        {"at_ms": 3_600_000, "type": "assignor_changes", "group_protocol": "consumer", "down_ms": 1_000, "pause_ms": 2_000},
    ]
    body = {
        "topics": [{"topic_name": "orders", "partitions_count": 12}, {"topic_name": "payments", "partitions_count": 6}],
        "members": [{"member_id": "c1"}, {"member_id": "c2"}, {"member_id": "c3"}],
        "events": events,
        "timing": {"poll_interval_ms": 1_000, "session_timeout_ms": 50_000, "rebalance_timeout_ms": 300_000},
    }
    by_options = CliRunner().invoke(main, ["rebalances", *GROUP, *options])
    assert by_options.exit_code == 0, by_options.stderr
    assert by_options.stdout == CliRunner().invoke(main, ["rebalances", "-"], input=json.dumps(body)).stdout
    assert {cause(event, {"c1": "c1", "c2": "c2", "c3": "c3", "c4": "c4"}) for event in events} >= {
        "c4 joins", "c1 crashes", "c2 stalls", "rolling restart", "scales to 5", "orders grows to 24", "change to consumer",
    }  # fmt: skip


def test_events_of_a_pasted_group(tmp_path: Path) -> None:
    """The beginning of a member's id is enough; a file of events and options add up, in the order of time."""
    members, topics = (str(SAMPLES / name) for name in ("kafka-consumer-groups-members-verbose.txt", "kafka-topics.txt"))
    pasted = ("rebalances", members, "--snapshot", topics, "--group", "billing")
    given = json.loads(CliRunner().invoke(main, [*pasted, "--crash", "billing-a@10s"]).stdout)
    assert [one["members_count"] for one in given["rebalances"]] == [1]
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"events": [{"at_ms": 120_000, "type": "scales", "members_count": 4}]}))
    both = ("rebalances", str(scenario), "--snapshot", members, "--snapshot", topics, "--group", "billing")
    given = json.loads(CliRunner().invoke(main, [*both, "--crash", "billing-a@10s"]).stdout)
    assert given["rebalances"][0]["event"] == 0
    assert given["rebalances"][-1]["members_count"] == 4


def test_a_member_by_its_number() -> None:
    """The ids of counted members have zeros in front, so that they sort as counted."""
    given = json.loads(CliRunner().invoke(main, ["rebalances", "--topic", "t:20", "--members", "12", "--leave", "c3"]).stdout)
    assert "(c03)" in given["rebalances"][-1]["reason"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--crash", "@5s"), "'@5s' is not of the form NAME[@TIME]."),
        (("--stall", "c1@5s"), "'c1@5s' is not of the form NAME/TIME[@TIME]."),
        (
            ("--stall", "c1/x@5s"),
            "'c1/x@5s' is not of the form NAME/TIME[@TIME]. 'x' is not a duration such as 500ms, 5s or 2m.",
        ),
        (("--rolling-restart", "5s"), "'5s' is not of the form DOWN/PAUSE[@TIME].\n"),
        (("--scale", "c1@5s"), "'c1@5s' is not of the form MEMBERS[@TIME]."),
        (("--scale", "8@5"), "'8@5' is not of the form MEMBERS[@TIME]. '5' is not a duration such as 500ms, 5s or 2m."),
        (("--crash", "c1@5x"), "'c1@5x' is not of the form NAME[@TIME]. '5x' is not a duration such as 500ms, 5s or 2m."),
        (("--poll-interval", "2"), "'2' is not a duration such as 500ms, 5s or 2m."),
        (("--add-partitions", "orders"), "'orders' is not of the form TOPIC:COUNT[@TIME]."),
        (("--crash", "nobody"), "/events/0/member_id"),
        (("--crash", "c"), "Several members have an id that begins with 'c': c1, c2, c3."),
        (("--crash", "c1@1000000000h"), "'1000000000h' is not a duration such as 500ms, 5s or 2m."),
        (("--crash", "c1@host@5s"), "Member 'c1@host' is not in the group at 5000 ms."),
    ],
)
def test_an_event_that_cannot_be_read(arguments: tuple[str, ...], expected: str) -> None:
    result = CliRunner().invoke(main, ["rebalances", *GROUP, *arguments])
    assert result.exit_code == 2
    assert expected in result.stderr


def test_the_table_of_totals_alone_and_what_crosses_racks_after_the_last_rebalance(tmp_path: Path) -> None:
    topics = [{"topic_name": "t", "partitions_count": 2, "partition_racks": [["x"], ["y"]], "partition_weights": [1e6, 3e6]}]
    body = {"topics": topics, "members": [{"member_id": "a", "rack_id": "x"}], "price_per_gb": 0.02}
    path = tmp_path / "body.json"
    said = "share 0.25 can be read on the reader's rack; then across racks 3,000,000 bytes/s, cost per month 157.68;"
    for detail, expected in (("totals", False), ("rebalances", True)):
        path.write_text(json.dumps(body | {"detail": detail}))
        result = CliRunner().invoke(main, ["rebalances", str(path), "--output", "table"], env={"COLUMNS": "200"})
        assert result.exit_code == 0
        assert (said in " ".join(result.stdout.split())) == expected


def test_a_terminal_of_80_columns() -> None:
    """A line for each rebalance; the sentence of the broker's log with --explain; the timings below."""
    arguments = [
        "rebalances",
        *GROUP,
        "--rolling-restart",
        "5s/10s",
        "--compare",
        "consumer",
        "--poll-interval",
        "2s",
        "--output",
        "table",
    ]
    lines = CliRunner().invoke(main, arguments).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("rolling restart" in line for line in lines) == 6
    assert "LeaveGroup" not in "".join(lines)
    assert any(line.startswith("Timings: members heartbeat every 3 s or 5 s and poll every 2 s;") for line in lines)
    assert "LeaveGroup" in CliRunner().invoke(main, [*arguments, "--explain"]).stdout


def test_what_is_wrong(file: str) -> None:
    result = CliRunner().invoke(main, ["rebalances", file, "--compare", "classic:range:static:more"])
    assert result.exit_code == 2
    assert "is not PROTOCOL[:ASSIGNOR]" in result.stderr
    result = CliRunner().invoke(main, ["rebalances", "-"], input=json.dumps({**BODY, "events": [{"at_ms": 0}]}))
    assert result.exit_code == 2
    assert "/events/0/type: Missing data for required field." in result.stderr
