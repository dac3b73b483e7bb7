"""The decorators of kernels: what is compiled, and who may call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from service.core.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher


@inner_kernel
def _step(number: int, last: bool) -> int:  # noqa: FBT001
    return number - 1 if last else number * 3


@kernel
def _walk(numbers: np.ndarray, count: int) -> int:  # type: ignore[type-arg]
    return _step(numbers[0], False) + _step(count, True) + _step(5, count > 2)


def test_widths_and_constants_share_one_compilation_of_an_inner_kernel() -> None:
    largest = np.iinfo(np.int32).max
    walk: Dispatcher = _walk  # type: ignore[assignment]
    step: Dispatcher = _step  # type: ignore[assignment]
    assert _walk(np.array([largest], np.int32), 7) == 3 * largest + 6 + 4
    walk.recompile()  # a kernel that comes from the cache compiles none of those that it calls
    assert len(step.signatures) == 1


def test_python_may_not_call_an_inner_kernel() -> None:
    _walk(np.ones(1, np.int32), 7)  # so that it is compiled, for the very types that Python calls it with
    with pytest.raises(TypeError, match="_step is an inner_kernel"):
        _step(1, True)
