"""What is read whole from outside, up to a size: small files, and small responses of HTTP servers."""

import io
import os
import stat
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from socket import socket
from ssl import SSLContext
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

# Responses of HTTP servers that are read whole: keys and tokens of an identity provider.
#
# A timeout of a socket starts again with every byte, and a body can have any length. Here the whole response has a deadline, and
# its body at most MOST_BYTES. Redirects are not followed: the address is the one that the configuration names, and credentials go
# nowhere else.

_REASON_BYTES: Final = 200


def read_small_response(request: Request, seconds: float, tls: SSLContext | None = None) -> bytes:
    """The body of a response.

    seconds : how long connecting may take, and then the whole response
    tls : default: the system's authorities
    Raises OSError and HTTPException, with the beginning of the body in case of a bad status, and ValueError for a longer body.
    """
    opener = build_opener(_Handler(tls), _NoRedirects)
    try:
        with opener.open(request, timeout=seconds) as response:
            body: bytes = response.read(MOST_BYTES + 1)
    except HTTPError as error:
        reason = f"{error.code} {error.reason}"
        with error, suppress(OSError, HTTPException):
            reason = f"{reason}: {error.read(_REASON_BYTES).decode(errors='replace').strip()}"
        raise OSError(reason.removesuffix(": ")) from None
    if len(body) > MOST_BYTES:
        raise ValueError(f"the response is longer than {MOST_BYTES} bytes")
    return body


class _TimedReader(io.RawIOBase):
    """What a socket receives until a deadline, which begins with the timeout of the socket."""

    def __init__(self, sock: socket, raw: Any) -> None:
        self._sock, self._raw = sock, raw
        self._deadline = time.monotonic() + (sock.gettimeout() or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """See io.RawIOBase. Raises TimeoutError."""
        self._sock.settimeout(max(self._deadline - time.monotonic(), 0.001))
        read: int | None = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp: Any = io.BufferedReader(_TimedReader(sock, self.fp.detach()))


class _Http(HTTPConnection):
    response_class = _Response


class _Https(HTTPSConnection):
    response_class = _Response


class _Handler(HTTPHandler, HTTPSHandler):
    """Responses with a deadline."""

    def __init__(self, tls: SSLContext | None) -> None:
        super().__init__()
        self._tls = tls

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Http, req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Https, req, context=self._tls)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


# Files that are read whole: credentials, certificates, settings.
#
# Their names come from settings and options, so any path may be among them. ``/dev/zero`` never ends, and a named pipe that no
# process writes to never begins; only a regular file of a bounded size is read.

MOST_BYTES: Final = 2**20
"""A thousand certificates, or ten thousand tokens."""

_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class UnreadableFile(ValueError):
    """A file cannot be read; the text says why, without the file's name."""


def read_small_file(path: Path | str) -> bytes:
    """The content of a regular file. Raises UnreadableFile if there is none, if it is no such file, or longer than MOST_BYTES."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # which opens a pipe without waiting for who writes to it
    except OSError as error:
        raise UnreadableFile(f"{error.strerror}.") from None
    except ValueError:
        raise UnreadableFile("The name has a null character.") from None
    try:
        kind = stat.S_IFMT(os.fstat(handle).st_mode)
        if kind != stat.S_IFREG:
            raise UnreadableFile(f"This is {_KINDS.get(kind, 'a special file')}, not a regular file.")
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnreadableFile(f"{error.strerror}.") from None
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        raise UnreadableFile(f"The file is longer than {MOST_BYTES:,} bytes.")
    return content
