"""The memory of the worker processes, read when ``/metrics`` is requested."""

import os
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class WorkerMemory(Collector):
    """``allocator_worker_resident_memory_bytes``, by process id: the worker that answers reads ``/proc`` for all of them."""

    def __init__(self, parent: int) -> None:
        """Parent: the process whose children are the workers."""
        self._parent = parent

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The workers that are alive; none where there is no ``/proc`` (macOS)."""
        family = GaugeMetricFamily(
            "allocator_worker_resident_memory_bytes",
            "Resident memory of a worker process, including pages that it shares with the others.",
            labels=["pid"],
        )
        children = Path(f"/proc/{self._parent}/task/{self._parent}/children")
        for pid in children.read_text().split() if children.exists() else ():
            try:
                _, resident, *_ = Path(f"/proc/{pid}/statm").read_text().split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            family.add_metric([pid], int(resident) * PAGE_BYTES)
        yield family
