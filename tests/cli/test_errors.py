"""What the command line prints contains no control characters of its caller's, wherever names and texts come back."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service.cli import main
from tests.support.programs import HEEDS_CTRL_C, program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

EVIL = "\x1b]0;title\x07\x1b[31m\x9b2J\u202e\u061c\u200f\u2066\x7f"
"""A window title (OSC), a colour (CSI), an erased screen (C1), marks of direction, DEL."""

SHOWN = r"\x1b]0;title\x07\x1b[31m\x9b2J\u202e\u061c\u200f\u2066\x7f"

RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

GROUP = {"topics": [{"topic_name": EVIL, "partitions_count": 3}], "members": [{"member_id": EVIL}, {"member_id": "b"}]}
PLACEMENT = [{"partition_id": 0, "replicas": [1]}, {"partition_id": 1, "replicas": [1]}]
FILES = {
    "group.json": json.dumps(GROUP),
    "unknown.json": json.dumps({**GROUP, EVIL: 1}),
    "events.json": json.dumps({**GROUP, "events": [{"at_ms": 5_000, "type": "member_leaves", "member_id": EVIL}]}),
    "topics.txt": f"Topic: {EVIL}\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
    f"\tTopic: {EVIL}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n",
    "keys.csv": f"key,partition,{EVIL}\n{EVIL},1,1\nb,{EVIL},1\n",
    "moves.json": json.dumps({"version": 1, "partitions": [{"topic": EVIL, "partition": 0, "replicas": [9]}]}),
    "cluster.json": json.dumps(
        {"brokers": [{"broker_id": 1}, {"broker_id": 2}], "topics": [{"topic_name": EVIL + "|<b>", "placements": PLACEMENT}]}
    ),
    EVIL + ".txt": "hello",
}
COMMANDS = [
    f"{EVIL}",
    f"assign --{EVIL}",
    f"assign {EVIL}",
    f"assign {EVIL}.txt",
    f"assign unknown.json --assignor {EVIL}",
    "assign unknown.json",
    f"assign --topic {EVIL}",
    f"assign --topic {EVIL}:3 --members {EVIL},b --output table",
    f"assign --topic a:3 --members 2 --assignor {EVIL}",
    "assign group.json --output table",
    f"assign topics.txt --group {EVIL}",
    f"partitions {EVIL} --partitions 3 --output table",
    f"partitions {EVIL} --partitions {EVIL}",
    f"partitions {EVIL} --partitions 3 --key-format long",
    f"place --brokers {EVIL}",
    f"place --brokers 3 --topic {EVIL} --output table",
    f"plan {EVIL} --partitions 2",
    f"plan keys.csv --partitions 2 --key-column {EVIL}x",
    "plan keys.csv --partitions 2 --output table",
    "compare keys.csv --partitions 3 --output table",
    "fingerprint keys.csv --output table",
    f"rebalances events.json --compare {EVIL}:a:b",
    f"rebalances events.json --svg /nowhere{EVIL}/picture.svg",
    "rebalances events.json --output table --svg picture.svg --html page.html",
    f"rebalances events.json --crash {EVIL}/x@5",
    f"rebalances --topic {EVIL}:3 --members {EVIL},b --leave {EVIL}@9s --output table --explain --html page.html",
    f"body tables topics.txt --out {EVIL}",
    f"reassign cluster.json --drain 1 --output table --out {EVIL}",
    f"reassign cluster.json --add {EVIL}",
    "lint moves.json --snapshot topics.txt --output table",
    f"lint {EVIL}.txt --snapshot topics.txt",
    "audit topics.txt --output table",
    f"audit topics.txt --topic {EVIL}x",
    f"body {EVIL}",
    f"token {EVIL}",
    f"pipeline {EVIL}",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_is_printable(command: str, folder: Path) -> None:
    result = CliRunner().invoke(main, command.split(" "))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert not RAW.search(result.stdout + result.stderr)
    assert result.stdout or "wrote " in result.stderr or (result.exit_code == 2 and "Error: " in result.stderr)
    for path in (*folder.glob("*.svg"), *folder.glob("*.html"), *folder.glob("*/plan.md")):
        assert not RAW.search(path.read_text()), path


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("plan keys.csv b", "Got unexpected extra argument (b)."),
        ("plan . --partitions 3", "File '.' is a directory."),
        ("plan --partition 3", "'--partitions'?)"),
        ("compare", "Missing argument 'FILE'."),
        ("token --bytes", "No such option '--bytes'."),
    ],
)
@pytest.mark.usefixtures("folder")
def test_errors_of_click_are_sentences(command: str, sentence: str) -> None:
    refused = CliRunner().invoke(main, command.split(" "))
    assert (refused.exit_code, refused.stderr.splitlines()[-1][-len(sentence) :]) == (2, sentence)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("partitions {} --partitions 3 --key-format long", "/keys/0: "),
        ("partitions a --partitions {}", "--partitions: "),
        ("assign --topic a:3 --members 2 --max-moves {}", "--max-moves: "),
        ("place --brokers 3 --random-seed {}", "--random-seed: "),
    ],
)
def test_a_number_of_more_than_64_bits_is_refused_where_it_is(command: str, place: str) -> None:
    result = CliRunner().invoke(main, command.format(2**64).split(" "))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {place}")


def test_a_name_is_shown_as_its_escapes(folder: Path) -> None:
    """All of it, in Click's errors as in the service's; Click leaves out colours by itself."""
    for command in (f"assign {EVIL}", "assign unknown.json", f"assign --topic {EVIL}", f"plan keys.csv --{EVIL}"):
        ended = subprocess.run([program("partition-allocator"), *command.split(" ")], capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert SHOWN in ended.stderr
        assert folder.exists()


def test_a_file_that_cannot_be_written_is_a_sentence(folder: Path) -> None:
    result = CliRunner().invoke(main, ["rebalances", str(folder / "events.json"), "--html", "/nowhere/page.html"])
    assert (result.exit_code, result.stderr) == (2, "Error: /nowhere/page.html: No such file or directory.\n")


def started(arguments: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*HEEDS_CTRL_C, program("partition-allocator"), *arguments], **streams, stderr=subprocess.PIPE)


def waits(process_id: int) -> bool:
    """Whether the main thread of a process sleeps."""
    return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.parametrize("form", ["json", "table"])
def test_a_full_disk_is_a_sentence(form: str) -> None:
    """With the status of an error: 1 says that a limit is exceeded."""
    with Path("/dev/full").open("wb") as full:
        command = started(["partitions", "a", "--partitions", "3", "--output", form], stdout=full)
        assert command.communicate()[1] == b"Error: Cannot write: No space left on device.\n"
    assert command.returncode == 2


@pytest.mark.parametrize("form", ["json", "table"])
def test_an_unread_answer_ends_the_command_like_other_programs(form: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = started(["partitions", "a", "--partitions", "3", "--output", form], stdout=write)
    os.close(write)
    assert command.communicate()[1] == b""
    assert command.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["assign"], 128 + signal.SIGINT),
        (["plan", "-", "--file-format", "csv", "--partitions", "3"], -signal.SIGINT),  # a shell says 130 of this, too
    ],
    ids=["read by Python", "read by Arrow"],
)
def test_ctrl_c_ends_a_command_that_waits_for_more(arguments: list[str], status: int) -> None:
    command = started(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert command.stdin is not None
    command.stdin.write(b"key\n" + b"a\n" * 2**17)  # more than a pipe holds: the command reads
    command.stdin.flush()
    # Python looks for signals when a read is interrupted: one that comes between two reads has to wait for the end of the second.
    while int.from_bytes(fcntl.ioctl(command.stdin, termios.FIONREAD, bytes(4)), sys.byteorder) or not waits(command.pid):
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    assert command.wait(60) == status
    assert command.communicate() == (b"", b"")


def test_a_closed_stream_is_empty() -> None:
    command = f"{program('partition-allocator')} plan - --file-format csv --partitions 3 <&- >&-"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "Error: standard input: The file is empty.\n")


def test_a_plan_as_markdown_shows_names_as_they_are(folder: Path) -> None:
    """Neither HTML nor a column more."""
    CliRunner().invoke(main, ["reassign", "cluster.json", "--drain", "1", "--out", "plan"])
    rows = (folder / "plan" / "plan.md").read_text().partition("## Moves")[2]
    assert "&#124;&#60;b&#62; | 0 |" in rows


def test_arguments_that_are_not_utf_8(folder: Path) -> None:
    """They come as unpaired surrogates."""
    for arguments in (["fingerprint", "keys.csv", "--partitioner", "\udcff"], ["token", "\udcff"], ["assign", "\udcff"]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2, result.exception
        assert "Error: " in result.stderr
    assert folder.exists()


@pytest.mark.parametrize("command", ["serve", "watch --bootstrap-server 127.0.0.1:1"])
def test_a_port_in_use_is_a_sentence(command: str) -> None:
    """At once, where Gunicorn would try again for seconds."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, [*command.split(), "--port", str(port)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: 127.0.0.1:{port}")
    assert result.stderr.endswith("Address already in use.\n")
    assert result.stderr.count("\n") == 1


