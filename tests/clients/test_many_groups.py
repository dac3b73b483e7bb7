"""Large groups, and many groups at once, against one real server."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.jvm import KAFKA, compiled
from tests.support.parity import command

if TYPE_CHECKING:
    from tests.support.serving import Server

pytestmark = pytest.mark.slow

DEADLINE_MS = 1_000
"""What a rebalance waits at most, if nothing else is configured."""


def many(server: Server, groups: int, partitions: int, members: int, *, rounds: int = 1, deadline_ms: int = DEADLINE_MS) -> Any:
    """What became of so many groups that are assigned at once."""
    configs = {"partition.allocator.url": server.url, "partition.allocator.timeout.ms": deadline_ms, "group.id": "many"}
    configs["session.timeout.ms"] = 10 * deadline_ms
    program = command("ManyGroups.java", f"org.apache.kafka:kafka-clients:{KAFKA}", more_classes=compiled("clients/java"))
    words = ["partitionallocator.clients.RemoteAssignor", json.dumps(configs), *map(str, (groups, partitions, members, rounds))]
    return json.loads(subprocess.run([*program, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)


def test_ten_thousand_partitions_and_a_hundred_members_take_less_than_the_deadline(server):
    """Of the processors, for what else they do is no fault of the assignor's."""
    many(server, 1, 10_000, 100)
    before = server.processor_seconds()
    done = many(server, 1, 10_000, 100, rounds=3, deadline_ms=10_000)
    assert (done["wrong"], done["outcomes"]) == (0, {"remote-total": 3})
    assert done["cpu_ms"] + (server.processor_seconds() - before) * 1000 / 3 < DEADLINE_MS


def test_a_thousand_groups_at_once_are_all_assigned(server):
    """By the service, as many as it can in time, and the others by cooperative-sticky."""
    done = many(server, 1_000, 12, 3)
    assert done["wrong"] == 0
    assert sum(done["outcomes"].values()) == 1_000
    assert set(done["outcomes"]) <= {"remote-total", "local-timeout-total", "local-status-total", "local-unreachable-total"}
