"""The settings: read from the environment once, then frozen."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from environs import Env, EnvValidationError
from marshmallow.validate import OneOf, Range

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "ALLOCATOR_"

JWT_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The algorithms that a JWT may be signed by: those with a public key. With HS256 everyone who can check could also sign."""


def _setting(default: int | str, summary: str, *, one_of: tuple[str, ...] | None = None, variable: str | None = None) -> Any:
    """A setting. one_of : the texts that it may be; variable : its environment variable, where another standard names it."""
    return field(default=default, metadata={"summary": summary, "one_of": one_of, "variable": variable})


@dataclass(frozen=True)
class Settings:
    """What an installation decides. Each is the environment variable ``ALLOCATOR_`` + its name in capitals; "" is "not set"."""

    max_body_bytes: int = _setting(256 * 2**20, "largest request body in bytes, after gzip; a larger one is a 413")
    max_keys: int = _setting(10_000_000, "most keys in one request")
    max_partitions: int = _setting(10_000_000, "most partitions of one group assignment")
    max_subscriptions: int = _setting(50_000_000, "most subscriptions (members × their topics) of one group assignment")
    max_assignment_cells: int = _setting(4_000_000_000, "most partitions × members of one group assignment")
    max_placement_cells: int = _setting(10_000_000, "most partitions × replicas of one replica placement")
    max_plan_cells: int = _setting(2_000_000, "most partitions of all counts × partitioners of one partition-count plan")
    max_explained: int = _setting(1_000, "most keys, members, partitions or replicas that `explain=true` explains one by one")
    max_request_seconds: int = _setting(60, "a request that has taken longer than this when a phase ends is given up: 503")
    keep_alive_seconds: int = _setting(
        75, "seconds until an idle connection is closed; longer than a load balancer in front keeps its own connections idle"
    )
    max_subjects: int = _setting(1_000, "most named groups and topics in `allocator_subject_skew_ratio`")
    workers: int = _setting(2, "worker processes of `partition-allocator serve`")
    threads: int = _setting(32, "threads of each worker process, more than decisions and queue together: the rest answer health")
    max_concurrent: int = _setting(4, "decisions that one worker process takes at the same time")
    max_queued: int = _setting(16, "requests that wait for a decision in one worker process; one more is a 503 at once")
    auth: str = _setting(
        "auto",
        "who may ask: `required`: who has a token; `off`: everyone; `auto`: who has a token if there is a file of tokens or "
        "a JWKS, otherwise everyone, but on the loopback address only",
        one_of=("auto", "off", "required"),
    )
    tokens_file: str = _setting("", "file of bearer tokens, hashed; `partition-allocator token` makes its lines")
    jwks: str = _setting("", "JSON Web Key Set that JWTs are checked by: a URL (`https://…`) or a file")
    jwt_audience: str = _setting("", "audience (`aud`) that a JWT must name")
    jwt_issuer: str = _setting("", "issuer (`iss`) that a JWT must name")
    jwt_algorithms: str = _setting("RS256,ES256", "algorithms that a JWT may be signed by, with commas; never HS* or `none`")
    tls_cert: str = _setting("", "certificate chain (PEM) to serve HTTPS with, TLS 1.2 or later")
    tls_key: str = _setting("", "its private key (PEM)")
    access_log: str = _setting(
        "auto",
        "a JSON line for each request on standard output: `on`, `off`, or `auto`: not on the loopback address",
        one_of=("auto", "on", "off"),
    )
    otlp_endpoint: str = _setting(
        "",
        "where traces go (OTLP over HTTP, such as `http://collector:4318`); OpenTelemetry's other variables count as well",
        variable="OTEL_EXPORTER_OTLP_ENDPOINT",
    )

    @staticmethod
    def from_environment() -> Settings:
        """The settings of this process; raises environs.EnvValidationError for those that cannot be meant, each by its name."""
        env = Env(eager=False)
        values: dict[str, Any] = {}
        for setting in fields(Settings):
            default: Any = setting.default
            name, choices = environment_name(setting.name), setting.metadata["one_of"]
            if isinstance(default, int):
                values[setting.name] = env.int(name, default=default, validate=Range(min=1))
            else:
                values[setting.name] = env.str(name, default=default, validate=OneOf(choices) if choices else None)
        env.seal()
        settings = Settings(**values)
        faults = dict(settings.contradictions())
        if faults:
            raise EnvValidationError("; ".join(faults.values()), {name: [text] for name, text in faults.items()})
        return settings

    def algorithms(self) -> tuple[str, ...]:
        """``jwt_algorithms``, one by one."""
        return tuple(name.strip() for name in self.jwt_algorithms.split(","))

    def has_credentials(self) -> bool:
        """Is there anything that a caller could show?"""
        return bool(self.tokens_file or self.jwks)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not go together: the environment variable, and what is wrong with it."""
        name = environment_name
        if self.threads <= self.max_concurrent + self.max_queued:
            yield (
                name("threads"),
                (
                    f"{self.threads} threads leave none for health and metrics: more are needed than {name('max_concurrent')} "
                    f"({self.max_concurrent}) and {name('max_queued')} ({self.max_queued}) together."
                ),
            )
        if self.auth == "required" and not self.has_credentials():
            yield name("auth"), f"Nobody could enter: set {name('tokens_file')} or {name('jwks')}."
        for missing in ("jwt_audience", "jwt_issuer"):
            if self.jwks and not getattr(self, missing):
                yield name(missing), f"{name('jwks')} needs it: a JWT that was made for somebody else must not do here."
        unfit = [algorithm for algorithm in self.algorithms() if algorithm not in JWT_ALGORITHMS]
        if unfit:
            yield name("jwt_algorithms"), f"{', '.join(unfit)}: must be of {', '.join(JWT_ALGORITHMS)}."
        for one, other in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
            if getattr(self, one) and not getattr(self, other):
                yield name(other), f"{name(one)} needs it."


def environment_name(setting: str) -> str:
    """The environment variable that holds a setting: ``max_keys`` → ``ALLOCATOR_MAX_KEYS``."""
    variable: str | None = Settings.__dataclass_fields__[setting].metadata["variable"]
    return variable or PREFIX + setting.upper()


def settings_table() -> Iterator[tuple[str, str, str]]:
    """Each setting's environment variable, default and meaning, as the README's table has them."""
    for setting in fields(Settings):
        default: Any = setting.default
        yield environment_name(setting.name), str(default) or "—", setting.metadata["summary"]
