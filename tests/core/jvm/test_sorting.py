"""Strings stand in Java's order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.core.model import java_order


@given(st.lists(st.text(max_size=4) | st.text("a\uffee\ue000\ud83d\U0001f418", max_size=3)))
def test_sorts_by_utf16_units_and_keeps_equal_names_in_order(names):
    def units(i):
        raw = names[i].encode("utf-16-be", "surrogatepass")
        return [raw[k : k + 2] for k in range(0, len(raw), 2)]

    assert java_order(names).tolist() == sorted(range(len(names)), key=units)
