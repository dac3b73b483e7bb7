"""A real Kafka broker: one KRaft node, broker and controller in one process, from Kafka's own jars (fetched as in ``jvm``).

The fixture ``broker`` (tests/conftest.py) starts one for all tests of a run; it takes a few seconds and at most 512 MiB of heap.
"""

from __future__ import annotations

import shutil
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TextIO

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from py4j.finalizer import ThreadSafeFinalizer
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from service.pipeline.spark.cluster.jvm import SILENT, java_version
from tests.support.jvm import KAFKA, PROJECTS, SHORT_LIVED, compiled, fetch, libraries, made_once, py4j_jar
from tests.support.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PARTS = (
    *("kafka_2.13", "kafka-clients", "kafka-coordinator-common", "kafka-group-coordinator", "kafka-group-coordinator-api"),
    *("kafka-metadata", "kafka-raft", "kafka-server", "kafka-server-common", "kafka-share-coordinator", "kafka-storage"),
    *("kafka-storage-api", "kafka-tools-api", "kafka-transaction-coordinator"),
)
JARS = (
    *(f"org.apache.kafka:{part}:{KAFKA}" for part in _PARTS),
    "com.dynatrace.hash4j:hash4j:0.22.0",
    "com.github.ben-manes.caffeine:caffeine:3.2.0",
    "com.google.re2j:re2j:1.8",
    "com.typesafe.scala-logging:scala-logging_2.13:3.9.6",
    "com.yammer.metrics:metrics-core:2.2.0",
    "commons-validator:commons-validator:1.10.1",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "net.sourceforge.argparse4j:argparse4j:0.7.0",
    "org.hdrhistogram:HdrHistogram:2.2.2",
    "org.pcollections:pcollections:4.0.2",
)
"""What a broker needs beyond PySpark's jars (Scala, Jackson, Log4j, compression)."""

Record = tuple[bytes | str | None, bytes | str | None]
"""Key and value, None for a null."""

Place = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True)
class Broker:
    """A running broker, at ``bootstrap`` ("127.0.0.1:PORT", what ``bootstrap.servers`` takes)."""

    bootstrap: str
    java: Any
    """The classes of its JVM, through py4j: Kafka's own clients among them."""
    _numbers: Iterator[int]
    log: Path
    """What the JVM has printed: the group coordinator's log lines, ``milliseconds logger message``."""

    def topic(self, partitions_count: int, **config: str) -> str:
        """A new topic, and its name, which no other test has. ``config`` is the topic's: ``cleanup_policy="compact"``."""
        name = f"topic-{next(self._numbers)}"
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.create_topics([NewTopic(name, partitions_count, config=_dotted(config))])[name].result(120)
        await_leaders(admin, name, partitions_count)
        return name

    def load_coordinator(self, group_id: str) -> None:
        """Return once the group's coordinator answers: it is NOT_COORDINATOR until ``__consumer_offsets`` has its leaders."""
        with closing(Consumer({"bootstrap.servers": self.bootstrap, "group.id": group_id})) as consumer:
            for _ in range(100):
                with suppress(KafkaException):
                    consumer.committed([TopicPartition("none", 0)], timeout=10)
                    return
                time.sleep(1)
        raise TimeoutError(f"No coordinator of the group {group_id} answers.")

    def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        timestamps: Iterable[int] | None = None,
        partition: int = -1,
        **config: Any,
    ) -> list[Place]:
        """Write records with librdkafka, whose own default partitioner takes CRC32, and tell where each came to lie.

        ``timestamps`` are in ms since 1970; all records go to ``partition``, if given; ``config`` is the producer's
        (``partitioner="murmur2_random"``, ``transactional_id="t"`` …).
        """
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **_dotted(config)})
        written = list(records)
        times = list(timestamps) if timestamps is not None else [0] * len(written)  # 0 is now
        places: list[Any] = [None] * len(written)

        def delivered(at: int, error: Any, message: Any) -> None:
            places[at] = error or (message.partition(), message.offset())

        for i, ((key, value), timestamp) in enumerate(zip(written, times, strict=True)):
            while len(producer) > 50_000:  # librdkafka's queue holds 100,000
                producer.poll(0.1)
            producer.produce(
                topic, value, key, partition, lambda error, message, at=i: delivered(at, error, message), timestamp=timestamp
            )
        producer.flush(60)
        lost = [place for place in places if not isinstance(place, tuple)]
        if lost:
            raise RuntimeError(f"{len(lost)} of {len(written)} records were not delivered: {lost[:3]}")
        return places

    def produce_with_java(self, topic: str, records: Iterable[Record], **config: str) -> list[Place]:
        """The same with Kafka's own Java producer, whose default is murmur2. For hundreds of records, not for millions."""
        serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
        properties = self.java.java.util.Properties()
        for name, value in {"bootstrap.servers": self.bootstrap, **_dotted(config)}.items():
            properties.put(name, value)
        for side in ("key", "value"):
            properties.put(f"{side}.serializer", serializer)
        producer = self.java.org.apache.kafka.clients.producer.KafkaProducer(properties)
        record_of = self.java.org.apache.kafka.clients.producer.ProducerRecord
        try:
            sent = [producer.send(record_of(topic, *map(_bytes, record))) for record in records]
            producer.flush()
            return [(done.partition(), done.offset()) for done in (future.get() for future in sent)]
        finally:
            producer.close()


def await_leaders(admin: AdminClient, topic: str, partitions_count: int) -> None:
    """Return once a broker knows a leader of each partition: the controller, which has answered, knew them a moment earlier."""
    for _ in range(600):
        partitions = admin.list_topics(topic, 60).topics[topic].partitions.values()
        if len(partitions) == partitions_count and all(partition.leader >= 0 for partition in partitions):
            return
        time.sleep(0.1)
    raise TimeoutError(f"The broker knows no leader of some partitions of {topic}.")


