"""Members of real groups: consumers of Java, librdkafka and kafka-python, which a thread polls until the block ends."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import kafka
import requests
from confluent_kafka import Consumer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.broker import Broker

_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
HEARTBEAT_MS = 500
"""In which members of classic groups hear of a rebalance; those of other groups are told their interval by the broker."""

ASSIGNORS = "org.apache.kafka.clients.consumer"


class Members:
    """The members of some groups."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._polls: list[Callable[[], Any]] = []
        self._closes: list[Callable[[], Any]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                for poll in self._polls:
                    poll()
            time.sleep(0.01)

    def close(self) -> None:
        """Close every consumer."""
        self._stop.set()
        self._thread.join()
        for close in self._closes:
            close()

    def _add(self, poll: Callable[[], Any], close: Callable[[], Any]) -> None:
        with self._lock:
            self._polls.append(poll)
        self._closes.append(close)

    def java(self, group_id: str, topics: list[str] | str, *, share: bool = False, **config: str) -> None:
        """A consumer of Kafka's own client. topics : names, or a regular expression that the broker resolves"""
        java = self.broker.java
        properties = java.java.util.Properties()
        settings = {"bootstrap.servers": self.broker.bootstrap, "group.id": group_id}
        if config.get("group_protocol") == "classic":
            settings["heartbeat.interval.ms"] = str(HEARTBEAT_MS)
        settings |= {f"{side}.deserializer": _DESERIALIZER for side in ("key", "value")}
        for name, value in (settings | {name.replace("_", "."): value for name, value in config.items()}).items():
            properties.put(name, value)
        package = java.org.apache.kafka.clients.consumer
        consumer = (package.KafkaShareConsumer if share else package.KafkaConsumer)(properties)
        consumer.subscribe(package.SubscriptionPattern(topics) if isinstance(topics, str) else topics)
        pause = java.java.time.Duration.ofMillis(20)
        self._add(lambda: consumer.poll(pause), consumer.close)

    def librdkafka(self, group_id: str, topics: list[str], **config: str) -> None:
        """A consumer of confluent-kafka."""
        settings = {"bootstrap.servers": self.broker.bootstrap, "group.id": group_id, "auto.offset.reset": "earliest"}
        settings["heartbeat.interval.ms"] = HEARTBEAT_MS
        consumer = Consumer(settings | {name.replace("_", "."): value for name, value in config.items()})
        consumer.subscribe(topics)
        self._add(lambda: consumer.poll(0.02), consumer.close)

    def kafka_python(self, group_id: str, topics: list[str], **config: Any) -> None:
        """A consumer of kafka-python."""
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.broker.bootstrap, group_id=group_id, heartbeat_interval_ms=HEARTBEAT_MS, **config
        )
        consumer.subscribe(topics)

        def run() -> None:  # one thread each: a member that joins waits for the others
            while not self._stop.is_set():
                consumer.poll(100)
            consumer.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._closes.append(thread.join)


@contextmanager
def members_of(broker: Broker) -> Iterator[Members]:
    """No members yet; those that are added leave with the block."""
    members = Members(broker)
    try:
        yield members
    finally:
        members.close()


def eventually(read: Callable[[], Any], holds: Callable[[Any], bool], seconds: float = 120) -> Any:
    """What ``read`` gives as soon as ``holds`` is true of it."""
    until = time.monotonic() + seconds
    while True:
        value = read()
        if holds(value):
            return value
        assert time.monotonic() < until, value
        time.sleep(0.3)


def metrics_at(port: int) -> dict[str, float]:
    """The samples of a metrics endpoint; none if nobody listens or answers yet."""
    try:
        text = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=120).text
    except (requests.ConnectionError, requests.Timeout):
        return {}
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}
