"""``compare`` and ``fingerprint`` read users' files, and answer what the service answers."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from service.cli import main
from tests.support.questions import ask

KEYS = [f"order-{i}" for i in range(200)]


def run(*arguments: str):
    return CliRunner().invoke(main, arguments)


@pytest.fixture(scope="module")
def seen() -> list[dict]:
    """Records of two writers."""
    java, rdkafka = (
        ask({"partitioner": name, "partitions_count": 12, "keys": KEYS}).partitions.tolist()
        for name in ("java", "librdkafka:consistent_random")
    )
    return [
        {"key": key, "partition_id": b if i % 10 == 0 else a}
        for i, (key, a, b) in enumerate(zip(KEYS, java, rdkafka, strict=True))
    ]


@pytest.fixture(scope="module")
def file(seen, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("seen") / "seen.csv"
    path.write_text("id,partition\n" + "".join(f"{one['key']},{one['partition_id']}\n" for one in seen))
    return str(path)


def test_fingerprint_answers_what_the_service_answers(client, file, seen):
    ended = run("fingerprint", file, "--key-column", "id", "--max-partitions", "64", "--examples", "1")
    body = {"observations": seen, "max_partitions_count": 64, "examples": 1}
    assert json.loads(ended.stdout) == client.post("/v1/partitioner-fingerprints", json=body).json
    assert [round(writer["share"], 1) for writer in json.loads(ended.stdout)["writers"]] == [0.9, 0.1]


def test_compare_answers_what_the_service_answers(client, seen):
    """Also from standard input, with some of the partitioners."""
    text = "".join(json.dumps(one) + "\n" for one in seen)
    some = ("--partitioner", "java", "--partitioner", "sarama")
    command = [sys.executable, "-m", "service", "compare", "-", "--file-format", "jsonl", "--partitions", "12", *some]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    body = {"partitions_count": 12, "partitioners": ["java", "sarama"], "keys": KEYS}
    assert json.loads(ended.stdout) == client.post("/v1/partitioner-comparisons", json=body).json


def on_a_terminal(*arguments: str) -> str:
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-m", "service", *arguments], stdout=end, check=True, env=environment)
    os.close(end)
    return os.read(terminal, 20_000).decode()


def test_a_terminal_gets_the_verdict_in_words_and_a_table(file):
    shown = on_a_terminal("fingerprint", file, "--key-column", "id", "--partitions", "12")
    assert "With 12 partitions: 90.6% java (85.1% to 94.1%), 9.44% librdkafka:consistent_random (5.86% to" in " ".join(
        shown.split()
    )
    assert "librdkafka:consistent_random: key order-0 on partition" in shown
    assert "ruled out" in shown


def test_a_terminal_gets_who_agrees_with_whom(file, monkeypatch):
    """In this process, whose standard output is said to be a terminal."""
    monkeypatch.setattr("service.parameters.sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    some = ("--partitioner", "java", "--partitioner", "kafkajs", "--partitioner", "sarama")
    shown = run("compare", file, "--key-column", "id", "--partitions", "12", *some).stdout
    assert "equivalent for every key" in shown
    assert "records compared" in shown
    assert "17 of 200" in shown, "rows were counted, and a key may be in several"
    assert "two unrelated hash functions agree on 8.33% by chance." in " ".join(shown.split())


def test_a_wrong_question_is_refused_with_its_place(file):
    ended = run("fingerprint", file, "--key-column", "id", "--partitions", "3")
    assert ended.exit_code == 2
    assert "/partition_id: Partition" in ended.stderr
    assert (
        "Column 'partition_id' is missing"
        in run("fingerprint", file, "--key-column", "id", "--partition-column", "partition_id").stderr
    )
