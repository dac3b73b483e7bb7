"""Connections to the brokers of a cluster, and requests over them.

``ClusterClient.ask`` sends any number of requests at once: one after the other to each broker, and to several brokers side
by side. If a broker is gone or too slow, an error takes the place of its answer, so that the rest is still known.
All requests together have a deadline.
"""

import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self

from kafka import errors as kafka_errors
from kafka.net import inet
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from service.live.errors import Unreachable

CLIENT_ID: Final = "partition-allocator"
LONGEST_RESPONSE: Final = 100 * 2**20
"""As many bytes as Kafka's brokers accept of a request (``socket.request.max.bytes``)."""
BROKERS_AT_ONCE: Final = 16
MOST_ADDRESSES: Final = 50
TIME_LIMIT_SECONDS: Final = 300.0
BOOTSTRAP_MS: Final = 20_000
REQUEST_MS: Final = 20_000
API_TIMEOUT_MS: Final = 10_000
"""How long a request to a broker that is loading, or cannot be reached, is repeated, unless ``default.api.timeout.ms`` says."""
POLL_MS: Final = 100
GRACE_MS: Final = 1_000
"""How much longer than the library, which may lose a task, this module waits for it to connect."""
PAUSE_SECONDS: Final = 0.1
GROUPS_PER_REQUEST: Final = 100

_sock_connect = inet.KafkaNetSocket.sock_connect


async def _connect_or_close(self: Any, net: Any, sock: Any, address: Any, timeout_at: float | None = None) -> Any:
    """As the library connects a socket; one that does not connect is closed at once."""
    try:
        return await _sock_connect(self, net, sock, address, timeout_at)
    except BaseException:
        sock.close()
        raise


inet.KafkaNetSocket.sock_connect = _connect_or_close

NO_ERROR: Final = 0
_PASSING: Final = (
    kafka_errors.CoordinatorLoadInProgressError,
    kafka_errors.CoordinatorNotAvailableError,
    kafka_errors.NodeNotReadyError,
    kafka_errors.KafkaConnectionError,
)
"""Errors that may be gone a moment later."""

_FATAL: Final = ("AuthenticationFailed", "UnsupportedSaslMechanism", "certificate", "alert")
"""Signs of a failure that is the same however often one tries."""

_FAILURE: Final = re.compile(r"(?!Bootstrap failed).*?(?:failed|lost): (.*?)(?: \(backoff.*)?", re.DOTALL)
"""A log record of the library that says why a connection failed; the others only say that one did, or give advice."""

_CUT_SHORT: Final = ("RequestTimedOut", "KafkaTimeout")
"""The errors of an attempt that the deadline ends, which do not say why those before it failed."""

Answer = Any
"""A response, or the ``KafkaError`` in its place."""


class _Failures(logging.Handler):
    """Keeps why the last connection failed, which the library only logs, and the first failure that no retry helps against."""

    last = ""
    fatal = ""

    def emit(self, record: logging.LogRecord) -> None:
        failure = _FAILURE.fullmatch(record.getMessage())
        if failure is None or (self.last and any(error in failure[1] for error in _CUT_SHORT)):
            return
        self.last = failure[1]
        if not self.fatal and any(sign in self.last for sign in _FATAL):
            self.fatal = self.last


