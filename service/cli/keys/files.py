"""Local files of keys as record batches with the columns ``key`` and those of COLUMNS."""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

from service.cli import BadInput, note
from service.pipeline.files import reader
from service.pipeline.files.reader import NUMBER, PARTITION, Column
from service.pipeline.files.rejected import RejectedRows, WrongTable

COLUMNS: Final = {"partition_id": PARTITION, "records": NUMBER, "bytes": NUMBER}
"""Each column but the key."""


def read(
    file: str,
    columns: Mapping[str, str],
    key_format: str | None = None,
    file_format: str | None = None,
    rejected: RejectedRows | None = None,
) -> Iterator[pa.RecordBatch]:
    """The record batches of the file, as ``reader.read``; a note says which rows were rejected.

    columns : the name of a column in the batches ("key", or a name of COLUMNS) → its name in the file
    rejected : gets the rows that cannot be read
    Raises BadInput.
    """
    if len(set(columns.values())) < len(columns):
        raise BadInput(f"Each of {', '.join(columns)} needs a column of its own.")
    read_as = {"key": Column(key_format), **COLUMNS}
    rejected = RejectedRows() if rejected is None else rejected
    try:
        for batch in reader.read(file, {column: read_as[name] for name, column in columns.items()}, rejected, file_format):
            yield batch.rename_columns(list(columns))
    except WrongTable as error:
        raise BadInput(str(error)) from None
    if sentence := rejected.sentence():
        note(sentence)
