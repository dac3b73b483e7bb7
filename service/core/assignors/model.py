"""The description of an assignor, an assignor by its name, and the rules for those of plug-ins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from service.core.errors import LONGEST_NAME, InvalidQuestion
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Ragged
from service.core.registry import BrokenRule, Plugin, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from service.planner.balanced.balanced import TradeOff

# Assignors written in names: dicts in, dicts out, as Kafka's ConsumerPartitionAssignor has them; for plug-ins.
#
# Source of the shape: org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor.assign.

TopicPartition = tuple[str, int]


@dataclass(frozen=True)
class Subscription:
    """What a member says of itself (ConsumerPartitionAssignor.Subscription).

    owned_partitions : (topic name, partition id) of each, existing or not
    generation_id : the generation that the member was last in; -1 for none
    """

    topics: list[str]
    owned_partitions: list[TopicPartition]
    generation_id: int
    rack_id: str | None
    group_instance_id: str | None


def by_name(
    assign: Callable[[dict[str, int], dict[str, Subscription]], Mapping[str, Iterable[TopicPartition]]],
) -> Callable[[Group], Assignment]:
    """An assignor's ``run`` from a function of names.

    assign : ``assign(partitions_per_topic, subscriptions)``, by topic name and by member_id (members in request order), returns
        the (topic name, partition id) of each partition of each member; a member that it leaves out gets none
    The result raises BrokenRule for members and partitions that do not exist.
    """

    def run(group: Group) -> Assignment:
        names = group.topics.names
        counts = dict(zip(names, group.topics.partitions_counts().tolist(), strict=True))
        assigned = dict(assign(counts, _subscriptions(group)))
        first = dict(zip(names, group.topics.first.tolist(), strict=False))
        rows: list[list[int]] = []
        for member in group.member_ids:
            rows.append([])
            for topic, partition_id in assigned.pop(member, ()):
                if not 0 <= partition_id < counts.get(topic, 0):
                    raise BrokenRule(
                        f"partition {partition_id} of topic {topic!r}, assigned to member {member!r}, does not exist"
                    )
                rows[-1].append(first[topic] + partition_id)
        if assigned:
            raise BrokenRule(f"member {next(iter(assigned))!r} does not exist")
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        return Assignment(Ragged(offsets, np.array([partition for row in rows for partition in row], np.int32)))

    return run


def _subscriptions(group: Group) -> dict[str, Subscription]:
    topic_names = group.topic_names

    def owned(partitions: Int32s) -> list[TopicPartition]:
        topics, ids = group.topic_partitions(partitions)
        return [(topic_names[topic], partition_id) for topic, partition_id in zip(topics.tolist(), ids.tolist(), strict=True)]

    return {
        member_id: Subscription(
            topics=[topic_names[topic] for topic in group.subscriptions.row(member)],
            owned_partitions=owned(group.owned.row(member)),
            generation_id=int(group.generations[member]),
            rack_id=None if group.racks[member] == NONE else group.rack_ids[group.racks[member]],
            group_instance_id=group.instance_ids[member],
        )
        for member, member_id in enumerate(group.member_ids)
    }


@dataclass(frozen=True)
class Assignor(Strategy):
    """One way to assign a group.

    explain : how ``run`` arrived at its answer, as a JSON object: ``(group, its answer, most entries of a list)``; None if
        there is nothing to explain
    warnings : sentences that a reader of the answer to a group must know; None if there never are any
    setting : what selects it in the configuration of its client
    is_default : does its client use it, or put it first, if nothing is configured?
    limits_moves : does ``run`` take ``max_moves``, how many partitions may move?
    divides : does ``run`` take ``min_partitions`` and ``max_records``, by which it divides partitions into ranges of offsets?
    frontier : the trade-off of moves and evenness, ``(group, run)``; None if it has none
    on_racks : ``run`` with franz-go's ``BalanceRacks``; None if it has no such option
    drops_deleted : do its members give up partitions of deleted topics as soon as they see it, without a rebalance?
    wraps : the cooperative assignor that its clients list after it and whose protocol they follow: they carry an answer out in
        two rebalances, of which the first withholds what must be revoked (RemoteAssignor). None if it wraps none
    """

    explain: Callable[..., dict[str, Any]] | None = None
    warnings: Callable[[Group], list[str]] | None = None
    setting: str = ""
    is_default: bool = False
    limits_moves: bool = False
    divides: bool = False
    frontier: Callable[[Group, Callable[..., Assignment]], tuple[TradeOff, ...]] | None = None
    on_racks: Callable[[Group], Assignment] | None = None
    drops_deleted: bool = False
    wraps: Assignor | None = None

    @cached_property
    def protocol_name(self) -> str:
        """What members call it to the coordinator: the name without the client's."""
        return self.name.rpartition(":")[2]

    @cached_property
    def is_cooperative(self) -> bool:
        """Do its members keep what they own during a rebalance (KIP-429)?"""
        return self.wraps is not None or self.protocol_name == "cooperative-sticky"

    @property
    def listed(self) -> tuple[Assignor, ...]:
        """The ``partition.assignment.strategy`` of members that use it."""
        return (self,) if self.wraps is None else (self, self.wraps)

    def drawn(self, seed: int) -> Assignor:
        """The same, but what its library leaves to chance is that of one run, by a seed from 0 on (``Assignment.of_run``)."""
        on_racks = None if self.on_racks is None else _Drawn(self.on_racks, seed)
        return replace(self, run=_Drawn(self.run, seed), on_racks=on_racks)

    def of_release(self, kafka_version: str, client_version: str | None) -> Assignor:
        """Its form in a release of Kafka, and in that of its client, which is Kafka's for its own. Raises InvalidQuestion."""
        if client_version is None:
            return self.at(kafka_version)
        if self.implementation is None or self.implementation.client != "java":
            return self.at(kafka_version).of_client(client_version)
        known = self.kafka_versions
        release = next((each for each in reversed(known) if f"{each}.".startswith(f"{client_version}.")), None)
        if release is None:
            detail = f"{self.name} does not support release {client_version[:LONGEST_NAME]!r}; it supports {', '.join(known)}."
            raise InvalidQuestion(detail, "client_version")
        return self.at(release)


