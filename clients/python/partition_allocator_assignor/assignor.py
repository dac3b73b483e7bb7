"""kafka-python's cooperative-sticky assignor, which takes the service's advice if that comes in time and is sound.

The leader computes cooperative-sticky's answer first, which is then in hand: kafka-python assigns on the thread that also sends
heartbeats. Source: KIP-429; ``RemoteAssignor`` of clients/java does the same for Java consumers.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from partition_allocator_assignor.group import Assignment, Group, Partition, revoked_first
from partition_allocator_assignor.service import FAILURES, CircuitBreaker, Refused, Service, assignment_of, judged

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

log = logging.getLogger(__name__)


class RemoteAssignor(AbstractPartitionAssignor):
    """``KafkaConsumer(partition_assignment_strategy=[RemoteAssignor("http://…", group_id=…), CooperativeStickyAssignor])``.

    url : of the service
    group_id : of the consumer, for the service's log and metrics
    token : a bearer token of scope ``groups``, or a function that returns one
    timeout_ms, session_timeout_ms : a rebalance waits for the answer no longer than the first, and a tenth of the second
    max_moves : the most partitions that may change owners; None: no limit
    weights : a function that returns (topic, partition id) → weight, or None if what it knows is too old; None: all alike
    ssl_context : for https; None: the system's authorities

    ``outcomes`` counts rebalances that this member led: ``remote`` (as the service says), ``follow-up`` (the end of that, after
    revocations), and reasons for which cooperative-sticky alone assigned.
    """

    name = "partition-allocator"

    def __init__(
        self,
        url: str,
        *,
        group_id: str,
        token: str | Callable[[], str] | None = None,
        timeout_ms: int = 1000,
        session_timeout_ms: int = 10_000,
        max_moves: int | None = None,
        weights: Callable[[], dict[Partition, float] | None] | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.outcomes: Counter[str] = Counter()
        self._inner = CooperativeStickyAssignor()
        self._service = Service(url, token, ssl_context, min(timeout_ms, session_timeout_ms / 10) / 1000)
        self._breaker = CircuitBreaker()
        self._group_id, self._max_moves, self._weights = group_id, max_moves, weights
        self._unfinished: tuple[Group, Assignment] | None = None
        """A target of which some partitions were withheld until their owners have revoked them."""
        self._led = False

    def supported_protocols(self) -> list[Any]:
        """The inner assignor's."""
        return list(self._inner.supported_protocols())

    def metadata(self, topics: set[str]) -> Any:
        """The inner assignor's."""
        return self._inner.metadata(topics)

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """What the inner assignor remembers; and if another member leads, nothing of an own target."""
        self._inner.on_assignment(assignment, generation)
        if not self._led:
            self._unfinished = None
        self._led = False

    def assign(self, cluster: Any, members: list[Any]) -> dict[str, Any]:
        """Assign the group. Raises only what the inner assignor itself would."""
        local = self._inner.assign(cluster, members)
        self._led = True
        try:
            assigned = self._advised(cluster, members, local)
        except Refused as refused:
            self._count(refused.outcome, str(refused))
        except Exception as error:
            self._unfinished = None
            log.exception("The advice for group %s failed", self._group_id)
            self._count("error", repr(error))
        else:
            if assigned is not None:
                return {member: self._encoded(partitions) for member, partitions in assigned.items()}
        return local

    def _advised(self, cluster: Any, members: list[Any], local: dict[str, Any]) -> Assignment | None:
        group = Group.of(cluster, members)
        if self._unfinished is not None and self._unfinished[0].is_like(group):
            self._count("follow-up", "")
            return self._carried_out(group, self._unfinished[1])
        self._unfinished = None
        if len(members) < 2 or not group.topics:
            return None  # there is nothing to advise
        weights = None
        if self._weights is not None and (weights := self._weights()) is None:
            raise Refused("stale-weights", "the weights are too old")
        if self._breaker.is_open:
            raise Refused("circuit-open", "the last requests failed")
        try:
            target = self._service.ask(
                lambda: group.body(self._group_id, self._max_moves, weights),
                lambda document: judged(
                    group, assignment_of(document), lambda: self._afterwards(cluster, members, local), self._max_moves, weights
                ),
                group.longest_answer(),
            )
        except Exception as error:
            self._breaker.record(failed=getattr(error, "outcome", "error") in FAILURES)
            raise
        self._breaker.record(failed=False)
        self._count("remote", "")
        return self._carried_out(group, {member: target.get(member, []) for member in group.subscriptions})

    def _carried_out(self, group: Group, target: Assignment) -> Assignment:
        now = revoked_first(group, target)
        self._unfinished = None if now == target else (group, target)
        return now

    def _afterwards(self, cluster: Any, members: list[Any], first: dict[str, Any]) -> Assignment:
        """What the inner assignor assigns when the members have revoked what its first answer takes from them."""
        again = [
            SimpleNamespace(
                member_id=member.member_id,
                metadata=SimpleNamespace(
                    topics=member.metadata.topics,
                    owned_partitions=[
                        SimpleNamespace(topic=part[0], partitions=part[1]) for part in _rows(first[member.member_id])
                    ],
                    generation_id=1,
                ),
            )
            for member in members
        ]
        final = CooperativeStickyAssignor().assign(cluster, again)
        return {member: [(topic, i) for topic, ids in _rows(assigned) for i in ids] for member, assigned in final.items()}

    def _encoded(self, partitions: list[Partition]) -> Any:
        of_topics = defaultdict(list)
        for topic, i in sorted(partitions):
            of_topics[topic].append(i)
        return ConsumerProtocolAssignment(self._inner.version, list(of_topics.items()), b"")

    def _count(self, outcome: str, detail: str) -> None:
        self.outcomes[outcome] += 1
        if outcome in {"remote", "follow-up"}:
            log.info("Group %s is assigned as the partition-allocator says (%s)", self._group_id, outcome)
        else:
            log.warning("Group %s is assigned by cooperative-sticky alone (%s): %s", self._group_id, outcome, detail)


def _rows(assignment: Any) -> list[tuple[str, list[int]]]:
    """(topic, partition ids) of an encoded assignment."""
    of_topics = defaultdict(list)
    for partition in assignment.partitions():
        of_topics[partition.topic].append(partition.partition)
    return list(of_topics.items())
