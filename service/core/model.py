"""The flat forms that every question is asked in.

Names live at the edge: ``topic_name``, ``member_id``, ``broker_id``, ``rack_id`` are the outside world's, while ``topic``,
``member``, ``broker``, ``rack`` and ``partition`` are indices into the arrays of one request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Int32s = npt.NDArray[np.int32]
    Int64s = npt.NDArray[np.int64]
    Bytes = npt.NDArray[np.uint8]
    Bools = npt.NDArray[np.bool_]

NONE: Final = -1
"""The index that means "none": a member without a rack, a partition without an owner."""


@dataclass(frozen=True)
class Ragged:
    """Rows of integers, end to end; also Arrow's list layout.

    offsets : int32[rows + 1]   row i is ``values[offsets[i]:offsets[i + 1]]``
    values : int32[...]
    """

    offsets: Int32s
    values: Int32s

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, i: int) -> Int32s:
        """Row i, a view."""
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def lengths(self) -> Int32s:
        """int32[rows], the length of each row."""
        return np.diff(self.offsets)

    def row_of_each_value(self) -> Int32s:
        """int32[values], for each value the row in which it stands."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.lengths())


@dataclass(frozen=True)
class Keys:
    """Record keys as bytes, in Arrow's binary layout, so that an Arrow column reaches a kernel uncopied.

    offsets : int32[keys + 1]   key i is ``data[offsets[i]:offsets[i + 1]]``
    data : uint8[...]           the keys' bytes, end to end
    valid : bool[keys] or None  False where a record has no key; None when every record has one
    """

    offsets: Int32s
    data: Bytes
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1
