"""The assignor that brokers load assigns as the service's ``balanced`` does."""

from __future__ import annotations

import base64
import random
from functools import cache

import pytest

from service.strategies import GROUP_PROTOCOLS
from tests.support.groups import flat, group_of, named
from tests.support.jvm import compiled
from tests.support.parity import Assignors, coordinator_jars

ASSIGNOR = "partitionallocator.broker.BalancedAssignor"


@cache
def broker_side() -> Assignors:
    """A group coordinator that has the assignor."""
    return Assignors("GroupCoordinator.java", *coordinator_jars(), more_classes=compiled("brokers/java"))


def random_body(draw, topics_count, members_count, most_partitions):
    """A group in which everything is drawn: racks or none, one owner of a partition or several, owners that do not subscribe."""
    racked = draw.random() < 0.5
    topics = []
    for i in range(topics_count):
        topic = {"topic_name": f"t{i}", "partitions_count": draw.randint(1, most_partitions)}
        topic["topic_id"] = base64.urlsafe_b64encode(draw.randbytes(16)).decode().rstrip("=")
        if racked and draw.random() < 0.9:
            topic["partition_racks"] = [[rack for rack in "abc" if draw.random() < 0.5] for _ in range(topic["partitions_count"])]
        topics.append(topic)
    alike, share = draw.random() < 0.3, draw.choice([0, 0.5, 0.95])
    owned = [{} for _ in range(members_count)]
    for topic in topics:
        for partition in range(topic["partitions_count"] + (draw.random() < 0.1)):
            for _ in range(draw.choice([1, 1, 1, 2])):
                if draw.random() < share:
                    owned[draw.randrange(members_count)].setdefault(topic["topic_name"], set()).add(partition)
    members = []
    for i, of_member in enumerate(owned):
        rows = [{"topic_name": name, "partition_ids": sorted(ids)} for name, ids in of_member.items()]
        members.append({"member_id": f"{draw.randrange(1000)}-{i}", "owned_partitions": rows})
        if not alike:
            members[-1]["topic_names"] = [topic["topic_name"] for topic in topics if draw.random() < 0.6]
        if racked and draw.random() < 0.8:
            members[-1]["rack_id"] = draw.choice("abcd")
    return {"topics": topics, "members": members}


def differing(bodies):
    """The groups that the two assign differently."""
    balanced = GROUP_PROTOCOLS["consumer"]["balanced"]
    for body in bodies:
        group = group_of(body)
        assigned = named(group, balanced.run(group).rows)
        answer = broker_side().assign(ASSIGNOR, body)
        if flat(answer.get("assignments", [])) != assigned:
            yield body, answer, assigned


def test_it_assigns_hundreds_of_small_groups_as_the_service_does():
    draw = random.Random(31)
    bodies = (random_body(draw, draw.randint(1, 6), draw.randint(1, 8), 9) for _ in range(600))
    assert next(differing(bodies), None) is None


@pytest.mark.parametrize("seed", range(6))
def test_it_assigns_large_groups_as_the_service_does(seed):
    draw = random.Random(seed)
    assert next(differing([random_body(draw, 40, 30, 60)]), None) is None
