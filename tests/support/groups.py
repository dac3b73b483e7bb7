"""Random groups, as bodies of POST /v1/group-assignments, and the way from a body to the core's arrays and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from service.api.group_schemas import MEMBER, TOPIC
from service.decisions.groups.rows import read_group
from tests.support.choices import choices

if TYPE_CHECKING:
    from random import Random

    from service.core.model import Group, Ragged

Body = dict[str, Any]

TOPIC_NAMES = ("t", "t0", "t1", "t10", "t2", "T", "orders", "été", "\uffee", "\U0001f418")
"""The last two sort differently by code points and by UTF-16 units."""
ANY_NAMES = (*TOPIC_NAMES, "unknown")
MEMBER_IDS = (*(f"c{i}" for i in range(12)), "C1", "Ж", "\uffee", "\U0001f418", "é")
RACKS = ("a", "b", "c")


def group_of(body: Body) -> Group:
    """The group of a body that is well-formed, which the schema need not say again: it would take half of the time."""
    return read_group(pa.array(body["topics"], TOPIC), pa.array(body["members"], MEMBER))


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


def weight(random: Random) -> float:
    """A whole number, or one of up to 1e9 that may be far smaller."""
    return random.randint(0, 9) if random.random() < 0.5 else float(f"{random.randint(1, 999)}e{random.randint(-100, 6)}")


def topics_of(random: Random, *, racked: bool) -> list[Body]:
    """Up to eight topics, all of one size or not, with weights or not."""
    weighed = random.random() < 0.5
    equal = random.choice((0, random.randint(1, 7)))
    topics = []
    for name in random.sample(TOPIC_NAMES, random.randint(0, random.choice((3, 8)))):
        count = equal or random.randint(1, 9)
        topic: Body = {"topic_name": name, "partitions_count": count}
        if racked and random.randint(0, 5):
            topic["partition_racks"] = [random.choices((*RACKS, ""), k=random.randint(0, 3)) for _ in range(count)]
        if weighed:
            topic["partition_weights"] = [weight(random) for _ in range(count)]
        topics.append(topic)
    return topics


def owned_partitions(random: Random, counts: dict[str, int]) -> list[Body]:
    """A member's claims, some of them twice. counts : of topics whose partitions alone are claimed"""
    return [
        {"topic_name": name, "partition_ids": random.choices(range(counts.get(name, 11)), k=random.randint(0, 4))}
        for name in random.choices(ANY_NAMES, k=random.randint(0, 4))
    ]


@st.composite
def bodies(draw: st.DrawFn, *, min_members: int = 0, racks: bool | None = None, sound: bool = False) -> Body:
    """Up to ten topics and members: static ones, racks that match or do not, unknown topics, odd previous assignments.

    racks : True and False settle whether there are any
    sound : every member subscribes to something, is of the same generation, and owns only partitions that exist
    """
    random = draw(choices())
    racked = random.random() < 0.5 if racks is None else racks
    topics = topics_of(random, racked=racked)
    counts = {topic["topic_name"]: topic["partitions_count"] for topic in topics} if sound else {}
    subscriptions = [random.sample(ANY_NAMES, random.randint(int(sound), len(ANY_NAMES))) for _ in range(random.randint(1, 3))]
    members = []
    for member_id in random.sample(MEMBER_IDS, random.randint(min_members, random.choice((4, 9)))):
        member: Body = {"member_id": member_id}
        if random.randint(0, 2):
            names = random.choice(subscriptions)
            member["topic_names"] = random.sample(names, len(names))
        if not random.randint(0, 3):
            member["instance_id"] = f"static-{random.randint(0, 9)}-{len(members)}"
        if racked and random.randint(0, 4):
            member["rack_id"] = random.choice((*RACKS, "elsewhere", ""))
        if sound:
            member["generation_id"] = 3
        elif random.random() < 0.5:
            member["generation_id"] = random.randint(-1, 3)
        if random.random() < 0.5:
            member["owned_partitions"] = owned_partitions(random, counts)
        members.append(member)
    return {"topics": topics, "members": members}


def as_rows(arrow: pa.StructArray) -> list[Body]:
    """What a ``Rows`` field read, without the members that are null."""
    return [{name: value for name, value in row.items() if value is not None} for row in arrow.to_pylist()]
