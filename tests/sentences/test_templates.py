"""Each sentence template has inputs of which it is true, and inputs of which it must not be said."""

from __future__ import annotations

import pytest

from tests.sentences.templates import SOURCES, appearances, table


@pytest.mark.parametrize("family", SOURCES)
def test_each_template_appears_where_it_is_true_and_nowhere_else(family: str) -> None:
    listed, found = table(family), appearances(family)
    assert found.keys() == listed["templates"].keys(), "each template has a row: see tests/sentences/templates.py"
    assert found == listed["templates"]
    without = {text for text, numbers in found.items() if not 0 < len(numbers) < len(listed["bodies"])}
    assert without == listed["unreached"].keys()
