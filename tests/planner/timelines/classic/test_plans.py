"""Leaders that carry an assignment out in two rebalances: ``RemoteAssignor``."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.assignors.classic.sticky.cooperative import withholding
from service.core.ragged import grouped
from service.planner.timelines.classic.clients import LeaderPlans, Scene
from service.strategies import GROUP_PROTOCOLS
from tests.support.groups import group_of
from tests.support.simulations import event, simulation

if TYPE_CHECKING:
    from service.core.model import Group, Ragged

BALANCED = GROUP_PROTOCOLS["classic"]["balanced"]
SCENE: Scene = (0, b"", b"", b"")


def rows_of(rows: Ragged) -> list[set[int]]:
    return [set(rows.row(i).tolist()) for i in range(len(rows))]


def revocations_first(owned: list[set[int]], target: list[set[int]]) -> list[set[int]]:
    """The twin: ``Revocations.first`` of clients/java, where each partition has one owner."""
    revoked = {partition for has, gets in zip(owned, target, strict=True) for partition in has - gets}
    return [{each for each in gets if each not in revoked or each in has} for has, gets in zip(owned, target, strict=True)]


@st.composite
def groups(draw: st.DrawFn) -> tuple[Group, Ragged]:
    """A group whose members own what they like, each partition once, and any assignment of it."""
    partitions, members = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    owner, target = (draw(st.lists(st.integers(-1, members - 1), min_size=partitions, max_size=partitions)) for _ in range(2))
    body: dict[str, Any] = {"topics": [{"topic_name": "t", "partitions_count": partitions}]}
    body["members"] = [
        {
            "member_id": f"c{i}",
            "owned_partitions": [{"topic_name": "t", "partition_ids": [p for p in range(partitions) if owner[p] == i]}],
        }
        for i in range(members)
    ]
    return group_of(body), grouped(np.array(target, np.int32), members)


@given(question=groups())
def test_what_another_member_owns_is_withheld(question: tuple[Group, Ragged]) -> None:
    group, target = question
    owned, wanted = rows_of(group.owned), rows_of(target)
    assignment = withholding(group, target)
    now, later = rows_of(assignment.rows), rows_of(assignment.withheld)
    assert now == revocations_first(owned, wanted)
    assert [one | other for one, other in zip(now, later, strict=True)] == wanted
    assert assignment.follow_up_rebalance == any(later)


@pytest.mark.parametrize(("again", "asked"), [(SCENE, 1), ((1, *SCENE[1:]), 2), ((*SCENE[:3], b"1"), 2)])
def test_a_leader_goes_on_with_what_it_has_begun_while_the_group_is_the_same(again: Scene, asked: int) -> None:
    """``balanced`` gives what nobody owns to others than those for whom it was withheld."""
    target, runs, plans = grouped(np.array([0, 1, 0], np.int32), 2), [], LeaderPlans()
    assignor = replace(BALANCED, run=lambda group: (runs.append(group), SimpleNamespace(rows=target))[1])
    body = {"topics": [{"topic_name": "t", "partitions_count": 3}], "members": [{"member_id": "a"}, {"member_id": "b"}]}
    every = np.arange(3, dtype=np.int32)
    view: Any = SimpleNamespace(to_world=every, from_world=every)
    numbers = np.arange(2, dtype=np.int32)
    owned = {"owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2]}]}
    before = group_of({**body, "members": [{"member_id": "a", **owned}, {"member_id": "b"}]})
    first = plans.assign(assignor, before, SCENE, numbers, view)
    assert rows_of(first.rows) == [{0, 2}, set()]
    second = plans.assign(assignor, replace(before, owned=first.rows), again, numbers, view)
    assert rows_of(second.rows) == [{0, 2}, {1}]
    assert len(runs) == asked
    plans.assign(assignor, replace(before, owned=second.rows), again, numbers, view)
    assert len(runs) == asked + 1


def test_a_member_that_joins_between_both_rebalances_is_planned_for() -> None:
    joins = [event(20_000, "member_joins", member={"member_id": "c2"}), event(22_500, "member_joins", member={"member_id": "c3"})]
    run = simulation("classic", *joins, partitions=12, assignor="balanced", timing={"heartbeat_interval_ms": 3_000})
    run.run()
    outcome = run.outcome()
    assert [rebalance.assignment.lengths().tolist() for rebalance in outcome.rebalances][-1] == [3, 3, 3, 3]
    assert outcome.end.state == "Stable"
    assert all(rebalance.movement.moved == 0 for rebalance in outcome.rebalances)
