"""How much memory the worker processes hold, read when somebody asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class WorkerMemory(Collector):
    """``allocator_worker_resident_memory_bytes``, by process id.

    The worker that answers reads what the kernel tells of all of them, so nothing is counted while requests are answered.
    """

    def __init__(self, parent: int) -> None:
        """The workers are the children of the process ``parent``."""
        self._parent = parent

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The workers that live; those that end meanwhile are left out, and all of them where there is no ``/proc`` (macOS)."""
        family = GaugeMetricFamily(
            "allocator_worker_resident_memory_bytes",
            "Resident memory of a worker process; what it shares with the others counts for each.",
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
