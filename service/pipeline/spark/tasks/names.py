"""Names of columns, which pass by Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from service.pipeline.analyses.results import ArrowFunction


@dataclass(frozen=True)
class Named:
    """``function``, with other names for the columns of the batches that it gets. names : of each column"""

    function: ArrowFunction
    names: Sequence[str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What ``function`` gives."""
        return self.function(batch.rename_columns(list(self.names)) for batch in batches)
