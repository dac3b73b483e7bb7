"""kafka-python: its group leader's assignors, all of the classic protocol.

Source: kafka.coordinator.assignors of each of RELEASES. Before 2.3.0 the leader does not know instance_ids.
"""

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from service.clients.names import by_member_id, static_first
from service.clients.python_sticky import Library
from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.classic.range import in_ranges, ranges_by
from service.core.assignors.model import Assignor
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Ragged
from service.core.ragged import grouped
from service.core.registry import Implementation, Later

# kafka-python's range: Kafka's algorithm without racks, over the members that its code remembers.
#
# Source: kafka.coordinator.assignors.range.RangePartitionAssignor (kafka-python 3.0.12). The previous assignment plays no part.

# Which members kafka-python's range and roundrobin assign to, and in which order they stand.
#
# Static members come first, by instance_id; then dynamic ones, by member_id. But the code groups the members, in the order of
# the JoinGroup response, by ``itertools.groupby``, which makes a group of each *run* of equal members, and keeps the last run
# of each kind. Of static, dynamic, static only the last two get partitions.
#
# Source: RangePartitionAssignor.assign, RoundRobinPartitionAssignor.assign (kafka-python 3.0.12).


def without_forgotten(group: Group, order: Int32s, rows: Ragged) -> Ragged:
    """The rows less the members that the code forgets.

    order : int32[members]   the member at each position
    rows : Ragged row → positions, ascending
    """
    static = np.array([instance_id is not None for instance_id in group.instance_ids], np.bool_)
    if static.all() or not static.any():
        return rows
    return rows.where(
        np.concatenate([np.empty(0, np.bool_), *(_are_remembered(static, order[rows.row(i)]) for i in range(len(rows)))])
    )


def warning(members: int) -> list[str]:
    """What a reader of the answer must know if so many members are forgotten."""
    sentence = (
        f"kafka-python assigns nothing to {members} of the members, although they subscribe to topics: static and dynamic "
        "members mix, and of each kind only those count that joined last, without one of the other kind between them."
    )
    return [sentence] if members else []


def _are_remembered(static: Bools, members: Int32s) -> Bools:
    """bool[members], whether each of some members is in the last run of static ones, or in the last of dynamic ones.

    static : bool[all members]; members : in any order, each once
    """
    in_turn = np.sort(members)
    changes = np.flatnonzero(np.diff(static[in_turn]))
    return members > in_turn[changes[-2]] if len(changes) > 1 else np.ones(len(members), np.bool_)


