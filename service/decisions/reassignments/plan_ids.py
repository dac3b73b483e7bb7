"""Ids of plans: equal questions have equal ones."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from service import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable


def plan_id(settled: Iterable[object], names: Iterable[tuple[str, ...]], arrays: Iterable[Any]) -> str:
    """A hash of what a question says and of the version of the service."""
    digest = sha256(orjson.dumps([__version__, *map(repr, settled), *names]))
    for array in arrays:
        digest.update(b"\0" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]
