"""``python -m tests.support.record_histories [NAME …]``: records ``tests/vectors/histories``.

Each set of runs shares one broker, or one cluster, for a minute or two. A folder a run, whose script is the truth:

    broker.log      lines of the group coordinator that are the group's or nobody's, in the layout of Kafka's own log4j files;
                    ``broker-2.log`` … in a cluster
    MEMBER.log      what the client has logged, of each process of that member
    records.txt     ``__consumer_offsets``, by ``kafka-console-consumer`` with ``print.timestamp`` and BytesDeserializer
    formatted.txt   the same by GroupMetadataMessageFormatter, which prints no time
    scala.txt       … by the formatter in Scala, of a release that has it
    snapshots.jsonl snapshots, each with the time when it was asked for
    topics.txt      ``kafka-topics --describe`` of the run's topics, before its script and after
    truth.json      what the script did when, and what each consumer's rebalance listener was told
"""

from __future__ import annotations

import gzip
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.support.broker import JARS
from tests.support.jvm import KAFKA, SHORT_LIVED, fetch, libraries
from tests.support.live_groups import ASSIGNORS
from tests.support.parity import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER: Final = Path(__file__).parents[1] / "vectors" / "histories"
OLD: Final = "3.9.1"
"""A release whose group coordinator is the one in Scala."""
FIRST_MODERN: Final = "4.0.0"
"""The first release with consumer groups, whose records have the partition counts of topics; its uniform is another."""
_OLD_PARTS: Final = (
    *("kafka_2.13", "kafka-clients", "kafka-group-coordinator", "kafka-group-coordinator-api", "kafka-metadata", "kafka-raft"),
    *("kafka-server", "kafka-server-common", "kafka-storage", "kafka-storage-api", "kafka-tools-api", "kafka-tools"),
    "kafka-transaction-coordinator",
)
_JARS: Final = {
    KAFKA: (*JARS, f"org.apache.kafka:kafka-tools:{KAFKA}"),
    OLD: (
        *(f"org.apache.kafka:{part}:{OLD}" for part in _OLD_PARTS),
        *(jar for jar in JARS if "apache" not in jar),
        "org.scala-lang.modules:scala-java8-compat_2.13:1.0.2",
    ),
    FIRST_MODERN: tuple(jar.replace(f":{KAFKA}", f":{FIRST_MODERN}") for jar in (*JARS, f"org.apache.kafka:kafka-tools:{KAFKA}")),
}
SMALL: Final = 8_192
"""Larger files are gzipped."""

