"""A program beside what it is to implement: the vectors, then random questions until the first that is answered otherwise.

The program reads a JSON object a line, and writes one.
"""

import gzip
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import count, islice
from typing import Any, Final

from service.conformance.shrinking import Expected
from service.conformance.subjects import Subject
from service.core.documents import Json

PROTOCOL: Final = 1
"""The version of the protocol of lines."""

LONGEST_LINE: Final = 1 << 24
"""Most bytes of an answer; those to the questions asked have some thousands."""

CHUNK: Final = 1 << 16


class NoAnswer(Exception):
    """The program gave no answer that can be read; ``str()`` says what it did instead."""


class Program:
    """A running program, started again after it has ended or kept silent.

    seconds : that it may take for an answer
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command, self._seconds, self._asked = list(command), seconds, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._stdin = self._stdout = -1  # no file descriptors
        self._read = b""

    def implements(self) -> tuple[str, ...]:
        """What the program says that it implements; empty if it does not say. Raises NoAnswer, also for another protocol."""
        answer = self._exchange({"conform": PROTOCOL})
        if answer.get("conform") != PROTOCOL:
            raise NoAnswer(f'it answered {{"conform": {PROTOCOL}}} with {_short(answer)}')
        named = answer.get("implements", [])
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise NoAnswer('"implements" is not a list of names')
        return tuple(named)

    def ask(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Its answer to a request. Raises NoAnswer."""
        if self._process is None:
            self.implements()
        self._asked += 1
        answer = self._exchange({"id": self._asked, "operation": operation, "request": request})
        if answer.get("id") != self._asked:
            self.close()
            raise NoAnswer(f"it answered the question with id {self._asked} with {_short(answer)}")
        return answer

    def close(self) -> None:
        """End the program, and what it has started."""
        process, self._process, self._read = self._process, None, b""
        if process is not None:
            with suppress(ProcessLookupError):  # its group is its own, and ends with its last process
                os.killpg(process.pid, signal.SIGKILL)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, bufsize=0, start_new_session=True)  # noqa: S603 - the user's own
        except OSError as error:
            raise NoAnswer(f"it cannot be started: {error.strerror}") from None
        self._stdin, self._stdout = (each.fileno() for each in (process.stdin, process.stdout) if each is not None)
        os.set_blocking(self._stdin, False)
        self._process = process
        return process

    def _exchange(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._start()
        try:
            line = self._line(process, json.dumps(question).encode() + b"\n")
            answer = json.loads(line)
        except NoAnswer:
            self.close()
            raise
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            self.close()
            raise NoAnswer(f"its answer is not a JSON object: {_short(line.decode(errors='replace'))}")
        return answer

    def _line(self, process: subprocess.Popen[bytes], question: bytes) -> bytes:
        """The next line of its output, once it has read the question. Raises NoAnswer.

        Neither is waited for alone: a program that does not read fills the pipe, and so does one whose output is not read.
        """
        deadline = time.monotonic() + self._seconds
        with selectors.DefaultSelector() as selector:
            stdin, stdout = self._stdin, self._stdout
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            while question or b"\n" not in self._read:
                if b"\n" in self._read and stdout in selector.get_map():
                    selector.unregister(stdout)
                ready = {key.fd for key, _ in selector.select(max(0.0, deadline - time.monotonic()))}
                if not ready:
                    raise NoAnswer(self._silence(unread=bool(question)))
                if stdin in ready:
                    question = _written(stdin, question)
                    if not question:
                        selector.unregister(stdin)
                if stdout in ready:
                    self._receive(process, deadline)
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _receive(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        received = os.read(self._stdout, CHUNK)
        if not received:
            try:
                raise NoAnswer(f"it ended with status {process.wait(max(0.1, deadline - time.monotonic()))}")
            except subprocess.TimeoutExpired:
                raise NoAnswer("it closed its output") from None
        self._read += received
        if len(self._read) > LONGEST_LINE:
            raise NoAnswer(f"its answer is longer than {LONGEST_LINE} bytes")

    def _silence(self, *, unread: bool) -> str:
        within = f"within {self._seconds:g} s"
        if unread:
            return f"it did not read the question {within}"
        if self._read:
            return f"it did not end the line of its answer {within}: {_short(self._read.decode(errors='replace'))}"
        return f"it did not answer {within}"


def _written(pipe: int, text: bytes) -> bytes:
    """What is left of the text once the pipe is full; nothing once the reader is gone, because the output ends then."""
    try:
        return text[os.write(pipe, text) :]
    except BrokenPipeError:
        return b""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.strip() if len(text) <= 200 else f"{text[:200]}…"


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
