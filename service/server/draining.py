"""The end of a server: no connection is accepted that will not be answered."""

import ctypes
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

from gunicorn.arbiter import Arbiter

_SO_ATTACH_FILTER: Final = 26
"""A constant of Linux's asm-generic/socket.h."""
_RETURN: Final = 0x06
"""BPF_RET | BPF_K of linux/bpf_common.h."""


def establish_no_more(listener: socket.socket) -> None:
    """Have the kernel drop what arrives at this listening socket, whichever processes share it.

    What has been established stays in its queue. Nothing more enters it between the last ``accept`` and ``close``, which would
    reset that. A client that connects meanwhile is refused when it tries again, a second later. Only Linux has such filters;
    elsewhere nothing happens.
    """
    program = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN, 0, 0, 0))  # one instruction: keep 0 bytes of the packet
    if sys.platform == "linux":
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))


class DrainingArbiter(Arbiter):  # type: ignore[misc]
    """Gunicorn's, whose workers find all connections in the queue when they are told to end."""

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002 (Gunicorn's)
        """End the workers; see Arbiter."""
        for listener in self.LISTENERS:
            establish_no_more(listener.sock)
        super().stop(graceful)
