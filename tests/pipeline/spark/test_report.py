"""Text from data in a report: names and keys are shown as they are, whatever characters they have."""

from __future__ import annotations

import re
import warnings
from importlib.resources import files

import click
import pytest

from service.pipeline.analyses.mismatch import outcome as mismatch_outcome
from service.pipeline.spark.jobs import SKEW, shown
from service.pipeline.spark.load import report as load_report
from service.report import pages
from service.report.figures import DARK, LIGHT, variables
from service.report.pages import Figure, FigureRow, Report, Section, Table, chart, label

NAMES = ("a\0b", "\x1b[31mred", "tab\tline\nend\r", "\x85\x7f", "invoice\u202efdp", "$\\frac$", "<script>", "\ud800")


def page(name: str) -> str:
    plot = chart(lambda axes: axes.barh([label(name)], [1], label=label(name)), f"Peaks of {name}")
    blocks = (FigureRow((Figure("hottest key", name, name),)), Table(("key", name), ((name, "1"),), name, name), plot)
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


def test_a_report_begins_with_its_verdict_its_date_and_its_parameters():
    page = Report("Skew", "a.csv", (), "All is even.").html("2026-11-22 05:08 UTC", {"--current-partitions": "12"})
    places = [page.index(text) for text in ("<h1>Skew", "All is even.", "2026-11-22 05:08 UTC", "--current-partitions 12")]
    assert places == sorted(places)


def test_options_of_readers_reach_the_sources_and_nothing_else():
    """They may be secrets, and no job has a parameter for them."""
    given = click.Command("skew", params=[*SKEW.parameters]).make_context("skew", ["a.csv", "--read-option", "password=x"]).params
    assert given["source"].options == {"password": "x"}
    assert "password" not in str({name: value for name, value in given.items() if name != "source"})


def test_options_that_were_left_alone_are_not_shown(monkeypatch):
    values = {
        "partitions_counts": (6, 12, 24, 48),
        "partitioners": ("sarama",),
        "current": 12,
    }
    assert shown(SKEW.parameters, values) == {"--partitioner": "sarama", "--current-partitions": "12"}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert pages.date() == "1970-01-01 00:00 UTC"


def test_groups_and_topics_that_have_nothing_in_common_get_no_common_mean():
    of_kind = {"count": 3, "skew": 1.5, "busiest": [{"subject": "orders-0"}, {"subject": "orders-1"}]}
    two_topics = {**of_kind, "busiest": [{"subject": "orders-0"}, {"subject": "payments-1"}]}
    groups = {"groups": [{"group_id": "a"}, {"group_id": "b"}]}
    assert "1.50 × the mean" in load_report._text("partition", of_kind, groups)
    assert "×" not in load_report._text("partition", two_topics, groups)
    assert "×" not in load_report._text("consumer", of_kind, groups)
    assert "1.50 × the mean" in load_report._text("consumer", of_kind, {"groups": groups["groups"][:1]})


def test_the_chart_of_mismatch_has_the_shares_of_its_verdict():
    java, sarama, chance = ({"share": s, "share_low": s - 0.05, "share_high": s + 0.05} for s in (0.7, 0.2, 0.1))
    mixture = [{"partitioners": [name], "partitions_count": 6, **one} for name, one in (("java", java), ("sarama", sarama))]
    summary = {"partitions_count": 6, "mixture": mixture, **{f"chance_{name}": value for name, value in chance.items()}}
    shares = mismatch_outcome._share_of_each(summary)
    assert {name: each["share"] for name, each in shares.items()} == {
        "java": 0.7, "sarama": 0.2, "explained by no partitioner": 0.1,
    }  # fmt: skip
    assert shares["explained by no partitioner"] == chance
    assert mismatch_outcome._share_of_each({"mixture": [], "chance_share": 1.0}) == {}


def test_the_planner_page_has_the_colors_of_reports():
    text = files("service.page").joinpath("static/style.css").read_text()
    schemes = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    for colors, scheme in zip((LIGHT, DARK), schemes, strict=True):
        of_page = dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6});", scheme))
        assert {name: of_page[name] for name in colors if name in of_page} == {
            name: color for name, color in colors.items() if not re.fullmatch(r"c\d", name)
        }


def test_a_report_has_its_colors_for_screens_and_light_ones_for_print():
    html = Report("Skew", "a.csv", ()).html()
    assert variables(":root") in html
    (printed,) = re.findall(r"@media print \{.*?:root \{(.*?)\}", html, re.DOTALL)
    assert dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6});", printed)) == LIGHT
