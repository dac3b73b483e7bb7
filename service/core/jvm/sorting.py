"""The order of strings in Java: by UTF-16 code units (``String.compareTo``, ``TreeMap``, ``Collections.sort``)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def utf16(name: str) -> bytes:
    """A key by which Python sorts as Java does; half a surrogate pair is a code unit like any other."""
    return name.encode("utf-16-be", "surrogatepass")


def java_order(names: Sequence[str]) -> npt.NDArray[np.int32]:
    """int32[names], the positions of ``names`` in ascending order; equal names keep their order.

    Code points and UTF-16 units sort differently only where a character above U+FFFF meets one of U+E000 … U+FFFF.
    """
    keys: Sequence[str | bytes] = names if "".join(names).isascii() else [utf16(name) for name in names]
    return np.fromiter(sorted(range(len(names)), key=keys.__getitem__), np.int32, len(names))
