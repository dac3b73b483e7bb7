"""Records with made keys, for measurements: each key follows from its number and the seed, whatever task makes it.

======================= ==================================================================================
``keys:COUNT?…``        COUNT records, such as 1e10, with a column ``key`` of decimal digits
``distribution=…``      ``uniform``: each of the keys alike (default). ``zipf:0.99``: key k in proportion to
                        (k + 1)^-0.99. ``hot:0.5``: key 0 has half of the records. ``range``: 0, 1, 2 … again
                        and again, as kafka-producer-perf-test has it (KIP-1299)
``keys=…``              the number of keys; default: COUNT
``length=…``            characters of a key, with leading zeros; default: its digits alone
``seed=…``              default: 0
======================= ==================================================================================

Draws are those of PCG64, whose stream NumPy keeps, and products of them, which every processor rounds alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.core.model import Int64s

BLOCK: Final = 2**16
"""Records of a batch."""

MOST: Final = 2**53
"""Most records and keys. A draw is an integer below it."""

CELL_BITS: Final = 39
"""2^14 cells of equal probability, in which the search for a draw begins."""

EXACT: Final = 1000
"""Keys whose share by Zipf's law is exact. Beyond, those of a stretch of 1% of all keys before have equal shares."""

SCHEMA: Final = pa.schema([("key", pa.string())])


@dataclass(frozen=True)
class MadeKeys:
    """The records.

    count, keys, seed : of records, of keys, and of the draws
    distribution : its name; figure : the number behind it
    length : characters of a key; None: its digits alone
    """

    count: int
    keys: int
    distribution: str = "uniform"
    figure: float = 0.0
    length: int | None = None
    seed: int = 0

    @staticmethod
    def parse(count: str, options: Mapping[str, str]) -> MadeKeys:
        """The records that ``keys:COUNT?options`` names. Raises ValueError with a sentence."""
        if unknown := options.keys() - {"distribution", "keys", "length", "seed"}:
            raise ValueError(f"It has no option {min(unknown)!r}, only distribution, keys, length and seed.")
        records = _whole("the number of records", count)
        keys = _whole("keys", options["keys"]) if "keys" in options else records
        name, _, figure = options.get("distribution", "uniform").partition(":")
        number = float(figure) if figure.replace(".", "", 1).isdecimal() else 0.0
        allowed = {"uniform": not figure, "range": not figure, "zipf": 0 < number <= 10, "hot": 0 < number < 1}
        if not allowed.get(name):
            raise ValueError("distribution must be uniform, range, zipf:0.99 (above 0, at most 10) or hot:0.5 (between 0 and 1).")
        if name == "hot" and keys == 1:
            raise ValueError("With distribution=hot there must be two keys at least.")
        length = _whole("length", options["length"]) if "length" in options else None
        if length is not None and not len(str(keys - 1)) <= length <= BLOCK // 2:
            raise ValueError(f"length must be in [{len(str(keys - 1))}, {BLOCK // 2}], for the digits of {keys - 1}.")
        return MadeKeys(records, keys, name, number, length, _whole("seed", options.get("seed", "0"), least=0))

    @property
    def size(self) -> int:
        """Bytes of all keys, at most."""
        return self.count * (self.length or len(str(self.keys - 1)))

    @property
    def blocks(self) -> int:
        """The number of batches."""
        return -(-self.count // BLOCK)

    def splits(self, tasks: int) -> list[range]:
        """The numbers of all batches, as at most ``tasks`` ranges of equal length, none empty."""
        share = -(-self.blocks // tasks)
        return [range(start, min(start + share, self.blocks)) for start in range(0, self.blocks, share)]

    def batches_of(self, blocks: Sequence[int], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The batches of these numbers. columns : ``key``, or none"""
        for block in blocks:
            keys = pa.array(self.numbers(block)).cast(pa.string())
            yield pa.record_batch([pc.ascii_lpad(keys, self.length, "0") if self.length else keys], SCHEMA).select(list(columns))

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches whose numbers are in the only column of ``batches``, as ``mapInArrow`` calls it."""
        for batch in batches:
            yield from self.batches_of(batch.column(0).to_pylist(), SCHEMA.names)

    def numbers(self, block: int) -> Int64s:
        """int64[n], the number of the key of each record of a block."""
        first = block * BLOCK
        n = min(BLOCK, self.count - first)
        if self.distribution == "range":
            return np.arange(first, first + n, dtype=np.int64) % self.keys
        draws: Int64s = (np.random.PCG64([self.seed, block]).random_raw(n) >> np.uint64(11)).view(np.int64)
        begins, keys, widths, cells = self._stretches
        at = cells[draws >> CELL_BITS]
        beyond = np.flatnonzero(draws >= begins[at + 1])
        at[beyond] = np.searchsorted(begins, draws[beyond], side="right") - 1
        of_draws: Int64s = np.minimum(keys[at] + ((draws - begins[at]) * widths[at]).astype(np.int64), keys[at + 1] - 1)
        return of_draws

    @cached_property
    def _stretches(self) -> tuple[Int64s, Int64s, Any, Int64s]:
        """Stretches of keys of equal shares: the draw and the key where each begins, keys per draw, the stretch of each cell."""
        keys, shares = np.array([0, self.keys]), np.array([1.0])
        if self.distribution == "hot":
            keys, shares = np.array([0, 1, self.keys]), np.array([self.figure, 1 - self.figure])
        elif self.distribution == "zipf":
            edges = [*range(min(EXACT, self.keys) + 1)]
            while edges[-1] < self.keys:
                edges.append(min(self.keys, edges[-1] + edges[-1] // 100))
            keys = np.array(edges)
            middle, power = keys + 0.5, 1 - self.figure
            shares = np.diff(np.log(middle) if power == 0 else middle**power / power)
            shares[: min(EXACT, self.keys)] = (keys[1:][:EXACT].astype(np.float64)) ** -self.figure
        total = np.cumsum([0, *shares])
        begins = np.round(total / total[-1] * MOST).astype(np.int64)
        cells = np.searchsorted(begins, np.arange(MOST >> CELL_BITS) << CELL_BITS, side="right") - 1
        return begins, keys, np.diff(keys) / np.maximum(np.diff(begins), 1), cells


def _whole(name: str, text: str, least: int = 1) -> int:
    """A whole number, which may be written as ``1e10``. Raises ValueError."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not least <= number <= MOST or number % 1:
        raise ValueError(f"{name} must be a whole number in [{least}, 2^53], such as 1e10, not {text!r}.")
    return int(number)