class ClusterClient:
    """A client of one cluster; ``close`` it, or use it in a ``with`` block.

    settings : of ``kafka.net.manager.KafkaConnectionManager``, as ``properties.client_settings`` gives them. As an attribute they
        are those of a ``kafka.KafkaConsumer`` of the same cluster, with the same credentials
    seconds : the time for all requests together; what has not come by then is a KafkaTimeoutError
    stopped : has the program been told to end? Requests that are under way then end with a KeyboardInterrupt. One that a signal
        raises within a task of the library ends that task alone, and whoever waits for the task waits for ever.
    Raises Unreachable if no bootstrap server answers, or none accepts the credentials.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        settings: dict[str, Any],
        seconds: float = TIME_LIMIT_SECONDS,
        bootstrap_ms: int = BOOTSTRAP_MS,
        stopped: Callable[[], bool] = bool,
    ) -> None:
        self._seconds, self._stopped = seconds, stopped
        defaults = {"client_id": CLIENT_ID, "request_timeout_ms": REQUEST_MS, "receive_message_max_bytes": LONGEST_RESPONSE}
        log, self._failures = logging.getLogger("kafka"), _Failures(logging.WARNING)
        log.propagate = False  # every failure is told once, by this program
        log.addHandler(self._failures)
        self._net, self._until = NetworkSelector(slow_task_threshold_secs=0), time.monotonic() + seconds
        servers = [server.strip() for server in bootstrap_servers.split(",")]
        self.settings = {**defaults, **settings, "bootstrap_servers": servers}
        self._retry_seconds = self.settings.pop("default_api_timeout_ms", API_TIMEOUT_MS) / 1000
        self._gone: set[int | None] = set()
        try:
            self._manager = KafkaConnectionManager(self._net, **self.settings)
            self._bootstrap(min(bootstrap_ms, int(seconds * 1000)))
        except (kafka_errors.KafkaError, Unreachable, ValueError, OSError) as error:
            reason = self._failures.fatal or self._failures.last or str(error)
            if re.search("disconnected|reset by peer", reason) and "SASL" in self.settings.get("security_protocol", ""):
                # The broker's answer is lost if it closes the connection before the answer has been read.
                reason += "; a broker disconnects a client whose credentials it refuses"
            self.close()
            raise Unreachable(f"{bootstrap_servers}: no connection to the cluster: {reason}") from None

    def _bootstrap(self, bootstrap_ms: int) -> None:
        """Connect to a bootstrap server, and give up early if no retry can help."""
        future, until = self._manager.bootstrap_async(bootstrap_ms), time.monotonic() + (bootstrap_ms + GRACE_MS) / 1000
        while self._goes_on(future) and time.monotonic() < until:
            if self._failures.fatal:
                raise Unreachable(self._failures.fatal)
        if not future.is_done:
            raise Unreachable(f"no answer within {bootstrap_ms:,} ms")
        if future.exception is not None:
            raise future.exception

    def _goes_on(self, future: Any) -> bool:
        """Let the library work for a moment. Returns whether the future is open yet; raises KeyboardInterrupt if ``stopped``."""
        if self._stopped():
            raise KeyboardInterrupt
        self._net.poll(timeout_ms=POLL_MS, future=future)
        return not future.is_done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        if hasattr(self, "_manager"):
            self._manager.close()
            self._net.run(self._settle)
        self._net.close()
        logging.getLogger("kafka").removeHandler(self._failures)

    async def _settle(self) -> None:
        await self._net.sleep(0)

    @property
    def release(self) -> str:
        """The Kafka release whose requests the brokers know, as "4.3"; patch releases do not differ in them."""
        return ".".join(map(str, self._manager.broker_version[:2]))

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return str(self._manager.cluster.cluster_id)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Some live brokers as bootstrap servers."""
        brokers = self._manager.cluster.brokers()[:MOST_ADDRESSES]
        return tuple(
            f"[{broker.host}]:{broker.port}" if ":" in broker.host else f"{broker.host}:{broker.port}" for broker in brokers
        )

    @property
    def broker_ids(self) -> list[int]:
        """The ids of the live brokers."""
        return sorted(broker.node_id for broker in self._manager.cluster.brokers())

    @property
    def seconds_left(self) -> float:
        """The time that is left for requests."""
        return max(0.0, self._until - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Sleep, which does not count as time for requests."""
        time.sleep(seconds)
        self._until += seconds

    def ask(self, requests: Sequence[tuple[int | None, Any]]) -> list[Answer]:
        """The answers to requests, in their order. Each comes with the broker to ask; None is any."""
        answers: list[Answer] = [None] * len(requests)
        future = self._manager.call_soon(self._ask_all, requests, answers)
        while self.seconds_left and self._goes_on(future):
            pass
        if future.is_done and future.exception is not None:
            raise future.exception
        late = kafka_errors.KafkaTimeoutError(f"The time limit of {self._seconds:g} seconds has expired.")
        return [late if answer is None else answer for answer in answers]

    async def _ask_all(self, requests: Sequence[tuple[int | None, Any]], answers: list[Answer]) -> None:
        by_broker: dict[int | None, list[int]] = defaultdict(list)
        for i, (broker_id, _) in enumerate(requests):
            by_broker[broker_id].append(i)
        waiting = iter(by_broker.items())

        async def ask_next() -> None:
            for broker_id, indices in waiting:
                await self._ask_broker(broker_id, requests, indices, answers)

        for each in [self._manager.call_soon(ask_next) for _ in range(min(BROKERS_AT_ONCE, len(by_broker)))]:
            await each

    async def _ask_broker(
        self, broker_id: int | None, requests: Sequence[tuple[int | None, Any]], indices: list[int], answers: list[Answer]
    ) -> None:
        for i in indices:
            until = time.monotonic() + (0 if broker_id in self._gone else self._retry_seconds)
            while self.seconds_left:
                try:
                    answers[i] = await self._manager.send(requests[i][1], broker_id)
                except kafka_errors.KafkaError as error:
                    answers[i] = error
                if not isinstance(answers[i], _PASSING):
                    self._gone.discard(broker_id)
                    break
                if time.monotonic() > until:
                    self._gone.add(broker_id)  # it has had its chance and is not waited for again
                    break
                await self._net.sleep(PAUSE_SECONDS)


def kafka_error(code: int, message: str | None = None) -> kafka_errors.KafkaError:
    """The error of a code in a response."""
    kind = kafka_errors.for_code(code)
    return kind(message) if message else kind()


def reason(error: Exception) -> str:
    """Why something is not known, with Kafka's name of the error: ``TOPIC_AUTHORIZATION_FAILED``."""
    if isinstance(error, kafka_errors.BrokerResponseError):
        name = error.message or type(error).__name__
        return f"{name}: {error.args[0]}" if error.args and error.args[0] else str(name)
    text = str(error.args[0]) if error.args else ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
