"""Follow a key: to its partition, the brokers that hold it, and who reads it, now and after a planned change.

The cluster is what `texts` describe, as for `/v1/descriptions`. What is not described is null or `unknown`. Members own what the
texts say; where a group rebalances, or no text says it, the group's assignor decides (`basis`: `assigned`). As `text/csv` or an
Arrow stream the answer has a row for each reader.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import pyarrow as pa
from marshmallow import validate

from service.api.descriptions import MOST_TEXTS
from service.api.reassignment_schemas import KafkaReassignmentSchema
from service.core.budget import Budget, Figures
from service.core.errors import AllocatorError, InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.keys.formats import FORMATS
from service.core.partitioners import PARTITIONERS
from service.core.partitioners.model import AS_NULL
from service.core.printable import all_of, counted
from service.decisions import partitions
from service.decisions.groups.answer import answer as assign
from service.decisions.groups.question import of_rows
from service.decisions.rows import columns
from service.descriptions import bodies
from service.descriptions.answers import DescriptionsQuestion, partitions_of
from service.descriptions.answers import answer as read
from service.descriptions.model import Description
from service.descriptions.subscriptions import completed, topics_read
from service.http import fields
from service.http.fields import Int
from service.http.forms import AnswerSchema, Form, KafkaVersion, Operation, QuestionSchema
from service.http.lists import Array
from service.planner.rebalances import final_rows

# A key → its partition → its brokers → who reads it, now and after a planned change: the question, and its answer.

Basis = Literal["owned", "assigned", "none", "unknown"]

MOST_GROUPS: Final = 100
"""Most groups that read the topic."""

NAMED: Final = 5
"""Most groups and brokers that a sentence names."""


@dataclass(frozen=True)
class KeyTraceQuestion:
    """A key of a topic of a cluster that texts describe, and what is planned.

    topic_name, group_id : None: the only topic; all groups that read it
    partitions_count : of the topic now, where no text tells
    planned_partitions_count, planned_members_count : of the topic, and of the group; None: stays
    reassignment : Kafka's reassignment JSON, with ``partitions`` as rows (topic, partition, replicas); None: none
    """

    key: Any
    texts: Sequence[str] = ()
    topic_name: str | None = None
    partitions_count: int | None = None
    partitioner: str = "java"
    key_format: str | None = None
    group_id: str | None = None
    planned_partitions_count: int | None = None
    planned_members_count: int | None = None
    reassignment: dict[str, pa.StructArray] | None = None
    kafka_version: str = LATEST

    @property
    def changes(self) -> bool:
        """Is anything planned?"""
        return not (self.planned_partitions_count is None and self.planned_members_count is None and self.reassignment is None)


@dataclass(frozen=True)
class HeldReplica:
    """A replica. rack_id, in_sync : None: not known"""

    broker_id: int
    rack_id: str | None
    in_sync: bool | None


@dataclass(frozen=True)
class Reader:
    """Who reads a partition in a group.

    basis : ``owned``: as described; ``assigned``: by the group's assignor, if it rebalances; ``none``; ``unknown``
    member_id, client_id, host : None with the last two, or where they are not known
    lag : records that are not committed yet; None: not known
    """

    group_id: str
    basis: Basis
    member_id: str | None = None
    client_id: str | None = None
    host: str | None = None
    lag: int | None = None


@dataclass(frozen=True)
class KeyPath:
    """The way of a key.

    leader : a broker; -1: none; None: not known
    replicas : the first is preferred as leader; None: not known
    """

    partition_id: int
    partitions_count: int
    leader: int | None
    replicas: tuple[HeldReplica, ...] | None
    readers: tuple[Reader, ...]


@dataclass(frozen=True)
class KeyTraceAnswer:
    """The way of a key, also in a sentence. planned : after the change; None: none is planned"""

    question: KeyTraceQuestion
    topic_name: str
    now: KeyPath
    planned: KeyPath | None
    conclusion: str
    warnings: tuple[str, ...]

    @property
    def figures(self) -> Figures:
        """See Figures."""
        return Figures(self.question.partitioner, {"partitions": self.now.partitions_count}, None, self.topic_name)


def answer(question: KeyTraceQuestion, budget: Budget) -> KeyTraceAnswer:
    """Follow the key. Raises InvalidQuestion, and what the budget raises."""
    _check_key(question)
    described = read(DescriptionsQuestion(question.texts), budget).description if question.texts else Description("options")
    topic_name = question.topic_name or str(bodies.described_topic(described, None)["topic_name"])
    if question.partitions_count is not None:
        rows = ({"topic_name": topic_name, "partitions_count": question.partitions_count},)
        described = described.merged(Description(described.form, topics=rows))
    warnings = list(described.notes)
    now = _Cluster(question, described, topic_name, budget, warnings).path()
    planned = None
    if question.changes:
        after = _changed(question, described, topic_name, now)
        planned = _Cluster(question, after, topic_name, budget, warnings, is_planned=True).path()
    known = [replica for path in (now, planned) if path for replica in path.replicas or ()]
    without = sorted({str(replica.broker_id) for replica in known if replica.rack_id is None}, key=int)
    if without:
        its = "rack of broker" if len(without) == 1 else "racks of brokers"
        warnings.append(f"The {its} {all_of(without, NAMED)} {'is' if len(without) == 1 else 'are'} not known.")
    sentences = [f"{question.key!r} → {_way(topic_name, now, question.partitioner)}."]
    if planned is not None:
        sentences.append(f"After the change → {_way(topic_name, planned, question.partitioner)}.")
        if planned.partition_id != now.partition_id:
            sentences.append(f"Records that were written before stay in {topic_name}-{now.partition_id}.")
    return KeyTraceAnswer(question, topic_name, now, planned, " ".join(sentences), tuple(dict.fromkeys(warnings)))


def _check_key(question: KeyTraceQuestion) -> None:
    """Raise InvalidQuestion unless the key alone decides."""
    partitioner = PARTITIONERS[question.partitioner]
    if partitioner.hash is None or not partitioner.writes_to_kafka or partitioner.gives_tokens:
        why = partitioner.without_rule if partitioner.hash is None else "does not write to Kafka"
        raise InvalidQuestion(f"A key has no partition of its own: {partitioner.name} {why}.", "partitioner")
    if question.key is None or (question.key == "" and partitioner.empty_key == AS_NULL):
        what = "without a key" if question.key is None else "with an empty key"
        raise InvalidQuestion(f"{partitioner.name} writes records {what} to any partition.", "key")


def _changed(question: KeyTraceQuestion, described: Description, topic_name: str, now: KeyPath) -> Description:
    """The cluster after the change, but for the groups, which rebalance."""
    count = question.planned_partitions_count
    if count is not None and count < now.partitions_count:
        raise InvalidQuestion(
            f"Kafka removes no partitions; {topic_name} has {now.partitions_count}.", "planned_partitions_count"
        )
    topic = {**_topic(described, topic_name), "partitions_count": count or now.partitions_count}
    if question.reassignment is not None:
        rows = [row for row in question.reassignment["partitions"].to_pylist() if row["topic"] == topic_name]
        if not rows:
            raise InvalidQuestion(f"It does not name topic {topic_name!r}.", "reassignment", "partitions")
        placements = {each["partition_id"]: each for each in topic.get("placements", ())}
        for row in rows:
            before, after = placements.get(row["partition"], {}), {"partition_id": row["partition"], "replicas": row["replicas"]}
            if "leader" in before:  # the controller elects another only if the leader goes
                after["leader"] = before["leader"] if before["leader"] in row["replicas"] else row["replicas"][0]
            placements[row["partition"]] = after
        topic["placements"] = [placements[partition_id] for partition_id in sorted(placements)]
    return described.merged(Description(described.form, topics=(topic,)))


def _topic(described: Description, topic_name: str) -> dict[str, Any]:
    return next((topic for topic in described.topics if topic["topic_name"] == topic_name), {"topic_name": topic_name})


@dataclass(frozen=True)
class _Cluster:
    """A cluster in which a key is followed. warnings : gets what was assumed. is_planned : do groups rebalance first?"""

    question: KeyTraceQuestion
    described: Description
    topic_name: str
    budget: Budget
    warnings: list[str]
    is_planned: bool = False

    def path(self) -> KeyPath:
        """The way of the key. Raises InvalidQuestion."""
        question, topic = self.question, _topic(self.described, self.topic_name)
        count = partitions_of(topic)
        if count is None:
            how = f"give partitions_count, or describe the topic: kafka-topics --describe --topic {self.topic_name}"
            raise InvalidQuestion(f"The partition count of topic {self.topic_name!r} is not known: {how}.", "topic_name")
        asked = partitions.PartitionsQuestion(
            partitioner=question.partitioner,
            kafka_version=question.kafka_version,
            partitions_count=count,
            key_format=question.key_format,
            keys=[question.key],
        )
        try:
            partition_id = int(partitions.answer(asked, self.budget).result.partitions[0])
        except InvalidQuestion as error:
            error.field = ("key",) if error.field[:1] == ("keys",) else error.field
            raise
        placement = next((each for each in topic.get("placements", ()) if each["partition_id"] == partition_id), None)
        readers = tuple(reader for group in self._groups() for reader in self._readers(group, partition_id))
        if placement is None:
            return KeyPath(partition_id, count, None, None, readers)
        racks = {broker["broker_id"]: broker.get("rack_id") for broker in self.described.brokers}
        in_sync = placement.get("in_sync_replicas")
        replicas = [
            HeldReplica(broker, racks.get(broker), None if in_sync is None else broker in in_sync)
            for broker in placement["replicas"]
        ]
        leader = placement.get("leader")
        none = leader is None and "leader" in placement
        return KeyPath(partition_id, count, -1 if none else leader, tuple(replicas), readers)

    def _groups(self) -> list[dict[str, Any]]:
        """The groups asked for, or those that read the topic."""
        groups, chosen = self.described.groups, self.question.group_id
        if chosen is not None:
            return [bodies.described_group(self.described, chosen)]
        readers = [group for group in groups if self.topic_name in topics_read(group)]
        if self.question.planned_members_count is not None and len(readers) != 1:
            raise InvalidQuestion(
                f"{counted(len(readers), 'group')} read {self.topic_name!r}; name the one that changes.", "group_id"
            )
        if len(readers) > MOST_GROUPS:
            raise InvalidQuestion(f"{len(readers)} groups read {self.topic_name!r}; name one.", "group_id")
        return readers

    def _readers(self, group: dict[str, Any], partition_id: int) -> Iterator[Reader]:
        """Who reads the partition in a group."""
        members = {member["member_id"]: member for member in group.get("members") or ()}
        lag = bodies.lags_of(group, self.described).get((self.topic_name, partition_id))
        rebalances = self.is_planned and (
            self.question.planned_partitions_count is not None or self.question.planned_members_count is not None
        )
        owns = any(member.get("owned_partitions") for member in members.values())
        if not members and not rebalances:
            yield Reader(group["group_id"], "unknown" if "members" not in group else "none", lag=lag)
            return
        if owns and not rebalances:
            basis: Basis = "owned"
            found = [name for name, member in members.items() if _owns(member, self.topic_name, partition_id)]
        else:
            basis = "assigned"
            try:
                found = self._assigned(group["group_id"], partition_id)
            except AllocatorError as error:
                self.warnings.append(f"Who reads it in group {group['group_id']!r} is not known. {error}")
                yield Reader(group["group_id"], "unknown", lag=lag)
                return
        for name in found:
            member = members.get(name, {})
            yield Reader(group["group_id"], basis, name, member.get("client_id"), member.get("host"), lag)
        if not found:
            yield Reader(group["group_id"], "none", lag=lag)

    def _assigned(self, group_id: str, partition_id: int) -> list[str]:
        """The members that the group's assignor gives the partition to. Raises AllocatorError."""
        question = self.question
        planned = question.planned_partitions_count if self.is_planned else None
        members = question.planned_members_count if self.is_planned else None
        counts = {} if planned is None else {self.topic_name: planned}
        body, assumed = bodies.assumed_group(completed(self.described, group_id, counts, members), group_id)
        self.warnings.extend(f"Group {group_id!r}: {sentence}" for sentence in assumed)
        its = assign(of_rows(**{"kafka_version": question.kafka_version, **body}), self.budget)
        last = its.second or its.first
        topics, rows = last.group.topics, final_rows(last.outcome.assignment)
        if self.topic_name not in topics.names:  # no member subscribes to it any more
            return []
        place = topics.first[topics.names.index(self.topic_name)] + partition_id
        new = 0 if members is None else members - len(bodies.described_group(self.described, group_id).get("members") or ())
        if new > 0:
            draws = counted(new, "new member draws", "new members draw")
            self.warnings.append(f"Group {group_id!r}: who gets it depends on the ids that {draws}; the answer is one draw.")
        if its.outcomes is not None:
            self.warnings.append(f"Group {group_id!r}: its library leaves something to chance; another run may assign otherwise.")
        return [name for i, name in enumerate(last.group.member_ids) if place in rows.row(i)]


