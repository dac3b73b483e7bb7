"""Compiled kernels whose files a full disk, a power failure or somebody's mistake has damaged."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from numba.core.caching import IndexDataCacheFile, UserProvidedCacheLocator

import service
from service.config import Settings
from service.core import kernels
from service.core.partitioners import murmur2
from service.core.placers.draws import striped
from service.http.json import limits
from service.server import serving as serving_module
from service.server.warm import MISSION, warm
from tests.support.serving import serving

DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda _: b"",
    "replaced": lambda data: b"\xff" * len(data),
    "a list": lambda _: b"]\x94.",
}
SOURCE = """
def doubled(x):
    return 2 * x
"""


@pytest.fixture
def function(tmp_path):
    """A function whose compilations will be in a folder of this test."""
    (tmp_path / "source.py").write_text(SOURCE)
    specification = importlib.util.spec_from_file_location("source", tmp_path / "source.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.doubled


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_deleted_and_its_kernel_compiled_anew(function, tmp_path, ending, damage):
    def hits() -> int:
        kernel = kernels.kernel(function)
        assert kernel(21) == 42
        return sum(kernel.stats.cache_hits.values())

    assert [hits(), hits()] == [0, 1]
    (file,) = tmp_path.rglob(f"*.{ending}")
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert [hits(), hits()] == [0, 1]


def test_a_damaged_file_that_cannot_be_deleted_is_named(function, tmp_path):
    kernels.kernel(function)(21)
    (file,) = tmp_path.rglob("*.nbi")
    file.unlink()
    file.mkdir()
    with pytest.raises(kernels.DamagedCache, match=str(file)):
        kernels.kernel(function)(21)


def test_warming_raises_what_a_service_would_answer_with_a_500(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("service.http.deciding.preferred", fail)
    with pytest.raises(ZeroDivisionError):
        warm(Settings())


@pytest.fixture(scope="module")
def copied_cache(tmp_path_factory, server):  # noqa: ARG001 (it has compiled the kernels, whatever was cached before)
    """A copy of the compiled kernels where NUMBA_CACHE_DIR would have them."""
    folder = tmp_path_factory.mktemp("kernels")
    for file in Path(service.__file__).parent.rglob("*.nb[ic]"):
        copy = folder / UserProvidedCacheLocator.get_suitable_cache_subpath(str(file.parent.parent / "source.py")) / file.name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(file, copy)
    return folder


def _file(folder: Path, kernel: Any, ending: str) -> Path:
    """A kernel's index or its first compilation, in the copy."""
    index = Path(kernel._cache._cache_file._index_path)
    (file,) = folder.rglob(f"{index.stem}.{ending}")
    return file


@pytest.mark.slow
def test_a_server_compiles_what_is_damaged(copied_cache):
    for kernel, ending, damage in (
        (limits.scan, "nbi", "replaced"),
        (murmur2._hash_each, "1.nbc", "cut"),
        (striped._choose, "1.nbc", "empty"),
    ):
        file = _file(copied_cache, kernel, ending)
        file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with serving(ALLOCATOR_WORKERS="1", NUMBA_CACHE_DIR=str(copied_cache)) as server:
        query = {"key": "order-1", "partitions_count": 6}
        assert requests.get(f"{server.url}/v1/partitions", params=query, timeout=120).json()["partitions"] == [4]
        body = {"placer": "striped", "partitions_count": 3, "replication_factor": 1, "brokers": [{"broker_id": 1}]}
        answer = requests.post(f"{server.url}/v1/replica-placements", json=body, timeout=120)
        assert answer.json()["placements"][0]["replicas"] == [1]
    assert "Kernels are being compiled" in server.output


@pytest.mark.slow
def test_a_server_that_cannot_delete_a_damaged_file_names_it_and_ends(copied_cache):
    file = _file(copied_cache, limits.scan, "nbi")
    content = file.read_bytes()
    file.unlink()
    file.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "service", "serve", "--port", "0"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(copied_cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    file.rmdir()
    file.write_bytes(content)
    assert done.returncode == 2
    assert f"The compiled kernel {file} cannot be read" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_kernel_that_cannot_be_saved_answers_and_is_logged_once(function, monkeypatch, caplog):
    def save(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "save", save)
    monkeypatch.setattr(kernels, "unsaved", set())
    for number in (21, 21.0):
        assert kernels.kernel(function)(number) == 42
    assert [record.message for record in caplog.records if "cannot be saved (No space left on device)" in record.message] != []
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("compiler", "is_ready"),
    [
        (lambda _: time.sleep(0.5), True),
        (lambda part: part is MISSION or sys.exit(1), True),
        (lambda _: sys.exit(1), False),
        (lambda _: 1 // 0, False),
    ],
)
def test_a_server_is_ready_when_the_missions_kernels_are_compiled_and_not_if_that_failed(monkeypatch, compiler, is_ready):
    monkeypatch.setattr(serving_module, "compile_kernels", compiler)
    monkeypatch.setattr("atexit.register", lambda *_: None)
    compilation = serving_module._Compilation(loopback=True)
    assert not compilation.is_set()
    os.waitpid(compilation._process, 0)
    assert compilation.has_ended()
    assert compilation.is_set() == is_ready