@dataclass(frozen=True)
class _Drawn:
    """An assignor's function, with one run in place of what all runs have in common; equal to another of the same."""

    function: Callable[..., Assignment]
    seed: int

    def __call__(self, group: Group, **options: Any) -> Assignment:
        return self.function(group, **options).of_run(self.seed)


# What an assignor from a plug-in must obey: checked for each of its answers, for none of a built-in's.
#
# *Rules*: ``rows`` and ``withheld`` have a row for each member and hold partitions that exist; a member gets only partitions of
# topics to which it subscribes, but in share groups may keep those of topics without subscribers, as with Kafka's own assignor;
# a partition goes to one member, in share groups to any number of them, but to each once; and every partition of a topic that
# has a subscriber goes to a member.


def guard(assignor: Assignor, plugin: Plugin, *, sharing: bool = False) -> Assignor:
    """The assignor, its functions guarded; raises ValueError for forms, which are for the releases of Kafka itself.

    sharing : may several members have one partition?
    """
    if assignor.forms:
        raise ValueError("forms are for the releases of Kafka itself")
    return replace(
        assignor,
        run=plugin.guarded(assignor.run, partial(checked, sharing=sharing)),
        explain=assignor.explain and plugin.guarded(assignor.explain),
        warnings=assignor.warnings and plugin.guarded(assignor.warnings),
    )


guard_sharing = partial(guard, sharing=True)
"""``guard`` for share groups."""


