"""``partition-allocator rebalances``."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from service.cli import main
from service.cli.rebalances import rebalance_rows, total_rows

if TYPE_CHECKING:
    from pathlib import Path

BODY: dict[str, Any] = {
    "assignor": "range",
    "topics": [{"topic_name": "t0", "partitions_count": 6}],
    "members": [{"member_id": "c1"}, {"member_id": "<c2>"}],
    "events": [{"at_ms": 20_000, "type": "member_leaves", "member_id": "c1"}],
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
    assert document["totals"]["rebalances"] == 2
    compared = [(one["group_protocol"], one["assignor"], one["static"]) for one in document["comparisons"]]
    assert compared == [("consumer", "uniform", True), ("classic", "range", None)]


def test_tables_on_a_terminal(file: str) -> None:
    answer = json.loads(CliRunner().invoke(main, ["rebalances", file, "--json"]).stdout)
    assert [row[:6] for row in rebalance_rows(answer)] == [
        ("0 s", "6 s", "1", "2", "0", "0"),
        ("20 s", "1 s", "2", "1", "0", "0"),
    ]
    assert total_rows(answer)[0][:2] == ("classic range", "2")


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
    result = CliRunner().invoke(main, ["rebalances", file, "--svg", str(svg), "--html", str(html)])
    assert result.exit_code == 0, result.output
    picture = ET.fromstring(svg.read_text())  # noqa: S314 (its own picture)
    texts = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "<c2>" in texts
    colours = [element.get("fill") for element in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert "#d62728" in colours  # they stand still until the group has formed
    assert "<c2>" not in html.read_text()
    assert html.read_text().count("<table>") == 2


def test_what_is_wrong(file: str) -> None:
    result = CliRunner().invoke(main, ["rebalances", file, "--compare", "classic:range:static:more"])
    assert result.exit_code == 2
    assert "is not PROTOCOL[:ASSIGNOR]" in result.stderr
    result = CliRunner().invoke(main, ["rebalances", "-"], input=json.dumps({**BODY, "events": [{"at_ms": 0}]}))
    assert result.exit_code == 2
    assert "/events/0/type: Missing data for required field." in result.stderr
