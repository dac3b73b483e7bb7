"""Answers in a notebook: a table and a picture, in which names are data and large answers are cut."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET  # our own text

import pytest

import partition_allocator as library
from partition_allocator.notebook import ROWS
from service.report.figures import MOST_BARS, bars
from tests.contract.test_examples import POSTS, example_of
from tests.library.test_questions import CALLS

HOSTILE = "<img src=x onerror=alert(1)>\u202e&\"'"


def parsed(page: str) -> ET.Element:
    """The page's elements; raises for markup that is not well formed."""
    return ET.fromstring(page.replace("<br>", "<br/>"))  # noqa: S314


@pytest.mark.parametrize("path", sorted(CALLS))
def test_every_answer_shows_facts_and_a_table(path):
    root = parsed(CALLS[path](example_of(POSTS[path]))._repr_html_())
    assert root.find("p") is not None
    assert root.findall(".//td") or path in {"/v1/coordinators", "/v1/decodings", "/v1/descriptions"}


def test_names_are_never_markup():
    answers = [
        library.assign({"t": 3}, [HOSTILE, "b"]),
        library.rebalances({"t": 3}, [HOSTILE, "b"]),
        library.place([{"broker_id": i, "rack_id": HOSTILE} for i in range(3)], 3, 2),
        library.reassign(3, {"t": [[0, 1], [5, 1]]}),
        library.compare([HOSTILE], 6, ["java", "sarama"]),
        library.fingerprint([HOSTILE], [1], 6),
        library.plan([HOSTILE, "a"], [6]),
        library.coordinator(HOSTILE),
        library.co_partitioning([{"topic_name": "a<b", "partitions_count": 3}, {"partitions_count": 4}]),
    ]
    for answer in answers:
        page = answer._repr_html_()
        parsed(page)
        assert "<img" not in page
        assert "\u202e" not in page


def test_a_plan_is_shown_with_its_whole_conclusion_and_its_warnings():
    brokers = [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2}, {"broker_id": 3, "draining": True}]
    answer = library.reassign(brokers, {"t": [[3, 1], [1, 2]], "u": [[3]]}, excluded_topics=["u"])
    page = "".join(parsed(answer._repr_html_()).itertext())
    assert answer["conclusion"].startswith("Broker 3 keeps 1 replica, of u (excluded)")
    assert all(page.count(sentence) == 1 for sentence in (answer["conclusion"], *answer["warnings"]))
    assert "no rack" in answer["warnings"][0]


def test_a_large_answer_is_cut_with_a_count_of_the_rest():
    page = library.assign({"orders": 3_000}, 1_000)._repr_html_()
    assert len(parsed(page).findall(".//tr")) == ROWS + 2
    assert f"… and {1_000 - ROWS} more" in page
    assert f"the {MOST_BARS} largest of 1,000" in page
    assert len(page) < 30_000
    assert len(library.place(3, 50_000, 2)._repr_html_()) < 20_000


def test_the_table_of_an_assignment_names_unassigned_partitions():
    members = [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1]}]}, {"member_id": "b"}]
    page = library.assign({"t": 2}, members, "cooperative-sticky")._repr_html_()
    cells = [[cell.text for cell in row] for row in parsed(page).findall(".//tbody/tr")]
    assert cells == [["(unassigned)", "1", "t 1"], ["a", "1", "t 0"], ["b", "0", None]]


def test_the_longest_bar_is_the_largest_value_and_the_mean_is_that_of_all():
    svg = bars("load", [f"b{i}" for i in range(100)], list(range(100)))
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', svg)]
    assert len(widths) == MOST_BARS
    assert widths == sorted(widths)
    assert "mean 49.5" in svg
    assert bars("none", [], [])
    assert parsed(bars(HOSTILE, [HOSTILE], [0])).tag.endswith("svg")


def test_pictures_need_neither_matplotlib_nor_pandas_nor_spark():
    program = """
import sys
class Absent:
    def find_spec(self, name, *_):
        if name in {"matplotlib", "pandas", "pyspark"}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Absent())
from partition_allocator import assign, rebalances
assert "</svg>" in assign({"t": 3}, 2)._repr_html_()
assert "</svg>" in rebalances({"t": 3}, 2)._repr_html_()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
