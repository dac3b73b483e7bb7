"""Distinct keys, by looking each up in a list."""

from __future__ import annotations


def first_rows(keys: list[bytes | None]) -> tuple[list[int], list[int]]:
    """The first row of each distinct key, and for each row the number of its key among them."""
    rows = sorted({keys.index(key) for key in keys})
    return rows, [rows.index(keys.index(key)) for key in keys]
