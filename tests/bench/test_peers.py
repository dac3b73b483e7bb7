"""Plans beside what topicmappr and Cruise Control made of the same clusters."""

from __future__ import annotations

import json

import pytest

from benchmarks.peers import FIGURES, Outcome
from benchmarks.reassignments_peers import BAND, CASES, asked, ours, theirs
from service.planner.reassignments.model import Goal

GOALS = {"topicmappr": Goal("even"), "cruise-control": Goal("even", tolerance=BAND)}


@pytest.mark.parametrize("case", CASES[:4])
@pytest.mark.parametrize("tool", GOALS)
def test_a_plan_copies_no_more_and_no_broker_is_fuller(tool, case):
    cluster = asked(*case[1:])
    plan, peer = ours(GOALS[tool], *cluster), theirs(tool, case[0], *cluster)
    assert plan.copies <= peer.copies
    assert plan.fullest <= peer.fullest


@pytest.mark.parametrize("tool", GOALS)
def test_there_are_figures_of_every_case(tool):
    outcomes = json.loads(FIGURES.read_text())["outcomes"][tool]
    assert list(outcomes) == [case for case, *_ in CASES]
    assert all(Outcome(*figures).copies > 0 for figures in outcomes.values())
