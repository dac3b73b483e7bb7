"""Random consumer and share groups for property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from service.conformance.groups import own, uuid
from tests.support.choices import choices

if TYPE_CHECKING:
    from random import Random

    from service.core.documents import Json

MEMBER_IDS = (
    lambda _, i: f"c{i}",
    lambda _, i: f"member-{i:04d}",
    uuid,
    lambda _, i: ("é", "Ж", "東", "\U0001f418", "\uffee", "_")[i % 6] + str(i),
)


def topic(random: Random, i: int, *, ids: bool) -> Json:
    """A topic of a few partitions, or of some more."""
    name = random.choice(("t", "orders-", "été-")) + str(i)
    one: Json = {"topic_name": name, "partitions_count": random.randint(1, random.choice((2, 9, 60)))}
    if ids or random.random() < 0.7:
        one["topic_id"] = uuid(random, i)
    return one


@st.composite
def coordinator_bodies(draw: st.DrawFn, *, shared: bool = False, ids: bool = False) -> Json:
    """A group of up to 40 members: none, some or all of the partitions are somebody's; topics come and go.

    shared : a share group, in which several members may have a partition
    ids : every topic has an id, as Kafka's do
    """
    random = draw(choices())
    member_id = random.choice(MEMBER_IDS)
    topics = [topic(random, i, ids=ids) for i in range(random.randint(0, random.choice((1, 3, 8))))]
    names = [one["topic_name"] for one in topics] + ["unknown"] * random.randint(0, 1)
    equal = random.random() < 0.5
    members: list[Json] = []
    for i in range(random.randint(0, random.choice((2, 6, 14, 40)))):
        member: Json = {"member_id": member_id(random, i)}
        if equal or random.random() < 0.8:
            member["topic_names"] = random.sample(names, len(names) if equal else random.randint(0, len(names)))
        if random.random() < 0.2:
            member["instance_id"] = f"i{random.randint(0, 9)}-{i}"
        members.append(member)
    random.shuffle(members)
    own(random, topics, members, shared=shared)
    return {"topics": topics, "members": members}