def test_one_is_singular(folder: Path) -> None:
    """Of one partition, record, key, replica."""
    (folder / "one.csv").write_text("key\na\n")
    plan = CliRunner().invoke(main, ["plan", "one.csv", "--partitions", "1", "--max-skew", "2", "--output", "table"]).stdout
    assert "One partition keeps the limit" in plan
    assert "1 record, 1 distinct key\n" in plan
    drained = {"brokers": [{"broker_id": 1}, {"broker_id": 2}], "topics": [{"topic_name": "t", "placements": PLACEMENT[:1]}]}
    (folder / "one.json").write_text(json.dumps(drained))
    reassigned = CliRunner().invoke(main, ["reassign", "one.json", "--drain", "1", "--output", "table"]).stdout
    assert "1 replica copied (lower bound 1) · 1 preferred leader changes · 1 election" in reassigned


@pytest.mark.parametrize(
    "command", ["reassign --drain 1 --throttle 5", "reassign --into out", "log-dirs --drain /d", "audit", "audit --into out"]
)
@pytest.mark.parametrize(
    "body",
    [
        "{",
        '{"brokers": ' * 2_000,
        '{"brokers": 1, "topics": 1, "limits": 1, "balance": 1, "placements": 1}',
        '{"brokers": [1], "topics": [1], "limits": [1], "placements": [1]}',
        '{"brokers": [{"broker_id": 1, "log_dirs": 1}], "topics": [{"placements": 1}], "placements": [{"partition_id": 1e999}]}',
        '{"topic_name": "t", "brokers": [{"broker_id": 1}], "placements": [{"partition_id": 18446744073709551615}]}',
    ],
)
def test_a_body_that_options_change_may_be_wrong_in_any_way(command: str, body: str, folder: Path) -> None:
    """What is wrong is said by the service, or here, but with no traceback."""
    name, *options = command.split()
    result = CliRunner().invoke(main, [name, *options], input=body)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert not (folder / "out").exists()
