"""Whether servers answer."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

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
