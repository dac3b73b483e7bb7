"""The kit beside real libraries, which answer alike, and beside programs that do not."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.conformance.comparison import Comparison, NoAnswer, Program, compare, vectors
from service.conformance.subjects import subject_of
from service.core.errors import InvalidQuestion
from service.core.partitioners import PARTITIONERS
from service.strategies import GROUP_PROTOCOLS
from tests.support.clients import NotHere, of_go
from tests.support.conforming import IMPLEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator


def program_of(name: str, seconds: float = 120) -> Program:
    """One of the programs of ``tests.support.conforming``."""
    return Program([sys.executable, "-m", "tests.support.conforming", name], seconds)


@pytest.fixture(scope="module")
def broken() -> Iterator[Program]:
    """A program that gets static members, and all keys, wrong."""
    program = program_of("broken")
    yield program
    program.close()


def compared(program: Program, name: str, cases: int = 50, seed: int = 1) -> Comparison:
    """What comes of one subject."""
    return compare(program, subject_of(name, {}), cases, seed, lambda _: None)


def test_vectors_are_what_the_service_answers() -> None:
    """Of each of Kafka's own assignors, of those of other clients, and of partitioners."""
    assert {
        "classic/range",
        "consumer/uniform",
        "share/simple",
        "classic/librdkafka:range",
        "connect/sessioned",
        "partitioner/java",
    } <= vectors().keys()
    for name, of_subject in vectors().items():
        subject = subject_of(name, {})
        for vector in of_subject:
            assert subject.expected(vector["request"]) == subject.recorded(vector["expected"]), vector["id"]


def test_a_difference_is_made_small(broken: Program) -> None:
    """Two members and one partition tell that static members come first; what the program does not support is left out."""
    outcome = compared(broken, "classic/range")
    assert outcome.failure is not None
    assert outcome.smallest is not None
    assert outcome.smallest.fault.startswith("partition 0 of ")
    assert sum(topic["partitions_count"] for topic in outcome.smallest.request["topics"]) == 1
    assert len(outcome.smallest.request["members"]) == 2
    assert outcome.unsupported["racks"] > 0
    assert outcome.smallest.answer is not None


def test_one_key_is_enough(broken: Program) -> None:
    """All others are left out."""
    outcome = compared(broken, "partitioner/librdkafka:fnv1a")
    assert outcome.smallest is not None
    assert len(outcome.smallest.request["keys"]) == 1
    assert "goes to partition" in outcome.smallest.fault


def test_a_connect_group_is_made_small(broken: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rebalance tells that a broken leader does not begin with the first worker."""
    eager = compared(broken, "connect/eager", seed=3)
    assert eager.smallest is not None
    (row,) = eager.smallest.request["rounds"]
    assert (len(row["connectors"]), len(row["workers"])) == (1, 2)
    assert eager.smallest.fault.startswith("rounds[0]: connector ")
    monkeypatch.setattr("service.conformance.comparison.vectors", dict)
    assert compared(broken, "connect/sessioned").failure is not None


def test_a_worker_of_connect_that_keeps_what_it_is_to_stop_differs() -> None:
    """So does one that is told another delay, one with less, and an answer that is none."""
    subject = subject_of("connect/sessioned", {})
    question = next(subject.questions("4"))
    expected = subject.expected(question)
    assert expected is not None
    whole = expected.document()
    assert subject.fault(expected, whole) is None
    revoking = next(i for i, row in enumerate(whole["rounds"]) if any(each["revoked_tasks"] for each in row["assignments"]))
    row = whole["rounds"][revoking]

    def faults(**changed: object) -> str | None:
        rows = [{**each, **changed} for each in row["assignments"]]
        return subject.fault(
            expected, {"rounds": [*whole["rounds"][:revoking], {"assignments": rows}, *whole["rounds"][revoking + 1 :]]}
        )

    assert "is revoked from no member instead of '" in (faults(revoked_tasks=[]) or "")
    assert "the delay_ms of " in (faults(delay_ms=7) or "")
    assert "is not a list" in (faults(tasks=7) or "")
    assert (
        subject.fault(expected, {"rounds": whole["rounds"][:-1]})
        == f'"rounds" is not a list of {len(whole["rounds"])} rebalances'
    )
    assert subject.fault(expected, {"error": "lost"}) == "the program fails: lost"


def test_random_questions_find_what_the_vectors_do_not(broken: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed draws the same questions."""
    monkeypatch.setattr("service.conformance.comparison.vectors", dict)
    first, again = (compared(broken, "classic/range", 500) for _ in range(2))
    assert first.failure is not None
    assert first.failure.name.startswith("seed 1, question ")
    assert again.failure is not None
    assert (again.failure.name, again.failure.request) == (first.failure.name, first.failure.request)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("silent", "it did not answer within 1.5 s"),
        ("hasty", "it ended with status 3"),
        ("babbling", "not a JSON"),
        ("unending", 'it did not end the line of its answer within 1.5 s: {"id": 1, "partitions": ['),
        ("closing", "it closed its output"),
    ],
)
def test_programs_that_do_not_answer(name: str, fault: str) -> None:
    """Each question is a failure of its own, and the program is started again."""
    program = program_of(name, 1.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.conformance.comparison.SHRINKING_SECONDS", 0.1)
        outcome = compared(program, "classic/range")
    program.close()
    assert outcome.failure is not None
    assert fault in outcome.failure.fault


def test_a_program_that_does_not_read() -> None:
    """A question that fills the pipe is not waited for any longer than an answer."""
    program = Program(["sh", "-c", """read line; echo '{"conform": 1}'; exec sleep 600"""], 0.5)
    with pytest.raises(NoAnswer, match=r"it did not read the question within 0\.5 s"):
        program.ask("partitions", {"keys": "a" * 10**6})


def test_what_a_program_has_started_ends_with_it() -> None:
    """A script that starts the program proper, which has its pipes, too."""
    program = Program(["sh", "-c", "sleep 600 & echo $!; wait"], 5)
    with pytest.raises(NoAnswer, match="not a JSON object") as silence:
        program.implements()
    pid = str(silence.value).rpartition(" ")[2]
    with suppress(FileNotFoundError, ProcessLookupError):
        while Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)


