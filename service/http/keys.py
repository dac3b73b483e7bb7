"""The keys of a body: a list, or a column of an Arrow stream."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

import pyarrow as pa
from marshmallow import ValidationError

from service.decisions.keys import Stream
from service.http import fields
from service.http.json import arrays
from service.http.json.codec import loads

LARGE: Final = 2**16
"""Bytes of a body from which on its keys are not made Python objects."""


class BatchStream:
    """A Stream of batches that are in this process."""

    def __init__(self, first: pa.RecordBatch, others: Iterable[pa.RecordBatch] = ()) -> None:
        self._schema, self._batches = first.schema, chain([first], others)

    def table(self, *_: str) -> pa.Table:
        """See Stream. Whoever made the batches has chosen their columns."""
        return pa.Table.from_batches(self._batches, self._schema)

    def batches(self, *_: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """See Stream."""
        return self._batches


class KeyList(fields.List):
    """Keys as they were sent, a list or an Arrow column: the key format says what they may be.

    in_batches : leave the Stream unread
    """

    def __init__(self, *text: str, in_batches: bool = False, **kwargs: Any) -> None:
        super().__init__(fields.Raw(allow_none=True), *text, **kwargs)
        self.in_batches = in_batches

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, Stream):
            return value if self.in_batches else value.table("key").column("key")
        if not isinstance(value, list | pa.StringArray | pa.ChunkedArray):
            raise ValidationError("Not a list.")
        return value


def read_body(text: bytes) -> Any:
    """The value of a JSON body, an Arrow array for plain strings in the ``keys`` of a large one.

    Raises ValueError for what is not JSON.
    """
    taken = arrays.take_out_texts(text, "keys") if len(text) >= LARGE else None
    if taken is not None:
        rest, strings = taken
        try:
            return loads(rest) | {"keys": strings}
        except (ValueError, TypeError):
            pass  # the error is to name the place in the whole text
    return loads(text)
