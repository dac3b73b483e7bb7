"""What a server loads when it starts: it takes little more time to start in a process that is forked from one with this."""

from __future__ import annotations

import gc

import service.cli.serve
import service.server.serving  # noqa: F401 - what ``serve`` imports when it is called
from service.cli import main
from service.server.warm import warm

__all__ = ["main"]

warm()
gc.freeze()