_LAYOUTS: Final = {
    "kafka": "[%d] %p %m (%c)%n",
    "spring": "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %5p 1 --- [orders] [%t] %-40.40c{1.} : %m%n",
    "logback": "%d{HH:mm:ss.SSS} [%t] %-5p %c{1.} -- %m%n",
}
"""Kafka's, Spring Boot's, and Logback's own, which has no date."""
_LOG4J: Final = """\
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.target=SYSTEM_ERR
appender.out.layout.pattern={layout}
rootLogger.level={level}
rootLogger.appenderRef.out.ref=out
logger.a.name=kafka.coordinator.group
logger.a.level=info
logger.b.name=org.apache.kafka.coordinator.group
logger.b.level=info
logger.c.name=org.apache.kafka.coordinator.common.runtime
logger.c.level=info
"""
_PROPERTIES: Final = """\
process.roles={roles}
node.id={node}
controller.quorum.voters=1@127.0.0.1:{controller}
listeners={listeners}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}
auto.create.topics.enable=false
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=500
group.consumer.min.session.timeout.ms=6000
group.consumer.session.timeout.ms=10000
group.consumer.min.heartbeat.interval.ms=1000
group.consumer.heartbeat.interval.ms=1000
broker.session.timeout.ms=6000
"""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Cluster:
    """Running brokers of one release, node 1 the controller, too."""

    release: str
    folder: Path
    ports: list[int]
    processes: list[subprocess.Popen[bytes]]

    @property
    def bootstrap(self) -> str:
        """What ``bootstrap.servers`` takes."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def log(self, node: int) -> Path:
        """What it has printed."""
        return self.folder / f"{node}.log"

    def leader(self, group_id: str) -> int:
        """The node that coordinates the group."""
        code = 0
        for letter in group_id:
            code = (31 * code + ord(letter)) & 0xFFFFFFFF
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        topic = admin.list_topics("__consumer_offsets").topics["__consumer_offsets"]
        return int(topic.partitions[(code & 0x7FFFFFFF) % 5].leader)

    def kill(self, node: int) -> None:
        """As a machine that fails."""
        self.processes[node - 1].kill()
        self.processes[node - 1].wait()

    def describe(self, topics: set[str]) -> str:
        """What ``kafka-topics --describe`` prints of these topics."""
        words = ["org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.bootstrap, "--describe"]
        java = _java(self.release, _logging(self.folder, "kafka", "warn"))
        lines = subprocess.run([*java, *words], capture_output=True, check=True).stdout.decode().splitlines()
        return "".join(f"{line}\n" for line in lines if any(f"Topic: {topic}\t" in line for topic in topics))

    def consume(self, *words: str) -> str:
        """What ``kafka-console-consumer`` prints of all of ``__consumer_offsets``."""
        tool = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        more = ["--bootstrap-server", self.bootstrap, "--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "5000"]
        java = _java(self.release, _logging(self.folder, "kafka", "warn"))
        return subprocess.run([*java, tool, *more, *words], capture_output=True, check=True).stdout.decode()


def _java(release: str, *options: str) -> list[str]:
    jars = ":".join((*fetch(*_JARS[release]), *libraries("log4j-", "zookeeper-")))
    return ["java", "-Xmx512m", *SHORT_LIVED, *options, "-cp", jars]


def _logging(folder: Path, layout: str, level: str) -> str:
    path = folder / f"log4j2-{layout}-{level}.properties"
    path.write_text(_LOG4J.format(layout=_LAYOUTS[layout], level=level), encoding="utf-8")
    return f"-Dlog4j2.configurationFile={path}"


@contextmanager
def cluster(release: str, brokers: int, *more: str) -> Iterator[Cluster]:
    """Brokers that end with the block. more : lines of ``server.properties``"""
    with tempfile.TemporaryDirectory(prefix="histories-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        ports = [19_300 + 10 * i for i in range(brokers)]
        running = Cluster(release, folder, ports, [])
        quiet = _logging(folder, "kafka", "warn")
        try:
            for i, port in enumerate(ports):
                node, first = i + 1, i == 0
                listeners = f"PLAINTEXT://127.0.0.1:{port}" + (",CONTROLLER://127.0.0.1:19299" if first else "")
                properties = folder / f"{node}.properties"
                text = _PROPERTIES.format(
                    roles="broker,controller" if first else "broker",
                    node=node,
                    controller=19_299,
                    listeners=listeners,
                    port=port,
                    folder=folder / str(node),
                    replicas=min(brokers, 3),
                )
                properties.write_text(text + "\n".join(more), encoding="utf-8")
                words = ["format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(properties)]
                subprocess.run([*_java(release, quiet), "kafka.tools.StorageTool", *words], check=True, stdout=subprocess.DEVNULL)
            for i in range(brokers):
                words = [*_java(release, quiet), "kafka.Kafka", str(folder / f"{i + 1}.properties")]
                with running.log(i + 1).open("wb") as log:
                    running.processes.append(subprocess.Popen(words, stdout=log, stderr=log))
            _await(running, "warm")
            yield running
        finally:
            for process in running.processes:
                process.kill()
                process.wait()


def _await(running: Cluster, group_id: str) -> None:
    """Return once all brokers listen and the group's coordinator answers."""
    for port in running.ports:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
    consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": group_id})
    for _ in range(60):
        with suppress(KafkaException):
            consumer.committed([TopicPartition("none", 0)], timeout=10)
            consumer.close()
            return
        time.sleep(1)
    raise TimeoutError(running.log(1).read_text()[-4000:])


