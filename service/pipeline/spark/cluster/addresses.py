"""Whether servers answer."""

import socket
from collections.abc import Iterable
from typing import Final

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
