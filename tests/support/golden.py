"""Golden vectors: what the real Kafka classes and clients answered, each line with its ``source``.

``tests/vectors/`` holds a small choice of them. Where the whole collection lies beside the project (``../shared/vectors``,
as in CI), all of it is used instead; the files have the same names.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[2]
CHOICE = PROJECT / "tests" / "vectors"
WHOLE = PROJECT.parent / "shared" / "vectors"


def lines(name: str) -> Iterator[dict[str, Any]]:
    """The cases of ``name`` ("partitions/java"), from the whole collection if it is here, else from our choice of it."""
    for folder in (WHOLE, CHOICE):
        for suffix, opener in ((".jsonl", open), (".jsonl.gz", gzip.open)):
            path = folder / (name + suffix)
            if path.exists():
                with opener(path, "rt", encoding="utf-8") as file:
                    yield from map(json.loads, file)
                return
    raise FileNotFoundError(f"no vectors {name}")


def params(*names: str) -> list[Any]:
    """The cases of several files as pytest parameters, each named by file and id."""
    return [pytest.param(case, id=f"{name}:{case['id']}") for name in names for case in lines(name)]
