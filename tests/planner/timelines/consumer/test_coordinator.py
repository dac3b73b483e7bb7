"""The votes for an assignor, against the real classes of both releases; and what a change of the winner does."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from service.planner.timelines.consumer.coordinator import BUMPS_FOR_ASSIGNORS, DEFAULT_ASSIGNOR, changes_preferred, preferred
from tests.support.jvm import COMPARED, kafka_jvm

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask.testing import FlaskClient

pytestmark = pytest.mark.usefixtures("few_draws")

PARTS = ("group-coordinator", "group-coordinator-api", "coordinator-common", "clients", "server-common", "metadata")
ASSIGNORS = ("uniform", "range")
VOTES = [votes for count in range(5) for votes in product((*ASSIGNORS, None), repeat=count)]
"""What up to four members ask for; None: a member of the classic protocol."""


class Kafka:
    """The group coordinator's classes of a release."""

    def __init__(self, release: str) -> None:
        jvm = kafka_jvm(*(f"org.apache.kafka:kafka-{part}:{release}" for part in PARTS))
        self.release = release
        self.jvm, self.group_package = jvm, jvm.org.apache.kafka.coordinator.group
        utils = jvm.org.apache.kafka.common.utils
        self.log_context = (utils.LogContext if release.startswith("4.3") else utils.internals.LogContext)()

    def member(self, i: int, assignor: str | None) -> Any:
        """A static member."""
        builder = getattr(self.group_package.modern.consumer, "ConsumerGroupMember$Builder")(f"m{i}").setInstanceId(f"i{i}")
        return (builder if assignor is None else builder.setServerAssignorName(assignor)).build()

    def group(self, votes: tuple[str | None, ...]) -> Any:
        """A group whose members came in this order."""
        group = self.group_package.modern.consumer.ConsumerGroup(
            self.log_context, self.jvm.org.apache.kafka.timeline.SnapshotRegistry(self.log_context), "g"
        )
        for i, assignor in enumerate(votes):
            group.updateMember(self.member(i, assignor))
        return group

    def changes(self) -> Callable[..., bool] | None:
        """GroupMetadataManager.hasPreferredServerAssignorChanged, of a manager with a default assignor; or None."""
        manager = self.jvm.java.lang.Class.forName("org.apache.kafka.coordinator.group.GroupMetadataManager")
        unsafe = self.jvm.java.lang.Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe")
        unsafe.setAccessible(True)
        bare = unsafe.get(None).allocateInstance(manager)
        default = manager.getDeclaredField("defaultConsumerGroupAssignor")
        default.setAccessible(True)
        default.set(bare, self.group_package.assignor.UniformAssignor())
        method = next((one for one in manager.getDeclaredMethods() if one.getName() == "hasPreferredServerAssignorChanged"), None)
        if method is None:
            return None
        method.setAccessible(True)
        return lambda *arguments: method.invoke(bare, self.jvm.java.util.ArrayList(arguments).toArray())


@pytest.fixture(scope="module", params=COMPARED)
def kafka(request: pytest.FixtureRequest) -> Kafka:
    return Kafka(request.param)


def test_the_winner_of_the_votes(kafka: Kafka) -> None:
    for votes in VOTES:
        group, counts = kafka.group(votes), Counter(filter(None, votes))
        assert preferred(counts) == group.preferredServerAssignor().orElse(DEFAULT_ASSIGNOR), votes
        for i, own in enumerate(votes):
            member = kafka.member(i, own)
            expected = group.computePreferredServerAssignor(member, member).orElse(DEFAULT_ASSIGNOR)
            assert preferred(counts, own or "") == expected, (votes, i)


def test_heartbeats_that_change_the_winner(kafka: Kafka) -> None:
    """For every group and every member, with the assignor that it asks for and with each other."""
    has_changed = kafka.changes()
    assert (has_changed is not None) == (kafka.release in BUMPS_FOR_ASSIGNORS)
    for votes in VOTES if has_changed else ():
        group = kafka.group(votes)
        for i, former in enumerate(votes):
            for own in ASSIGNORS:
                after = Counter(filter(None, (*votes[:i], own, *votes[i + 1 :])))
                expected = has_changed(group, kafka.member(i, former), kafka.member(i, own))
                assert changes_preferred(after, own, former or "") == expected, (votes, i, own)


def answered(client: FlaskClient, release: str, members: int, *more: dict[str, Any]) -> list[tuple[int, int, str]]:
    """The rebalances after the forming of a group of static members that change to ``range``, 21 s one after the other."""
    change = {"at_ms": 60_000, "type": "assignor_changes", "assignors": ["range"], "down_ms": 1_000, "pause_ms": 20_000}
    answer = client.post(
        "/v1/group-rebalances",
        json={
            "kafka_version": release,
            "group_protocol": "consumer",
            "assignor": "uniform",
            "topics": [{"topic_name": "t", "partitions_count": 6}],
            "members": [{"member_id": f"c{i}", "instance_id": f"i{i}"} for i in range(members)],
            "events": [change, *more],
        },
    ).get_json()
    assert answer["kafka_version"] == release
    rows = [(one["at_ms"], one["group_epoch"], one["assignor"]) for one in answer["rebalances"]]
    return [row for row in rows if row[0]]


def test_static_members_that_change_the_assignor_raise_the_epoch_since_4_4(client: FlaskClient) -> None:
    """The third of four tips the scale; up to 4.3.1, only the next change of the group lets them have ``range``."""
    assert answered(client, "4.4.0", 4) == [(103_000, 6, "range")]
    assert answered(client, "4.3.1", 4) == []
    created = {"at_ms": 400_000, "type": "partitions_added", "topic_name": "t", "partitions_count": 9}
    assert [row[1:] for row in answered(client, "4.3.1", 4, created)] == [(6, "range")]
    assert [row[1:] for row in answered(client, "4.4.0", 4, created)] == [(6, "range"), (7, "range")]


def test_two_members_with_two_assignors_rebalance_at_each_heartbeat_of_one(client: FlaskClient) -> None:
    """``uniform`` has the vote of one, ``range`` of the other, which counts itself first: hasPreferredServerAssignorChanged."""
    rows = answered(client, "4.4.0", 2)
    assert rows[:-1] == [(61_000 + 5_000 * i, 4 + i, "range") for i in range(5)]
    assert rows[-1] == (82_000, 9, "range")
