"""What a call leaves in memory that only the cyclic collector would find."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_kept_of(*classes: type) -> Iterator[None]:
    """Fails if the block leaves instances of these classes behind.

    Asks for the type, not with ``isinstance``: this asks a weak proxy, whose object may be gone, for its class.
    """
    gc.collect()
    gc.freeze()  # what is there before is not among the objects below
    gc.disable()
    try:
        yield
        kept = [each for each in gc.get_objects() if issubclass(type(each), classes)]
    finally:
        gc.enable()
    assert not kept