def _owns(member: dict[str, Any], topic_name: str, partition_id: int) -> bool:
    owned = member.get("owned_partitions") or ()
    return any(part["topic_name"] == topic_name and partition_id in part["partition_ids"] for part in owned)


def _way(topic_name: str, path: KeyPath, partitioner: str) -> str:
    """``orders-10 of 12 partitions (java) → leader 3 (rack b), … → web-2 at 10.0.0.5 in group billing, lag 120``"""
    partition = f"{topic_name}-{path.partition_id} of {counted(path.partitions_count, 'partition')} ({partitioner})"
    return " → ".join((partition, _held(path), _read(path.readers)))


def _held(path: KeyPath) -> str:
    if path.replicas is None:
        return "its brokers are not known"
    names = {each.broker_id: f"{each.broker_id}{f' (rack {each.rack_id})' if each.rack_id else ''}" for each in path.replicas}
    leads = "no leader" if path.leader == -1 else "leader not known"
    if path.leader is not None and path.leader != -1:
        leads = f"leader {names.get(path.leader, path.leader)}"
    in_sync = [str(each.broker_id) for each in path.replicas if each.in_sync]
    state = f", in sync: {', '.join(in_sync) or 'none'}"
    if any(each.in_sync is None for each in path.replicas):
        state = ""
    elif len(in_sync) == len(path.replicas):
        state = ", all in sync"
    return f"{leads}, replicas {', '.join(names.values())}{state}"