def assign_in_ranges(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    order = static_first(group)
    return in_ranges(group, order, without_forgotten(group, order, topic_subscribers(group, order)))


def warnings_in_ranges(group: Group) -> list[str]:
    """A sentence if members are forgotten by every topic that they subscribe to."""
    order = static_first(group)
    subscribers = topic_subscribers(group, order)
    return warning(len(np.setdiff1d(subscribers.values, without_forgotten(group, order, subscribers).values)))


# kafka-python's roundrobin: partitions are dealt to a circle of the members that its code remembers.
#
# The next partition goes to the next member of the circle. If that does not subscribe to its topic the code means to pass over
# it, but takes the pair of instance_id and member_id for a member_id, and throws. So only groups are assigned in which this never
# happens, as a rule those whose members all subscribe to the same topics.
#
# Source: kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor (kafka-python 3.0.12). The previous assignment and
# racks play no part.


def assign_in_turn(group: Group) -> Assignment:
    """Ragged member → partitions, ascending. Raises KafkaAssignorFails where the library throws."""
    circle = _circle(group)
    subscribers = topic_subscribers(group, np.arange(len(group), dtype=np.int32))
    topics = group.topics.topic_of
    read = np.flatnonzero(subscribers.lengths()[topics])
    turns = np.arange(len(read)) % max(1, len(circle))
    pairs = subscribers.row_of_each_value() * np.int64(len(group)) + subscribers.values
    throws = np.flatnonzero(~np.isin(topics[read] * np.int64(len(group)) + circle[turns], pairs))
    if len(throws):
        raise _fails(group, circle, int(turns[throws[0]]))
    owners = np.full(len(topics), NONE, np.int32)
    owners[read] = circle[turns]
    return Assignment(grouped(owners, len(group)))


def warnings_in_turn(group: Group) -> list[str]:
    """A sentence if members are forgotten."""
    return warning(len(group) - len(_circle(group)))


def _circle(group: Group) -> Int32s:
    """int32[...], the members that partitions are dealt to."""
    order = static_first(group)
    everybody = Ragged(np.array([0, len(group)], np.int32), np.arange(len(group), dtype=np.int32))
    return order[without_forgotten(group, order, everybody).values]


def _fails(group: Group, circle: Int32s, turn: int) -> KafkaAssignorFails:
    member, following = int(circle[turn]), int(circle[(turn + 1) % len(circle)])
    return KafkaAssignorFails(
        "KeyError",
        repr((group.instance_ids[following], group.member_ids[following])),
        cause=f"it is the turn of member {group.member_ids[member]!r}, which does not subscribe to the topic of the next "
        "partition, and the code that should pass over that member is wrong",
        remedy="let all members subscribe to the same topics, or use another assignor",
        library="kafka-python",
    )


# Which lists of assignors kafka-python accepts as ``partition_assignment_strategy``.
#
# All of a list must have a rebalance protocol in common, and each of its own assignors has one. So a group of its clients
# cannot go over from ``range`` to ``cooperative-sticky`` by two rolling restarts, as one of Java's clients can (KIP-429): no
# consumer is created with the list that has both, through which it would go. All its members must stop first.
#
# Source: ConsumerCoordinator._validate_rebalance_protocol, CooperativeStickyAssignor.supported_protocols (kafka-python 3.0.12).

SETTING: Final = "partition_assignment_strategy"


def check_list(assignors: tuple[Assignor, ...]) -> None:
    """Raise InvalidQuestion, in kafka-python's words, if no consumer is created with these assignors."""
    if len({assignor.is_cooperative for assignor in assignors}) > 1:
        raise InvalidQuestion(
            f"Specified {SETTING} assignors {[each.protocol_name for each in assignors]} do not support a common "
            "RebalanceProtocol. Mixing EAGER and COOPERATIVE assignors in a single consumer is not supported.",
            SETTING,
        )


classic_roundrobin = Later("service.core.assignors.classic.roundrobin")
sticky = Later("service.clients.python_sticky.sticky")

RELEASES: Final = ("1.4.7", "2.0.2", "2.0.6", "2.2.21", "2.3.3", "3.0.0", "3.0.11", "3.0.12")
RELEASE: Final = RELEASES[-1]

STICKY: Final = Library(
    "kafka-python",
    undoes=True,
    sorts=False,
    key_error="({!r}, ())",
    no_members=("TypeError", "'NoneType' object is not subscriptable"),
)
COOPERATIVE_STICKY: Final = replace(STICKY, sorts=True)
STICKY_UNTIL_3_0_11: Final = replace(STICKY, undoes=False)

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="kafka-python:range",
        run=assign_in_ranges,
        implementation=Implementation("kafka-python", RELEASE, "kafka.coordinator.assignors.range.RangePartitionAssignor"),
        client_releases=RELEASES,
        forms={"2.3.0": {}, "1.4.7": {"run": partial(ranges_by, by_member_id), "warnings": None}},
        summary="Kafka's range without racks; where static and dynamic members mix, some get nothing.",
        warnings=warnings_in_ranges,
        setting="partition_assignment_strategy=[RangePartitionAssignor]",
        is_default=True,
    ),
    Assignor(
        name="kafka-python:roundrobin",
        run=assign_in_turn,
        implementation=Implementation(
            "kafka-python", RELEASE, "kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor"
        ),
        client_releases=RELEASES,
        forms={"2.3.0": {}, "1.4.7": {"run": partial(classic_roundrobin.turns_by, by_member_id), "warnings": None}},
        summary="Partitions go in turn to the members; fails on most groups whose subscriptions differ.",
        warnings=warnings_in_turn,
        setting="partition_assignment_strategy=[RoundRobinPartitionAssignor]",
    ),
    Assignor(
        name="kafka-python:sticky",
        run=partial(sticky.assign, library=STICKY),
        implementation=Implementation(
            "kafka-python", RELEASE, "kafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor"
        ),
        client_releases=RELEASES[1:],
        forms={
            "3.0.12": {},
            "2.0.3": {"run": partial(sticky.assign, library=STICKY_UNTIL_3_0_11)},
            "2.0.2": {"run": partial(sticky.assign, library=replace(STICKY_UNTIL_3_0_11, rejoins=False))},
        },
        summary="As even as subscriptions allow, with few moves: the algorithm of Java's first sticky assignor.",
        setting="partition_assignment_strategy=[StickyPartitionAssignor]",
    ),
    Assignor(
        name="kafka-python:cooperative-sticky",
        run=partial(sticky.assign_cooperatively, library=COOPERATIVE_STICKY),
        implementation=Implementation(
            "kafka-python", RELEASE, "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor"
        ),
        client_releases=RELEASES[-3:],
        forms={
            "3.0.12": {},
            "3.0.0": {"run": partial(sticky.assign_cooperatively, library=replace(COOPERATIVE_STICKY, undoes=False))},
        },
        summary="As its sticky, but a moved partition stays unassigned until its previous owner has revoked it.",
        setting="partition_assignment_strategy=[CooperativeStickyAssignor]",
    ),
)
