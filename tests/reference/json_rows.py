"""Rows as JSON, one value after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from service.http.json.rows import Part


def rows(count: int, parts: list[Part]) -> bytes:
    """The text that ``service.http.json.rows.rows`` yields in blocks."""
    return b",".join(b"".join(_cell(part, row) for part in parts) for row in range(count))


def _cell(part: Part, row: int) -> bytes:
    text = part.texts[0 if part.labels is None else part.labels[row]]
    if part.numbers is None:
        return text
    numbers = part.numbers.row(row) if hasattr(part.numbers, "row") else np.ravel(part.numbers[row])
    return text + ",".join(str(number if part.ids is None else part.ids[number]) for number in numbers.tolist()).encode()
