"""Each workbench from its example over a change to a download, by the keyboard alone."""

from __future__ import annotations

import pytest

from tests.page.conftest import opened

FOCUSED = """() => {
    const focused = document.activeElement;
    const named = focused.getAttribute('aria-label') ?? focused.labels?.[0]?.textContent ?? focused.textContent;
    const { outlineStyle, outlineWidth } = getComputedStyle(focused);
    const { top, bottom, width } = focused.getBoundingClientRect();
    const outlined = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && width > 1 && top < innerHeight && bottom > 0;
    return [named.trim().replaceAll(/\\s+/g, ' '), outlined || focused.matches('.drop input')];
}"""
"""The name of what has the focus, and whether a reader sees that: a place for files has a border of its own for it."""

MOST_STOPS = 250


def tab_to(page, name):
    """Press Tab until what is so named has the focus, which is to be seen at each stop."""
    for stop in range(MOST_STOPS):
        page.keyboard.press("Tab")
        focused, seen = page.evaluate(FOCUSED)
        if focused == "partition-allocator" and stop > 0:  # the first link: all were passed
            break
        assert seen, focused
        if focused.startswith(name):
            return
    pytest.fail(f"no stop is named {name!r}")


PATHS = [
    ("groups", "Change of billing-2", ["ArrowDown", "ArrowDown"], "range gives 4 members", "Who has what as SVG"),
    ("timeline", "Away, s", ["1", "2", "Enter"], "without a reader for 427 s in all", "Standstill over time as CSV"),
    ("members", "Lag gone within, s", ["1", "2", "0", "Enter"], "With balanced, 5 members", "Load against members as PNG"),
    ("keys", "Number of partitions", ["ArrowRight"], "With java and 25 partitions", "Records per partition as CSV"),
    ("history", "Group id", ["o", "r", "d", "e", "r", "s", "Enter"], "8 rebalances in 13.4 min", "Members over time as CSV"),
    ("trace", "Record key", ["X", "Enter"], "'X' → orders", "The way of the key as CSV"),
    ("placement", "broker 4", ["Space"], "Empties brokers 3, 4", "reassignment.json"),
    ("disks", "/data/b", ["Enter"], "Copies 120 GB with 1 move", "rollback.json"),
]


@pytest.mark.parametrize(("name", "field", "keys", "verdict", "button"), PATHS, ids=[path[0] for path in PATHS])
def test_the_keyboard_alone_changes_and_downloads(page, name, field, keys, verdict, button):
    page.goto("/livez")  # Tab goes on from where the test before was
    opened(page, f"/#/{name}")
    tab_to(page, field)
    for key in keys:
        page.keyboard.press(key)
    page.locator(".verdict", has_text=verdict).wait_for()
    assert page.evaluate(FOCUSED)[0].startswith(field)  # an answer leaves the focus where it is
    tab_to(page, button)
    with page.expect_download() as downloaded:
        page.keyboard.press("Enter")
    assert downloaded.value.path().stat().st_size > 100
    tab_to(page, "Third-party notices")  # nothing keeps the focus
