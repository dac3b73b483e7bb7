"""Lists of many rows are written by a kernel, block after block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.model import Ragged
from service.http.json import rows as module
from service.http.json.rows import DIGITS, Part, rows
from tests.reference import json_rows as reference

INTEGERS = st.integers(-(2**31), 2**31 - 1) | st.integers(0, 120)
IDS = np.array([7, 0, -3, 2**31 - 1], np.int32)
TEXTS = st.lists(st.binary(max_size=9), min_size=1, max_size=4)


def int32s(values: list[int]) -> np.ndarray:
    return np.array(values, np.int32)


@st.composite
def parts(draw: st.DrawFn, count: int) -> Part:
    """A part of each of ``count`` rows."""
    texts = draw(TEXTS)
    labels = draw(st.none() | st.lists(st.integers(0, len(texts) - 1), min_size=count, max_size=count).map(int32s))
    ids = draw(st.none() | st.just(IDS))
    integers = INTEGERS if ids is None else st.integers(0, len(IDS) - 1)
    match draw(st.sampled_from(["none", "one", "some", "ragged"])):
        case "none":
            return Part(texts, labels)
        case "one":
            return Part(texts, labels, int32s(draw(st.lists(integers, min_size=count, max_size=count))), ids)
        case "some":
            width = draw(st.integers(0, 4))
            numbers = int32s(draw(st.lists(integers, min_size=count * width, max_size=count * width)))
            return Part(texts, labels, numbers.reshape(count, width), ids)
        case _:
            lengths = draw(st.lists(st.integers(0, 5), min_size=count + 1, max_size=count + 1))
            offsets = np.cumsum(lengths).astype(np.int32)  # rows of a larger Ragged: the first need not begin at 0
            numbers = int32s(draw(st.lists(integers, min_size=int(offsets[-1]), max_size=int(offsets[-1]))))
            return Part(texts, labels, Ragged(offsets, numbers), ids)


@given(st.data(), st.integers(0, 7), st.integers(1, 5), st.integers(1, 60), st.integers(1, 4))
def test_writes_what_its_plain_twin_does_in_blocks_of_any_size(data, count, columns, block_bytes, block_rows):
    drawn = [data.draw(parts(count)) for _ in range(columns)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block_bytes)
        patch.setattr(module, "BLOCK_ROWS", block_rows)
        text = rows(count, *drawn)
        blocks = list(text.pieces)
    assert b"".join(blocks) == reference.rows(count, drawn)
    assert sum(map(len, blocks)) == text.size
    longest = max(len(text) for part in drawn for text in part.texts) + 1 + DIGITS
    assert all(len(block) <= max(block_bytes, longest) for block in blocks)
