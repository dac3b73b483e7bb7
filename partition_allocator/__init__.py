"""partition-allocator as a library: the answers of the service, without a server.

>>> from partition_allocator import partitions
>>> partitions(["order-1", "order-2"], 6)
array([4, 3], dtype=int32)

docs/library.md is the guide. The functions are imported when they are first used, because their kernels take a moment to load.
"""

from typing import TYPE_CHECKING, Any

from partition_allocator import installation

if TYPE_CHECKING:
    from partition_allocator.answers import Answer
    from partition_allocator.asking import Rejected
    from partition_allocator.library import (
        assign,
        assign_connect,
        assign_streams,
        assignors,
        audit,
        check,
        co_partitioning,
        compare,
        coordinator,
        decode,
        fingerprint,
        history,
        keyless,
        lint,
        log_dirs,
        member_counts,
        partitioners,
        partitions,
        place,
        placers,
        plan,
        read,
        reassign,
        rebalances,
        trace,
    )

__all__ = [
    "Answer",
    "Rejected",
    "assign",
    "assign_connect",
    "assign_streams",
    "assignors",
    "audit",
    "check",
    "co_partitioning",
    "compare",
    "coordinator",
    "decode",
    "fingerprint",
    "history",
    "keyless",
    "lint",
    "log_dirs",
    "member_counts",
    "partitioners",
    "partitions",
    "place",
    "placers",
    "plan",
    "read",
    "reassign",
    "rebalances",
    "trace",
]


def __dir__() -> list[str]:
    """The names of the library, which completion lists."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """The functions of partition_allocator.library. Raises ImportError if another package hides ``service``."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    installation.check()
    from partition_allocator import asking, library  # noqa: PLC0415 - the command line imports this module, but not the library

    return getattr(asking if name == "Rejected" else library, name)
