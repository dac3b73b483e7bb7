"""The decorators of kernels: what is compiled, and who may call it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numba.core import event

from service.core.kernels import inner_kernel, kernel
from service.core.measures import spread

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_caller_spends_none_of_its_cpu_on_a_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from service.core.kernels import kernel\n@kernel\ndef largest(numbers):\n    return numbers.max()\n"
    (tmp_path / "compiled_elsewhere.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("compiled_elsewhere")
    ours, all_threads = time.thread_time(), time.process_time()
    assert module.largest(np.arange(3)) == 2
    ours, all_threads = time.thread_time() - ours, time.process_time() - all_threads
    assert ours < all_threads / 4


MODULES = {
    "stamped_outer": """
import stamped_shape
from stamped_middle import middle

from service.core.kernels import kernel


@kernel
def outer(pair, number):
    return middle(number) + 10 * pair.first + stamped_shape.ADDED
""",
    "stamped_middle": """
from stamped_inner import FACTORS, inner

from service.core.kernels import inner_kernel


@inner_kernel
def middle(number):
    return inner(number) * FACTORS[1]
""",
    "stamped_inner": """
import numpy as np

from service.core.kernels import inner_kernel

FACTORS = np.array([1, 1000])


@inner_kernel
def inner(number):
    return number + 1
""",
    "stamped_shape": """
from typing import NamedTuple

ADDED = 0


class Pair(NamedTuple):
    first: int
    second: int
""",
}


def test_a_change_in_another_file_has_a_kernel_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change of a kernel two calls away, of an array, of a module's constant, of the order of a tuple's fields."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(module: str, old: str, new: str) -> tuple[int, bool]:
        """What the kernel returns after the change, and whether anything was compiled."""
        file = tmp_path / f"{module}.py"
        file.write_text(file.read_text().replace(old, new))
        for name in MODULES:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        with event.install_listener("numba:compile", event.RecordingListener()) as compiled:
            pair = importlib.import_module("stamped_shape").Pair(first=np.int32(1), second=np.int32(2))
            return importlib.import_module("stamped_outer").outer(pair, 3), bool(compiled.buffer)

    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert run("stamped_inner", "", "") == (4010, True)
    assert run("stamped_inner", "", "") == (4010, False)
    assert run("stamped_inner", "number + 1", "number + 2") == (5010, True)
    assert run("stamped_inner", "1000", "2000") == (10010, True)
    assert run("stamped_shape", "0", "7") == (10017, True)
    assert run("stamped_shape", "first: int\n    second: int", "second: int\n    first: int") == (10017, True)
    assert run("stamped_outer", "", "") == (10017, False)


SORTS = """
import numpy as np

from service.core.kernels import kernel


@kernel
def values(numbers):
    numbers = numbers.copy()
    numbers.sort()
    return numbers


@kernel
def order(numbers):
    return np.argsort(numbers.copy())


NUMBERS = np.array([30, 10, 20], np.int32)
"""


def test_kernels_of_several_processes_keep_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba names the quicksorts in both kernels alike, if each is compiled as the first of its process."""
    (tmp_path / "sorts.py").write_text(SORTS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def printed(expression: str) -> str:
        command = [sys.executable, "-c", f"from sorts import *; print({expression})"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert printed("values(NUMBERS)") == "[10 20 30]\n"
    assert printed("order(NUMBERS)") == "[1 2 0]\n"
    assert printed("values(NUMBERS), order(NUMBERS)") == "[10 20 30] [1 2 0]\n"


LOADED = """
import numpy as np

from service.core.kernels import inner_kernel, kernel


@inner_kernel
def checked(numbers):
    if len(numbers) == 0:
        raise ValueError("no numbers")
    return numbers.astype(np.int32)


@kernel
def doubled(numbers):
    return checked(numbers) * np.int32(2)
"""

CALLER = """
from loaded_kernel import doubled

from service.core.kernels import kernel


@kernel
def first(numbers):
    return doubled(numbers)[0]
"""


def test_a_kernel_from_the_disk_runs_raises_and_becomes_part_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "loaded_kernel.py").write_text(LOADED)
    numbers = np.arange(1, 3)
    importlib.import_module("loaded_kernel").doubled(numbers)
    del sys.modules["loaded_kernel"]
    doubled = importlib.import_module("loaded_kernel").doubled
    with event.install_listener("numba:compile", event.RecordingListener()) as compiled:
        assert doubled(numbers).tolist() == [2, 4]
        assert doubled(numbers).dtype == np.int32
        with pytest.raises(ValueError, match="no numbers"):
            doubled(numbers[:0])
    assert not compiled.buffer
    (tmp_path / "calling_kernel.py").write_text(CALLER)
    assert importlib.import_module("calling_kernel").first(numbers) == 2


LOADING = """
import numpy as np
from numba.core import entrypoints
from numba.core.runtime.nrt import rtsys

from service.core.measures import spread

print(spread(np.arange(3)).max, rtsys._init, entrypoints._already_initialized)
"""


def test_loading_a_kernel_compiles_no_runtime_and_looks_for_no_extensions() -> None:
    """Each takes as much of the processor as loading twenty kernels."""
    spread(np.arange(3))  # compiles what nobody has compiled yet
    ended = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True)
    assert ended.stdout == "2 False False\n"
