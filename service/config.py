"""The settings: read from the environment once, then frozen."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from environs import Env
from marshmallow.validate import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "ALLOCATOR_"


def _setting(default: int, summary: str) -> Any:
    return field(default=default, metadata={"summary": summary})


@dataclass(frozen=True)
class Settings:
    """What an installation decides. Each is the environment variable ``ALLOCATOR_`` + its name in capitals."""

    max_body_bytes: int = _setting(256 * 2**20, "largest request body in bytes; a larger one is a 413")
    max_keys: int = _setting(10_000_000, "most keys in one request")
    max_partitions: int = _setting(10_000_000, "most partitions of one group assignment")
    max_subscriptions: int = _setting(50_000_000, "most subscriptions (members × their topics) of one group assignment")
    max_assignment_cells: int = _setting(4_000_000_000, "most partitions × members of one group assignment")
    max_placement_cells: int = _setting(10_000_000, "most partitions × replicas of one replica placement")
    max_explained: int = _setting(1_000, "most keys, members or partitions that `explain=true` explains one by one")
    max_request_seconds: int = _setting(60, "a request that has taken longer than this when a phase ends is given up: 503")
    max_subjects: int = _setting(1_000, "most named groups and topics in `allocator_subject_skew_ratio`")
    workers: int = _setting(2, "worker processes of `partition-allocator serve`")
    threads: int = _setting(4, "threads of each worker process")

    @staticmethod
    def from_environment() -> Settings:
        """The settings of this process; raises environs.EnvValidationError for one that is no positive integer."""
        env = Env(prefix=PREFIX, eager=False)
        values: dict[str, Any] = {}
        for setting in fields(Settings):
            default: Any = setting.default
            values[setting.name] = env.int(setting.name.upper(), default=default, validate=Range(min=1))
        env.seal()
        return Settings(**values)


def environment_name(setting: str) -> str:
    """The environment variable that holds a setting: ``max_keys`` → ``ALLOCATOR_MAX_KEYS``."""
    return PREFIX + setting.upper()


def settings_table() -> Iterator[tuple[str, int, str]]:
    """Each setting's environment variable, default and meaning, as the README's table has them."""
    for setting in fields(Settings):
        default: Any = setting.default
        yield environment_name(setting.name), default, setting.metadata["summary"]
