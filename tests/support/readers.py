"""Real Java consumers that read what a group is to read, and remember it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.broker import Broker

REMOTE = "partitionallocator.clients.RemoteAssignor"
COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"


@dataclass(eq=False)
class Reader:
    """One consumer, polled by a thread of its own until it is closed."""

    broker: Broker
    topic: str
    properties: dict[str, str]
    read: set[tuple[int, int]] = field(default_factory=set)
    """(partition, offset) of each record."""
    owned: int = 0
    """How many partitions it has."""
    failure: Exception | None = None
    _open: bool = True
    _thread: threading.Thread | None = None

    def start(self) -> Reader:
        """Join the group."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def _run(self) -> None:
        java = self.broker.java
        properties = java.java.util.Properties()
        for name, value in self.properties.items():
            properties.put(name, value)
        consumer = java.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
        consumer.subscribe([self.topic])
        pause = java.java.time.Duration.ofMillis(100)
        try:
            while self._open:
                records = consumer.poll(pause)
                for partition in records.partitions() if records.count() else ():
                    rows = records.records(partition)
                    first = rows[0].offset()
                    self.read.update((partition.partition(), first + i) for i in range(len(rows)))
                self.owned = consumer.assignment().size()
        except Exception as error:  # noqa: BLE001 (the test raises it)
            self.failure = error
        finally:
            self.owned = 0
            consumer.close()

    def close(self) -> None:
        """Leave the group, if it is a dynamic member."""
        self._open = False
        if self._thread is not None:
            self._thread.join(120)
        if self.failure is not None:
            raise self.failure

    def metric(self, name: str) -> float:
        """One of its coordinator's metrics."""
        bean = f"kafka.consumer:type=consumer-coordinator-metrics,client-id={self.properties['client.id']}"
        return float(_bean(self.broker.java, "getAttribute", bean, name))


class Group:
    """A group of readers of one topic."""

    def __init__(self, broker: Broker, group_id: str, partitions: int, **config: Any) -> None:
        self.broker, self.group_id, self.partitions = broker, group_id, partitions
        self.topic = broker.topic(partitions)
        self.config = {name.replace("_", "."): str(value) for name, value in config.items()}
        self.readers: list[Reader] = []
        self.left: list[Reader] = []
        self.produced: set[tuple[int, int]] = set()

    def join(self, *strategy: str, **config: Any) -> Reader:
        """A new member. strategy : its assignors"""
        properties = {
            "bootstrap.servers": self.broker.bootstrap,
            "group.id": self.group_id,
            "client.id": f"{self.group_id}-{len(self.readers) + len(self.left)}",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "200",
            "auto.commit.interval.ms": "200",
            "partition.assignment.strategy": ",".join(strategy),
            **{
                f"{side}.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer" for side in ("key", "value")
            },
            **self.config,
            **{name.replace("_", "."): str(value) for name, value in config.items()},
        }
        self.readers.append(Reader(self.broker, self.topic, properties).start())
        return self.readers[-1]

    def leave(self, reader: Reader) -> None:
        """A member goes."""
        self.readers.remove(reader)
        self.left.append(reader)
        reader.close()

    def produce(self, records: int = 30) -> None:
        """Write some more."""
        self.produced.update(self.broker.produce(self.topic, [(None, str(i)) for i in range(records)]))

    def wait(self, what: Callable[[], bool] | None = None, seconds: float = 60) -> None:
        """Until this is so; without it, until all partitions are owned, as evenly as can be."""
        deadline = time.monotonic() + seconds
        while not (what or self.is_even)():
            failures = [reader.failure for reader in self.readers if reader.failure]
            if failures:
                raise failures[0]
            assert time.monotonic() < deadline, (self.group_id, [reader.owned for reader in self.readers])
            time.sleep(0.05)

    def is_even(self) -> bool:
        """Are all partitions owned, and does no member have two more than another?"""
        owned = [reader.owned for reader in self.readers]
        return sum(owned) == self.partitions and max(owned) - min(owned) <= 1

    def missing(self) -> set[tuple[int, int]]:
        """Records that nobody has read so far."""
        return self.produced.difference(*(reader.read for reader in (*self.readers, *self.left)))

    def outcomes(self) -> dict[str, int]:
        """What ``RemoteAssignor`` has counted."""
        java, bean = self.broker.java, f"partition.allocator:type=remote-assignor,group-id={self.group_id}"
        names = [each.getName() for each in _bean(java, "getMBeanInfo", bean).getAttributes()]
        return {name: value for name in names if (value := _bean(java, "getAttribute", bean, name))}

    def assignor(self) -> str:
        """What the broker says that the group uses; nothing if there is no group."""
        java = self.broker.java
        configs = java.java.util.HashMap()
        configs.put("bootstrap.servers", self.broker.bootstrap)
        admin = java.org.apache.kafka.clients.admin.Admin.create(configs)
        try:
            described = admin.describeConsumerGroups([self.group_id]).all().get()
            return str(described[self.group_id].partitionAssignor())
        except Py4JJavaError:
            return ""
        finally:
            admin.close()


def _bean(java: Any, method: str, bean: str, *words: str) -> Any:
    """What the JVM's MBeans say. Its server is of a class that py4j must not call, hence by way of the interface."""
    arguments = [java.javax.management.ObjectName(bean), *words]
    reflect, classes = java.java.lang.reflect.Array, java.java.lang.Class
    types = reflect.newInstance(classes.forName("java.lang.Class"), len(arguments))
    values = reflect.newInstance(classes.forName("java.lang.Object"), len(arguments))
    for i, argument in enumerate(arguments):
        types[i] = classes.forName("javax.management.ObjectName" if i == 0 else "java.lang.String")
        values[i] = argument
    server = java.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    return classes.forName("javax.management.MBeanServer").getMethod(method, types).invoke(server, values)


@contextmanager
def groups() -> Iterator[list[Group]]:
    """Groups that are closed at the end."""
    made: list[Group] = []
    try:
        yield made
    finally:
        for group in made:
            for reader in list(group.readers):
                group.leave(reader)
