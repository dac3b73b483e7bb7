"""The metrics endpoint of ``watch``: one thread for all connections, whatever they send.

A connection gets SECONDS for its request and its answer together. So neither half a request nor a client that reads slowly holds
more than its socket, and of these there are at most MOST_CONNECTIONS: the oldest makes room for a new one.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

SECONDS: Final = 10.0
LONGEST_HEAD: Final = 16 * 1024
MOST_CONNECTIONS: Final = 100
_GONE: Final = (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


@contextmanager
def metrics_endpoint(registry: CollectorRegistry, host: str, port: int) -> Iterator[int]:
    """Serve the metrics within the block, by a thread of its own; gives the port. Raises OSError if it is taken."""
    loop = asyncio.new_event_loop()
    try:
        server = loop.run_until_complete(asyncio.start_server(_Endpoint(registry).connected, host, port, limit=LONGEST_HEAD))
        thread = Thread(target=loop.run_forever, name="metrics", daemon=True)
        thread.start()
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            server.close()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()


class _Endpoint:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection by a task of its own: Python 3.11 logs the cancellation of those that it makes as an error."""
        if len(self._open) >= MOST_CONNECTIONS:
            next(iter(self._open)).transport.abort()
        self._open[writer] = asyncio.create_task(self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close the connection."""
        try:
            async with asyncio.timeout(SECONDS):
                writer.write(self._answer(await reader.readuntil(b"\r\n\r\n")))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except _GONE:
            pass
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()

    def _answer(self, head: bytes) -> bytes:
        request, *lines = head.decode("latin-1").split("\r\n")
        if not request.startswith(("GET ", "HEAD ")):
            return b"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        encode, content_type = choose_encoder(fields.get("accept", ""))
        body = encode(self._registry)
        answer = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        return answer.encode() + (body if request.startswith("GET ") else b"")