_WHO: Final[dict[Basis, Callable[[Reader], str]]] = {
    "owned": lambda reader: f"{_member(reader)} in group {reader.group_id}",
    "assigned": lambda reader: f"{_member(reader)} in group {reader.group_id} by its assignor",
    "none": lambda reader: f"no member of group {reader.group_id}",
    "unknown": lambda reader: f"not known who in group {reader.group_id}",
}


def _read(readers: Sequence[Reader]) -> str:
    if not readers:
        return "no group that reads it is described"
    written = [_WHO[each.basis](each) + ("" if each.lag is None else f", lag {each.lag:,}") for each in readers[:NAMED]]
    more = f"; {counted(len(readers) - NAMED, 'more reader')}" if len(readers) > NAMED else ""
    return "; ".join(written) + more


def _member(reader: Reader) -> str:
    return f"{reader.member_id}{f' at {reader.host}' if reader.host else ''}"


class KeyTraceSchema(QuestionSchema):
    """A key of a topic, the cluster as texts describe it, and what is planned."""

    asks = KeyTraceQuestion
    kafka_version = KafkaVersion()
    key = fields.Raw("the key, as `key_format` has it", required=True, example="order-1")
    key_format = fields.String(
        "how the JSON value becomes a key, as Kafka's serializers do; default `string`", validate=validate.OneOf(FORMATS)
    )
    partitioner = fields.String("a name of GET /v1/partitioners", load_default="java", example="java")
    texts = Array(
        fields.String(),
        "what Kafka's tools and others print, snapshots, logs; later texts complete earlier ones",
        validate=validate.Length(max=MOST_TEXTS),
    )
    topic_name = fields.String("default: the only one that is described", example="orders", validate=validate.Length(max=249))
    partitions_count = Int("the topic's partitions, where no text tells", minimum=1)
    group_id = fields.String("default: all groups that read the topic", allow_none=True)
    planned_partitions_count = Int("partitions that the topic is to have", minimum=1)
    planned_members_count = Int("members that the group is to have", minimum=1)
    reassignment = fields.Nested(KafkaReassignmentSchema, "a planned one: Kafka's reassignment JSON")


