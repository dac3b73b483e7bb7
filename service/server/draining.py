"""The end of a server: no connection is accepted that will not be answered."""

import socket
import sys
from contextlib import suppress
from typing import Final

from gunicorn.arbiter import Arbiter

_LEAST_HOPS: Final = ((socket.IPPROTO_IP, 21), (socket.IPPROTO_IPV6, 73))
"""IP_MINTTL of linux/in.h and IPV6_MINHOPCOUNT of linux/in6.h; a socket for IPv6 may have connections of both."""


def establish_no_more(listener: socket.socket) -> None:
    """Have the kernel drop what arrives at this listening socket, whichever processes share it.

    What has been established stays in its queue. Nothing more enters it between the last ``accept`` and ``close``, which would
    reset that, but for handshakes that are under way. A client that connects meanwhile is refused when it tries again, a second
    later. Only Linux can do so; elsewhere nothing happens.
    """
    _drop_below(listener, 255)  # a packet starts with at most 255 hops, of nearly all systems with 64 or 128


def hear_again(connection: socket.socket) -> None:
    """Let the packets of a connection pass whose handshake was under way, so that it has what its listening socket has."""
    _drop_below(connection, 0)


def _drop_below(sock: socket.socket, hops: int) -> None:
    """Have the kernel drop what arrives with fewer hops left. It takes no privilege, as a socket filter does in newer kernels."""
    if sys.platform == "linux":
        for level, option in _LEAST_HOPS:
            with suppress(OSError):  # not for IPv6, or no socket of the internet
                sock.setsockopt(level, option, hops)


class DrainingArbiter(Arbiter):  # type: ignore[misc]
    """Gunicorn's, whose workers find all connections in the queue when they are told to end."""

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002 (Gunicorn's)
        """End the workers; see Arbiter."""
        for listener in self.LISTENERS:
            establish_no_more(listener.sock)
        super().stop(graceful)
