"""Every command says what it concludes, and what to know of it, before any table."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from service.cli import main
from tests.support.golden import PROJECT

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
