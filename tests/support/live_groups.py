"""A group's timeline, lived through by real consumers on a real broker: the truth for ``POST /v1/group-rebalances``.

The questions are bodies of that endpoint. ``live`` starts a real ``KafkaConsumer`` for each member, does to it what the events
say, at their times, and returns what the broker has written: the records of ``__consumer_offsets`` and its log lines.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from py4j.java_gateway import JavaMember
from py4j.protocol import STATIC_PREFIX

from service.wire.consumer_protocol import read_assignment
from service.wire.coordinator_records import read_group_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker import Broker

Document = dict[str, Any]

_KAFKAS: Final = "org.apache.kafka.clients.consumer."
ASSIGNORS: Final = {
    "range": (f"{_KAFKAS}RangeAssignor",),
    "roundrobin": (f"{_KAFKAS}RoundRobinAssignor",),
    "sticky": (f"{_KAFKAS}StickyAssignor",),
    "cooperative-sticky": (f"{_KAFKAS}CooperativeStickyAssignor",),
    "balanced": ("partitionallocator.clients.RemoteAssignor", f"{_KAFKAS}CooperativeStickyAssignor"),
}
"""The ``partition.assignment.strategy`` of the groups that use each."""
RECORDED: Final = (
    *("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    *("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "Metadata"),
)
"""The requests that a recording keeps."""
COMPLETED: Final = "Completed request:"
RECORDS: Final = 500
"""Records in each partition of a timeline whose members take a while between two polls, one record in each poll."""
SETTLED_S: Final = 9.0
"""Seconds without a new record after which a timeline is over: more than a session."""


def broker_properties(timing: Document) -> tuple[str, ...]:
    """The lines of ``server.properties`` that a timeline's ``timing`` asks for."""
    session, heartbeat = timing["session_timeout_ms"], timing["heartbeat_interval_ms"]
    return (
        f"group.initial.rebalance.delay.ms={timing['initial_rebalance_delay_ms']}",
        f"group.consumer.min.session.timeout.ms={session}",
        f"group.consumer.session.timeout.ms={session}",
        f"group.consumer.min.heartbeat.interval.ms={heartbeat}",
        f"group.consumer.heartbeat.interval.ms={heartbeat}",
        f"group.share.min.session.timeout.ms={session}",
        f"group.share.session.timeout.ms={session}",
        f"group.share.min.heartbeat.interval.ms={heartbeat}",
        f"group.share.heartbeat.interval.ms={heartbeat}",
    )


@dataclass
class Member:
    """One consumer, polled by a thread of its own until it is closed."""

    broker: Broker
    body: Document
    properties: Document
    shares: bool = False
    """Is it a member of a share group? Its consumer does not tell its id."""
    pause_s: float = 0.0
    """How long it processes between two polls."""
    thread: threading.Thread | None = None
    ids: list[str] = field(default_factory=list)
    """The member ids that it has had."""
    reads: list[tuple[float, str]] = field(default_factory=list)
    """When its assignment changed, by time.time(), and to what."""
    _commands: list[Any] = field(default_factory=list)
    _open: bool = False

    def start(self) -> None:
        """Start polling."""
        self._open = True
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        java = self.broker.java
        properties = java.java.util.Properties()
        for name, value in self.properties.items():
            properties.put(name, value)
        clients = java.org.apache.kafka.clients.consumer
        consumer = (clients.KafkaShareConsumer if self.shares else clients.KafkaConsumer)(properties)
        consumer.subscribe(list(self.body["topic_names"]))
        duration = java.java.time.Duration.ofMillis(20)
        while self._open:
            consumer.poll(duration)
            if self.pause_s:
                self._note(consumer.assignment().toString())
                time.sleep(self.pause_s)
            member_id = "" if self.shares else consumer.groupMetadata().memberId()
            if member_id and member_id not in self.ids:
                self.ids.append(member_id)
            while self._commands:
                self._commands.pop(0)(consumer)

    def _note(self, assignment: str) -> None:
        if assignment != (self.reads[-1][1] if self.reads else "[]"):
            self.reads.append((time.time(), assignment))

    def do(self, command: Any) -> None:
        """Run ``command(consumer)`` between two polls."""
        self._commands.append(command)

    def stop(self, operation: str) -> None:
        """Close the consumer. operation : a CloseOptions.GroupMembershipOperation; REMAIN_IN_GROUP is what a crash looks like"""
        options = self.broker.java.org.apache.kafka.clients.consumer.CloseOptions
        # A private field has the method's name, too, and which of them py4j looks up is left to chance.
        name = "groupMembershipOperation"
        make = JavaMember(name, None, STATIC_PREFIX + options._fqn, options._gateway_client)
        chosen = make(getattr(options.GroupMembershipOperation, operation))

        def close(consumer: Any) -> None:
            self._open = False
            self._note("[]")
            consumer.close(*([] if self.shares else [chosen]))

        self.do(close)
        if self.thread is not None:
            self.thread.join(120)


