"""The service under Gunicorn: workers forked from one process that has loaded every kernel, if they had been compiled before."""

import atexit
import ipaddress
import logging
import os
import resource
import select
import shutil
import signal
import socket
import ssl
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from prometheus_client.multiprocess import mark_process_dead

from service.app import create_app
from service.config import Settings, environment_name
from service.core.kernels import DamagedCache
from service.http.auth import InvalidCredentials
from service.http.authenticator import Authenticator
from service.http.bounded import UnreadableFile, read_small_file
from service.http.telemetry import logs
from service.http.telemetry.metrics_files import FOLDER_VARIABLE
from service.server import heaps
from service.server.warm import MISSION, PARTS, NotCompiled, compile_kernels, load_kernels
from service.server.worker import DrainingArbiter, Worker, end_process

logger = logging.getLogger(__name__)

RESERVED_FILES = 64
"""Open files that a worker needs beside its connections; about 30 are in use."""

JSON_HEADER = "-H 'content-type: application/json'"
WELCOME = f"""\
partition-allocator serves on {{url}}   (the planner page; reference: {{url}}/docs, metrics: {{url}}/metrics)

  curl '{{url}}/v1/partitions?key=order-1&partitions_count=12'

  curl {{url}}/v1/group-assignments {JSON_HEADER} -d '{{{{"assignor": "range",
    "topics": [{{{{"topic_name": "orders", "partitions_count": 6}}}}],
    "members": [{{{{"member_id": "c1"}}}}, {{{{"member_id": "c2"}}}}]}}}}'

  curl {{url}}/v1/replica-placements {JSON_HEADER} -d '{{{{"placer": "striped",
    "partitions_count": 3, "replication_factor": 2,
    "brokers": [{{{{"broker_id": 0, "rack_id": "a"}}}}, {{{{"broker_id": 1, "rack_id": "b"}}}}]}}}}'
"""
COMPILING = """
Kernels are being compiled, once for this installation, in the order in which people ask. Until then, the first request of
each kind takes some seconds longer. /readyz returns 503 until partitioners and Kafka's own assignors and placers are
compiled, in a minute or two; planners and other clients' assignors follow.
"""


class Refusal(Exception):
    """The service must not or cannot be started like this; the text says why, and what to do."""


def serve(settings: Settings, host: str, port: int) -> None:
    """Serve until SIGTERM, which lets the requests in flight finish, and end the process. Raises Refusal."""
    loopback = _is_loopback(host)
    _check(settings, host, loopback=loopback)
    _check_address(host, port)
    logs.configure()
    heaps.share()
    os.environ.pop("SCRIPT_NAME", None)  # Gunicorn would take it for the prefix of all paths
    scheme, tls = "http", {}
    if settings.tls_cert:
        scheme = "https"
        tls = {"certfile": settings.tls_cert, "keyfile": settings.tls_key, "ssl_context": _tls_contexts(settings)}
    url = f"{scheme}://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104 - compared, not bound
    server = _Server(
        settings,
        _metrics_folder(),
        loopback=loopback,
        log_requests=settings.access_log == "on" or (settings.access_log == "auto" and not loopback),
        bind=f"{host}:{port}",
        workers=settings.workers,
        threads=settings.threads,
        worker_class=Worker,
        worker_connections=_max_connections(),
        keepalive=settings.keep_alive_seconds,
        logger_class=logs.GunicornLogger,
        preload_app=True,
        timeout=settings.max_request_seconds,
        graceful_timeout=settings.max_request_seconds,
        limit_request_fields=64,
        worker_tmp_dir="/dev/shm" if Path("/dev/shm").is_dir() else None,  # noqa: S108 - heartbeats stay off the disk
        control_socket_disable=True,
        loglevel="warning",
        when_ready=lambda arbiter: _welcome(url, loopback=loopback, compiling=arbiter.app.compilation is not None),
        child_exit=lambda _, worker: mark_process_dead(worker.pid),  # type: ignore[no-untyped-call]
        **tls,
    )
    try:
        server.run()
    except SystemExit as end:
        end_process(end.code if isinstance(end.code, int) else 0)


def _check(settings: Settings, host: str, *, loopback: bool) -> None:
    """Raise Refusal for settings that would fail later, or that would serve everyone by mistake."""
    if settings.auth == "auto" and not settings.has_credentials() and not loopback:
        tokens, jwks, auth = (environment_name(name) for name in ("tokens_file", "jwks", "auth"))
        raise Refusal(
            f"Other hosts can reach {host}, but no credentials are set. Set {tokens} (`partition-allocator token` prints the "
            f"lines of that file) or {jwks}; or serve everyone with {auth}=off."
        )
    if settings.otlp_endpoint and find_spec("opentelemetry") is None:
        raise Refusal("Traces need OpenTelemetry: pip install '.[tracing]' in a clone of the project")
    try:
        if settings.auth != "off" and settings.has_credentials():
            Authenticator(settings, lambda: None)
        if settings.tls_cert:
            tls_context(settings.tls_cert, settings.tls_key)
    except InvalidCredentials as error:
        raise Refusal(str(error)) from None


