"""What is to run in a process of its own, forked from this one: it need not import anything, nor load kernels.

Not what reads with Arrow, whose threads are lost in a fork.
"""

from __future__ import annotations

import os
import pty
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

from service.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable


def forked(call: Callable[[], object]) -> int:
    """The id of a process that makes this call, and ends with 0 or, where it raises, with 1 and a traceback."""
    if child := os.fork():
        return child
    status = 1
    try:
        call()
        status = 0
    except Exception:  # noqa: BLE001 - whatever it is
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def ended(child: int) -> int:
    """Its exit status, once it has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command prints on a terminal of these variables."""
    terminal, end = pty.openpty()

    def command() -> None:
        os.environ.update(environment)
        with open(end, "w", encoding="utf-8", closefd=False) as sys.stdout:
            main(arguments, standalone_mode=False)

    child = forked(command)
    os.close(end)
    shown = b""
    with suppress(OSError):  # EIO: nobody holds the other end any more
        while True:
            shown += os.read(terminal, 10_000)
    os.close(terminal)
    assert ended(child) == 0, shown
    return shown.decode()
