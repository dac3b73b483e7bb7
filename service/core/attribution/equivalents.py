"""Partitioners that no key can tell apart, as one: those with the same encoding, hash and sign rule.

A producer's records show which *writer* it is; which of the writer's partitioners, only its configuration does. Partitioners of
one writer may still differ in what they do with a record that has no key or an empty one. Where there are such records among the
keys, they are taken into account: ``librdkafka:consistent`` and ``librdkafka:consistent_random`` are then two writers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.keys import columns as encodings
from service.core.partitioners.allocation import AS_NULL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from service.core.keys.columns import Column, Encoding
    from service.core.model import Bools, Int32s
    from service.core.partitioners.model import Hash, Partitioner, Sign

UNDECIDED: Final = -1
"""The partition of a record of which not its key, but a counter or chance decides."""

BLOCK: Final = 1 << 16
"""Keys that are looked at together, so that their hashes stay in the processor's cache."""


@dataclass(frozen=True)
class Writer:
    """Partitioners that put each of the keys on the same partition.

    names : of the partitioners, those first that a client has by default
    keyless, empty : the hash that no key, and an empty key, counts as; None where the key decides nothing; an empty key that is
        hashed like any other has ``empty_hashed``
    """

    names: tuple[str, ...]
    encoding: Encoding
    hash: Hash
    sign: Sign
    keyless: int | None
    empty: int | None
    empty_hashed: bool


@dataclass(frozen=True)
class Writers:
    """What the partitioners come to.

    writers : those that hash keys
    ignoring_keys : the names of those that look at no key: any partition may be theirs
    excluded : the name of each that has no say about keys of this format, and why
    """

    writers: tuple[Writer, ...]
    ignoring_keys: tuple[str, ...]
    excluded: tuple[tuple[str, str], ...]


def writers_of(partitioners: Iterable[Partitioner], key_format: str, *, has_null: bool, has_empty: bool) -> Writers:
    """The partitioners by what they do with keys of that format.

    has_null, has_empty : are there records without a key, and with an empty one, that partitioners may differ about?
    """
    groups: dict[tuple[Any, ...], list[Partitioner]] = {}
    ignoring, excluded = [], []
    for partitioner in partitioners:
        if partitioner.hash is None:
            ignoring.append(partitioner.name)
        elif partitioner.sign is None:
            excluded.append((partitioner.name, "gives tokens, not partitions"))
        elif key_format not in partitioner.encoding.formats:
            excluded.append((partitioner.name, f"takes no {key_format} keys"))
        else:
            ruled = (_keyless(partitioner) if has_null else None, _empty(partitioner) if has_empty else None)
            same = (partitioner.encoding.run, partitioner.hash, partitioner.sign, ruled)
            groups.setdefault(same, []).append(partitioner)
    return Writers(tuple(_writer(group) for group in groups.values()), tuple(ignoring), tuple(excluded))


def _keyless(partitioner: Partitioner) -> int | None:
    counts_as = partitioner.null.counts_as
    return None if counts_as is None else counts_as()


def _empty(partitioner: Partitioner) -> tuple[bool, int | None]:
    hashed = partitioner.empty_key != AS_NULL
    return hashed, None if hashed else _keyless(partitioner)


def _writer(group: list[Partitioner]) -> Writer:
    first = group[0]
    assert first.hash is not None  # noqa: S101 - writers_of has looked
    assert first.sign is not None  # noqa: S101
    empty_hashed, empty = _empty(first)
    names = tuple(partitioner.name for partitioner in sorted(group, key=lambda one: not one.setting.startswith("default")))
    return Writer(names, first.encoding, first.hash, first.sign, _keyless(first), empty, empty_hashed)


@dataclass(frozen=True)
class Hashes:
    """What some writers make of some keys, before the partition count comes in.

    hashes : for each writer int32[n]
    undecided : for each writer bool[n], where a counter or chance decides; None: nowhere
    """

    writers: tuple[Writer, ...]
    hashes: tuple[Int32s, ...]
    undecided: tuple[Bools | None, ...]

    def partitions(self, partitions_count: int) -> Int32s:
        """int32[writers, n], where each writer puts each key, or UNDECIDED."""
        result = np.empty((len(self.writers), len(self.hashes[0]) if self.hashes else 0), np.int32)
        for row, writer, hashes, undecided in zip(result, self.writers, self.hashes, self.undecided, strict=True):
            row[:] = writer.sign.run(hashes, partitions_count)
            if undecided is not None:
                row[undecided] = UNDECIDED
        return result

    def dividends(self) -> npt.NDArray[np.float64]:
        """float64[writers, n], what each writer takes modulo the partition count: whole numbers; NaN where UNDECIDED."""
        result = np.empty((len(self.writers), len(self.hashes[0]) if self.hashes else 0), np.float64)
        for row, writer, hashes, undecided in zip(result, self.writers, self.hashes, self.undecided, strict=True):
            row[:] = writer.sign.before_modulo(hashes.astype(np.int64))
            if undecided is not None:
                row[undecided] = np.nan
        return result


def hash_all(writers: tuple[Writer, ...], column: Column, key_format: str) -> Hashes:
    """The hashes of every writer; each encoding is made, and each hash function run, once."""
    encoded: dict[Any, Any] = {}
    hashed: dict[Any, Int32s] = {}
    hashes, undecided = [], []
    for writer in writers:
        run = writer.encoding.run
        if run not in encoded:
            encoded[run] = run(column, key_format)
        if (run, writer.hash) not in hashed:
            hashed[run, writer.hash] = writer.hash.run(encoded[run], key_format)
        values, unsettled = _ruled(writer, hashed[run, writer.hash], encoded[run])
        hashes.append(values)
        undecided.append(unsettled)
    return Hashes(writers, tuple(hashes), tuple(undecided))


def _ruled(writer: Writer, hashes: Int32s, encoded: Any) -> tuple[Int32s, Bools | None]:
    """The hashes with what records without a key, and with an empty one, count as; and where they count as nothing."""
    undecided = None
    for rows, counts_as in ((_no_key(encoded), writer.keyless), (_empty_key(writer, encoded), writer.empty)):
        if rows is None:
            continue
        if counts_as is None:
            undecided = rows if undecided is None else undecided | rows
        else:
            hashes = np.where(rows, np.int32(counts_as), hashes)
    return hashes, undecided


def _no_key(encoded: Any) -> Bools | None:
    return None if encoded.valid is None else ~encoded.valid


def _empty_key(writer: Writer, encoded: Any) -> Bools | None:
    if writer.empty_hashed:
        return None
    empty: Bools = np.diff(encoded.offsets) == 0
    if encoded.valid is not None:
        empty &= encoded.valid
    return empty if empty.any() else None


def blocks(column: Column) -> Iterator[tuple[int, Column]]:
    """The column in pieces of BLOCK keys, each with its first row."""
    n = len_of(column)
    for start in range(0, n, BLOCK):
        yield start, encodings.part(column, slice(start, min(start + BLOCK, n)))


def len_of(column: Column) -> int:
    """How many keys a column holds."""
    return (
        len(column.values)
        if isinstance(column, encodings.Numbers)
        else len(column.keys if isinstance(column, encodings.Text) else column)
    )


def peculiar(column: Column) -> tuple[bool, bool]:
    """Are there records without a key, and records with an empty one?"""
    if isinstance(column, encodings.Numbers):
        return column.valid is not None and not column.valid.all(), False
    held = column.keys if isinstance(column, encodings.Text) else column
    empty = np.diff(held.offsets) == 0
    if held.valid is None:
        return False, bool(empty.any())
    return not held.valid.all(), bool((empty & held.valid).any())
