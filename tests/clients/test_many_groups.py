"""Large groups, and many groups at once, against one real server."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.jvm import KAFKA, compiled
from tests.support.parity import JAVA, PROGRAMS, class_path

if TYPE_CHECKING:
    from tests.support.serving import Server

pytestmark = pytest.mark.slow

DEADLINE_MS = 1_000


def many(server: Server, groups: int, partitions: int, members: int, deadline_ms: int = DEADLINE_MS) -> dict:
    """What became of so many groups that are assigned at once."""
    configs = {"partition.allocator.url": server.url, "partition.allocator.timeout.ms": deadline_ms, "group.id": "many"}
    configs["session.timeout.ms"] = 10 * deadline_ms
    classes = f"{class_path(f'org.apache.kafka:kafka-clients:{KAFKA}')}:{compiled('clients/java')}"
    words = ["partitionallocator.clients.RemoteAssignor", json.dumps(configs), str(groups), str(partitions), str(members)]
    command = [*JAVA, "-cp", classes, PROGRAMS / "ManyGroups.java", *words]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)


def test_ten_thousand_partitions_are_assigned_within_the_deadline(server):
    """100 members; the first time, so that nothing is compiled or connected yet. A busy machine gets a second try."""
    for _ in range(3):
        done = many(server, 1, 10_000, 100)
        assert done["wrong"] == 0
        if done["outcomes"] == {"remote-total": 1}:
            return
    pytest.fail(str(done))


def test_a_thousand_groups_at_once_are_all_assigned(server):
    """By the service, as many as it can in time, and the others by cooperative-sticky."""
    done = many(server, 1_000, 12, 3)
    assert done["wrong"] == 0
    assert sum(done["outcomes"].values()) == 1_000
    assert set(done["outcomes"]) <= {"remote-total", "local-timeout-total", "local-status-total", "local-unreachable-total"}
    assert done["outcomes"]["remote-total"] >= 1
