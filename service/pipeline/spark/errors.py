"""Why a job does not start, or fails; each error's text is a sentence for the user, with the remedy."""

import socket
from collections.abc import Iterable
from typing import Final

from service.core.errors import AllocatorError

CONNECT_SECONDS: Final = 5.0


def unanswered(addresses: Iterable[str]) -> list[str]:
    """Why each of these, ``host:port``, refuses a connection; empty if one accepts it."""
    faults = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
                return []
        except OSError as error:
            faults.append(f"{address} ({error.strerror or error})")
    return faults


class PipelineError(AllocatorError):
    """A job that cannot run."""


class NoSpark(PipelineError):
    """Spark cannot start or cannot be reached."""


class WrongSource(PipelineError):
    """A source that does not exist, lacks columns that the job needs, or does not answer."""


class JobFailed(PipelineError):
    """Spark failed the job; the reason is the innermost cause."""
