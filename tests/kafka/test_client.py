"""Why there is no connection."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

from service.kafka.client import ClusterClient
from service.kafka.errors import Unreachable

SETTINGS = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "reader",
    "sasl_plain_password": "wrong",
}


def close_connections(server: socket.socket, seconds: float) -> None:
    """Close each connection at once, for so many seconds; after that, answer none."""
    until = time.monotonic() + seconds
    with suppress(OSError), ExitStack() as held:
        while True:
            connection = held.enter_context(server.accept()[0])
            if time.monotonic() < until:
                connection.close()


def test_a_request_that_the_deadline_ends_hides_no_reason() -> None:
    """The broker closes the first connections, and is too slow for the last one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=close_connections, args=(server, 1))
        thread.start()
        try:
            address = "127.0.0.1:{1}".format(*server.getsockname())
            with pytest.raises(
                Unreachable, match=r"(disconnected|reset by peer); a broker disconnects a client whose credentials"
            ):
                ClusterClient(address, SETTINGS, bootstrap_ms=4000)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
