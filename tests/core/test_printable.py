"""Text from data, shown."""

from __future__ import annotations

import pytest

from service.core.printable import counted, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcödé, 日本 🚀", "plain, ünïcödé, 日本 🚀"),
        ("a\0b", r"a\x00b"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\tb\r\nc\x7f\x85", r"a\x09b\x0d\x0ac\x7f\x85"),
        ("invoice\u202efdp.exe", r"invoice\u202efdp.exe"),
        ("a\u061cb\u200fc", r"a\u061cb\u200fc"),
        ("a\u2028b\u2066c\ud800", r"a\u2028b\u2066c\ud800"),
    ],
)
def test_what_would_not_be_visible_is_escaped(text, shown):
    assert printable(text) == shown


def test_a_count_has_its_noun():
    assert [counted(n, "partition") for n in (0, 1, 1200)] == ["0 partitions", "1 partition", "1,200 partitions"]
    assert [counted(n, "batch", "batches") for n in (1, 2)] == ["1 batch", "2 batches"]
