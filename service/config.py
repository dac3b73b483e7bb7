"""The settings: read from the environment once, then frozen."""

from __future__ import annotations

import os
import re
import resource
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from environs import Env, EnvValidationError
from marshmallow.validate import OneOf, Range

from service.core.budget import PREFIX, limit_name
from service.core.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVICE_LINK: Final = re.compile(
    r"ALLOCATOR_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""Variables that Kubernetes sets in every pod beside a Service called "allocator…". They are no typing errors."""

MIN_TRANSIT_BYTES: Final = 256 * 2**20
MIN_DECISION_BYTES: Final = 64 * 2**20
"""What a worker process has for bytes in transit and for decisions at least, however little memory there is."""

JWT_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The algorithms that may sign a JWT: asymmetric ones only. With HS256, anyone who can verify a token can also forge one."""


def _setting(default: int | str, summary: str, *, one_of: tuple[str, ...] | None = None, variable: str | None = None) -> Any:
    """A setting. one_of : the allowed texts; variable : the environment variable, if another standard names it."""
    return field(default=default, metadata={"summary": summary, "one_of": one_of, "variable": variable})


@dataclass(frozen=True)
class Settings:
    """The settings of an installation. The environment variable is ``ALLOCATOR_`` + the name in capitals; "" means not set."""

    max_body_bytes: int = _setting(256 * 2**20, "largest request body in bytes, after decompression; a larger one gets a 413")
    max_keys: int = _setting(10_000_000, "maximum number of keys in one request")
    max_partitions: int = _setting(10_000_000, "maximum number of partitions in one group assignment")
    max_subscriptions: int = _setting(50_000_000, "maximum number of subscribed topics of all members in one group assignment")
    max_assignment_cells: int = _setting(4_000_000_000, "maximum number of partitions × members in one group assignment")
    max_placement_cells: int = _setting(10_000_000, "maximum number of partitions × replicas in one replica placement")
    max_plan_cells: int = _setting(2_000_000, "maximum sum of the partition counts × partitioners in one partition count plan")
    max_member_plan_cells: int = _setting(
        20_000_000,
        "maximum sum, over the numbers of members × assignors in one member count plan, of the partitions, or subscriptions if "
        "there are more",
    )
    max_simulated_cells: int = _setting(
        45_000_000,
        "maximum of rebalances × (10000 + 16 × members + partitions), of all ways to run the group, in one simulation, "
        "for every 48 members and events of the request",
    )
    max_decision_bytes: int = _setting(
        0,
        "maximum number of bytes of memory that the requests of one worker process may reserve together; 0: what the container's "
        "(or the machine's) memory leaves each worker; a request that needs more gets a 413",
    )
    max_explained: int = _setting(1_000, "maximum number of keys, members, partitions or replicas in one explanation")
    max_cpu_seconds_per_kb: int = _setting(
        5, "maximum number of seconds of CPU for each KB of a request's body as sent, and at least for one"
    )
    max_request_seconds: int = _setting(60, "time limit of a request, checked after parsing, computing and rendering; then 503")
    keep_alive_seconds: int = _setting(75, "time after which idle connections are closed; longer than load balancers keep theirs")
    max_subjects: int = _setting(
        1_000, "maximum number of groups and topics in the metric `partition_allocator_subject_skew_ratio`"
    )
    workers: int = _setting(2, "number of worker processes of `partition-allocator serve`")
    max_concurrent: int = _setting(4, "maximum number of decisions that one worker process makes at the same time")
    max_queued: int = _setting(16, "maximum number of requests that wait in one worker process; one more gets a 503 at once")
    auth: str = _setting(
        "auto",
        "who may send requests. `required`: callers with a valid token; `off`: everyone; `auto`: callers with a valid token if a "
        "tokens file or a JWKS is set, otherwise everyone, and the service then listens on a loopback address only",
        one_of=("auto", "off", "required"),
    )
    tokens_file: str = _setting("", "file with the hashes of the bearer tokens; `partition-allocator token` prints its lines")
    jwks: str = _setting("", "JSON Web Key Set that verifies JWTs: a URL (`https://…`) or a file")
    jwt_audience: str = _setting("", "required audience (`aud`) of a JWT")
    jwt_issuer: str = _setting("", "required issuer (`iss`) of a JWT")
    jwt_algorithms: str = _setting(
        "RS256,ES256", "signature algorithms accepted in a JWT, separated by commas; HS* and `none` are never accepted"
    )
    tls_cert: str = _setting("", "certificate chain (PEM); if set, the service speaks HTTPS (TLS 1.2 or later)")
    tls_key: str = _setting("", "private key (PEM) of the certificate")
    access_log: str = _setting(
        "auto",
        "access log on standard output, one JSON line per request: `on`, `off`, or `auto` (off on a loopback address)",
        one_of=("auto", "on", "off"),
    )
    otlp_endpoint: str = _setting(
        "",
        "OTLP endpoint (HTTP) that receives traces, such as `http://collector:4318` (extra `tracing`, part of the image); "
        "OpenTelemetry's other variables apply too",
        variable="OTEL_EXPORTER_OTLP_ENDPOINT",
    )

    @staticmethod
    def from_environment() -> Settings:
        """The settings of this process. Raises environs.EnvValidationError, which names every invalid variable."""
        env = Env(eager=False)
        values: dict[str, Any] = {}
        for setting in fields(Settings):
            default: Any = setting.default
            name, choices = environment_name(setting.name), setting.metadata["one_of"]
            if isinstance(default, int):
                values[setting.name] = env.int(name, default=default, validate=Range(min=min(1, default)))
            else:
                values[setting.name] = env.str(name, default=default, validate=OneOf(choices) if choices else None)
        env.seal()
        _check_names()
        settings = Settings(**values)
        contradictions = dict(settings.contradictions())
        if contradictions:
            raise EnvValidationError("; ".join(contradictions.values()), {name: [text] for name, text in contradictions.items()})
        return settings

    def decision_bytes(self) -> int:
        """``max_decision_bytes``; by default this process's share of the memory, less what it holds and what is in transit."""
        if self.max_decision_bytes:
            return self.max_decision_bytes
        return max(MIN_DECISION_BYTES, memory_limit() // self.workers - resident_bytes() - self.transit_bytes)

    @property
    def transit_bytes(self) -> int:
        """A worker's limit on bytes in transit: bodies, and unsent responses that have not reserved memory."""
        return max(2 * self.max_body_bytes, MIN_TRANSIT_BYTES)

    @property
    def threads(self) -> int:
        """Threads of a worker process: one per decision, one per queued request, and two that answer health and metrics."""
        return self.max_concurrent + self.max_queued + 2

    def algorithms(self) -> tuple[str, ...]:
        """The names in ``jwt_algorithms``."""
        return tuple(name.strip() for name in self.jwt_algorithms.split(","))

    def has_credentials(self) -> bool:
        """Whether the service can verify any token."""
        return bool(self.tokens_file or self.jwks)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings that contradict each other: the environment variable, and the reason."""
        name = environment_name
        if self.auth == "required" and not self.has_credentials():
            yield name("auth"), f"No token could be verified: set {name('tokens_file')} or {name('jwks')}."
        for missing in ("jwt_audience", "jwt_issuer"):
            if self.jwks and not getattr(self, missing):
                yield name(missing), f"Required with {name('jwks')}, so that JWTs issued for other services are rejected."
        unknown = [algorithm for algorithm in self.algorithms() if algorithm not in JWT_ALGORITHMS]
        if unknown:
            yield name("jwt_algorithms"), f"Unknown algorithm {', '.join(unknown)}: must be one of {', '.join(JWT_ALGORITHMS)}."
        for one, other in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
            if getattr(self, one) and not getattr(self, other):
                yield name(other), f"Required with {name(one)}."


def _check_names() -> None:
    """Raise EnvValidationError for variables with our prefix that are no setting's: a typing error must not go unnoticed."""
    known = [environment_name(setting.name) for setting in fields(Settings)]
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    texts = {
        name: f"Unknown setting.{did_you_mean(name, known, most=1, cutoff=0.8)}"
        for name in unknown
        if not SERVICE_LINK.fullmatch(name)
    }
    if texts:
        raise EnvValidationError("; ".join(texts.values()), {name: [text] for name, text in texts.items()})


def memory_limit(root: Path = Path("/")) -> int:
    """The bytes of memory that this process may use: the least of the machine's and its cgroups'.

    root : of the file system that has ``/proc`` and ``/sys``
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in _limit_files(root):
        with suppress(OSError, ValueError):  # ValueError: "max", which is no limit
            limits.append(int(file.read_text()))
    return min(limits)


def _limit_files(root: Path) -> Iterator[Path]:
    """The files with the memory limits of this process's cgroups, version 2 and 1. A container may have mounted its own only."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # macOS
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        mount, name = ("sys/fs/cgroup/memory", "memory.limit_in_bytes") if controllers else ("sys/fs/cgroup", "memory.max")
        own = PurePosixPath(path.lstrip("/"))
        for cgroup in (own, *own.parents):
            yield root / mount / cgroup / name


def resident_bytes() -> int:
    """The resident memory of this process; its largest so far where there is no ``/proc`` (macOS)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def environment_name(setting: str) -> str:
    """The environment variable that holds a setting: ``max_keys`` → ``ALLOCATOR_MAX_KEYS``."""
    variable: str | None = Settings.__dataclass_fields__[setting].metadata["variable"]
    return variable or limit_name(setting)


def settings_table() -> Iterator[tuple[str, str, str]]:
    """Environment variable, default and meaning of each setting, as in the tables of the documents."""
    for setting in fields(Settings):
        default: Any = setting.default
        yield environment_name(setting.name), str(default) or "—", setting.metadata["summary"]
