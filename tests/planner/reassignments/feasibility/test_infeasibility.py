"""Why there is no plan: a smallest set of rules that clash, and remedies that work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from service.core.errors import Infeasible
from service.core.model import NONE
from service.planner.reassignments.model import NO_LIMIT, Goal
from service.planner.reassignments.plan import plan
from tests.planner.reassignments.test_plan import a_cluster, questions, some_placements
from tests.reference.reassignments import best


def refusal(brokers, placements, goal=Goal()) -> Infeasible:  # noqa: B008 - frozen
    with pytest.raises(Infeasible) as error:
        plan(brokers, placements, goal)
    return error.value


@given(questions())
def test_every_rule_of_a_clash_is_needed_for_it(question) -> None:
    """Without any one of the rules that are named, there is a placement; and with only these, there is none."""
    brokers, placements, goal = question
    if best(brokers, placements, goal) is not None:
        return
    clash = {each.rule for each in refusal(brokers, placements, goal).clash}

    def without(rules: set[str]):
        lifted = brokers
        if "max_replicas" in rules:
            lifted = replace(lifted, max_replicas=np.full(len(brokers), NO_LIMIT, np.int64))
        if "draining" in rules:
            lifted = replace(lifted, draining=np.zeros(len(brokers), np.bool_))
        if "cordoned" in rules:
            lifted = replace(lifted, cordoned=np.zeros(len(brokers), np.bool_))
        if "destinations" in rules:
            lifted = replace(lifted, destinations=np.ones(len(brokers), np.bool_))
        if "replaces" in rules:
            lifted = replace(lifted, replaced_by=np.full(len(brokers), NONE, np.int32))
        kept = np.zeros_like(placements.excluded) if "excluded_topics" in rules else placements.excluded
        aim = replace(goal, racks="none") if "racks" in rules else goal
        sets = None if "broker_sets" in rules else placements.broker_sets
        return best(lifted, replace(placements, excluded=kept, broker_sets=sets), aim)

    every = {"max_replicas", "draining", "replaces", "excluded_topics", "racks", "cordoned", "destinations", "broker_sets"}
    named = clash & every
    assert without(every - named) is None
    for rule in named:
        assert without((every - named) | {rule}) is not None, rule


def test_limits_are_added_up_and_the_least_that_suffices_is_a_remedy() -> None:
    error = refusal(a_cluster([None] * 2, max_replicas=[1, 1]), some_placements([[0], [0], [1]]))
    assert {each.rule for each in error.clash} == {"replication_factor", "max_replicas"}
    needs = next(each.detail for each in error.clash if each.rule == "replication_factor")
    assert needs == "Replication factor 1 makes 3 replicas for 2 usable brokers."
    assert any("max_replicas" in remedy for remedy in error.remedies)
    assert plan(a_cluster([None] * 2, max_replicas=[2, 2]), some_placements([[0], [0], [1]]), Goal()).cost == 0


def test_one_replica_is_no_plural() -> None:
    error = refusal(a_cluster([None], max_replicas=[0]), some_placements([[0]]))
    needs = next(each.detail for each in error.clash if each.rule == "replication_factor")
    assert needs == "Replication factor 1 makes 1 replica for 1 usable broker."


def test_a_factor_above_the_brokers_is_mended_by_more_of_them_or_a_lower_one() -> None:
    error = refusal(a_cluster([None] * 2), some_placements([[0, 1]], factors=[3]), Goal(racks="none"))
    assert len(error.remedies) >= 2
    assert any("broker" in remedy for remedy in error.remedies)
    assert any("replication factor" in remedy.lower() for remedy in error.remedies)


def test_capacities_clash_if_nothing_fits() -> None:
    error = refusal(a_cluster([None] * 2, capacity_bytes=[5, 5]), some_placements([[0], [1]], sizes=[6, 3]))
    assert str(error).startswith("No placement keeps these rules together: ")
