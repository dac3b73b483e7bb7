"""The command line answers as the service does: a table on a terminal, JSON everywhere else."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.server.test_server import QUESTIONS
from tests.support.golden import lines

COMMANDS = {"partition": "/v1/partitions", "assign": "/v1/group-assignments", "place": "/v1/replica-placements"}


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "service", *arguments], input=stdin, capture_output=True, text=True, check=False)


def on_a_terminal(command: str, question: dict, folder) -> str:
    file = folder / "question.json"
    file.write_text(json.dumps(question))
    terminal, end = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "service", command, str(file)], stdout=end, check=True, env={**os.environ, "TERM": "dumb"}
    )
    os.close(end)
    return os.read(terminal, 10_000).decode()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_gets_the_services_own_answer(client, command, tmp_path):
    path = COMMANDS[command]
    file = tmp_path / "question.json"
    file.write_text(json.dumps(QUESTIONS[path]))
    answer = run(command, str(file))
    assert answer.stdout.encode() == client.post(path, json=QUESTIONS[path]).data + b"\n"
    assert run(command, stdin=file.read_text()).stdout == answer.stdout, "standard input is the default"


@pytest.mark.parametrize(
    ("command", "shown"),
    [("partition", "a       3"), ("assign", "c1      orders  0 2 4 6"), ("place", "replicas (leader first)")],
)
def test_a_terminal_gets_a_table(command, shown, tmp_path):
    text = on_a_terminal(command, QUESTIONS[COMMANDS[command]], tmp_path)
    assert shown in text
    assert "skew" in text


def test_a_problem_goes_to_standard_error_with_its_place():
    ended = run("partition", stdin='{"partitions_count": 0, "keys": []}')
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "/partitions_count" in ended.stderr


def test_explain_is_passed_on():
    assert "explanation" in json.loads(run("partition", "--explain", stdin='{"partitions_count": 2, "keys": ["a"]}').stdout)


@pytest.mark.parametrize("name", ["placement/controller", "placement/reassign-generate", "placement/striped-topics"])
def test_every_kind_of_placement_has_a_table(name, tmp_path):
    case = next(case for case in lines(name) if "error" not in case["expected"])
    assert "replicas (leader first)" in on_a_terminal("place", case["request"], tmp_path)


@pytest.mark.parametrize("command", ["serve", "partition"])
def test_a_wrong_setting_is_named(command, monkeypatch):
    monkeypatch.setenv("ALLOCATOR_MAX_KEYS", "many")
    ended = run(command, stdin="{}")
    assert ended.returncode == 1
    assert ended.stderr == "Error: ALLOCATOR_MAX_KEYS: Not a valid integer.\n"
