"""A real broker loads the assignor, and groups of the consumer protocol that ask for it get its assignments."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer

if TYPE_CHECKING:
    from tests.support.broker import Broker

pytestmark = pytest.mark.slow


def test_a_group_that_asks_for_it_is_assigned_by_it(broker: Broker, client) -> None:
    """Three members; the broker's target is a fixed point of the service's ``balanced``, and as even as can be."""
    topic = broker.topic(7)
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "balanced-by-the-broker",
        "group.protocol": "consumer",
        "group.remote.assignor": "balanced",
    }
    consumers = []
    for members in range(1, 4):
        consumers.append(Consumer(settings))
        consumers[-1].subscribe([topic])
        deadline = time.monotonic() + 120
        while sorted(len(each.assignment()) for each in consumers) != sorted((7 + i) // members for i in range(members)):
            assert time.monotonic() < deadline
            for each in consumers:
                each.poll(0.05)
    owned = {each.memberid(): sorted(part.partition for part in each.assignment()) for each in consumers}
    for each in consumers:
        each.close()
    body = {
        "group_protocol": "consumer",
        "assignor": "balanced",
        "topics": [{"topic_name": topic, "partitions_count": 7}],
        "members": [
            {"member_id": member, "owned_partitions": [{"topic_name": topic, "partition_ids": ids}]}
            for member, ids in owned.items()
        ],
    }
    answer = client.post("/v1/group-assignments", json=body).get_json()
    assert {each["member_id"]: each["partitions"][0]["partition_ids"] for each in answer["assignments"]} == owned