def checked(assignment: Any, group: Group, *, sharing: bool) -> Assignment:
    """The assignment, with arrays of int32; raises BrokenRule, which names the first offending partition and its member."""
    if not isinstance(assignment, Assignment):
        raise BrokenRule(f"it returned a {type(assignment).__name__}, not an Assignment")
    rows = _rows(assignment.rows, group)
    withheld = None if assignment.withheld is None else _rows(assignment.withheld, group)
    members, partitions = rows.row_of_each_value(), rows.values
    if withheld is not None:
        members = np.concatenate([members, withheld.row_of_each_value()])
        partitions = np.concatenate([partitions, withheld.values])
    topic_of = group.topics.topic_of
    subscribed = np.zeros(group.total_topics, np.bool_)
    subscribed[group.subscriptions.values] = True
    has_subscribers = subscribed[topic_of]
    _check_subscriptions(group, members, partitions, topic_of, may_keep=~has_subscribers & sharing)
    _check_repeats(group, members, partitions, sharing=sharing)
    forgotten = has_subscribers & (np.bincount(partitions, minlength=len(topic_of)) == 0)
    if forgotten.any():
        raise BrokenRule(f"{_name(group, np.argmax(forgotten))} has subscribers and is assigned to none of them")
    return Assignment(rows, withheld)


def _rows(rows: Any, group: Group) -> Ragged:
    """Rows of partitions, one for each member."""
    if not (isinstance(rows, Ragged) and all(_is_integers(array) for array in (rows.offsets, rows.values))):
        raise BrokenRule("rows and withheld must be Ragged, of one-dimensional integer arrays")
    offsets, values = rows.offsets, rows.values
    ends_meet = len(offsets) == len(group) + 1 and offsets[0] == 0 and offsets[-1] == len(values)
    if not ends_meet or (offsets[1:] < offsets[:-1]).any():
        raise BrokenRule(f"offsets must be {len(group) + 1} ascending integers, from 0 to the number of values")
    outside = (values < 0) | (values >= group.topics.partitions_count)
    if outside.any():
        at = int(np.argmax(outside))
        member = group.member_ids[int(np.searchsorted(offsets, at, side="right")) - 1]
        raise BrokenRule(f"partition {values[at]} of member {member!r} is not in [0, {group.topics.partitions_count})")
    return Ragged(offsets.astype(np.int32), values.astype(np.int32))


def _is_integers(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"


def _check_subscriptions(group: Group, members: Int32s, partitions: Int32s, topic_of: Int32s, *, may_keep: Bools) -> None:
    """may_keep : bool[partitions], those that need no subscription of a member that owns them."""
    foreign = ~_among(members, topic_of[partitions], group.subscriptions)
    foreign &= ~(may_keep[partitions] & _among(members, partitions, group.owned))
    if foreign.any():
        at = int(np.argmax(foreign))
        raise BrokenRule(
            f"{_name(group, partitions[at])} is assigned to member {group.member_ids[members[at]]!r}, "
            "which does not subscribe to the topic"
        )


def _among(members: Int32s, values: Int32s, rows: Ragged) -> Bools:
    """bool[members]: is each value in the row of the member beside it?"""
    width = np.int64(max(values.max(initial=0), rows.values.max(initial=0))) + 1
    return np.isin(members * width + values, rows.row_of_each_value() * width + rows.values)


def _check_repeats(group: Group, members: Int32s, partitions: Int32s, *, sharing: bool) -> None:
    order = np.lexsort((members, partitions))
    members, partitions = members[order], partitions[order]
    repeated = partitions[1:] == partitions[:-1]
    if sharing:
        repeated &= members[1:] == members[:-1]
    if repeated.any():
        at = int(np.argmax(repeated))
        first, second = (group.member_ids[member] for member in members[at : at + 2])
        whom = f"twice to member {first!r}" if first == second else f"to the members {first!r} and {second!r}"
        raise BrokenRule(f"{_name(group, partitions[at])} is assigned {whom}")


def _name(group: Group, partition: Any) -> str:
    """``partition 3 of topic 'orders'``."""
    topics, ids = group.topic_partitions(np.array([partition], np.int32))
    return f"partition {ids[0]} of topic {group.topics.names[topics[0]]!r}"
