"""The names of a timeline's body become indices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from marshmallow import ValidationError

from service.core.assignors import Assignor
from service.core.jvm.sorting import java_order
from service.core.model import NONE, Float64s, Group, Int32s, Ragged
from service.core.timelines.model import Event, NewMember, Timeline, Timing, World
from service.decisions.groups.rows import read_group


@dataclass(frozen=True)
class Names:
    """Every topic name of a body, in Java's order.

    index : of each name; everywhere : the topics of the request, to which a member without ``topic_names`` subscribes
    """

    names: tuple[str, ...]
    index: dict[str, int]
    everywhere: tuple[int, ...]

    @classmethod
    def of(cls, body: dict[str, Any]) -> Names:
        """The names of a body."""
        own: list[str] = body["topics"].field("topic_name").to_pylist()
        distinct = dict.fromkeys(own)
        distinct.update(dict.fromkeys(body["members"].field("topic_names").values.to_pylist()))
        for event in body["events"]:
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
        """A subscription; None is one to every topic of the request."""
        return self.everywhere if names is None else tuple(dict.fromkeys(self.index[name] for name in names))

    def new_member(self, body: dict[str, Any]) -> NewMember:
        """A member of an event."""
        return NewMember(
            body["member_id"], body.get("instance_id"), body.get("rack_id") or None, self.topics(body.get("topic_names"))
        )


def read_timeline(
    body: dict[str, Any],
    names: Names,
    protocol: str,
    assignor: Assignor,
    timing: Timing,
    events: tuple[Event, ...],
    detail: str,
) -> Timeline:
    """The timeline of a body whose parts are well-formed. Raises ValidationError for what does not fit together."""
    group = stable_group(body["topics"], body["members"], shared=protocol == "share")
    world, to_world = _world(group, names, body["events"], events)
    subscriptions = body["members"].field("topic_names").to_pylist()
    own_racks = [event.member.rack_id for event in events if event.member is not None and event.member.rack_id]
    rack_ids = tuple(dict.fromkeys((*group.rack_ids, *own_racks)))
    return Timeline(
        group_protocol=protocol,
        assignor=assignor,
        kafka_version=body["kafka_version"],
        world=world,
        group=replace(group, owned=Ragged(group.owned.offsets, to_world[group.owned.values]), rack_ids=rack_ids),
        subscriptions=tuple(names.topics(row) for row in subscriptions),
        timing=timing,
        events=events,
        detail=detail,
    )


def stable_group(topics: pa.StructArray, members: pa.StructArray, *, shared: bool) -> Group:
    """The group at 0 ms. Raises InvalidQuestion and ValidationError for what does not fit together."""
    group = read_group(topics, members)
    _check_owned(group, shared=shared)
    return group


def _check_owned(group: Group, *, shared: bool) -> None:
    """Raise ValidationError if a stable group could not own what its members say."""
    members = group.owned.row_of_each_value()
    unknown = np.flatnonzero(group.owned.values >= group.topics.partitions_count)
    if len(unknown):
        detail = "Owns partitions that do not exist; a stable group does not."
        raise ValidationError({"members": {int(members[unknown[0]]): {"owned_partitions": [detail]}}})
    order = np.argsort(group.owned.values, kind="stable")
    values = group.owned.values[order]
    again = order[1:][(values[1:] == values[:-1]) & (np.full(len(values) - 1, not shared) if len(values) else True)]
    if len(again):
        detail = "Owns a partition that another member owns, too; in a stable group each has one owner."
        raise ValidationError({"members": {int(members[again.min()]): {"owned_partitions": [detail]}}})


def _world(group: Group, names: Names, bodies: list[dict[str, Any]], events: tuple[Event, ...]) -> tuple[World, Int32s]:
    """Every topic at its largest; and int32[the group's partitions], the index of each among those."""
    topics = group.topics
    counts = np.zeros(len(names.names), np.int32)
    places = np.array([names.index[name] for name in topics.names], np.int32)
    counts[places] = topics.partitions_counts()
    most = counts.copy()
    ids: list[str | None] = [None] * len(counts)
    for place, topic_id in zip(places.tolist(), topics.ids, strict=True):
        ids[place] = topic_id
    for event, body in zip(events, bodies, strict=True):
        if event.topic != NONE:
            most[event.topic] = max(most[event.topic], event.partitions_count)
            ids[event.topic] = body.get("topic", {}).get("topic_id") or ids[event.topic]
    first = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(most, out=first[1:])
    own = topics.partitions_counts()
    starts = np.repeat(first[places] - topics.first[:-1], own)
    to_world = (starts + np.arange(topics.partitions_count)).astype(np.int32)
    racks = None
    if topics.racks is not None:
        lengths = np.zeros(int(first[-1]), np.int32)
        lengths[to_world] = topics.racks.lengths()
        racks = Ragged(np.append(0, np.cumsum(lengths)).astype(np.int32), topics.racks.values)
    weights = None if topics.weights is None else _weights(topics.weights, to_world, first, bodies, names)
    return World(names.names, tuple(ids), first, counts, racks, weights), to_world


def _weights(own_weights: Float64s, to_world: Int32s, first: Int32s, bodies: list[dict[str, Any]], names: Names) -> Float64s:
    """float64[world's partitions]: as given, and for partitions that are added the mean of their topic."""
    weights = np.full(int(first[-1]), np.nan)
    weights[to_world] = own_weights
    for i, body in enumerate(bodies):
        if "topic" in body:
            own = body["topic"].get("partition_weights")
            if own is None or len(own) != body["topic"]["partitions_count"]:
                fault = "Must have one entry for each partition, because the other topics have partition_weights."
                raise ValidationError({"events": {i: {"topic": {"partition_weights": [fault]}}}})
            start = first[names.index[body["topic"]["topic_name"]]]
            weights[start : start + len(own)] = own
    for start, stop in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        missing = np.isnan(weights[start:stop])
        if missing.any():
            weights[start:stop][missing] = 0.0 if missing.all() else float(weights[start:stop][~missing].mean())
    return weights
