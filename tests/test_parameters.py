"""Partition counts on the command line, of the pipeline and of every other command."""

from __future__ import annotations

import re

import click
import pytest

from service.parameters import COUNTS
from service.pipeline.spark.jobs import SKEW


@pytest.mark.parametrize(("text", "counts"), [("12,24", (12, 24)), ("12-48:12,7", (12, 24, 36, 48, 7)), ("3-3", (3,))])
def test_counts(text: str, counts: tuple[int, ...]) -> None:
    """Ranges, in the given order."""
    assert COUNTS.convert(text, None, None) == counts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1-999999999", "'1-999999999' has 999999999 counts, not 1 to 10000."),
        ("5-4", "'5-4' has 0 counts, not 1 to 10000."),
        ("0", "0 is less than 1."),
        ("12,12", "12 is given twice."),
        ("12-48:12,24", "24 is given twice."),
        ("1-9:0", "'1-9:0' is neither an integer nor a range such as 12-48:12."),
        ("1-99999999999999999999", "'1-99999999999999999999' is neither an integer nor a range such as 12-48:12."),
        ("12-", "'12-' is neither an integer nor a range such as 12-48:12."),
    ],
)
def test_what_is_no_count(text: str, message: str) -> None:
    """Nothing is spelt out beyond the bound."""
    with pytest.raises(click.BadParameter, match=f"^{re.escape(message)}$"):
        COUNTS.convert(text, None, None)


def test_the_pipeline_has_the_same_option() -> None:
    """``skew --partitions``."""
    assert COUNTS in [parameter.type for parameter in SKEW.parameters]
