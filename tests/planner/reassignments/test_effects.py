"""The sentences of a plan: what it does, and what to know before executing it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from service.decisions.reassignments.answer import conclusion
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.batches.schedule import BatchLimits, Pace
from service.planner.reassignments.effects import effects, warnings
from service.planner.reassignments.leaders import Leadership
from service.planner.reassignments.model import Goal
from service.planner.reassignments.planned import Planned, moves_of
from service.planner.reassignments.resources.loads import placed_loads
from tests.planner.reassignments.test_plan import a_cluster, some_placements


def sentences(
    racks: list[str], rows: list[list[int]], goal: Goal | None = None, *, throttle: int | None = None, **how: Any
) -> tuple[list[str], list[str]]:
    """What the plan does, and its warnings. The brokers' ids are their indices."""
    goal = goal or Goal()
    given = {name: how.pop(name) for name in ("sizes", "factors") if name in how}
    placements = replace(some_placements(rows, **given), rates=np.array(how.pop("rates", [0.0] * len(rows))))
    brokers = a_cluster(racks, **how)
    plan, batches = plan_in_batches(brokers, placements, goal, BatchLimits())
    planned = Planned(
        brokers,
        placements,
        goal,
        plan,
        batches,
        moves_of(brokers, placements, goal, plan.replicas, batches),
        placed_loads(brokers, placements, plan.replicas),
        Leadership.of(brokers, placements, goal, plan.replicas),
        batches.traffic.timing(len(batches), Pace(), throttle, None),
        Pace(),
    )
    return [conclusion(planned)[0], *effects(planned)], list(warnings(planned))


def test_a_drain_names_the_broker_the_copies_and_the_one_that_is_left_in_its_rack() -> None:
    drained, warned = sentences(["a", "b", "c", "c"], [[0, 1, 2], [0, 1, 3], [0, 1, 3]], draining=[False, False, False, True])
    assert drained == [
        "Empties broker 3 with 2 copies, the fewest possible: its 2 replicas of the 1 topic given leave.",
        "Broker 2 goes from 1 to 3 replicas: it is the only one left in rack c.",
    ]
    assert warned == []


def test_evening_out_names_the_broker_that_gains_most_and_no_rack() -> None:
    done, _ = sentences(["a", "a", "a"], [[0], [0], [0], [0], [1], [1]], Goal("even"))
    assert done == [
        "Changes the placement with 2 copies, the fewest possible for the evenest load.",
        "Broker 2 gains the most: it goes from 0 to 2 replicas.",
    ]


def test_a_plan_without_copies_has_that_effect() -> None:
    assert sentences(["a", "b"], [[0, 1], [1, 0]])[0] == ["Nothing changes: no rule asks for a copy of the 2 partitions given."]
    assert sentences(["a", "b"], [[0, 1], [0, 1]])[0] == ["Copies nothing: 1 preferred leader changes."]
    fewer = sentences(["a", "b"], [[0, 1], [1, 0]], factors=[1, 1])[0]
    assert fewer == ["Copies nothing: 2 partitions get fewer replicas."]


def test_a_broker_that_stays_much_fuller_than_the_mean_is_named() -> None:
    done, _ = sentences(["a", "a", "a"], [[0], [0], [0], [0], [0], [1]], draining=[False, True, False])
    assert done[-1] == "Broker 0 is the fullest, with 5 replicas, 1.67 times the mean."


def test_the_fullest_disk_is_named_before_and_after() -> None:
    rows, sizes = [[0], [0], [1]], [30, 50, 20]
    done, _ = sentences(["a", "a"], rows, sizes=sizes, capacity_bytes=[60, 100])
    assert done[1] == "Broker 0 has the fullest disk, 83.3% of the bytes that it may hold; 133.3% now."
    done, _ = sentences(["a", "a"], rows, Goal("even", balance="bytes"), sizes=sizes, capacity_bytes=[100, 50])
    assert done[1:3] == [
        "Of bytes, the fullest broker has 50 (1.00 times the mean); 80 (1.60 times the mean) now.",
        "Broker 1 has the fullest disk, 100.0% of the bytes that it may hold; now broker 0 with 80.0%.",
    ]
    done, _ = sentences(["a", "a"], rows, sizes=sizes, capacity_bytes=[0, 100])
    assert done[1] == "Broker 1 has the fullest disk, 100.0% of the bytes that it may hold; now broker 0 with more than 1,000%."


def test_a_rack_that_is_emptied_and_partitions_that_lose_a_rack_are_warnings() -> None:
    _, warned = sentences(["a", "a", "b", "c"], [[0, 2, 3], [1, 2, 3]], draining=[False, False, False, True], factors=[2, 2])
    assert warned == ["Rack c is emptied: none of its brokers may have replicas."]
    _, warned = sentences(["a", "a", "b", "c"], [[0, 2, 3], [1, 2, 3]], draining=[False, False, False, True])
    assert warned == [
        "Rack c is emptied: none of its brokers may have replicas.",
        "2 partitions lose racks, such as t-0: it is on 2 racks afterwards, 3 now.",
    ]


def test_a_batch_that_never_ends_is_a_warning() -> None:
    """800 of 1,000 bytes per second are no more than producers write; 1,600 leave 800 for 8,000 bytes."""
    broker = {"draining": [True, False], "sizes": [8_000], "rates": [800.0]}
    assumed = "if Kafka reaches 80% of it and a batch takes 2 s beside the copying."
    done, warned = sentences(["a", "b"], [[0]], throttle=2_000, **broker)
    assert done[-1] == f"Takes about 12 s in 1 batch at a throttle of 2,000 bytes/s, {assumed}"
    assert warned == ["Rack a is emptied: none of its brokers may have replicas."]
    done, warned = sentences(["a", "b"], [[0]], throttle=1_000, **broker)
    assert not [sentence for sentence in done if "Takes" in sentence]
    never = "Batch 1 never ends at this throttle: producers write as fast as replicas may be copied."
    assert warned[1:] == [f"{never} Every batch ends from 1,001 bytes/s on."]