class HeldReplicaSchema(AnswerSchema):
    """A replica."""

    broker_id = fields.Integer()
    rack_id = fields.String("null: not known", allow_none=True)
    in_sync = fields.Boolean("null: not known", allow_none=True)


class ReaderSchema(AnswerSchema):
    """Who reads the partition in a group."""

    group_id = fields.String()
    basis = fields.String(
        "`owned`: as described; `assigned`: by the group's assignor, when it rebalances; `none`; `unknown`", example="owned"
    )
    member_id = fields.String(allow_none=True)
    client_id = fields.String(allow_none=True)
    host = fields.String(allow_none=True)
    lag = fields.Integer("records of the partition that are not committed yet; null: not known", allow_none=True)


class KeyPathSchema(AnswerSchema):
    """The way of the key."""

    partition_id = fields.Integer()
    partitions_count = fields.Integer()
    leader = fields.Integer("-1: none; null: not known", allow_none=True)
    replicas = fields.List(fields.Nested(HeldReplicaSchema), "the preferred leader first; null: not known", allow_none=True)
    readers = fields.List(fields.Nested(ReaderSchema), "of each group at least one row")


class KeyTraceAnswerSchema(AnswerSchema):
    """The way of the key, now and after the change."""

    kafka_version = fields.String()
    partitioner = fields.String()
    topic_name = fields.String()
    conclusion = fields.String("the way in a sentence")
    warnings = fields.List(fields.String(), "what was skipped or assumed, and what is not known")
    now = fields.Nested(KeyPathSchema)
    planned = fields.Nested(KeyPathSchema, "null: no change is planned", allow_none=True)


