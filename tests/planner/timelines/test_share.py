"""Share groups: several members read a partition, and nobody has to revoke."""

from __future__ import annotations

import numpy as np

from tests.support.simulations import event, simulation, stable


def test_members_share_partitions_if_there_are_more_of_them() -> None:
    run = simulation("share", partitions=1, members=[{"member_id": f"c{i}", "instance_id": "static"} for i in range(1)])
    run.run()
    assert run.course.members.all[0].instance_id is None  # static members there are none
    run = simulation("share", partitions=2, members=[{"member_id": f"c{i}"} for i in range(4)])
    run.run()
    coordinator = run.clients.coordinator
    assert sorted(len(partitions) for partitions in coordinator.assigned.values()) == [1, 1, 1, 1]


def test_who_shares_a_partition_goes_on_alone() -> None:
    """Nobody misses a reader of a partition that another one reads too, whether it leaves or crashes."""
    for kind in ("member_leaves", "member_crashes"):
        members = [{"member_id": f"c{i}", "owned_partitions": [{"topic_name": "t", "partition_ids": [0]}]} for i in range(2)]
        run = simulation("share", event(10_000, kind, member_id="c0"), members=members, partitions=1)
        run.run()
        assert run.course.ledger.reader.tolist() == [1]
        assert run.outcome().totals.idle.sum_ms == 0


def test_new_partitions_are_assigned_once_the_share_coordinator_has_their_state() -> None:
    """So a group forms in two epochs, the first of which assigns nothing; and one that was stable has what it had."""
    run = simulation("share")
    run.run()
    first, *_, last = run.outcome().rebalances
    assert first.assignment is not None
    assert last.assignment is not None
    assert (len(first.assignment.values), len(last.assignment.values)) == (0, 6)
    added = event(10_000, "partitions_added", topic_name="t", partitions_count=8)
    run = stable("share", added)
    run.run(until_ms=10_000)
    coordinator = run.clients.coordinator
    assert (coordinator.initialized.tolist(), run.course.rebalances) == ([6], [])
    run.run()
    assert coordinator.initialized.tolist() == [8]
    assert np.bincount(run.course.ledger.reader).sum() == 8


def test_a_share_group_is_empty_or_stable() -> None:
    run = simulation("share", event(60_000, "scales", members_count=0), event(120_000, "scales", members_count=1))
    run.run()
    states = [state for rebalance in run.outcome().rebalances for _, state in rebalance.states]
    assert set(states) == {"Empty", "Stable"}
