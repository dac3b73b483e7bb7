"""``RemoteAssignor`` of clients/python, called by kafka-python: it takes sound advice, in time, and no other."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace

import pytest
from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from partition_allocator_assignor import RemoteAssignor

from tests.support.advisers import advising, faults
from tests.support.serving import DRIPS, dripping, free_port

DEADLINE_MS = 5_000
"""A busy machine is no reason for another outcome."""


@pytest.fixture
def adviser():
    with advising() as running:
        yield running


def assignor_of(url, **options):
    return RemoteAssignor(url, group_id="g", session_timeout_ms=10 * DEADLINE_MS, **{"timeout_ms": DEADLINE_MS, **options})


def assigned(assignor, topics, owned):
    """Member → its (topic, partition). topics : name → partitions; owned : the same as the result, before"""

    def ids(topic):
        return set(range(topics[topic])) if topic in topics else None

    cluster = SimpleNamespace(topics=lambda: set(topics), partitions_for_topic=ids)
    members = []
    for member, partitions in owned.items():
        names = sorted({topic for topic, _ in partitions})
        rows = [
            ConsumerProtocolSubscription.TopicPartition(
                topic=name, partitions=sorted(i for topic, i in partitions if topic == name)
            )
            for name in names
        ]
        metadata = ConsumerProtocolSubscription(version=1, topics=sorted(topics), user_data=b"", owned_partitions=rows)
        members.append(SimpleNamespace(member_id=member, metadata=metadata, group_instance_id=None))
    answer = assignor.assign(cluster, members)
    return {member: {(part.topic, part.partition) for part in answer[member].partitions()} for member in answer}


GROWN = {"a": {("t", i) for i in range(4)}, "b": {("t", i) for i in range(4, 7)}, "c": set()}


def test_the_service_assigns_and_the_second_rebalance_needs_no_request(adviser):
    assignor = assignor_of(adviser.url + "/", token=lambda: "t0")
    first = assigned(assignor, {"t": 7}, GROWN)
    assert adviser.tokens == ["Bearer t0"]
    assert [len(first[member]) for member in "abc"] == [3, 2, 0]
    second = assigned(assignor, {"t": 7}, first)
    assert [len(second[member]) for member in "abc"] == [3, 2, 2]
    assert assignor.outcomes == {"remote": 1, "follow-up": 1}
    assert len(adviser.asked) == 1


@pytest.mark.parametrize("name", faults(None))
def test_whatever_goes_wrong_cooperative_sticky_assigns(adviser, name):
    outcome, adviser.fault = faults(adviser)[name]
    if name == "cut off":
        adviser.fault = lambda *_: ("200 OK", {}, b'{"assignments": [')
    if name == "endless":
        adviser.fault = lambda *_: ("200 OK", {}, b" " * 1_000_000)
    assignor = assignor_of(adviser.url, timeout_ms=400 if outcome == "timeout" else DEADLINE_MS)
    assert assigned(assignor, {"t": 7}, GROWN) == assigned(CooperativeStickyAssignor(), {"t": 7}, GROWN)
    assert assignor.outcomes == {outcome: 1}


@pytest.mark.parametrize("place", DRIPS)
def test_an_answer_that_never_ends_is_left_behind_at_the_deadline(place):
    """That ``assign`` returns shows it, however busy the machine is."""
    with ThreadPoolExecutor(1) as pool, dripping(DRIPS[place]) as (url, connections):
        assignor = assignor_of(url.removesuffix("/jwks"), timeout_ms=400)
        begin = time.monotonic()
        given = pool.submit(assigned, assignor, {"t": 7}, GROWN).result(120)
        assert time.monotonic() - begin >= 0.4
        assert given == assigned(CooperativeStickyAssignor(), {"t": 7}, GROWN)
        assert assignor.outcomes == {"timeout": 1}
        assert len(connections) == 1


def test_after_three_failures_no_request_is_sent_for_a_while():
    assignor = assignor_of(f"http://127.0.0.1:{free_port()}")
    for _ in range(4):
        assigned(assignor, {"t": 7}, GROWN)
    assert assignor.outcomes == {"unreachable": 3, "circuit-open": 1}


def test_weights_and_the_most_moves_are_sent_and_weights_that_are_too_old_are_not(adviser):
    weights = {("t", i): 1 + (i == 0) for i in range(7)}
    assignor = assignor_of(adviser.url, weights=lambda: weights, max_moves=2)
    assigned(assignor, {"t": 7}, GROWN)
    (body,) = adviser.asked
    assert (body["max_moves"], body["topics"][0]["partition_weights"]) == (2, [2, 1, 1, 1, 1, 1, 1])
    assignor = assignor_of(adviser.url, weights=lambda: None)
    assigned(assignor, {"t": 7}, GROWN)
    assert assignor.outcomes == {"stale-weights": 1}


def test_nothing_goes_straight_from_one_owner_to_another_and_everything_arrives(adviser):
    draw = random.Random(1)
    for _ in range(20):
        topics = {f"t{i}": draw.randint(1, 6) for i in range(3)}
        owned = {f"m{i}": set() for i in range(draw.randint(2, 5))}
        for topic, size in topics.items():
            for i in range(size):
                owned[draw.choice(sorted(owned))].add((topic, i))
        adviser.fault = lambda body, rows: [(topic, i, draw.choice(body["members"])["member_id"]) for topic, i, _ in rows]
        assignor = assignor_of(adviser.url)
        for _ in range(4):  # the local answer, the service's, and its end
            after = assigned(assignor, topics, owned)
            added, revoked = (
                set().union(*(x[member] - y[member] for member in owned)) for x, y in ((after, owned), (owned, after))
            )
            assert not added & revoked
            owned = after
            if sum(map(len, owned.values())) == sum(topics.values()):
                break
        else:
            pytest.fail("some partitions are never assigned")


def read_until(over, consumer, read):
    """Read records until it is over, and leave the group."""
    with closing(consumer):
        while not over.is_set():
            # Longer than a rebalance: kafka-python's leader that rejoins because metadata changed forgets its new assignment,
            # and sends no more heartbeats, if ``poll`` returns before the rebalance has ended.
            for records in consumer.poll(timeout_ms=20_000).values():
                read.update((record.topic, record.partition, record.offset) for record in records)


@pytest.mark.slow
def test_real_consumers_are_assigned_by_the_service_and_read_everything(broker, adviser):
    """Two of kafka-python's; the one that led goes."""
    topic = broker.topic(4)
    written, read, over = set(), set(), [threading.Event(), threading.Event()]
    assignors = [assignor_of(adviser.url), assignor_of(adviser.url)]
    consumers = [
        KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap,
            group_id="g-python",
            partition_assignment_strategy=[assignor, CooperativeStickyAssignor],
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
        )
        for assignor in assignors
    ]

    def produce():
        """To all partitions, so that every ``poll`` returns."""
        for partition in range(4):
            records = [(None, str(i)) for i in range(10)]
            written.update((topic, *place) for place in broker.produce(topic, records, partition=partition))

    def wait(what):
        deadline = time.monotonic() + 180
        while not what():
            assert time.monotonic() < deadline, (assignors[0].outcomes, assignors[1].outcomes)
            time.sleep(0.05)

    threads = [threading.Thread(target=read_until, args=each) for each in zip(over, consumers, [read] * 2, strict=True)]
    try:
        for thread in threads:
            thread.start()
        wait(lambda: [len(consumer.assignment()) for consumer in consumers] == [2, 2])
        assert sum(each.outcomes["remote"] for each in assignors) >= 1
        over[0].set()
        produce()
        threads[0].join(120)
        wait(lambda: len(consumers[1].assignment()) == 4)
        produce()
        wait(lambda: written <= read)
    finally:
        for event in over:
            event.set()
        produce()
        for thread in threads:
            thread.join(120)
