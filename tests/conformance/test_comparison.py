"""The kit beside real libraries, which answer alike, and beside programs that do not."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from service.conformance.comparison import Outcome, compare, vectors
from service.conformance.program import NoAnswer, Program
from service.conformance.subjects import subject_of
from service.core.errors import InvalidQuestion
from service.core.partitioners import PARTITIONERS
from tests.support.clients import NotHere, franz_go
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


def compared(program: Program, name: str, cases: int = 50, seed: int = 1) -> Outcome:
    """What comes of one subject."""
    return compare(program, subject_of(name, {}), cases, seed, lambda _: None)


def test_vectors_are_what_the_service_answers() -> None:
    """Of each of Kafka's own assignors, of those of other clients, and of partitioners."""
    assert {
        "classic/range",
        "consumer/uniform",
        "share/simple",
        "classic/librdkafka:range",
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
    [("silent", "it did not answer within 1.5 s"), ("hasty", "it ended with status 3"), ("babbling", "not a JSON")],
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


def test_a_program_that_is_not_there() -> None:
    """It cannot be started."""
    with pytest.raises(NoAnswer, match="cannot be started"):
        Program(["/no/such/program"], 1).implements()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["java", "franz-go"])
def test_real_libraries_answer_alike(name: str) -> None:
    """Kafka's own classes on a JVM, and franz-go where it can be built."""
    if name == "franz-go":
        try:
            franz_go()
        except NotHere as reason:
            pytest.skip(str(reason))
    program = program_of(name)
    assert program.implements() == tuple(IMPLEMENTS[name])
    for subject in IMPLEMENTS[name]:
        outcome = compared(program, subject, 60)
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
        ("partitioner/none", {}, "There is no partitioner 'none'"),
        ("partitioner/java:round-robin", {}, "does not decide by the key alone"),
        ("consumer/uniform", {"kafka_version": "3.9.1"}, "does not support Kafka 3.9.1"),
    ],
)
def test_unknown_subjects(name: str, options: dict[str, str], says: str) -> None:
    """They are named."""
    with pytest.raises(InvalidQuestion, match=says):
        subject_of(name, options)
