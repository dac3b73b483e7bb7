"""Text from data in a report: names and keys are shown as they are, whatever characters they have."""

from __future__ import annotations

import re
import warnings

import pytest

from service.spark.report import Figure, Figures, Report, Section, Table, chart, label

NAMES = ("a\0b", "\x1b[31mred", "tab\tline\nend\r", "\x85\x7f", "invoice\u202efdp", "$\\frac$", "<script>", "\ud800")


def page(name: str) -> str:
    plot = chart(lambda axes: axes.barh([label(name)], [1], label=label(name)), f"Peaks of {name}")
    blocks = (Figures((Figure("hottest key", name, name),)), Table(("key", name), ((name, "1"),), name, name), plot)
    return Report(name, name, (Section("Keys", blocks, name),)).html()


@pytest.mark.parametrize("name", NAMES)
def test_a_report_has_no_control_characters(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of glyphs that the font lacks
        html = page(name)
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)
    html.encode()
    assert "<script>" not in html


def test_control_characters_are_visible():
    assert page("a\0b\n").count(r"a\x00b\x0a") >= 9
    assert "tab\\x09line" in page("tab\tline")


def test_a_formula_is_a_label():
    """Matplotlib would draw the text between dollars as mathematics, and fail if it is none."""
    assert r"$\frac$" in page(r"$\frac$")