@dataclass
class Run:
    """One run: its groups, its members by name, and what its script has done."""

    name: str
    cluster: Cluster
    group_id: str = "orders"
    protocol: str = "classic"
    assignor: str = "range"
    client: str = "java"
    release: str = KAFKA
    layout: str = "kafka"
    debug: str = ""
    """librdkafka's."""
    static: bool = False
    topics: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    described: str = ""
    created: set[str] = field(default_factory=set)
    _processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    _told: list[list[Any]] = field(default_factory=list)
    _logs: dict[str, bytes] = field(default_factory=dict)

    def topic(self, name: str, partitions: int) -> str:
        """A new topic; its name begins with the run's, as runs share brokers."""
        whole = f"{self.group_id}.{name}"
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        admin.create_topics([NewTopic(whole, partitions, min(len(self.cluster.ports), 3))])[whole].result(60)
        self.created.add(whole)
        if not self.topics:
            self.topics = (whole,)
        return whole

    def describe(self) -> None:
        """As by ``kafka-topics --describe``."""
        self.described += self.cluster.describe(self.created)

    def _happened(self, event: str, causes: list[str], **more: Any) -> None:
        self.events.append({"at": _now(), "event": event, "group_id": self.group_id, **more, "causes": causes})

    @contextmanager
    def other(self, group_id: str, **settings: Any) -> Iterator[None]:
        """Members of another group, or otherwise configured ones, within the block."""
        before = {name: getattr(self, name) for name in ("group_id", *settings)}
        vars(self).update(group_id=group_id, **settings)
        yield
        vars(self).update(before)

    def sibling(self) -> str:
        """Make the group one of a broker that is not the controller; returns another group of that one."""
        ids = [f"{self.group_id}-{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
        leaders = {one: self.cluster.leader(one) for one in ids}
        first = next(one for one in ids if leaders[one] != 1)
        self.group_id = first
        return next(one for one in ids if one != first and leaders[one] == leaders[first])

    def start(self, member: str, **config: Any) -> None:
        """Start a consumer's process; its name is the client id, and the instance id of a static member."""
        properties = {
            "bootstrap.servers": self.cluster.bootstrap,
            "group.id": self.group_id,
            "client.id": member,
            "max.poll.interval.ms": 8_000,
            "auto.offset.reset": "earliest",
            **({} if self.release == OLD else {"group.protocol": self.protocol}),
            **({"group.instance.id": member} if self.static else {}),
            **({"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000} if self.protocol == "classic" else {}),
            **self.config,
            **config,
        }
        group = self.groups.setdefault(self.group_id, {"protocol": self.protocol, "assignor": self.assignor, "members": {}})
        instance = properties.get("group.instance.id")
        group["members"].setdefault(member, {"client": self._client(), "instance_id": instance, "member_ids": []})
        words = self._java_words(properties) if self.client == "java" else self._c_words(properties)
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        threading.Thread(target=self._read, args=[group["members"][member], member, process.stdout], daemon=True).start()
        threading.Thread(target=self._keep, args=[member, process.stderr], daemon=True).start()
        self._processes[member] = process

    def _client(self) -> str:
        return f"kafka-clients {self.release}" if self.client == "java" else "librdkafka"

    def _java_words(self, properties: dict[str, Any]) -> list[str]:
        deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        properties |= {f"{side}.deserializer": deserializer for side in ("key", "value")}
        properties["metadata.max.age.ms"] = 3_000
        if self.protocol == "classic":
            properties |= {"partition.assignment.strategy": ",".join(ASSIGNORS[self.assignor])}
        else:
            properties |= {"group.remote.assignor": self.assignor}
        options = ["java", "-Xmx96m", *SHORT_LIVED, _logging(self.cluster.folder, self.layout, "info")]
        program = command(
            "OneConsumer.java",
            f"org.apache.kafka:kafka-clients:{self.release}",
            java=options,
            more_classes=":".join(libraries("log4j-")),
        )
        return [*program, json.dumps(properties), ",".join(self.topics)]

    def _c_words(self, properties: dict[str, Any]) -> list[str]:
        name = "partition.assignment.strategy" if self.protocol == "classic" else "group.remote.assignor"
        properties |= {name: self.assignor, "topic.metadata.refresh.interval.ms": 3_000}
        if self.debug:
            properties["debug"] = self.debug
        return [sys.executable, "-m", "tests.support.one_consumer", json.dumps(properties), json.dumps(self.topics)]

    def _read(self, known: dict[str, Any], member: str, lines: Any) -> None:
        for line in lines:
            at, what, *rest = line.split()
            if what == "member":
                known["member_ids"] += [one for one in rest if one not in known["member_ids"]]
            else:
                self._told.append([int(at), self.group_id, member, what, rest])

    def _keep(self, member: str, lines: Any) -> None:
        for line in lines:
            self._logs[member] = self._logs.get(member, b"") + line.encode()

    def joins(self, member: str, *, causes: tuple[str, ...] = ("join",), then: float = 3.0, **config: Any) -> None:
        """A new member, until it has been told of an assignment."""
        self._happened("member_starts", list(causes), member=member)
        known = len(self._told)
        self.start(member, **config)
        for _ in range(300):
            if any(told[1:4] == [self.group_id, member, "assigned"] for told in self._told[known:]):
                break
            time.sleep(0.1)
        time.sleep(then)

    def leaves(self, member: str, *, causes: tuple[str, ...] = ("leave",), then: float = 4.0) -> None:
        """It is closed."""
        self._happened("member_closes", list(causes), member=member)
        self._tell(member, "close")
        self._processes.pop(member).wait(30)
        time.sleep(then)

    def is_killed(self, member: str, *, causes: tuple[str, ...] = ("session_expired",), then: float = 13.0) -> None:
        """As by ``kill -9``."""
        self._happened("member_is_killed", list(causes), member=member)
        process = self._processes.pop(member)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        time.sleep(then)

    def stalls(
        self, member: str, ms: int = 12_000, *, causes: tuple[str, ...] = ("poll_interval_exceeded", "join"), then: float = 4.0
    ) -> None:
        """It does not poll for so long."""
        self._happened("member_stalls", list(causes), member=member, for_ms=ms)
        self._tell(member, f"pause {ms}")
        time.sleep(ms / 1000 + then)

    def subscribes(self, member: str, *topics: str, causes: tuple[str, ...] = ("subscription",), then: float = 5.0) -> None:
        """It subscribes to other topics."""
        self._happened("subscription_changes", list(causes), member=member, topic_names=list(topics))
        self._tell(member, f"subscribe {','.join(topics)}")
        time.sleep(then)

    def grows(self, topic: str, partitions: int, *, causes: tuple[str, ...] = ("new_partitions",), then: float = 8.0) -> None:
        """A topic gets partitions."""
        self._happened("partitions_added", list(causes), topic_name=topic, partitions_count=partitions)
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(60)
        time.sleep(then)

    def is_created(self, name: str, partitions: int, then: float = 8.0) -> None:
        """A topic that the members' regular expression matches."""
        self._happened("topic_created", ["new_partitions"], topic_name=f"{self.group_id}.{name}", partitions_count=partitions)
        self.topic(name, partitions)
        time.sleep(then)

    def is_deleted(self, name: str, then: float = 8.0) -> None:
        """A topic that is read."""
        whole = f"{self.group_id}.{name}"
        self._happened("topic_deleted", ["new_partitions"], topic_name=whole)
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        admin.delete_topics([whole])[whole].result(60)
        time.sleep(then)

    def loses_coordinator(self, then: float = 20.0) -> None:
        """The broker that coordinates the group is killed."""
        node = self.cluster.leader(self.group_id)
        self.events.append({"at": _now(), "event": "coordinator_is_killed", "node": node, "causes": []})
        self.cluster.kill(node)
        time.sleep(then)

    def snapshot(self) -> None:
        """As by ``partition-allocator snapshot``."""
        at = _now()
        words = ["--bootstrap-server", self.cluster.bootstrap, "--group", self.group_id]
        words += [word for topic in self.topics for word in ("--topic", topic)]
        done = subprocess.run([sys.executable, "-m", "service", "snapshot", *words], capture_output=True, check=True)
        text = done.stdout.decode().replace(str(self.cluster.folder), "/var/lib/kafka")
        self.snapshots.append({"at": at, "snapshot": json.loads(text)})

    def _tell(self, member: str, words: str) -> None:
        stdin = self._processes[member].stdin
        assert stdin is not None
        stdin.write(words + "\n")
        stdin.flush()

    def ends(self) -> None:
        """Kill what runs; the recording is over before a coordinator notices."""
        self.events.append({"at": _now(), "event": "recording_ends", "causes": []})
        for process in self._processes.values():
            process.kill()
            process.wait()

    def write(self, records: str, formatted: str, scala: str) -> None:
        """The folder."""
        folder = FOLDER / self.name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        end = self.events[-1]["at"]
        nodes = range(1, len(self.cluster.ports) + 1)
        for node in nodes:
            lines = self._coordinators(self.cluster.log(node).read_text(encoding="utf-8", errors="replace").splitlines(), end)
            _keep(folder / ("broker.log" if len(nodes) == 1 else f"broker-{node}.log"), lines)
        for member, log in self._logs.items():
            _keep(folder / f"{member}.log", log.decode(errors="replace").splitlines())
        _keep(folder / "records.txt", [line for line in records.split("\n") if self._has_key(line)])
        _keep(folder / "formatted.txt", ["".join(self._own(formatted))])
        _keep(folder / "scala.txt", [line for line in scala.splitlines() if line.partition("::")[0] in self.groups])
        _keep(folder / "topics.txt", self.described.splitlines())
        _keep(folder / "snapshots.jsonl", [json.dumps(one, separators=(",", ":")) for one in self.snapshots])
        rows = ",\n".join(json.dumps(event) for event in self.events)
        told = ",\n".join(json.dumps(one) for one in sorted(self._told, key=lambda one: int(one[0])))
        truth = (
            f'{{"broker": "kafka {self.cluster.release}",\n"groups": {json.dumps(self.groups, indent=1)},\n'
            f'"events": [\n{rows}\n],\n"listeners": [\n{told}\n]}}'
        )
        (folder / "truth.json").write_text(truth + "\n", encoding="utf-8")

    def _coordinators(self, lines: list[str], end: str) -> Iterator[str]:
        """The lines of these groups, and of the coordinator itself, until the recording ended."""
        stop = end.replace("T", " ").replace(".", ",").removesuffix("Z")
        started = self.events[0]["at"].replace("T", " ").replace(".", ",").removesuffix("Z")
        named = re.compile("|".join(rf"(?<![\w.-]){re.escape(group)}(?![\w-])" for group in self.groups))
        own = re.compile("Elected as|Resigned|loading|Loading|unload|Unload|Startup complete|Starting up")
        for line in lines:
            stamped = re.match(r"\[(.{23})\] (?:INFO|WARN|ERROR) .*\((?:\w+\.)*coordinator\.", line)
            if stamped and stamped[1] <= stop and ((named.search(line) and stamped[1] >= started) or own.search(line)):
                yield line

    def _has_key(self, line: str) -> bool:
        stamped = re.match(r"\w+:(\d+)\t", line)
        return bool(stamped) and int(stamped[1]) <= self._end_ms and any(_serialized(group) in line for group in self.groups)

    @property
    def _end_ms(self) -> float:
        return datetime.fromisoformat(self.events[-1]["at"]).timestamp() * 1000

    def _own(self, formatted: str) -> Iterator[str]:
        """These groups' records of the formatter's output, which breaks no lines."""
        at, decoder = 0, json.JSONDecoder()
        while at < len(formatted):
            record, end = decoder.raw_decode(formatted, at)
            time_ms = record["value"]["data"]["currentStateTimestamp"] if record["value"] else 0
            if record["key"]["data"]["group"] in self.groups and time_ms <= self._end_ms:
                yield formatted[at:end]
            at = end


def _serialized(group: str) -> str:
    """As BytesDeserializer's text has a key's group, after its length."""
    length = len(group)
    return rf"\x00{chr(length)}{group}" if length >= ord(" ") else rf"\x00\x{length:02X}{group}"


def _keep(path: Path, lines: Any) -> None:
    text = "\n".join([*lines, ""]).encode()
    if len(text) > SMALL:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(text, mtime=0))
    elif len(text) > 1:
        path.write_bytes(text)


def _record(release: str, brokers: int, scripts: dict[str, tuple[dict[str, Any], Callable[[Run], None]]]) -> None:
    """Play these scripts side by side."""
    with cluster(release, brokers) as running, ExitStack() as ending:
        runs = [Run(name, running, **settings) for name, (settings, _) in scripts.items()]
        for run in runs:
            run.topic("t", 6)
            ending.callback(run.ends)
        time.sleep(2)
        for run in runs:
            run.describe()
        threads = [threading.Thread(target=scripts[run.name][1], args=[run]) for run in runs]
        for thread in threads:
            thread.start()
            time.sleep(1)
        for thread in threads:
            thread.join()
        for run in runs:
            run.describe()
        ending.pop_all().close()
        words = ["timestamp", "partition", "offset", "key"]
        bytes_text = "org.apache.kafka.common.serialization.BytesDeserializer"
        properties = [f"print.{name}=true" for name in words] + [f"{side}.deserializer={bytes_text}" for side in ("key", "value")]
        option = "--formatter-property" if release == KAFKA else "--property"
        shown = [word for one in properties for word in (option, one)]
        records = running.consume(*shown)
        formatted = running.consume("--formatter", "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter")
        of_scala = "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter"
        scala = running.consume("--formatter", of_scala) if release == OLD else ""
        for run in runs:
            run.write(records, formatted, scala)
            size = sum(path.stat().st_size for path in (FOLDER / run.name).iterdir())
            sys.stderr.write(f"{run.name}: {size} bytes\n")


def _joins_and_leaves(run: Run) -> None:
    """One by one they come; one leaves, one is killed."""
    for member in ("c1", "c2", "c3"):
        run.joins(member)
    run.snapshot()
    run.leaves("c2")
    run.snapshot()
    run.is_killed("c1")
    run.snapshot()


def _changes(run: Run) -> None:
    """One stalls, a topic grows, a subscription changes."""
    second = run.topic("u", 4)
    for member in ("c1", "c2"):
        run.joins(member)
    run.stalls("c2")
    run.grows(run.topics[0], 8)
    run.subscribes("c1", run.topics[0], second)
    run.leaves("c2")


def _leaders_go(run: Run) -> None:
    """The leader leaves, the next one is killed."""
    for member in ("c1", "c2", "c3"):
        run.joins(member)
    run.leaves("c1")
    run.is_killed("c2")
    run.joins("c1")


def _static_restarts(run: Run) -> None:
    """Static members restart one after the other; then one is away for longer than its session."""
    for member in ("c1", "c2", "c3"):
        run.joins(member)
    for member in ("c1", "c2", "c3"):
        run.leaves(member, causes=(), then=1)
        run.joins(member, causes=(), then=2)
    run.snapshot()
    run.leaves("c2", causes=("session_expired",), then=13)
    run.joins("c2")
    run.snapshot()


def _rolling_restart(run: Run) -> None:
    """Dynamic members restart one after the other."""
    for member in ("c1", "c2", "c3"):
        run.joins(member)
    for member in ("c1", "c2", "c3"):
        run.leaves(member, then=2)
        run.joins(member)


def _surge(run: Run) -> None:
    """A deployment that starts each new member before it ends an old one."""
    for member in ("a1", "a2", "a3"):
        run.joins(member)
    for old, new in (("a1", "b1"), ("a2", "b2"), ("a3", "b3")):
        run.joins(new)
        run.leaves(old, then=3)


def _comes_and_goes(run: Run) -> None:
    """One member stalls, again and again."""
    for member in ("c1", "c2", "c3"):
        run.joins(member)
    for _ in range(3):
        run.stalls("c3", 10_000, then=5)


def _flapping(run: Run) -> None:
    """An autoscaler adds two members and takes them away, again and again."""
    for member in ("c1", "c2"):
        run.joins(member)
    for _ in range(3):
        for member in ("c3", "c4"):
            run.joins(member, then=2)
        for member in ("c4", "c3"):
            run.leaves(member, then=3)


def _two_groups(run: Run) -> None:
    """What happens to the one and to the other takes turns."""
    run.joins("c1")
    with run.other("orders-eu", client="librdkafka"):
        run.joins("e1")
        run.joins("e2")
    run.joins("c2")
    with run.other("orders-eu", client="librdkafka"):
        run.leaves("e1")
    run.is_killed("c1")
    with run.other("orders-eu", client="librdkafka"):
        run.stalls("e2", causes=("poll_interval_exceeded", "join"))
    run.joins("c1")


def _failover(run: Run) -> None:
    """Two groups of one coordinator, which is killed; then a member joins each."""
    other = run.sibling()
    for member in ("c1", "c2"):
        run.joins(member)
    with run.other(other, client="librdkafka", assignor="range"):
        for member in ("e1", "e2"):
            run.joins(member)
    run.loses_coordinator()
    run.joins("c3")
    with run.other(other, client="librdkafka", assignor="range"):
        run.joins("e3")


def _mixed(run: Run) -> None:
    """Members of two client libraries; the topic grows, and the leader leaves."""
    run.joins("c1")
    for member in ("e1", "e2"):
        with run.other(run.group_id, client="librdkafka"):
            run.joins(member)
    run.grows(run.topics[0], 9)
    run.snapshot()
    run.leaves("c1")
    run.grows(run.topics[0], 12)
    run.snapshot()


def _migration(run: Run) -> None:
    """Members restart one after the other, with the new protocol."""
    for member in ("c1", "c2"):
        run.joins(member)
    run.snapshot()
    with run.other(run.group_id, protocol="consumer", assignor="uniform"):
        for member in ("c1", "c2"):
            run.leaves(member, then=2)
            run.joins(member, then=4)
    run.snapshot()


def _crowd(run: Run) -> None:
    """Many members; one subscribes to another topic as well, some go."""
    second = run.topic("u", 5)
    for i in range(1, 8):
        run.joins(f"c{i}", then=1)
    run.subscribes("c2", run.topics[0], second)
    run.leaves("c3", then=2)
    run.leaves("c1", then=2)
    run.joins("c8", then=2)
    run.subscribes("c4", second)


def _patterns(run: Run) -> None:
    """Members subscribe by a regular expression; a topic comes, another goes and comes back as another."""
    run.topics = (rf"^{run.group_id}\..*",)
    for member in ("c1", "c2", "c3"):
        run.joins(member)
    run.is_created("u", 4)
    run.describe()
    run.is_deleted("t")
    run.is_created("t", 5)
    run.leaves("c2")


_Script = tuple[dict[str, Any], "Callable[[Run], None]"]
_CONSUMER: Final = {"protocol": "consumer", "assignor": "uniform"}
_LIBRDKAFKA: Final = {"client": "librdkafka"}
_STATIC: Final = {"static": True, "config": {"session.timeout.ms": 10_000}}
"""A JVM may take a while to start."""
_COOPERATIVE: Final = {"assignor": "cooperative-sticky"}
SETS: Final[dict[str, tuple[str, int, dict[str, _Script]]]] = {
    "first": (
        KAFKA,
        1,
        {
            "java-range": ({"group_id": "orders"}, _joins_and_leaves),
            "librdkafka-cooperative": (
                {"group_id": "payments", **_LIBRDKAFKA, **_COOPERATIVE, "debug": "cgrp,assignor"},
                _changes,
            ),
            "java-consumer": ({"group_id": "billing", **_CONSUMER}, _joins_and_leaves),
        },
    ),
    "restarts": (
        KAFKA,
        1,
        {
            "java-static": ({"group_id": "orders", **_STATIC}, _static_restarts),
            "java-cooperative-rolling": ({"group_id": "payments", **_COOPERATIVE, "layout": "spring"}, _rolling_restart),
            "librdkafka-range-leaders": ({"group_id": "audit", **_LIBRDKAFKA, "debug": "cgrp"}, _leaders_go),
            "librdkafka-static": ({"group_id": "billing", **_LIBRDKAFKA, "static": True, "debug": "cgrp"}, _static_restarts),
        },
    ),
    "patterns": (
        KAFKA,
        1,
        {
            "librdkafka-surge": ({"group_id": "orders", **_LIBRDKAFKA, **_COOPERATIVE}, _surge),
            "java-comes-and-goes": ({"group_id": "payments", "layout": "logback"}, _comes_and_goes),
            "librdkafka-flapping": ({"group_id": "audit", **_LIBRDKAFKA, "assignor": "roundrobin"}, _flapping),
            "java-consumer-static": ({"group_id": "billing", **_CONSUMER, "static": True}, _static_restarts),
        },
    ),
    "changes": (
        KAFKA,
        1,
        {
            "java-cooperative-changes": ({"group_id": "orders", **_COOPERATIVE, "layout": "spring"}, _changes),
            "java-consumer-changes": ({"group_id": "payments", **_CONSUMER}, _changes),
            "librdkafka-consumer-changes": ({"group_id": "audit", **_LIBRDKAFKA, **_CONSUMER, "debug": "cgrp"}, _changes),
            "migration": ({"group_id": "billing", **_COOPERATIVE}, _migration),
        },
    ),
    "mixed": (
        KAFKA,
        1,
        {
            "mixed-clients": ({"group_id": "orders"}, _mixed),
            "librdkafka-consumer": (
                {"group_id": "payments", **_LIBRDKAFKA, **_CONSUMER, "debug": "cgrp,assignor"},
                _joins_and_leaves,
            ),
        },
    ),
    "old": (
        OLD,
        1,
        {
            "old-two-groups": ({"group_id": "orders", "release": OLD}, _two_groups),
            "old-sticky-changes": ({"group_id": "payments", "release": OLD, "assignor": "sticky"}, _changes),
            "old-static": ({"group_id": "billing", "release": OLD, **_STATIC, "layout": "logback"}, _static_restarts),
            "old-librdkafka-changes": ({"group_id": "audit", **_LIBRDKAFKA, **_COOPERATIVE}, _changes),
        },
    ),
    "consumers": (
        KAFKA,
        1,
        {
            "librdkafka-consumer-crowd": ({"group_id": "orders", **_LIBRDKAFKA, **_CONSUMER}, _crowd),
            "librdkafka-consumer-regex": ({"group_id": "payments", **_LIBRDKAFKA, **_CONSUMER}, _patterns),
        },
    ),
    "first-modern": (
        FIRST_MODERN,
        1,
        {
            "first-modern": ({"group_id": "orders", **_LIBRDKAFKA, **_CONSUMER}, _joins_and_leaves),
            "first-modern-changes": ({"group_id": "audit", **_LIBRDKAFKA, "protocol": "consumer", "assignor": "range"}, _changes),
        },
    ),
    "failover": (KAFKA, 3, {"failover-classic": ({**_COOPERATIVE}, _failover)}),
    "failover-consumer": (KAFKA, 3, {"failover-consumer": ({**_CONSUMER, "layout": "spring"}, _failover)}),
}
"""By name: the brokers' release and number, and by run what it needs and what happens."""


def main(names: list[str]) -> None:
    """Record the sets and runs of these names, or all."""
    for of_set, (release, brokers, scripts) in SETS.items():
        chosen = {run: script for run, script in scripts.items() if not names or {of_set, run} & {*names}}
        if chosen:
            _record(release, brokers, chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
