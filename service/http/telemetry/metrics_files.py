"""The files through which the worker processes share their metrics.

prometheus-client maps a file into memory for each kind of metric and each process. It extends a file without allocating its
blocks, so on a full tmpfs the next write to the mapping is a SIGBUS, which ends the process. Here blocks are allocated first:
a full folder costs the values that need new space, and no request.
"""

from __future__ import annotations

import errno
import logging
import mmap
import os
import time
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final

from prometheus_client import ProcessCollector, values
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator


class WorkerProcesses(Collector):
    """prometheus-client's ``process_*`` metrics, by process id: the worker that answers reads ``/proc`` for all workers."""

    def __init__(self, parent: int) -> None:
        """Parent: the process whose children are the workers."""
        self._parent = parent

    def collect(self) -> Iterator[Metric]:
        """The workers that are alive; none where there is no ``/proc`` (macOS)."""
        families: dict[str, Metric] = {}
        children = Path(f"/proc/{self._parent}/task/{self._parent}/children")
        for pid in children.read_text().split() if children.exists() else ():
            for metric in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
                family = families.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                for sample in metric.samples:
                    family.add_sample(sample.name, {"pid": pid}, sample.value)
        yield from families.values()


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
    os.environ[FOLDER_VARIABLE] = str(folder)  # where prometheus-client looks for the files of dead processes
    values.ValueClass = partial(FileValue, _Files(folder))


class _Files:
    """The files of this process in a folder, one for each kind of metric, and the values in them.

    A process that is forked begins files of its own. prometheus-client asks for the process id at every write instead.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begin()
        self.values: list[FileValue] = []
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin(self) -> None:
        self._files: dict[str, MetricsFile] = {}
        self.lock = Lock()

    def _begin_anew(self) -> None:
        of_parent = self._files
        self._begin()
        for value in self.values:
            value.begin()
        for file in of_parent.values():
            file.close()

    def of(self, kind: str) -> MetricsFile:
        """The file of a kind of metrics."""
        if kind not in self._files:
            self._files[kind] = MetricsFile(str(self._folder / f"{kind}_{os.getpid()}.db"))
        return self._files[kind]


class FileValue:
    """A value of a metric in a file; see prometheus_client.values.MmapedValue, which takes ten times as long to write one.

    One without space in the file counts in the process, and is right again when there is space.
    """

    _multiprocess = True

    def __init__(
        self,
        files: _Files,
        kind: str,
        metric: str,
        name: str,
        label_names: list[str],
        label_values: list[str],
        about: str,
        multiprocess_mode: str = "",
    ) -> None:
        self._files = files
        self._kind = f"{kind}_{multiprocess_mode}" if multiprocess_mode else kind
        self._key = mmap_key(metric, name, label_names, label_values, about)
        with files.lock:
            self.begin()
            files.values.append(self)

    def begin(self) -> None:
        """Take the value that this process's file has."""
        self._file = self._files.of(self._kind)
        self._place = self._file.place(self._key)
        self._value = 0.0 if self._place is None else self._file.numbers[self._place]

    def inc(self, amount: float) -> None:
        """Add an amount."""
        with self._files.lock:
            self._value += amount
            if self._place is not None:
                self._file.numbers[self._place] = self._value
            else:
                self._write(0.0)

    def set(self, value: float, timestamp: float | None = None) -> None:
        """Set the value. timestamp : for gauges of which the most recent value counts"""
        with self._files.lock:
            self._value = value
            self._write(timestamp or 0.0)

    def _write(self, timestamp: float) -> None:
        if self._place is None:
            self._place = self._file.place(self._key)
        if self._place is not None:
            self._file.numbers[self._place], self._file.numbers[self._place + 1] = self._value, timestamp


class MetricsFile(MmapedDict):
    """One process's values of one kind of metric.

    A value without space in the file is not recorded; the log says so once per process.

    numbers : all of the file, as it is mapped now: while anything refers to an earlier mapping, it keeps a descriptor open
    """

    reported: ClassVar[bool] = False
    numbers: memoryview[float]

    def __init__(self, filename: str) -> None:
        self._fname = filename
        self._f: Any = None
        self._capacity = self._used = 0
        self._positions: dict[str, int] = {}
        self._retry_at = 0.0

    def place(self, key: str) -> int | None:
        """Where ``numbers`` has this value, and its timestamp behind it; None if there is no space for them."""
        if key not in self._positions and time.monotonic() >= self._retry_at:
            try:
                self._init_value(key)
            except OSError as error:
                if not MetricsFile.reported:
                    MetricsFile.reported = True
                    about = {"folder": str(Path(self._fname).parent), "fault": error.strerror}
                    logger.warning("metrics are not recorded", extra=about)
                self._retry_at = time.monotonic() + RETRY_SECONDS
        at = self._positions.get(key)
        return None if at is None else at // 8

    def close(self) -> None:
        """See MmapedDict."""
        if self._f:
            self.numbers.release()
        super().close()  # type: ignore[no-untyped-call]

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
        self.numbers = memoryview(self._m).cast("d")

    def _extend(self) -> None:
        """Allocate STEP_BYTES more."""
        file, capacity = self._f.fileno(), self._capacity + STEP_BYTES
        if os.write(file, bytes(STEP_BYTES)) < STEP_BYTES:
            os.ftruncate(file, self._capacity)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._m = mmap.mmap(file, capacity)
        self._capacity = capacity
        self.numbers = memoryview(self._m).cast("d")


class FreeSpace(Collector):
    """``partition_allocator_metrics_free_bytes``, read when ``/metrics`` is requested."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The space on the folder's file system."""
        free = os.statvfs(self._folder)
        yield GaugeMetricFamily(
            "partition_allocator_metrics_free_bytes",
            f"Free space for the workers' metrics files; new series are not recorded when less than {STEP_BYTES} is left.",
            value=free.f_bavail * free.f_frsize,
        )
