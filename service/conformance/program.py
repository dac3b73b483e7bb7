"""The program under test: a JSON object a line in, one out."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final

PROTOCOL: Final = 1
"""The version of the protocol of lines."""

LONGEST_LINE: Final = 1 << 24
"""Most bytes of an answer; those to the questions asked have some thousands."""


class NoAnswer(Exception):
    """The program gave no answer that can be read; ``str()`` says what it did instead."""


class Program:
    """A running program, started again after it has ended or kept silent.

    seconds : that it may take for an answer
    """

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command, self._seconds, self._asked = list(command), seconds, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes] = SimpleQueue()

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
        """End the program."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - the user's own
        except OSError as error:
            raise NoAnswer(f"it cannot be started: {error.strerror}") from None
        lines: SimpleQueue[bytes] = SimpleQueue()

        def read() -> None:
            if process.stdout is not None:
                while line := process.stdout.readline(LONGEST_LINE):
                    lines.put(line)
            lines.put(b"")

        threading.Thread(target=read, daemon=True).start()
        self._process, self._lines = process, lines
        return process

    def _exchange(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._start()
        try:
            if process.stdin is not None:
                process.stdin.write(json.dumps(question).encode() + b"\n")
                process.stdin.flush()
            line = self._lines.get(timeout=self._seconds)
        except OSError:
            line = b""
        except Empty:
            self.close()
            raise NoAnswer(f"it did not answer within {self._seconds:g} s") from None
        if not line:
            status = process.wait()
            self.close()
            raise NoAnswer(f"it ended with status {status}")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            self.close()
            raise NoAnswer(f"its answer is not a JSON object: {_short(line.decode(errors='replace'))}")
        return answer


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.strip() if len(text) <= 200 else f"{text[:200]}…"
