"""The timeline of a question: its names become indices."""

from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from service.core.assignors import Assignor
from service.core.errors import InvalidQuestion
from service.core.jvm.sorting import java_order
from service.core.model import NONE, Float64s, Group, Int32s, Ragged, Topics, offsets_of
from service.decisions.groups.rows import read_group
from service.decisions.rebalances.question import RebalancesQuestion, Row, assignor_changes, strategy, timing
from service.planner.member_ids import default_client_id
from service.planner.timelines.model import Event, NewMember, Timeline, World

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
            ids = (member.get("member_id", ""), member.get("instance_id"))
            fields["member"] = NewMember(*ids, rack_id, subscription, member.get("member_name"))
        if "topic_names" in row:
            fields["topics"] = self.topics(row["topic_names"])
        if "topic" in row:
            fields |= {"topic": self.index[row["topic"]["topic_name"]], "partitions_count": row["topic"]["partitions_count"]}
        if "topic_name" in row:
            fields["topic"] = self.index[row["topic_name"]]
        return Event(**fields)


def read_timeline(question: RebalancesQuestion, detail: str, most_explained: int) -> Timeline:
    """The timeline of a checked question. Raises InvalidQuestion for owned partitions that a stable group cannot have."""
    topics, created_by = _topics(question)
    try:
        group = read_group(topics, question.members)
    except InvalidQuestion as fault:
        _locate(fault, len(question.topics), created_by)
        raise
    created = np.array([i for i, name in enumerate(group.topics.names) if name in created_by], np.int32)
    _check_owned(group, created, shared=question.protocol == "share")
    names, changes = Names.of(question), assignor_changes(question, question.protocol)
    events = tuple(names.event(row, changes.get(i)) for i, row in enumerate(question.events))
    world, to_world = _world(group.topics, created, names, events)
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
        random_seed=question.random_seed or 0,
        client_id=default_client_id(strategy(question).name.partition(":")[0], question.group_id),
    )


def _topics(question: RebalancesQuestion) -> tuple[pa.StructArray, dict[str, int]]:
    """Every topic of the group, then every other one that an event creates; and of these, by name, the number of the event.

    Raises InvalidQuestion for a topic that is created again, but not as it was: a name stands for one topic.
    """
    own = question.topics
    rows: dict[str, Row] = {}
    formers: dict[str, Row] = {}
    created_by: dict[str, int] = {}
    places = {name: i for i, name in enumerate(own.field("topic_name").to_pylist())}
    for i, event in enumerate(question.events):
        if "topic" not in event:
            continue
        topic = event["topic"]
        name = topic["topic_name"]
        if name not in places and name not in rows:
            rows[name], created_by[name] = topic, i
            continue
        if name not in rows and name not in formers:
            formers[name] = own[places[name]].as_py()
        former = rows.get(name) or formers[name]
        for field in ("topic_id", "partition_racks", "partition_weights"):
            given, was = topic.get(field), former.get(field)
            if given is not None and (was is None or given != was[: len(given)]):
                detail = f"Must be absent or as before: the simulation has one {field} for each topic name."
                raise InvalidQuestion(detail, "events", i, "topic", field)
    if not rows:
        return own, {}
    return pa.concat_arrays([own, pa.array(list(rows.values()), own.type)]), created_by


def _locate(fault: InvalidQuestion, own: int, created_by: dict[str, int]) -> None:
    """Locate what is wrong with created topics at their events. own : how many topics come before them"""
    events = list(created_by.values())
    for one in (fault, *fault.others):
        if one.field[:1] == ("topics",) and isinstance(place := one.field[1], int) and place >= own:
            one.field = ("events", events[place - own], "topic", *one.field[2:])


def _check_owned(group: Group, created: Int32s, *, shared: bool) -> None:
    """Raise InvalidQuestion if a stable group could not own what its members say. created : topics that come later"""
    members, values = group.owned.row_of_each_value(), group.owned.values
    exists = np.zeros(group.total_partitions, np.bool_)
    exists[: group.topics.partitions_count] = ~np.isin(group.topics.topic_of, created)
    wrong = np.flatnonzero(~exists[values])
    if len(wrong):
        detail = "Owns partitions that do not exist; a stable group does not."
        raise InvalidQuestion(detail, "members", int(members[wrong[0]]), "owned_partitions")
    order = np.argsort(values, kind="stable")
    again = order[1:][values[order][1:] == values[order][:-1]]
    if len(again) and not shared:
        detail = "Owns a partition that another member owns, too; in a stable group each has one owner."
        raise InvalidQuestion(detail, "members", int(members[again.min()]), "owned_partitions")


def _world(topics: Topics, created: Int32s, names: Names, events: tuple[Event, ...]) -> tuple[World, Int32s]:
    """Every topic at its largest; and int32[partitions], the index of each partition of these topics among those.

    topics : with those that are created at their first size; created : which these are
    """
    places = np.array([names.index[name] for name in topics.names], np.int32)
    most = np.zeros(len(names.names), np.int32)
    most[places] = topics.partitions_counts()
    counts = most.copy()
    counts[places[created]] = 0
    ids: list[str | None] = [None] * len(counts)
    for place, topic_id in zip(places.tolist(), topics.ids, strict=True):
        ids[place] = topic_id
    for event in events:
        if event.topic != NONE:
            most[event.topic] = max(most[event.topic], event.partitions_count)
    first = offsets_of(most)
    own = topics.partitions_counts()
    starts = np.repeat(first[places] - topics.first[:-1], own)
    to_world = (starts + np.arange(topics.partitions_count)).astype(np.int32)
    racks = leader_racks = None
    if topics.racks is not None and topics.leader_racks is not None:
        lengths = np.zeros(int(first[-1]), np.int32)
        lengths[to_world] = topics.racks.lengths()
        racks = Ragged.of_lengths(lengths, topics.racks.values)
        leader_racks = np.full(int(first[-1]), NONE, np.int32)
        leader_racks[to_world] = topics.leader_racks
    weights = None if topics.weights is None else _weights(topics.weights, to_world, first)
    unknown = None if topics.unknown is None else np.isin(np.arange(first[-1]), to_world[topics.unknown])
    listed = places if topics.listed is None else places[topics.listed]
    return World(names.names, tuple(ids), first, counts, listed, racks, leader_racks, weights, unknown), to_world


def _weights(own_weights: Float64s, to_world: Int32s, first: Int32s) -> Float64s:
    """float64[world's partitions]: as given, and for partitions that are added the mean of their topic."""
    weights = np.full(int(first[-1]), np.nan)
    weights[to_world] = own_weights
    topics, is_given = np.repeat(np.arange(len(first) - 1), np.diff(first)), ~np.isnan(weights)
    given = np.bincount(topics[is_given], minlength=len(first) - 1)
    means = np.bincount(topics[is_given], weights[is_given], minlength=len(first) - 1) / np.maximum(given, 1)
    return np.where(is_given, weights, means[topics])
