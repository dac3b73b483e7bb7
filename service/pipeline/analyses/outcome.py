"""What an analysis reads, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from service.report.pages import Report

if TYPE_CHECKING:
    import pyarrow as pa

    from service.pipeline.analyses.results import Scan


class Records(Protocol):
    """Records that can be scanned: on Spark's executors, or in this process."""

    @property
    def name(self) -> str:
        """As the user names them."""

    @property
    def schema(self) -> pa.Schema:
        """The columns at least that the analysis needs."""

    @property
    def corrupt(self) -> str | None:
        """The column of the rows that could not be read as records; None where there is none."""

    def first(self) -> list[pa.RecordBatch]:
        """A few records; none where reading them would take long."""

    def scan(self, scan: Scan, what: str) -> tuple[Any, dict[str, int]]:
        """What ``scan`` computes of all records, and the number of rejected rows by reason. what : is being done, for people"""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an analysis, and of a job.

    summary : ``summary.json``: the results, and bodies of an endpoint of the service in a member named like the endpoint
    tables : by file name (``partitions.parquet``): an Arrow table; of a job also a Spark frame, or the location of one written
    report : ``report.html``
    headline : the key figures for the terminal, by name
    requests : by file name (``partition-count-plans.json``): the body of an endpoint of the service
    within_limits : False if a limit among the parameters is exceeded, or something that was asked is not done
    """

    summary: dict[str, Any]
    tables: Mapping[str, Any]
    report: Report
    headline: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    within_limits: bool = True
