"""Every command says what it concludes, and what to know of it, before any table."""

from __future__ import annotations

import json
from html import unescape
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service.cli import main
from tests.support.golden import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER = PROJECT / "tests" / "cases" / "operators-cluster"
TOPICS, RACKS, MEMBERS = (str(CLUSTER / name) for name in ("topics.txt", "racks.csv", "members.txt"))

COMMANDS = (
    ["assign", MEMBERS, "--snapshot", TOPICS],
    ["member-counts", MEMBERS, "--snapshot", TOPICS, "--members-counts", "24,25"],
    ["rebalances", MEMBERS, "--snapshot", TOPICS, "--leave", "consumer-billing-1-16b4944a"],
    ["check", TOPICS, RACKS],
    ["reassign", TOPICS, "--snapshot", RACKS, "--drain", "7"],
    ["place", TOPICS, "--topic", "new:4", "--replication-factor", "3"],
    ["upgrade", MEMBERS, "--snapshot", TOPICS, "--from", "eager", "--to", "cooperative"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_sentences_come_before_tables(command: list[str]) -> None:
    document, shown = (CliRunner().invoke(main, [*command, "--output", form]).stdout for form in ("json", "table"))
    answer = json.loads(document)
    warnings = [f"{'Warning: ' * (command[0] == 'reassign')}{warning}" for warning in answer.get("warnings", ())]
    sentences = " ".join([answer["conclusion"], *answer.get("effects", ()), *warnings])
    assert " ".join(shown.split()).startswith(" ".join(sentences.split()))


@pytest.mark.parametrize(
    "command",
    [
        ["fingerprint", "--partitions", "6"],
        ["compare", "--partitions", "6"],
        ["plan"],
    ],
    ids=lambda command: command[0],
)
def test_a_folder_has_the_conclusion_that_is_printed(command: list[str], tmp_path: Path) -> None:
    source = tmp_path / "seen.csv"
    source.write_text("key,partition\n" + "".join(f"key-{i},{i % 6}\n" for i in range(40)))
    run = CliRunner().invoke(main, [*command, str(source), "--into", str(tmp_path / "out"), "--output", "table"])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    shown, said = " ".join(run.stdout.split()), " ".join(summary["conclusion"].split())
    assert said
    assert shown.startswith(said)
    assert said in " ".join(unescape((tmp_path / "out" / "report.html").read_text()).split())
