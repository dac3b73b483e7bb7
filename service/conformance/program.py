"""The program under test: a JSON object a line in, one out."""

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

PROTOCOL: Final = 1
"""The version of the protocol of lines."""

LONGEST_LINE: Final = 1 << 24
"""Most bytes of an answer; those to the questions asked have some thousands."""


CHUNK: Final = 1 << 16
NONE: Final = -1
"""No file descriptor."""


class NoAnswer(Exception):
    """The program gave no answer that can be read; ``str()`` says what it did instead."""


class Program:
    """A running program, started again after it has ended or kept silent.

    seconds : that it may take for an answer
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command, self._seconds, self._asked = list(command), seconds, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._stdin = self._stdout = NONE
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
