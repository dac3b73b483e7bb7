"""kafka-python's connections, for brokers that are not trusted.

=================== ==============================================================================================================
receiving           as much at once as fits into READ_BYTES, so that timers run while a broker sends without a pause
responses           at most LONGEST_RESPONSE; a buffer grows as the bytes come, whatever their length says
connecting          a socket that does not connect is closed at once
decoding            ``decoding``; whatever cannot be decoded closes the connection, with the reason
=================== ==============================================================================================================

``install`` puts them in the place of the library's classes, whose names the library looks up wherever it makes one.
"""

import struct
from io import BytesIO
from ssl import SSLWantReadError, SSLWantWriteError
from typing import Any, Final

from kafka import errors as kafka_errors
from kafka.net import connection, inet, manager
from kafka.net.selector import NetworkSelector
from kafka.protocol.parser import KafkaProtocol

from service.live.bounded import decoding
from service.live.bounded.decoding import Allowance, taking_from

LONGEST_RESPONSE: Final = 100 * 2**20
"""As many bytes as Kafka's brokers accept of a request (``socket.request.max.bytes``)."""
READ_BYTES: Final = 2**20
_LENGTH_BYTES: Final = 4
_WAITS: Final = (BlockingIOError, InterruptedError, SSLWantReadError, SSLWantWriteError)


class MeteredSelector(NetworkSelector):  # type: ignore[misc]  # the library has no types
    """An event loop all of whose connections share one allowance."""

    def __init__(self) -> None:
        super().__init__(slow_task_threshold_secs=0)
        self.allowance = Allowance()


class BoundedProtocol(KafkaProtocol):  # type: ignore[misc]
    """Bytes → responses. net : the event loop; without an allowance of its own, each response has one"""

    def __init__(self, net: Any, **config: Any) -> None:
        super().__init__(**config)
        self._net, self._length, self._body, self._missing = net, b"", BytesIO(), 0

    def receive_bytes(self, data: bytes) -> list[tuple[int, Any]]:
        """The responses that these bytes complete, with their correlation ids. Raises KafkaProtocolError."""
        responses, pos = [], 0
        while pos < len(data):
            if not self._missing:
                needed = _LENGTH_BYTES - len(self._length)
                self._length += data[pos : pos + needed]
                pos += needed
                if len(self._length) < _LENGTH_BYTES:
                    break
                (self._missing,) = struct.unpack(">i", self._length)
                self._validate_frame_size(self._missing)
                self._length, self._body = b"", BytesIO()
            part = data[pos : pos + self._missing]
            self._body.write(part)
            pos += len(part)
            self._missing -= len(part)
            if not self._missing:
                responses.append(self._response())
        return responses

    def _response(self) -> tuple[int, Any]:
        if not self.in_flight_requests:
            raise kafka_errors.KafkaProtocolError("a response without a request arrived")
        allowance = getattr(self._net, "allowance", None) or Allowance()
        body, self._body = self._body, BytesIO()
        size = body.tell()
        body.seek(0)
        try:
            with taking_from(allowance):
                allowance.take(size)
                kind = self.in_flight_requests.popleft().get_response_class()
                correlation_id = kind.parse_header(body).correlation_id
                return correlation_id, kind.decode(body.getbuffer()[body.tell() :])
        except (AssertionError, AttributeError, IndexError, ValueError, struct.error) as error:
            fault = str(error)
        del body  # the error's traceback would keep it
        raise kafka_errors.KafkaProtocolError(f"a response of {size} bytes cannot be read: {fault}")


class BoundedConnection(connection.KafkaConnection):  # type: ignore[misc]
    """A connection whose responses a ``BoundedProtocol`` reads."""

    def connection_made(self, transport: Any) -> None:
        """Take over a transport."""
        super().connection_made(transport)
        names = ("client_id", "receive_message_max_bytes")
        self.parser = BoundedProtocol(self.net, **{name: self.config[name] for name in names})


class _BoundedReads:
    """Receives at most READ_BYTES at once; of TLS also what has been decrypted already, which no poll would announce."""

    _sock: Any

    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        chunks: list[bytes] = []
        size = 0
        try:
            while size < READ_BYTES or (hasattr(self._sock, "pending") and self._sock.pending()):
                chunk = self._sock.recv(64 * 1024)
                if not chunk:
                    return b"".join(chunks), kafka_errors.KafkaConnectionError("socket disconnected")
                chunks.append(chunk)
                size += len(chunk)
        except _WAITS:
            pass
        except OSError as error:
            return b"".join(chunks), kafka_errors.KafkaConnectionError(error)
        return b"".join(chunks), None


class BoundedTransport(_BoundedReads, manager.KafkaTCPTransport):  # type: ignore[misc]
    """TCP."""


class BoundedTlsTransport(_BoundedReads, manager.KafkaSSLTransport):  # type: ignore[misc]
    """TLS."""


_sock_connect = inet.KafkaNetSocket.sock_connect


async def _connect_or_close(self: Any, net: Any, sock: Any, address: Any, timeout_at: float | None = None) -> Any:
    try:
        return await _sock_connect(self, net, sock, address, timeout_at)
    except BaseException:
        sock.close()
        raise


def install() -> None:
    """Have the library make these from now on."""
    decoding.install()
    inet.KafkaNetSocket.sock_connect = _connect_or_close
    manager.KafkaConnection = BoundedConnection
    manager.KafkaTCPTransport, manager.KafkaSSLTransport = BoundedTransport, BoundedTlsTransport
