"""Golden vectors: what the real Kafka classes and clients answered, each line with its ``source``.

``tests/vectors/`` holds a small choice of them. Where the whole collection lies beside the project (``../shared/vectors``,
as in CI), all of it is used instead; the files have the same names.
"""

from __future__ import annotations

import gzip
import json
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT = Path(__file__).parents[2]
CHOICE = PROJECT / "tests" / "vectors"
WHOLE = PROJECT.parent / "shared" / "vectors"


def lines(name: str) -> Iterator[dict[str, Any]]:
    """The cases of ``name`` ("partitions/java"), from the whole collection if it is here, else from our choice of it."""
    return map(json.loads, texts(name))


def texts(name: str) -> Iterator[str]:
    """The same as text, for tests that read some of them."""
    for folder in (WHOLE, CHOICE):
        for suffix, opener in ((".jsonl", open), (".jsonl.gz", gzip.open)):
            path = folder / (name + suffix)
            if path.exists():
                with opener(path, "rt", encoding="utf-8") as file:
                    yield from file
                return
    raise FileNotFoundError(f"no vectors {name}")


def check(name: str, test: Callable[[dict[str, Any]], object], where: Callable[[dict[str, Any]], bool] = lambda _: True) -> None:
    """Test every case of ``name``, or those ``where`` something holds; all that fail are raised together, each with its id."""
    failures: list[BaseException] = []
    chosen = [case for case in lines(name) if where(case)]
    assert chosen, f"no case of {name}"
    for case in chosen:
        try:
            test(case)
        except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - whatever it is, the cases after it are tested, too
            failure.add_note(f"{name}: {case['id']}")
            failures.append(failure)
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(chosen)} cases of {name} fail", failures)


def each(*names: str, **options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of every ``case`` of these files, see ``check``.

    Pytest sees one test for each file: to collect and to report one for each of 15,000 cases takes more time than the cases do.
    """

    def of_files(test: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize("case", names)
        @wraps(test)
        def of_file(case: str, **fixtures: Any) -> None:
            check(case, lambda one: test(case=one, **fixtures), **options)

        return of_file

    return of_files