def _dotted(config: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in config.items()}


def _bytes(text: bytes | str | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


@contextmanager
def running_broker(*more_properties: str, leaves: Path | None = None) -> Iterator[Broker]:
    """A broker on free ports, its data in a temporary folder; it ends with the block, or with the tests if they are killed.

    more_properties : lines of ``server.properties``, which override those below, with ``{port}`` and ``{controller_port}``
    leaves : as of kafka_jvm
    """
    with TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as folder:
        port, controller_port = free_port(), free_port()
        properties, log = Path(folder, "server.properties"), Path(folder, "broker.log")
        lines = "\n".join((_PROPERTIES, *more_properties)).format(folder=folder, port=port, controller_port=controller_port)
        properties.write_text(lines, encoding="utf-8")
        logging = Path(folder, "log4j2.properties")
        logging.write_text(_LOGGING, encoding="utf-8")
        options = ("-Xmx512m", f"-Dlog4j2.configurationFile={logging}")
        with log.open("w", encoding="utf-8", buffering=1) as output, kafka_jvm(output, *options, leaves=leaves) as gateway:
            _start(gateway, str(properties), log)
            yield Broker(f"127.0.0.1:{port}", gateway.jvm, count(), log)


@cache
def _jars() -> tuple[str, ...]:
    """What has Kafka's classes and this project's own. An archive has no classes of folders, so these are packed."""
    own = [compiled(project) for project in PROJECTS]

    def pack(folder: Path) -> None:
        for i, classes in enumerate(own):
            shutil.make_archive(str(folder / f"{i}"), "zip", classes)

    packed = made_once(pack, "packed", *own)
    return (*fetch(*JARS), *map(str, sorted(packed.iterdir())), *libraries("log4j-"))


@cache
def _archive() -> Path:
    """The archive of the classes that the first broker on this machine has loaded: with it others start in half the CPU time."""

    def leave(folder: Path) -> None:
        with running_broker(leaves=folder / "broker.jsa") as broker:
            broker.produce_with_java(broker.topic(1), [("key", "value")])
            broker.load_coordinator("group")

    # For jars at other places, or of another time, the archive is of no use.
    jars = (f"{jar} {Path(jar).stat().st_mtime_ns}" for jar in (py4j_jar(), *_jars()))
    return made_once(leave, "broker", java_version(), " ".join(SHORT_LIVED), *jars) / "broker.jsa"


@contextmanager
def kafka_jvm(output: TextIO, *options: str, leaves: Path | None = None) -> Iterator[JavaGateway]:
    """A JVM with Kafka's classes and this project's own, which is killed with the block.

    output : where it prints
    leaves : the archive of its classes that it is to leave at its end, which is in order; if None, it takes them from one
    """
    archive = f"-XX:ArchiveClassesAtExit={leaves}" if leaves else f"-XX:SharedArchiveFile={_archive()}"
    gateway_port, process = launch_gateway(
        classpath=":".join(_jars()),
        jarpath=py4j_jar(),
        # The client compiler alone: a broker that lives a minute is up in half the time.
        javaopts=[*options, *SHORT_LIVED, archive, SILENT],
        redirect_stdout=output,
        redirect_stderr=output,
        die_on_exit=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=gateway_port, auto_convert=True))
    try:
        yield gateway
    finally:
        _forget_objects(gateway_port)
        gateway.close()
        if leaves:
            process.stdin.close()  # py4j ends the JVM with its input
        else:
            process.kill()  # its data goes with its folder: nothing to shut down in order
        process.wait(timeout=120)  # py4j reads its output, and closes it
        process.stdin.close()


def _forget_objects(gateway_port: int) -> None:
    """Let go of a JVM's objects without telling it: when it has ended, the garbage collector would connect to it at any time."""
    for name in list(ThreadSafeFinalizer.finalizers):
        if name.startswith(f"127.0.0.1{gateway_port}o"):
            ThreadSafeFinalizer.remove_finalizer(name)


def _start(gateway: JavaGateway, properties: str, log: Path) -> None:
    """What ``kafka-storage.sh format`` and ``kafka-server-start.sh`` do."""
    java = gateway.jvm
    words = ["format", "--standalone", "-t", java.org.apache.kafka.common.Uuid.randomUuid().toString(), "-c", properties]
    command = gateway.new_array(java.java.lang.String, len(words))
    for i, word in enumerate(words):
        command[i] = word
    try:
        java.kafka.tools.StorageTool.execute(command, java.java.lang.System.out)
        config = java.kafka.server.KafkaConfig.fromProps(java.org.apache.kafka.common.utils.Utils.loadProps(properties))
        java.kafka.server.KafkaRaftServer(config, java.org.apache.kafka.common.utils.Time.SYSTEM).startup()
    except Py4JJavaError as error:  # its words are lost with the JVM
        raise RuntimeError(f"the broker did not start: {error}\n{log.read_text(encoding='utf-8')}") from None


_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
auto.create.topics.enable=false
# No controller follows: none need hear every half a second that nothing has happened, which is half of an idle broker's work.
metadata.max.idle.interval.ms=0
# Records with timestamps of years ago stay.
log.retention.ms=-1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# Members hear of their target in a heartbeat: tests wait for that, while their threads poll.
group.consumer.min.heartbeat.interval.ms=500
group.consumer.heartbeat.interval.ms=500
group.share.min.heartbeat.interval.ms=500
group.share.heartbeat.interval.ms=500
group.consumer.assignors=uniform,range,partitionallocator.broker.BalancedAssignor
"""


_LOGGING = """\
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{UNIX_MILLIS} %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.group.name=org.apache.kafka.coordinator.group
logger.group.level=info
"""
