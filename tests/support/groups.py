"""Random groups, as bodies of POST /v1/group-assignments, and the way from a body to the core's arrays and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from service.api.groups import schema
from service.decisions.groups.rows import read_group

if TYPE_CHECKING:
    import pyarrow as pa

    from service.core.model import Group, Ragged

Body = dict[str, Any]

TOPIC_NAMES = ("t", "t0", "t1", "t10", "t2", "T", "orders", "été", "\uffee", "\U0001f418")
"""The last two sort differently by code points and by UTF-16 units."""
MEMBER_IDS = (*(f"c{i}" for i in range(12)), "C1", "Ж", "\uffee", "\U0001f418", "é")
RACKS = ("a", "b", "c")

TOPICS, MEMBERS = schema.topics_field(), schema.members_field()


def group_of(body: Body) -> Group:
    """The group of a well-formed body."""
    return read_group(TOPICS.deserialize(body["topics"]), MEMBERS.deserialize(body["members"]))


def named(group: Group, assignment: Ragged) -> dict[str, list[tuple[str, int]]]:
    """member_id → its (topic_name, partition_id), in the assignment's order."""
    names = (*group.topics.names, *group.unknown_topic_names)
    given = {}
    for member, member_id in enumerate(group.member_ids):
        topics, ids = group.topic_partitions(assignment.row(member))
        given[member_id] = [(names[topic], int(partition_id)) for topic, partition_id in zip(topics, ids, strict=True)]
    return given


def flat(assignments: list[Body]) -> dict[str, list[tuple[str, int]]]:
    """An answer's ``assignments`` in the same form."""
    return {
        one["member_id"]: [(part["topic_name"], i) for part in one["partitions"] for i in part["partition_ids"]]
        for one in assignments
    }


def weights_of(count: int) -> st.SearchStrategy[Body]:
    """A topic's weights, whole numbers and others."""
    weights = st.lists(st.integers(0, 9) | st.floats(1e-100, 1e9), min_size=count, max_size=count)
    return st.fixed_dictionaries({"partition_weights": weights})


@st.composite
def bodies(draw: st.DrawFn, *, min_members: int = 0, racks: bool | None = None, sound: bool = False) -> Body:
    """Up to ten topics and members: static ones, racks that match or do not, unknown topics, odd previous assignments.

    racks : True and False settle whether there are any
    sound : every member subscribes to something, is of the same generation, and owns only partitions that exist
    """
    names = draw(st.lists(st.sampled_from(TOPIC_NAMES), max_size=8, unique=True))
    racked = draw(st.booleans()) if racks is None else racks
    weighed = draw(st.booleans())
    equal = draw(st.none() | st.integers(1, 7))
    topics = []
    for name in names:
        count = equal or draw(st.integers(1, 9))
        topic: Body = {"topic_name": name, "partitions_count": count}
        if racked and draw(st.integers(0, 5)):
            replicas = st.lists(st.sampled_from((*RACKS, "")), max_size=3)
            topic["partition_racks"] = draw(st.lists(replicas, min_size=count, max_size=count))
        topic |= draw(weights_of(count)) if weighed else {}
        topics.append(topic)
    counts = {topic["topic_name"]: topic["partitions_count"] for topic in topics} if sound else {}
    ids = draw(st.lists(st.sampled_from(MEMBER_IDS), min_size=min_members, max_size=9, unique=True))
    subscription = st.lists(st.sampled_from((*TOPIC_NAMES, "unknown")), min_size=int(sound), unique=True)
    lists = draw(st.lists(subscription, min_size=1, max_size=3))
    members = []
    for member_id in ids:
        member: Body = {"member_id": member_id}
        if draw(st.integers(0, 2)):
            member["topic_names"] = draw(st.permutations(draw(st.sampled_from(lists))))
        if not draw(st.integers(0, 3)):
            member["instance_id"] = f"static-{draw(st.integers(0, 9))}-{len(members)}"
        if racked and draw(st.integers(0, 4)):
            member["rack_id"] = draw(st.sampled_from((*RACKS, "elsewhere", "")))
        if sound:
            member["generation_id"] = 3
        elif draw(st.booleans()):
            member["generation_id"] = draw(st.integers(-1, 3))
        if draw(st.booleans()):
            owned = draw(st.lists(st.sampled_from((*TOPIC_NAMES, "unknown")), max_size=4))
            member["owned_partitions"] = [
                {"topic_name": name, "partition_ids": draw(st.lists(st.integers(0, counts.get(name, 11) - 1), max_size=4))}
                for name in owned
            ]
        members.append(member)
    return {"topics": topics, "members": members}


def as_rows(arrow: pa.StructArray) -> list[Body]:
    """What a ``Rows`` field read, without the members that are null."""
    return [{name: value for name, value in row.items() if value is not None} for row in arrow.to_pylist()]
