"""The timeline of a question: its names become indices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np

from service.core.assignors import Assignor
from service.core.errors import InvalidQuestion
from service.core.jvm.sorting import java_order
from service.core.model import NONE, Float64s, Group, Int32s, Ragged, offsets_of
from service.core.timelines.model import Event, NewMember, Timeline, World
from service.decisions.groups.rows import read_group
from service.decisions.rebalances.question import RebalancesQuestion, Row, assignor_changes, strategy, timing

PAUSE_MS: Final = 60_000
"""Between two restarts of an assignor_changes, by default."""

SAME: Final = (
    "at_ms",
    "type",
    "member_id",
    "for_ms",
    "new_member_id",
    "members_count",
    "partitions_count",
    "down_ms",
    "pause_ms",
)
"""The fields of an event that are the same in a timeline."""


@dataclass(frozen=True)
class Names:
    """Every topic name of a question, in Java's order.

    index : of each name; everywhere : the topics of the group, to which a member without ``topic_names`` subscribes
    """

    names: tuple[str, ...]
    index: dict[str, int]
    everywhere: tuple[int, ...]

    @classmethod
    def of(cls, question: RebalancesQuestion) -> Self:
        """The names of a question."""
        own: list[str] = question.topics.field("topic_name").to_pylist()
        distinct = dict.fromkeys(own)
        distinct.update(dict.fromkeys(question.members.field("topic_names").values.to_pylist()))
        for event in question.events:
            distinct.update(dict.fromkeys(event.get("topic_names", ())))
            distinct.update(dict.fromkeys(event.get("member", {}).get("topic_names") or ()))
            distinct.update(
                dict.fromkeys(name for name in (event.get("topic", {}).get("topic_name"), event.get("topic_name")) if name)
            )
        unordered = list(distinct)
        names = tuple(unordered[i] for i in java_order(unordered))
        index = {name: i for i, name in enumerate(names)}
        return cls(names, index, tuple(sorted(index[name] for name in own)))

    def topics(self, names: list[str] | None) -> tuple[int, ...]:
        """A subscription; None is one to every topic of the group."""
        return self.everywhere if names is None else tuple(dict.fromkeys(self.index[name] for name in names))

    def event(self, row: Row, change: tuple[str, Assignor] | None) -> Event:
        """An event. change : see ``assignor_changes``"""
        fields: dict[str, Any] = {name: row[name] for name in SAME if name in row}
        fields["new_member_ids"] = tuple(row.get("new_member_ids", ()))
        if change is not None:
            return Event(**{"pause_ms": PAUSE_MS, **fields}, group_protocol=change[0], assignors=(change[1],))
        if "member" in row:
            member = row["member"]
            subscription = self.topics(member.get("topic_names"))
            rack_id = member.get("rack_id") or None
            fields["member"] = NewMember(member["member_id"], member.get("instance_id"), rack_id, subscription)
        if "topic_names" in row:
            fields["topics"] = self.topics(row["topic_names"])
        if "topic" in row:
            fields |= {"topic": self.index[row["topic"]["topic_name"]], "partitions_count": row["topic"]["partitions_count"]}
        if "topic_name" in row:
            fields["topic"] = self.index[row["topic_name"]]
        return Event(**fields)


def read_timeline(question: RebalancesQuestion, detail: str, most_explained: int) -> Timeline:
    """The timeline of a checked question. Raises InvalidQuestion for owned partitions that a stable group cannot have."""
    group = read_group(question.topics, question.members)
    _check_owned(group, shared=question.protocol == "share")
    names, changes = Names.of(question), assignor_changes(question, question.protocol)
    events = tuple(names.event(row, changes.get(i)) for i, row in enumerate(question.events))
    world, to_world = _world(group, names, question.events, events)
    own_racks = [event.member.rack_id for event in events if event.member is not None and event.member.rack_id]
    return Timeline(
        group_protocol=question.protocol,
        assignor=strategy(question),
        kafka_version=question.kafka_version,
        world=world,
        group=replace(
            group,
            owned=Ragged(group.owned.offsets, to_world[group.owned.values]),
            rack_ids=tuple(dict.fromkeys((*group.rack_ids, *own_racks))),
        ),
        subscriptions=tuple(names.topics(row) for row in question.members.field("topic_names").to_pylist()),
        timing=timing(question, question.protocol),
        events=events,
        detail=detail,
        most_explained=most_explained,
    )


def _check_owned(group: Group, *, shared: bool) -> None:
    """Raise InvalidQuestion if a stable group could not own what its members say."""
    members, values = group.owned.row_of_each_value(), group.owned.values
    wrong = np.flatnonzero(values >= group.topics.partitions_count)
    if len(wrong):
        detail = "Owns partitions that do not exist; a stable group does not."
        raise InvalidQuestion(detail, "members", int(members[wrong[0]]), "owned_partitions")
    order = np.argsort(values, kind="stable")
    again = order[1:][values[order][1:] == values[order][:-1]]
    if len(again) and not shared:
        detail = "Owns a partition that another member owns, too; in a stable group each has one owner."
        raise InvalidQuestion(detail, "members", int(members[again.min()]), "owned_partitions")


def _world(group: Group, names: Names, rows: Sequence[Row], events: tuple[Event, ...]) -> tuple[World, Int32s]:
    """Every topic at its largest; and int32[the group's partitions], the index of each among those."""
    topics = group.topics
    counts = np.zeros(len(names.names), np.int32)
    places = np.array([names.index[name] for name in topics.names], np.int32)
    counts[places] = topics.partitions_counts()
    most = counts.copy()
    ids: list[str | None] = [None] * len(counts)
    for place, topic_id in zip(places.tolist(), topics.ids, strict=True):
        ids[place] = topic_id
    for event, row in zip(events, rows, strict=True):
        if event.topic != NONE:
            most[event.topic] = max(most[event.topic], event.partitions_count)
            ids[event.topic] = row.get("topic", {}).get("topic_id") or ids[event.topic]
    first = offsets_of(most)
    own = topics.partitions_counts()
    starts = np.repeat(first[places] - topics.first[:-1], own)
    to_world = (starts + np.arange(topics.partitions_count)).astype(np.int32)
    racks = None
    if topics.racks is not None:
        lengths = np.zeros(int(first[-1]), np.int32)
        lengths[to_world] = topics.racks.lengths()
        racks = Ragged.of_lengths(lengths, topics.racks.values)
    weights = None if topics.weights is None else _weights(topics.weights, to_world, first, rows, names)
    return World(names.names, tuple(ids), first, counts, racks, weights), to_world


def _weights(own_weights: Float64s, to_world: Int32s, first: Int32s, rows: Sequence[Row], names: Names) -> Float64s:
    """float64[world's partitions]: as given, and for partitions that are added the mean of their topic."""
    weights = np.full(int(first[-1]), np.nan)
    weights[to_world] = own_weights
    for i, row in enumerate(rows):
        if "topic" in row:
            own = row["topic"].get("partition_weights")
            if own is None or len(own) != row["topic"]["partitions_count"]:
                fault = "Must have one entry for each partition, because the other topics have partition_weights."
                raise InvalidQuestion(fault, "events", i, "topic", "partition_weights")
            start = first[names.index[row["topic"]["topic_name"]]]
            weights[start : start + len(own)] = own
    for start, stop in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        missing = np.isnan(weights[start:stop])
        if missing.any():
            weights[start:stop][missing] = 0.0 if missing.all() else float(weights[start:stop][~missing].mean())
    return weights
