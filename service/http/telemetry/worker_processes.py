"""CPU, memory, file descriptors and start time of the worker processes, read when ``/metrics`` is requested."""

from collections.abc import Iterator
from pathlib import Path

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector


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
