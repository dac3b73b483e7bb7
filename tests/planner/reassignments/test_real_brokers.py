"""Plans carried out by real brokers, batch by batch, while records are written and read."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

PATH = "/v1/reassignments"
RACKS = "aabbcc"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:(open|read)_text is deprecated:DeprecationWarning")]


@pytest.fixture(scope="module")
def cluster():
    from tests.support.broker_set import running_brokers  # noqa: PLC0415 (PySpark takes a second to import)

    with running_brokers(RACKS) as running:
        yield running


class Traffic:
    """A producer and a consumer of a topic, in threads, from the start of the block to its end."""

    def __init__(self, bootstrap, topic):
        self.bootstrap, self.topic = bootstrap, topic
        self.sent, self.read = set(), set()
        self.failed = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._consume)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(120)

    def _produce(self):
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "linger.ms": 5})

        def delivered(error, message):
            (self.failed.append(str(error)) if error else self.sent.add(message.value()))

        number = 0
        while not self._stop.wait(0.05):  # 400 records a second: brokers that have more to do prove no more
            for _ in range(20):
                producer.produce(self.topic, str(number).encode(), on_delivery=delivered)
                number += 1
            producer.poll(0)
        producer.flush(60)

    def _consume(self):
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self.topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([self.topic])
        end = None
        while end is None or time.monotonic() < end:
            for message in consumer.consume(500, 0.2):
                if message.error() is None:
                    self.read.add(message.value())
            if self._stop.is_set():
                end = end or time.monotonic() + 120
                if not self._threads[0].is_alive() and self.sent <= self.read:
                    break
        consumer.close()


def described(cluster, topic):
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return dict(sorted(admin.list_topics(topic, timeout=120).topics[topic].partitions.items()))


def placements(cluster, topic):
    return {partition: list(about.replicas) for partition, about in described(cluster, topic).items()}


def leaders_of(cluster, topic):
    return {partition: about.leader for partition, about in described(cluster, topic).items()}


def a_topic(cluster, name):
    """Ten partitions on the brokers 1 to 5, three replicas each on the three racks."""
    rows = [[1, 3, 5], [3, 5, 2], [5, 2, 4], [2, 4, 5], [4, 5, 1], [5, 1, 3], [3, 1, 5], [4, 2, 5], [1, 5, 4], [5, 3, 2]]
    from tests.support.broker import await_leaders  # noqa: PLC0415

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(name, len(rows), replica_assignment=rows)])[name].result(120)
    await_leaders(admin, name, len(rows))
    return name


def the_plan(client, cluster, topic):
    """Broker 2 is to be emptied, broker 6 to be filled."""
    brokers = [{"broker_id": node, "rack_id": rack, "draining": node == 2} for node, rack in cluster.racks.items()]
    rows = [{"partition_id": partition, "replicas": row} for partition, row in placements(cluster, topic).items()]
    limits = {"moves_per_broker": 2}
    body = {"objective": "even", "brokers": brokers, "topics": [{"topic_name": topic, "placements": rows}], "limits": limits}
    answer = client.post(PATH, json=body)
    assert answer.status_code == 200, answer.json
    return answer.json


def carry_out(cluster, reassignment):
    from kafka import TopicPartition  # noqa: PLC0415 (its import warns)
    from kafka.admin import KafkaAdminClient  # noqa: PLC0415

    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    try:
        wanted = {TopicPartition(row["topic"], row["partition"]): row["replicas"] for row in reassignment["partitions"]}
        assert set(admin.alter_partition_reassignments(wanted).values()) <= {None}
        deadline = time.monotonic() + 120
        while admin.list_partition_reassignments():
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        admin.close()


def settled(read, cluster, topic, wanted):
    """What is read of the topic, once it is what is wanted or two minutes have passed: metadata spreads a moment later."""
    deadline = time.monotonic() + 120
    while (now := read(cluster, topic)) != wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    return now


def test_a_cluster_ends_as_planned_and_loses_no_record(client, cluster):
    topic = a_topic(cluster, "planned")
    plan = the_plan(client, cluster, topic)
    assert len(plan["batches"]) > 1
    wanted = placements(cluster, topic) | {row["partition"]: row["replicas"] for row in plan["reassignment"]["partitions"]}
    with Traffic(cluster.bootstrap, topic) as traffic:
        for batch in plan["batches"]:
            carry_out(cluster, batch["reassignment"])
            time.sleep(0.5)
    assert settled(placements, cluster, topic, wanted) == wanted
    assert not traffic.failed
    assert len(traffic.sent) > 100
    assert traffic.sent <= traffic.read
    assert the_plan(client, cluster, topic)["batches"] == []


def test_a_cluster_is_as_before_after_the_first_batch_is_rolled_back(client, cluster):
    topic = a_topic(cluster, "rolled-back")
    before = placements(cluster, topic)
    batch = the_plan(client, cluster, topic)["batches"][0]
    with Traffic(cluster.bootstrap, topic) as traffic:
        carry_out(cluster, batch["reassignment"])
        changed = before | {row["partition"]: row["replicas"] for row in batch["reassignment"]["partitions"]}
        assert settled(placements, cluster, topic, changed) == changed != before
        carry_out(cluster, batch["rollback"])
    assert settled(placements, cluster, topic, before) == before
    assert not traffic.failed
    assert traffic.sent <= traffic.read


def test_leadership_leaves_a_demoted_broker_and_nothing_is_copied(client, cluster):
    from confluent_kafka import ElectionType, TopicPartition  # noqa: PLC0415

    topic = a_topic(cluster, "demoted")
    before = placements(cluster, topic)
    brokers = [{"broker_id": node, "rack_id": rack, "demoted": node == 5} for node, rack in cluster.racks.items()]
    rows = [{"partition_id": partition, "replicas": row} for partition, row in before.items()]
    body = {"brokers": brokers, "topics": [{"topic_name": topic, "placements": rows}], "leaders": "demote"}
    plan = client.post(PATH, json=body).json
    (batch,) = plan["batches"]
    assert plan["moves"]["replicas"] == 0
    wanted = before | {row["partition"]: row["replicas"] for row in batch["reassignment"]["partitions"]}
    elected = [TopicPartition(row["topic"], row["partition"]) for row in plan["preferred_leader_elections"]["partitions"]]
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    with Traffic(cluster.bootstrap, topic) as traffic:
        carry_out(cluster, batch["reassignment"])
        assert settled(placements, cluster, topic, wanted) == wanted
        assert set(admin.elect_leaders(ElectionType.PREFERRED, elected).result(120).values()) == {None}
        leaders = {i: row[0] for i, row in wanted.items()}
        assert settled(leaders_of, cluster, topic, leaders) == leaders
    assert all(row[-1] == 5 for row in wanted.values() if 5 in row)
    assert not traffic.failed
    assert traffic.sent <= traffic.read


@pytest.mark.parametrize("run", ["between_log_dirs", "rates_of_producers"])
def test_what_an_operator_does_at_a_terminal(cluster, tmp_path, run):
    """The plan for disks is executed by Kafka's own tool; the other plans are in ``python -m tests.runs.live_reassignments``."""
    from tests.runs import live_reassignments  # noqa: PLC0415 (it takes Traffic from here)

    operator = live_reassignments.Operator(cluster, tmp_path)
    getattr(live_reassignments, run)(operator)
    assert operator.report
