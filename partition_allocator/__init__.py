"""partition-allocator as a library: the answers of the service, without a server.

>>> from partition_allocator import partitions
>>> partitions(["order-1", "order-2"], 6)
array([4, 3], dtype=int32)

docs/library.md is the guide. The functions are imported when they are first used, because their kernels take a moment to load.
"""

from typing import TYPE_CHECKING, Any

from partition_allocator.installation import check

if TYPE_CHECKING:
    from partition_allocator.library import Rejected, assign, fingerprint, partitions, place

__all__ = ["Rejected", "assign", "fingerprint", "partitions", "place"]


def __getattr__(name: str) -> Any:
    """The functions of partition_allocator.library. Raises ImportError if another package hides ``service``."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check()
    from partition_allocator import library  # noqa: PLC0415 - the command line imports this module, but not the library

    return getattr(library, name)