@dataclass
class KilledMember:
    """A consumer of the consumer protocol in a process of its own, which ends by being killed."""

    body: Document
    properties: Document
    ids: list[str] = field(default_factory=list)
    _process: Any = None
    _open: bool = False

    def start(self) -> None:
        """Start the process."""
        words = [sys.executable, "-m", "tests.support.one_consumer", json.dumps(self.properties)]
        self._process = subprocess.Popen(
            [*words, json.dumps(self.body["topic_names"])], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        self._open = True
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        said = (line.split() for line in self._process.stdout)
        self.ids.extend(words[2] for words in said if words[1:2] == ["member"] and len(words) == 3)

    def stop(self, _: str) -> None:
        """Kill the process."""
        self._open = False
        self._process.kill()
        self._process.wait(120)


class LiveGroup:
    """A group of real consumers, and what is done to it."""

    def __init__(self, broker: Broker, body: Document, partition_allocator_url: str) -> None:
        self.broker, self.body, self.allocator_url = broker, body, partition_allocator_url
        self.admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        self.members: dict[str, Any] = {}
        self.killed = {event["member_id"] for event in body["events"] if event["type"] == "member_crashes"}
        self.all_topics = [topic["topic_name"] for topic in body["topics"]]
        self.assignors = [body.get("assignor", "range")]
        self.protocol = body.get("group_protocol", "classic")
        self.pause_s = body["timing"].get("poll_interval_ms", 0) / 1000
        self.stops: list[tuple[float, str]] = []
        self._create(body["topics"])
        if self.pause_s:
            self._fill(body["topics"])

    def _fill(self, topics: list[Document]) -> None:
        """Records, so that every poll of a member that reads a partition returns at once."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap})
        for topic in topics:
            for i in range(topic["partitions_count"]):
                for _ in range(RECORDS):
                    producer.produce(topic["topic_name"], b"", partition=i)
        producer.flush(60)

    def _create(self, topics: list[Document]) -> None:
        made = self.admin.create_topics([NewTopic(topic["topic_name"], topic["partitions_count"]) for topic in topics])
        for future in made.values():
            future.result(120)

    def join(self, body: Document) -> None:
        """Start a consumer for this member."""
        body = {"topic_names": self.all_topics, **body}
        if self.protocol == "consumer" and body["member_id"] in self.killed:
            names = (
                "bootstrap.servers",
                "group.id",
                "client.id",
                "max.poll.interval.ms",
                "group.protocol",
                "group.remote.assignor",
            )
            properties = {name: value for name, value in self._properties(body).items() if name in names}
            self.members[body["member_id"]] = KilledMember(body, properties)
        else:
            shares = self.protocol == "share"
            self.members[body["member_id"]] = Member(self.broker, body, self._properties(body), shares, self.pause_s)
        member = self.members[body["member_id"]]
        member.start()

    def _properties(self, body: Document) -> Document:
        timing = self.body["timing"]
        deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        properties = {
            "bootstrap.servers": self.broker.bootstrap,
            "group.id": self.body["group_id"],
            "client.id": body["member_id"],
            "key.deserializer": deserializer,
            "value.deserializer": deserializer,
            "max.poll.interval.ms": str(timing["rebalance_timeout_ms"]),
            "metadata.max.age.ms": str(timing.get("metadata_max_age_ms", 300_000)),
        }
        if self.protocol != "share":
            properties |= {"enable.auto.commit": "false", "auto.offset.reset": "earliest", "group.protocol": self.protocol}
        if self.protocol == "classic":
            classes = dict.fromkeys(each for name in self.assignors for each in ASSIGNORS[name])
            properties |= {
                "session.timeout.ms": str(timing["session_timeout_ms"]),
                "heartbeat.interval.ms": str(timing["heartbeat_interval_ms"]),
                "partition.assignment.strategy": ",".join(classes),
                "partition.allocator.url": self.allocator_url,
            }
        elif self.protocol == "consumer":
            properties["group.remote.assignor"] = self.assignors[0]
        if self.pause_s:
            properties["max.poll.records"] = "1"
        if body.get("instance_id"):
            properties["group.instance.id"] = body["instance_id"]
        return properties

    def happen(self, event: Document) -> None:
        """Do what an event says."""
        getattr(self, "_" + event["type"])(event)

    def _member_joins(self, event: Document) -> None:
        self.join(event["member"])

    def _member_leaves(self, event: Document) -> None:
        self.members[event["member_id"]].stop("DEFAULT")

    def _member_crashes(self, event: Document) -> None:
        self.members[event["member_id"]].stop("REMAIN_IN_GROUP")

    def _member_stalls(self, event: Document) -> None:
        self.members[event["member_id"]].do(lambda _: time.sleep(event["for_ms"] / 1000))

    def _member_restarts(self, event: Document) -> None:
        member = self.members[event["member_id"]]
        member.stop("DEFAULT")
        again = threading.Timer(event["down_ms"] / 1000, self._restart, [member])
        again.start()

    def _restart(self, member: Member) -> None:
        properties = self._properties(member.body)
        again = Member(self.broker, member.body, properties, pause_s=self.pause_s, ids=member.ids, reads=member.reads)
        self.members[member.body["member_id"]] = again
        again.start()

    def _rolling_restart(self, event: Document) -> None:
        def roll() -> None:
            for name in list(self.members):
                member = self.members[name]
                member.stop("DEFAULT")
                time.sleep(event["down_ms"] / 1000)
                self._restart(member)
                time.sleep(event["pause_ms"] / 1000)

        self._background = threading.Thread(target=roll)
        self._background.start()

    def _assignor_changes(self, event: Document) -> None:
        new = event.get("assignors")
        steps: list[Any] = []
        if event.get("group_protocol"):
            steps = [(event["group_protocol"], new or ["uniform"])]
        else:
            steps = [(self.protocol, [*new, *self.assignors]), (self.protocol, new)]
            if any({*ASSIGNORS[one]} & {*ASSIGNORS[other]} for one in new for other in self.assignors):
                steps = steps[1:]

        def roll() -> None:
            for self.protocol, self.assignors in steps:
                for name in list(self.members):
                    member = self.members[name]
                    self.stops.append((time.time(), name))
                    member.stop("DEFAULT")
                    time.sleep(event.get("down_ms", 0) / 1000)
                    self._restart(member)
                    time.sleep(event.get("pause_ms", 0) / 1000)

        self._background = threading.Thread(target=roll)
        self._background.start()

    def _subscription_changes(self, event: Document) -> None:
        names = list(event["topic_names"])
        self.members[event["member_id"]].do(lambda consumer: consumer.subscribe(names))

    def _partitions_added(self, event: Document) -> None:
        made = self.admin.create_partitions([NewPartitions(event["topic_name"], event["partitions_count"])])
        made[event["topic_name"]].result(120)

    def _topic_created(self, event: Document) -> None:
        self._create([event["topic"]])

    def _topic_deleted(self, event: Document) -> None:
        self.admin.delete_topics([event["topic_name"]])[event["topic_name"]].result(120)

    _background: threading.Thread | None = None

    def close(self) -> None:
        """End every consumer."""
        if self._background is not None:
            self._background.join()
        for member in self.members.values():
            if member._open:
                member.stop("DEFAULT")


def warm(broker: Broker) -> None:
    """Have the group coordinator load its partitions and its classes, so that the first member need not wait for that."""
    broker.load_coordinator("warm")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("warm", 1)])["warm"].result(120)
    properties = {"bootstrap.servers": broker.bootstrap, "group.id": "warm-consumer", "group.protocol": "consumer"}
    for assignor in ("uniform", "range"):
        consumer = Consumer({**properties, "group.remote.assignor": assignor})
        consumer.subscribe(["warm"])
        for _ in range(50):
            consumer.poll(0.1)
            if consumer.assignment():
                break
        consumer.close()
    shares = Member(broker, {"topic_names": ["warm"]}, _share_properties(broker), shares=True)
    shares.start()
    time.sleep(5)
    shares.stop("DEFAULT")
    time.sleep(2)


def _share_properties(broker: Broker) -> Document:
    deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    sides = {f"{side}.deserializer": deserializer for side in ("key", "value")}
    return {"bootstrap.servers": broker.bootstrap, "group.id": "warm-share", **sides}


def live(broker: Broker, body: Document, partition_allocator_url: str = "http://127.0.0.1:1") -> Document:
    """Live through a timeline. partition_allocator_url : of the service that the leaders of ``balanced`` ask

    Returns the ids that members had, the broker's records, its log lines and the requests that it got, with times in ms since the
    first member started.
    """
    _log_requests(broker)
    group = LiveGroup(broker, body, partition_allocator_url)
    time.sleep(2)  # until the coordinator has seen the topics
    skip = len(broker.log.read_text(encoding="utf-8", errors="replace"))
    started = time.time()
    try:
        for i, member in enumerate(body["members"]):
            group.join(member)
            if i + 1 < len(body["members"]):
                time.sleep(0.5 if group.protocol == "classic" else 2.0)  # so that they join in this order
        for event in body["events"]:
            time.sleep(max(0.0, started + event["at_ms"] / 1000 - time.time()))
            group.happen(event)
        if group._background is not None:
            group._background.join()
        lasts = max([event["at_ms"] + event.get("down_ms", 0) + event.get("for_ms", 0) for event in body["events"]])
        time.sleep(max(0.0, started + lasts / 1000 - time.time()))
        records = _settled(broker, body["group_id"])
    finally:
        ids = {name: member.ids for name, member in group.members.items()}
        reads = [(at, name, partitions) for name, member in group.members.items() for at, partitions in member.reads]
        group.close()
    origin = int(started * 1000)
    log = broker.log.read_text(encoding="utf-8", errors="replace")[skip:]
    found = re.findall(r"^(\d{13}) \S+ (.*)$", log, re.MULTILINE)
    lines = [(int(at) - origin, text) for at, text in found if body["group_id"] in text]
    last = records[-1]["at_ms"] - origin
    for record in records:
        if record["name"] == "SHARE_GROUP_MEMBER_METADATA" and record["value"] is not None:
            ids[record["value"]["clientId"]].append(record["memberId"])
    return {
        "member_ids": ids,
        "records": [{**record, "at_ms": record["at_ms"] - origin} for record in records],
        "log": [[at, text] for at, text in lines if not text.startswith(COMPLETED) and at <= last],
        "requests": [row for row in _requests(broker, lines) if row[0] <= last],
        "stops": [[round(at * 1000) - origin, name] for at, name in group.stops],
        "reads": [[round(at * 1000) - origin, name, _partition_ids(text)] for at, name, text in sorted(reads)],
    }


def _partition_ids(assignment: str) -> list[int]:
    """The ids in the text of a Set<TopicPartition> of one topic: ``[topic-0, topic-2]``."""
    return sorted(int(one.rpartition("-")[2]) for one in assignment.strip("[]").split(", ") if one)


def _log_requests(broker: Broker) -> None:
    """Have the broker log each request when it has answered it, and all that the group coordinator does."""
    log4j = broker.java.org.apache.logging.log4j
    for name in ("kafka.request.logger", "org.apache.kafka.coordinator.group.GroupMetadataManager"):
        log4j.core.config.Configurator.setLevel(name, log4j.Level.DEBUG)


def _requests(broker: Broker, lines: list[tuple[int, str]]) -> list[list[Any]]:
    """The requests of a group's members: when each arrived, its name, the client, its error, and ms until the answer."""
    rows = []
    for at_ms, text in lines:
        if text.startswith(COMPLETED):
            document = json.loads(text.removeprefix(COMPLETED))
            api = document["requestHeader"]["requestApiKeyName"].title().replace("_", "")
            client, took = document["requestHeader"]["clientId"], document["totalTimeMs"]
            if api in RECORDED:
                code = document["response"].get("errorCode", 0)
                error = broker.java.org.apache.kafka.common.protocol.Errors.forCode(code).name() if code else ""
                rows.append([at_ms - round(took), api, client, error, round(took)])
    return sorted(rows)


def _settled(broker: Broker, group_id: str) -> list[Document]:
    """The group's records, once no more come."""
    records = list(_records(broker, group_id))
    while True:
        time.sleep(SETTLED_S)
        again = list(_records(broker, group_id))
        if len(again) == len(records):
            return again
        records = again


def _records(broker: Broker, group_id: str) -> Iterator[Document]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "recorder", "enable.partition.eof": True})
    partitions = list(consumer.list_topics("__consumer_offsets").topics["__consumer_offsets"].partitions)
    consumer.assign([TopicPartition("__consumer_offsets", partition, 0) for partition in partitions])
    ended: set[int] = set()
    rows = []
    while len(ended) < len(partitions):
        message = consumer.poll(5)
        if message is None:
            break
        if message.error():
            ended.add(message.partition())
            continue
        record = read_group_record(message.key(), message.value())
        if record.key.get("group", record.key.get("groupId")) == group_id and record.name != "OFFSET_COMMIT":
            rows.append((message.timestamp()[1], record))
    consumer.close()
    for at_ms, record in rows:
        value = record.value
        if value is not None and record.name == "GROUP_METADATA":
            value = {**value, "members": [_member(member) for member in value["members"]]}
        key = {name: text for name, text in record.key.items() if name not in ("group", "groupId")}
        yield {"at_ms": at_ms, "name": record.name, **key, "value": value}


def _member(member: Document) -> Document:
    """A classic member's id and assignment."""
    raw = base64.b64decode(member["assignment"])
    assigned = sorted([topic, i] for topic, ids in (read_assignment(raw).partitions if raw else ()) for i in ids)
    return {"member_id": member["memberId"], "instance_id": member.get("groupInstanceId"), "assignment": assigned}