def test_a_long_answer() -> None:
    """A line without end is not read to its end."""
    with pytest.raises(NoAnswer, match="longer than 16777216 bytes"):
        Program(["sh", "-c", "yes | tr -d '\\n'"], 60).implements()


def test_a_program_that_is_not_there() -> None:
    """It cannot be started."""
    with pytest.raises(NoAnswer, match="cannot be started"):
        Program(["/no/such/program"], 1).implements()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["java", "connect", "franz-go"])
def test_real_libraries_answer_alike(name: str) -> None:
    """Kafka's own classes on a JVM, Connect's own workers, and franz-go where it can be built."""
    if name == "franz-go":
        try:
            of_go("franz-go")
        except NotHere as reason:
            pytest.skip(str(reason))
    program = program_of(name)
    assert program.implements() == tuple(IMPLEMENTS[name])
    for subject in IMPLEMENTS[name]:
        outcome = compared(program, subject, 25)
        assert outcome.failure is None, outcome.failure
        assert (len(outcome.vectors), sum(outcome.unsupported.values())) == (len(vectors()[subject]), 0)
    program.close()


def test_questions_of_every_subject() -> None:
    """Each assignor and each partitioner that decides by the key has questions that have an answer."""
    for name in (*vectors(), *(f"partitioner/{one.name}" for one in PARTITIONERS if one.hash is not None)):
        try:
            subject = subject_of(name, {})
        except InvalidQuestion:
            continue
        drawn = [request for seed in range(8) for request in islice(subject.questions(str(seed)), 2)]
        assert any(subject.expected(request) is not None for request in drawn), name


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("classic/none", {}, "There is no assignor 'none'"),
        ("none/range", {}, "There is no group_protocol 'none'"),
        ("connect/none", {}, "There is no assignor 'none'"),
        ("connect/eager", {"kafka_version": "3.9.1"}, "does not support Kafka 3.9.1"),
        ("connect/eager", {"client_version": "2.0"}, "kafka_version instead of client_version"),
        ("partitioner/none", {}, "There is no partitioner 'none'"),
        ("partitioner/java:round-robin", {}, "does not decide by the key alone"),
        ("consumer/uniform", {"kafka_version": "3.9.1"}, "does not support Kafka 3.9.1"),
    ],
)
def test_unknown_subjects(name: str, options: dict[str, str], says: str) -> None:
    """They are named."""
    with pytest.raises(InvalidQuestion, match=says):
        subject_of(name, options)


@pytest.mark.parametrize("name", [f"splits/{each.name}" for each in GROUP_PROTOCOLS["splits"].builtins])
def test_readers_that_form_no_group_can_be_compared(name: str) -> None:
    """Their questions have an answer, but for some numbers of Beam's splits and topics whose order MirrorMaker leaves open."""
    subject = subject_of(name, {})
    drawn = [next(subject.questions(str(seed))) for seed in range(40)]
    assert sum(subject.expected(question) is not None for question in drawn) >= 15
