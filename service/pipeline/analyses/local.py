"""Records of a local file, as analyses scan them: in this process, a few batches at a time."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from service.pipeline.analyses.results import Scan, merged
from service.pipeline.files.errors import WrongTable
from service.pipeline.files.rejected import REJECTED, RejectedRows


class LocalRecords:
    """The records that ``read`` gives, at least one batch at each call. It adds the rows that it cannot read to its argument.

    rejected : the rejected rows of the last scan
    strict : whether the first one ends a scan
    """

    def __init__(self, name: str, read: Callable[[RejectedRows], Iterator[pa.RecordBatch]], *, strict: bool = False) -> None:
        self.name = name
        self.corrupt = None
        self.strict = strict
        self._read = read
        self.rejected, self._first, self._others = self._begun()
        self.schema = self._first.schema
        self._fresh = True

    def _begun(self) -> tuple[RejectedRows, pa.RecordBatch, Iterator[pa.RecordBatch]]:
        rejected = RejectedRows(strict=self.strict, kept=True)
        batches = self._read(rejected)
        return rejected, next(batches), batches

    def first(self) -> list[pa.RecordBatch]:
        """The first batch. Only its first scan reads standard input, from there on."""
        return [self._first]

    def scan(self, scan: Scan, what: str) -> tuple[Any, dict[str, int]]:
        """What ``scan`` computes of all records, and the number of rejected rows by reason. Raises WrongTable."""
        if not self._fresh:
            self.rejected, self._first, self._others = self._begun()
        self._fresh = False
        partials: list[bytes] = []
        for rows in scan.of_batches(chain([self._first], self._others)):
            if rows.column("partial").null_count:
                self._reject(rows.select(REJECTED.names))
            else:
                partials += rows.column("partial").to_pylist()
        return merged(partials), dict(sorted(self.rejected.reasons.items()))

    def _reject(self, rows: pa.RecordBatch) -> None:
        try:
            self.rejected.add_all(rows)
        except ValueError as error:
            raise WrongTable(f"{self.name}: {error}") from None
