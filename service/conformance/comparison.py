"""A program beside what it is to implement: the vectors, then random questions until the first that is answered otherwise."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import count, islice
from typing import Final

from service.conformance.program import NoAnswer, Program
from service.conformance.shrinking import Expected
from service.conformance.subjects import Subject
from service.core.documents import Json

SHRINKING_SECONDS: Final = 30.0
"""How long a question that is answered otherwise may be made smaller."""


@dataclass(frozen=True)
class Failure:
    """A question that the program answers otherwise.

    name : the vector's id, or which random question it is; fault : what is wrong; answer : the program's, None if it gave none
    """

    name: str
    fault: str
    request: Json
    expected: Json
    answer: Json | None


@dataclass
class Comparison:
    """What came of one subject.

    vectors, drawn : names of the vectors that were answered, and how many random questions were
    unsupported : why the program left questions out, and how many
    failure : the first answer that differs; smallest : the same on the smallest question that was found
    """

    subject: Subject
    vectors: list[str] = field(default_factory=list)
    drawn: int = 0
    unsupported: dict[str, int] = field(default_factory=dict)
    failure: Failure | None = None
    smallest: Failure | None = None

    @property
    def verdict(self) -> str:
        """``differs``, ``alike``, or ``not-compared`` if the program answered nothing."""
        if self.failure is not None:
            return "differs"
        return "alike" if self.vectors or self.drawn else "not-compared"


def compare(program: Program, subject: Subject, cases: int, seed: int, progress: Callable[[Comparison], object]) -> Comparison:
    """Ask the vectors and a number of random questions. Raises NoAnswer only if the program cannot be started."""
    outcome = Comparison(subject)
    if not subject.options:  # the vectors are of the newest releases
        for vector in vectors().get(subject.name, ()):
            if _is_alike(program, outcome, vector["id"], vector["request"], subject.recorded(vector["expected"])):
                outcome.vectors.append(vector["id"])
            if outcome.failure is not None:
                return outcome
            progress(outcome)
    for name, request in islice(_drawn(subject, seed), cases):
        expected = subject.expected(request)
        if expected is not None:
            outcome.drawn += _is_alike(program, outcome, name, request, expected)
        if outcome.failure is not None:
            return outcome
        progress(outcome)
    return outcome


def _drawn(subject: Subject, seed: int) -> Iterator[tuple[str, Json]]:
    """Random questions without end, each with its name."""
    for number in count():
        for step, request in enumerate(subject.questions(f"{seed}-{number}")):
            yield f"seed {seed}, question {number}" + (f", rebalance {step + 1}" if step else ""), request


@cache
def vectors() -> dict[str, list[Json]]:
    """By subject, what its library answered: ``id``, ``source``, ``request`` and ``expected``."""
    by_subject: dict[str, list[Json]] = {}
    data = gzip.decompress(files("service.conformance").joinpath("vectors.jsonl.gz").read_bytes())
    for line in data.decode().splitlines():
        vector = json.loads(line)
        by_subject.setdefault(vector["subject"], []).append(vector)
    return by_subject


def _is_alike(program: Program, outcome: Comparison, name: str, request: Json, expected: Expected) -> bool:
    """Whether the program answers a question so. If it answers otherwise the outcome has the failure, also made smaller."""
    left_out = sum(outcome.unsupported.values())
    failure = _asked(program, outcome.subject, name, request, expected, outcome.unsupported)
    if failure is not None:
        outcome.failure, outcome.smallest = failure, _shrunk(program, outcome.subject, failure)
    return failure is None and left_out == sum(outcome.unsupported.values())


def _asked(
    program: Program, subject: Subject, name: str, request: Json, expected: Expected, unsupported: dict[str, int]
) -> Failure | None:
    """What is wrong with the program's answer. unsupported : counts why it leaves questions out"""
    try:
        answer = program.ask(subject.operation, request)
    except NoAnswer as silence:
        return Failure(name, str(silence), request, expected.document(), None)
    if "unsupported" in answer:
        reason = str(answer["unsupported"])[:100]
        unsupported[reason] = unsupported.get(reason, 0) + 1
        return None
    fault = subject.fault(expected, answer)
    return None if fault is None else Failure(name, fault, request, expected.document(), answer)


def _shrunk(program: Program, subject: Subject, found: Failure) -> Failure:
    """The same failure on a smaller question: whatever can be left out is left out, one thing at a time."""
    until, smallest, left_out = time.monotonic() + SHRINKING_SECONDS, found, True
    while left_out:
        left_out = False
        for request in subject.smaller(smallest.request):
            if time.monotonic() > until:
                return smallest
            expected = subject.expected(request)
            failure = None if expected is None else _asked(program, subject, found.name, request, expected, {})
            if failure is not None and (failure.answer is None) == (found.answer is None):
                smallest, left_out = failure, True
                break
    return smallest
