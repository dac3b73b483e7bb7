"""The files through which the worker processes share their metrics.

prometheus-client maps a file into memory for each kind of metric and each process. It extends a file without allocating its
blocks, so on a full tmpfs the next write to the mapping is a SIGBUS, which ends the process. Here blocks are allocated first:
a full folder costs the values that need new space, and no request.
"""

import errno
import logging
import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

from prometheus_client import values
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.registry import Collector

logger = logging.getLogger(__name__)

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder; prometheus-client reads it whenever it opens a file."""

STEP_BYTES: Final = 2**16
"""A file grows by this many bytes: more than any series needs, and what prometheus-client begins with."""

RETRY_SECONDS: Final = 10.0
"""How long a process that could not extend a file waits before it tries again."""

values.ValueClass = values.MutexValue  # also where the environment names a folder: use_files decides


def use_files(folder: Path) -> None:
    """Keep the values of metrics made from now on in files in ``folder``, one set for each process forked from this one."""
    os.environ[FOLDER_VARIABLE] = str(folder)
    values.MmapedDict = MetricsFile  # type: ignore[attr-defined,assignment]
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


class MetricsFile(MmapedDict):
    """One process's values of one kind of metric.

    A value without space in the file is not recorded; its metric still counts in the process, so its next value after there is
    space again is right. The log says so once per process.
    """

    reported: ClassVar[bool] = False

    def __init__(self, filename: str) -> None:
        self._fname = filename
        self._f: Any = None
        self._capacity = self._used = 0
        self._positions: dict[str, int] = {}
        self._retry_at = 0.0

    def read_value(self, key: str) -> tuple[float, float]:
        """The value and its timestamp; see MmapedDict."""
        return super().read_value(key) if self._has_space(key) else (0.0, 0.0)  # type: ignore[no-untyped-call]

    def write_value(self, key: str, value: float, timestamp: float) -> None:
        """See MmapedDict."""
        if key in self._positions or self._has_space(key):
            super().write_value(key, value, timestamp)  # type: ignore[no-untyped-call]

    def _has_space(self, key: str) -> bool:
        """Whether the file has a place for this value, after trying to make one."""
        if key not in self._positions and time.monotonic() >= self._retry_at:
            try:
                self._init_value(key)
            except OSError as error:
                if not MetricsFile.reported:
                    MetricsFile.reported = True
                    about = {"folder": str(Path(self._fname).parent), "fault": error.strerror}
                    logger.warning("metrics are not recorded", extra=about)
                self._retry_at = time.monotonic() + RETRY_SECONDS
        return key in self._positions

    def _init_value(self, key: str) -> None:
        """Add a value to the file. Raises OSError."""
        if self._f is None:
            self._open()
        if self._used + len(key.encode()) + 32 > self._capacity:
            self._extend()
        super()._init_value(key)  # type: ignore[no-untyped-call]

    def _open(self) -> None:
        """Open the file. A new one gets its name when its blocks are allocated, since /metrics reads whatever has that name."""
        path = Path(self._fname)
        if not path.exists():
            new = path.with_suffix(".new")
            try:
                new.write_bytes(bytes(STEP_BYTES))
                new.rename(path)
            except OSError:
                new.unlink(missing_ok=True)
                raise
        super().__init__(self._fname)  # type: ignore[no-untyped-call]

    def _extend(self) -> None:
        """Allocate STEP_BYTES more."""
        file, capacity = self._f.fileno(), self._capacity + STEP_BYTES
        if os.write(file, bytes(STEP_BYTES)) < STEP_BYTES:
            os.ftruncate(file, self._capacity)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._m = mmap.mmap(file, capacity)
        self._capacity = capacity


class FreeSpace(Collector):
    """``allocator_metrics_free_bytes``, read when ``/metrics`` is requested."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The space on the folder's file system."""
        free = os.statvfs(self._folder)
        yield GaugeMetricFamily(
            "allocator_metrics_free_bytes",
            f"Free space for the workers' metrics files; new series are not recorded when less than {STEP_BYTES} is left.",
            value=free.f_bavail * free.f_frsize,
        )
