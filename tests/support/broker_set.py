"""Several real Kafka brokers with racks, all in one JVM, each with three log directories: the first is the controller too."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.support.broker import kafka_jvm
from tests.support.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.java_gateway import JavaGateway


@dataclass(frozen=True)
class BrokerSet:
    """Running brokers with the ids 1, 2, …, at ``bootstrap``; ``racks`` has the rack of each."""

    bootstrap: str
    racks: dict[int, str]


@contextmanager
def running_brokers(racks: str) -> Iterator[BrokerSet]:
    """A broker for each letter, its rack; all end with the block."""
    with TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as folder:
        controller, *ports = (free_port() for _ in range(1 + len(racks)))
        log = Path(folder, "brokers.log")
        with log.open("w", encoding="utf-8") as output, kafka_jvm(output, "-Xmx768m") as gateway:
            cluster_id = gateway.jvm.org.apache.kafka.common.Uuid.randomUuid().toString()
            for node, (rack, port) in enumerate(zip(racks, ports, strict=True), 1):
                _start(gateway, folder, cluster_id, (node, rack, port, controller))
            yield BrokerSet(f"127.0.0.1:{ports[0]}", dict(enumerate(racks, 1)))


def _start(gateway: JavaGateway, folder: str, cluster_id: str, broker: tuple[int, str, int, int]) -> None:
    node, rack, port, controller = broker
    first = node == 1
    file = Path(folder, f"{node}.properties")
    file.write_text(
        _PROPERTIES.format(
            roles="broker,controller" if first else "broker",
            listeners=f"PLAINTEXT://127.0.0.1:{port}" + (f",CONTROLLER://127.0.0.1:{controller}" if first else ""),
            node=node,
            rack=rack,
            port=port,
            controller=controller,
            folder=folder,
        ),
        encoding="utf-8",
    )
    java = gateway.jvm
    words = ["format", *(["--standalone"] if first else []), "-t", cluster_id, "-c", str(file)]
    command = gateway.new_array(java.java.lang.String, len(words))
    for i, word in enumerate(words):
        command[i] = word
    java.kafka.tools.StorageTool.execute(command, java.java.lang.System.out)
    config = java.kafka.server.KafkaConfig.fromProps(java.org.apache.kafka.common.utils.Utils.loadProps(str(file)))
    java.kafka.server.KafkaRaftServer(config, java.org.apache.kafka.common.utils.Time.SYSTEM).startup()


_PROPERTIES = """\
process.roles={roles}
node.id={node}
broker.rack={rack}
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners={listeners}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data{node},{folder}/more{node},{folder}/most{node}
auto.create.topics.enable=false
log.cleaner.dedupe.buffer.size=2097152
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""
