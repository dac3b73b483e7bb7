"""The assignment that a caller expects, and partition counts of which one may be what the leader saw."""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from math import prod
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from marshmallow import Schema, ValidationError, fields

from service.core.errors import InvalidQuestion
from service.core.model import Group, Int64s
from service.core.rebalances.moves import Differences
from service.decisions.groups.rows import MEMBER, read_group
from service.web.fields import INT32, Integer, List, Name, TopicName, about

MAX_COMBINATIONS: Final = 64
"""Most combinations of partition counts that are tried."""

MAX_DIFFERENCES: Final = 20


class ExpectedTopicSchema(Schema):
    """Partitions of one topic."""

    topic_name = TopicName(required=True)
    partition_ids = List(Integer(minimum=0), required=True)


class ExpectedSchema(Schema):
    """What one member is expected to get."""

    member_id = Name(required=True)
    partitions = List(fields.Nested(ExpectedTopicSchema), required=True)


class AssignmentDifferenceSchema(Schema):
    """A partition whose members are not those expected."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    expected_member_ids = fields.List(fields.String(), metadata=about("empty: expected to be unassigned"))
    member_ids = fields.List(fields.String(), metadata=about("the members that get it; empty: unassigned"))


def expected_group(topics: pa.StructArray, members: pa.StructArray, expected: list[dict[str, Any]]) -> Group:
    """The group whose members own what they are expected to get."""
    ids = members.field("member_id").to_pylist()
    rows = {each["member_id"]: each["partitions"] for each in expected}
    owning = [{"member_id": member_id, "owned_partitions": rows.get(member_id, [])} for member_id in ids]
    return read_group(topics, pa.array(owning, MEMBER))


def expected_faults(members: pa.StructArray, expected: list[dict[str, Any]]) -> Iterator[InvalidQuestion]:
    """Members that are expected twice, or that the group does not have."""
    known = set(members.field("member_id").to_pylist()) if expected else set()
    named = set()
    for i, each in enumerate(expected):
        name = each["member_id"]
        if name in named:
            yield InvalidQuestion(f"Duplicate member_id {name!r}.", "expected", i, "member_id")
        elif name not in known:
            yield InvalidQuestion(f"{name!r} is not in `members`.", "expected", i, "member_id")
        named.add(name)


def without_candidates(body: dict[str, Any]) -> dict[str, Any]:
    """The body with the first of its candidates as each topic's partitions_count; raises ValidationError."""
    topics = body.get("topics")
    if not isinstance(topics, list) or not any(map(_has_candidates, topics)):
        return body
    faults: dict[int, Any] = {}
    for i, topic in enumerate(topics):
        fault = _fault(topic, body) if _has_candidates(topic) else None
        if fault is not None:
            faults[i] = {"partitions_count": [fault]}
    if not faults and prod(len(topic["partitions_count"]) for topic in topics if _has_candidates(topic)) > MAX_COMBINATIONS:
        raise ValidationError({"topics": [f"At most {MAX_COMBINATIONS} combinations of partition counts are tried."]})
    if faults:
        raise ValidationError({"topics": faults})
    first = [{**topic, "partitions_count": topic["partitions_count"][0]} if _has_candidates(topic) else topic for topic in topics]
    return {**body, "topics": first}


def _has_candidates(topic: Any) -> bool:
    return isinstance(topic, dict) and isinstance(topic.get("partitions_count"), list)


def _fault(topic: dict[str, Any], body: dict[str, Any]) -> str | None:
    counts = topic["partitions_count"]
    if body.get("expected") is None:
        return "Several counts can be tried only against `expected`."
    if topic.get("partition_weights") is not None:
        return "Several counts cannot be tried with partition_weights."
    if not 0 < len(counts) <= MAX_COMBINATIONS or not all(type(count) is int and 0 < count <= INT32 for count in counts):
        return f"Must be an integer, or a list of 1 to {MAX_COMBINATIONS} integers, from 1 to {INT32}."
    racks = topic.get("partition_racks")
    if isinstance(racks, list) and len(racks) < max(counts):
        return f"partition_racks must have an entry for each of {max(counts)} partitions, not {len(racks)}."
    return None


def counts_to_try(original: Any) -> list[dict[str, int]]:
    """Each combination of the candidates, by topic name, in the order of the lists; one without names if there are none."""
    topics = original.get("topics") if isinstance(original, dict) else None
    lists = (
        {topic["topic_name"]: topic["partitions_count"] for topic in topics or () if _has_candidates(topic)}
        if isinstance(topics, list)
        else {}
    )
    combinations = islice(product(*lists.values()), MAX_COMBINATIONS)
    return [dict(zip(lists, counts, strict=True)) for counts in combinations]


def largest_counts(topics: pa.StructArray, combinations: Sequence[dict[str, int]]) -> dict[str, int]:
    """The combination with the most partitions."""
    if len(combinations) == 1:
        return combinations[0]
    return max(combinations, key=lambda counts: sum(_chosen(topics, counts)))


def _chosen(topics: pa.StructArray, counts: dict[str, int]) -> list[int]:
    """The partition count of each topic, that of ``counts`` if it names the topic."""
    current = topics.field("partitions_count").to_pylist()
    return [counts.get(name, count) for name, count in zip(topics.field("topic_name").to_pylist(), current, strict=True)]


def with_counts(topics: pa.StructArray, counts: dict[str, int]) -> pa.StructArray:
    """The topics with these partition counts, and with the racks of these partitions only."""
    if not counts:
        return topics
    chosen = _chosen(topics, counts)
    columns = {"partitions_count": pa.array(chosen, pa.int32())}
    racks = topics.field("partition_racks")
    if racks.null_count < len(racks):
        columns["partition_racks"] = _first_rows(racks, np.array(chosen))
    kinds = list(topics.type)
    return pa.StructArray.from_arrays([columns.get(kind.name, topics.field(kind.name)) for kind in kinds], fields=kinds)


def _first_rows(lists: pa.ListArray, lengths: Int64s) -> pa.ListArray:
    """At most so many of the first values of each list. lengths : int64[lists]"""
    parents = np.array(pc.list_parent_indices(lists), np.int64)
    current = np.array(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    ends = np.cumsum(current)
    kept = np.arange(len(parents)) - (ends - current)[parents] < lengths[parents]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(current, lengths))]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, lists.flatten().filter(pa.array(kept)), lists.type, mask=lists.is_null())


def difference_documents(group: Group, differences: Differences) -> Iterator[dict[str, Any]]:
    """The first differences, as AssignmentDifferenceSchema has them. group : the one of ``expected_group``"""
    names = (*group.topics.names, *group.unknown_topic_names)
    topics, ids = group.topic_partitions(differences.partitions[:MAX_DIFFERENCES])
    for i, (topic, partition_id) in enumerate(zip(topics.tolist(), ids.tolist(), strict=True)):
        yield {
            "topic_name": names[topic],
            "partition_id": partition_id,
            "expected_member_ids": [group.member_ids[member] for member in differences.expected.row(i).tolist()],
            "member_ids": [group.member_ids[member] for member in differences.actual.row(i).tolist()],
        }