def _check_address(host: str, port: int) -> None:
    """Raise Refusal for an address on which nothing can listen. Gunicorn would try again for seconds, and log each time."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "not a host name"
        raise Refusal(f"{host}:{port}: Cannot listen: {reason}.") from None


def _max_connections() -> int:
    """The most connections of a worker: what the limit of open files leaves, and 1,000 at most."""
    return max(1, min(1_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES))


def _welcome(url: str, *, loopback: bool, compiling: bool) -> None:
    """Print where the service is: with commands to paste for somebody who tries it out, otherwise as a line of the log."""
    if loopback:
        print(WELCOME.format(url=url) + COMPILING * compiling, flush=True)  # noqa: T201 - this is the command's output
    else:
        logs.write_line("serving", url=url, ready=not compiling)


def _say_compiled(what: str, *, loopback: bool) -> None:
    if loopback:
        print(f"Kernels are compiled: {what}.", flush=True)  # noqa: T201 - as above
    else:
        logs.write_line("compiled", kernels=what)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def tls_context(cert: str, key: str) -> ssl.SSLContext:
    """TLS 1.2 or later, with Python's default ciphers. Raises InvalidCredentials, which names the file at fault."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    chain, _ = (_checked(file) for file in (cert, key))  # OpenSSL would read a device for ever
    try:
        context.load_cert_chain(cert, key, password="")  # without one, OpenSSL asks the terminal
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise InvalidCredentials(f"{key}: The private key is not that of the certificate in {cert}.") from None
        raise InvalidCredentials(_without_pem(cert, key, chain)) from None
    except OSError as error:
        raise InvalidCredentials(f"{cert} and {key}: {error.strerror}.") from None
    return context


def _checked(file: str) -> bytes:
    try:
        return read_small_file(file)
    except UnreadableFile as error:
        raise InvalidCredentials(f"{file}: {error}") from None


def _without_pem(cert: str, key: str, chain: bytes) -> str:
    """Which of two files OpenSSL could not read. chain : the content of ``cert``"""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=chain.decode("ascii"))
    except (ssl.SSLError, ValueError):
        return f"{cert}: The file has no certificate in PEM format."
    return f"{key}: The file has no private key in PEM format, or it is encrypted."


def _tls_contexts(settings: Settings) -> Callable[[Any, Any], ssl.SSLContext]:
    """The function that gives each connection its context; it loads the files again when they change, without a restart."""
    loaded: tuple[tuple[int, ...], ssl.SSLContext] | None = None

    def context(_: object, __: object) -> ssl.SSLContext:
        nonlocal loaded
        try:
            files = (Path(settings.tls_cert).stat(), Path(settings.tls_key).stat())
            stamp = tuple(number for file in files for number in (file.st_ino, file.st_mtime_ns))
            if loaded is None or loaded[0] != stamp:
                loaded = stamp, tls_context(settings.tls_cert, settings.tls_key)
        except (OSError, InvalidCredentials):  # they are being replaced: neither is there, or one is new and the other not yet
            if loaded is None:
                raise
        return loaded[1]

    return context


class _Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn without its own command line and files."""

    def __init__(self, settings: Settings, metrics_folder: Path, *, loopback: bool, log_requests: bool, **options: Any) -> None:
        self._settings, self._loopback, self._log_requests = settings, loopback, log_requests
        self._metrics_folder = metrics_folder
        self._options = options
        self.compilation: _Compilation | None = None
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        try:
            load_kernels(self._settings)
        except NotCompiled:
            self.compilation = _Compilation(loopback=self._loopback)
        except DamagedCache as error:
            raise Refusal(str(error)) from None
        app = create_app(self._settings, log_requests=self._log_requests, metrics_folder=self._metrics_folder)
        if self.compilation:
            app.extensions["warm"] = self.compilation
        else:
            app.extensions["warm"].set()
        return app

    def run(self) -> None:
        DrainingArbiter(self).run()


class _Compilation:
    """A process that compiles what is not cached, at a low priority, while the workers answer already.

    What a request needs before that is compiled by its worker. The server is ready when the mission's kernels are compiled; then
    the others follow, at the lowest priority.
    """

    def __init__(self, *, loopback: bool) -> None:
        self._outcome, held = os.pipe()
        self._process = os.fork()
        if not self._process:
            try:
                for part in PARTS:
                    os.nice(10)
                    compile_kernels(part)
                    os.write(held, b"!")
                    _say_compiled("partitioners and Kafka's own strategies" if part is MISSION else "all", loopback=loopback)
            except BaseException:
                logger.exception("The kernels could not be compiled, so this server does not become ready.")
            finally:
                os._exit(0)
        os.setpgid(self._process, self._process)  # a group with the processes that it starts
        os.close(held)  # so that only they hold it open
        atexit.register(self._end, os.getpid())

    def is_set(self) -> bool:
        """Whether the workers find the mission's kernels in the cache. They look themselves, so the pipe has no reader."""
        return bool(self._events() & select.POLLIN)

    def has_ended(self) -> bool:
        """Whether the process has ended: all kernels have been compiled, or some cannot be."""
        return bool(self._events() & select.POLLHUP)

    def _events(self) -> int:
        poll = select.poll()
        poll.register(self._outcome, select.POLLIN)
        return sum(events for _, events in poll.poll(0))

    def _end(self, owner: int) -> None:
        if os.getpid() == owner and not self.has_ended():
            os.killpg(self._process, signal.SIGTERM)


def _metrics_folder() -> Path:
    """An empty folder for the workers' metrics: the one that the environment names, or a temporary one."""
    if named := os.environ.get(FOLDER_VARIABLE):
        folder = Path(named)
        folder.mkdir(parents=True, exist_ok=True)
    else:
        folder = Path(tempfile.mkdtemp(prefix="allocator-metrics-"))
        owner = os.getpid()
        atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    for left_behind in (*folder.glob("*.db"), *folder.glob("*.new"), folder / "subjects"):
        left_behind.unlink(missing_ok=True)
    return folder
