"""Python's ``Random``, whose choices Hypothesis makes: all of them by one draw of bytes."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st


class Choices(Random):
    """It reads its choices from bytes, where zeros are the first or the fewest, and goes on as Python's once all are read.

    Hypothesis makes the bytes smaller where a test fails. A draw for each choice would take it a tenth of a millisecond.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._data, self._read = data, 0

    def getrandbits(self, k: int, /) -> int:
        """What all other methods are made of."""
        start, end = self._read, self._read + (k + 7 >> 3)
        if end > len(self._data):
            return super().getrandbits(k)
        self._read = end
        return int.from_bytes(self._data[start:end]) & (1 << k) - 1

    def random(self) -> float:
        """One of 65,536 numbers are enough to choose by."""
        return self.getrandbits(16) / 65_536


def choices(size: int = 1024) -> st.SearchStrategy[Choices]:
    """Choices from so many bytes."""
    return st.binary(min_size=size, max_size=size).map(Choices)