def document(answer: KeyTraceAnswer) -> dict[str, Any]:
    """The answer, as KeyTraceAnswerSchema has it."""
    return {
        "kafka_version": answer.question.kafka_version,
        "partitioner": answer.question.partitioner,
        "topic_name": answer.topic_name,
        "conclusion": answer.conclusion,
        "warnings": list(answer.warnings),
        "now": asdict(answer.now),
        "planned": None if answer.planned is None else asdict(answer.planned),
    }


def table(answer: KeyTraceAnswer) -> pa.Table:
    """A row for each reader, or for the partition if no group reads it."""
    rows = []
    for when, path in (("now", answer.now), ("planned", answer.planned)):
        if path is not None:
            held = {"when": when, "partition_id": path.partition_id, "leader": path.leader}
            rows += [held | asdict(reader) for reader in path.readers] or [held]
    return pa.Table.from_pylist(rows, COLUMNS)


COLUMNS: Final = pa.schema(
    columns(
        "when string, partition_id int, leader int, group_id string, basis string, member_id string, client_id string, "
        "host string, lag long"
    )
)


FORM: Final = Form(KeyTraceSchema(), answer, KeyTraceAnswerSchema, document, table)

EXAMPLE: Final = {
    "key": "order-1",
    "topic_name": "orders",
    "texts": ["Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n", "broker,rack\n1,a\n2,b\n"],
    "planned_partitions_count": 4,
}

OPERATION: Final = Operation("traceKey", "trace", "a key → its partition, brokers and readers", EXAMPLE)
