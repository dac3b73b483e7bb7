"""Real groups on a real broker whose leader asks the service: none loses a record or stops, whatever the service does."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack
from itertools import count

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.advisers import advising, faults
from tests.support.jvm import KAFKA, compiled
from tests.support.parity import command
from tests.support.readers import COOPERATIVE, RANGE, REMOTE, Group, groups
from tests.support.serving import free_port

pytestmark = pytest.mark.slow

DEADLINE_MS = 1_000
FAULTS = {
    name: outcome
    for name, (outcome, _) in faults(None).items()
    if name in {"after ten seconds", "503", "nonsense", "another group's partitions"}
}
NUMBERS = count()
BOTH = (REMOTE, COOPERATIVE)


@pytest.fixture
def started():
    with groups() as made:
        yield made


@pytest.fixture
def adviser():
    with advising() as running:
        yield running


def a_group(broker, started, url, partitions=6, **config):
    started.append(Group(broker, f"advised-{next(NUMBERS)}", partitions, partition_allocator_url=url, **config))
    return started[-1]


def test_no_record_is_lost_and_no_group_stands_still_whatever_the_service_does(broker, started):
    """For each fault a group of two members; then the fault begins, a third one comes, and the first, the leader, goes."""
    with ExitStack() as stack:
        advisers = {name: stack.enter_context(advising()) for name in (*FAULTS, "none")}
        urls = {name: adviser.url for name, adviser in advisers.items()}
        urls |= {"killed": f"http://127.0.0.1:{free_port()}", "alone": "http://127.0.0.1:1"}
        led = {name: a_group(broker, started, url, session_timeout_ms=10 * DEADLINE_MS) for name, url in urls.items()}

        def after(change):
            """Each group, changed, evens out again, and reads on."""
            for name, group in led.items():
                change(name, group)
                group.produce()
            for group in led.values():
                group.wait()

        def joined(name, group):
            group.join(*([COOPERATIVE] if name == "alone" else BOTH))

        after(joined)
        after(joined)
        for name in FAULTS:
            advisers[name].fault = faults(advisers[name])[name][1]
        after(joined)
        after(lambda _, group: group.leave(group.readers[0]))
        for group in led.values():
            group.wait(lambda group=group: not group.missing())
        check_outcomes({name: group.outcomes() for name, group in led.items() if name != "alone"})
        check_standstill(led)
    log = broker.log.read_text().splitlines()
    assert not [line for line in log if "has failed" in line and any(group.group_id in line for group in led.values())]


def check_outcomes(outcomes):
    """Each fault has been met; without one, the service has assigned."""
    for name, outcome in FAULTS.items():
        assert outcomes[name][f"local-{outcome}-total"] >= 1
    assert outcomes["killed"]["local-unreachable-total"] >= 1
    local = {each for each in outcomes["none"] if each.startswith("local")}
    assert local <= {"local-timeout-total"}  # on a busy machine
    assert outcomes["none"]["remote-total"] >= 1


def check_standstill(led):
    """No rebalance took longer than the deadline, and what cooperative-sticky takes alone on a machine that is as busy."""
    alone = max(reader.metric("rebalance-latency-max") for reader in led["alone"].readers)
    for group in led.values():
        slowest = max(reader.metric("rebalance-latency-max") for reader in group.readers)
        assert slowest < DEADLINE_MS + max(3_000, 10 * alone)


def test_a_leader_that_is_killed_within_assign_does_not_stop_the_group(broker, started, adviser):
    """It is killed by the service, when it asks, for which it has a tenth of the session's time: no less on a busy machine."""
    group = a_group(broker, started, adviser.url, session_timeout_ms=20_000, partition_allocator_timeout_ms=2_000)
    group.produce()
    doomed = group.join(*BOTH)
    properties = json.dumps(doomed.properties | {"client.id": "doomed", "enable.auto.commit": "false"})
    group.leave(doomed)
    consumer = command("OneConsumer.java", f"org.apache.kafka:kafka-clients:{KAFKA}", more_classes=compiled("clients/java"))
    process = subprocess.Popen([*consumer, properties, group.topic], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(_, rows):
        process.kill()
        process.wait()
        return rows

    try:
        group.wait(lambda: group.assignor() == "partition-allocator")
        adviser.fault = kill
        survivor = group.join(*BOTH)
        group.wait(lambda: process.poll() is not None)
        adviser.fault = None
    finally:
        process.kill()
        process.wait()
    group.wait()
    group.produce()
    group.wait(lambda: not group.missing())
    assert survivor.owned == group.partitions


def test_a_group_rolls_from_range_and_back_member_by_member(broker, started, adviser):
    """Two restarts of each member; while one lacks the class, the group uses what all have."""
    group = a_group(broker, started, adviser.url, partitions=4, session_timeout_ms=60_000)
    for _ in range(2):
        group.join(RANGE)
    used = []
    for strategy in ([REMOTE, COOPERATIVE, RANGE], BOTH, [COOPERATIVE]):
        for _ in range(2):
            group.produce()
            group.leave(group.readers[0])
            group.join(*strategy)
            group.wait()
            used.append(group.assignor())
    group.wait(lambda: not group.missing())
    assert used == [
        "range",
        "partition-allocator",
        "partition-allocator",
        "partition-allocator",
        "cooperative-sticky",
        "cooperative-sticky",
    ]
    assert adviser.asked


def test_a_returning_static_leader_keeps_its_partitions_without_a_request(broker, started, adviser):
    group = a_group(broker, started, adviser.url, session_timeout_ms=60_000)  # which nobody waits for
    first = group.join(*BOTH, group_instance_id="one")
    group.wait()
    second = group.join(*BOTH, group_instance_id="two")
    group.wait()
    asked = len(adviser.asked)
    assert asked >= 1
    group.leave(first)
    group.produce()
    group.join(*BOTH, group_instance_id="one")
    group.wait()
    group.wait(lambda: not group.missing())
    assert len(adviser.asked) == asked
    assert second.metric("rebalance-total") <= 3


def commit(broker, group_id, offsets):
    """Of a group without members. A broker that has just started is the coordinator of none for a while."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    wanted = [ConsumerGroupTopicPartitions(group_id, offsets)]
    for _ in range(300):
        done = admin.alter_consumer_group_offsets(wanted)[group_id].result(120)
        if not any(each.error for each in done.topic_partitions):
            return
        time.sleep(0.1)
    pytest.fail("no coordinator")


def test_the_leader_sends_lags_once_it_has_read_them_and_the_assignment_follows_them(broker, started, adviser):
    """One partition has as much lag as the three others: it makes up for all of them, where numbers would be even."""
    config = {
        "enable_auto_commit": "false",
        "partition_allocator_weights": "lag",
        "partition_allocator_weights_interval_ms": 5000,
    }
    group = a_group(broker, started, adviser.url, partitions=4, **config)
    for partition, records in enumerate((100, 37, 37, 36)):
        broker.produce(group.topic, [(None, "")] * records, partition=partition)
    commit(broker, group.group_id, [TopicPartition(group.topic, i, 5) for i in range(4)])

    def is_complete():
        return sum(reader.owned for reader in group.readers) == group.partitions and all(reader.owned for reader in group.readers)

    for _ in range(2):
        group.join(*BOTH)
    group.wait(is_complete)
    for _ in range(60):
        if "remote-total" not in group.outcomes():
            third = group.join(*BOTH)
            group.wait(is_complete)
            group.leave(third)
            group.wait(is_complete)
    assert "remote-total" in group.outcomes(), group.outcomes()
    (topic,) = adviser.asked[-1]["topics"]
    assert topic["partition_weights"] == [96, 33, 33, 32]
    group.wait(lambda: sorted(reader.owned for reader in group.readers) == [1, 3])
