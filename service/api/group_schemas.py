"""The JSON body of a question about a group.

A body may hold a million owned partitions, so what is well-formed is read in bulk; see ``Rows``.
"""

from itertools import islice, product
from math import prod
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, ValidationError, post_load, pre_load, validate

from service.api import form_of
from service.core.kafka_versions import LATEST
from service.core.model import NONE
from service.core.printable import counted
from service.decisions.groups.question import VARIED, GroupQuestion
from service.decisions.groups.rows import MAX_COMBINATIONS, MEMBER, TOPIC, TOPIC_ID, plain_members, plain_topics
from service.decisions.rows import NAME
from service.http import fields
from service.http.fields import INT32, INT64, Bool, Int, Name, Number, Subject, TopicName
from service.http.forms import PRICE_PER_GB, topic_of_a_snapshot
from service.http.json import arrays
from service.http.json.arrays import IntegerLists
from service.http.json.codec import loads
from service.http.lists import Array, Rows
from service.http.problems import reword

NAMES: Final = ("kafka_version", "group_protocol", "assignor", "client", "client_version", "group_id")
"""The texts of a body besides topics and members; null is the same as absent."""

COMPARED: Final = pa.list_(pa.struct({name: pa.bool_() if name == "balance_racks" else NAME for name in VARIED}))
MOST_COMPARED: Final = 20

ELSEWHERE: Final = {"connect": "/v1/connect-assignments", "streams": "/v1/streams-assignments"}
"""The families of the protocols whose groups are not of members and partitions, by their paths."""

LARGE: Final = 2**20
"""Bytes from which a body is read faster by Arrow."""


# ---- fields ------------------------------------------------------------------------------------------------------------


class LagSchema(Schema):
    """The lag of a group: two offsets of each partition."""

    committed_offsets = Array(
        Int(minimum=NONE, maximum=INT64, allow_none=True),
        "what the group has committed; null or -1: nothing, so that the lag is not known",
        required=True,
    )
    log_end_offsets = Array(
        Int(minimum=NONE, maximum=INT64, allow_none=True),
        "the logs' ends; null or -1: unknown, as without a leader",
        required=True,
    )
    log_start_offsets = Array(
        Int(minimum=NONE, maximum=INT64, allow_none=True),
        "where the logs begin, which bounds the lag of what is not committed; absent, null or -1: unknown",
        allow_none=True,
    )


@topic_of_a_snapshot("topic_id", "partitions_count")
class TopicSchema(Schema):
    """A topic that exists."""

    topic_name = TopicName(required=True)
    topic_id = Name(
        "Kafka's base64 Uuid; it decides ties in the consumer and share protocols",
        rule=validate.And(
            validate.Regexp(TOPIC_ID, error="Not a Kafka Uuid: 22 characters of base64."), validate.Length(equal=22)
        ),
        allow_none=True,
    )
    partitions_count = Int(
        "with `expected`, also a list of counts, any of which the leader may have seen; `partition_racks` then has at least "
        "an entry for each partition of the largest count",
        required=True,
        minimum=1,
    )
    partition_racks = Array(
        Array(Name(empty=True)),
        "for each partition the racks of its replicas; a replica without a rack is left out, or empty",
        allow_none=True,
    )
    partition_weights = Array(
        Number(zero=True),
        "the load of each partition (lag, bytes/s, records/s), of all topics or of none. Kafka's assignors ignore it; the "
        "answer contains the load of each member",
        allow_none=True,
    )
    lag = fields.Nested(
        LagSchema,
        "instead of `partition_weights`: a partition's load is its lag, in records. A lag that is not known, as that of a topic "
        "without this field, is left out of loads, which `warnings` say. To `spark:kafka-source` it is where a batch starts and "
        "ends",
        allow_none=True,
    )


class TopicPartitionsSchema(Schema):
    """Partitions of one topic."""

    topic_name = TopicName(required=True)
    partition_ids = Array(Int(minimum=0), required=True)


class MemberSchema(Schema):
    """A member of the group, with its subscription and its owned partitions."""

    member_id = Name(required=True)
    instance_id = Name("`group.instance.id` of a static member", allow_none=True)
    rack_id = Name("`client.rack`; an empty text stands for no rack", empty=True, allow_none=True)
    topic_names = Array(
        TopicName(),
        "the topics it subscribes to, in any order, without duplicates; a name that is not in `topics` does not exist. "
        "Absent: every topic of the request",
        allow_none=True,
    )
    generation_id = Int(
        "the last generation that it belonged to; absent or -1: none; 0, where the broker assigns: it joins just now",
        minimum=NONE,
        allow_none=True,
    )
    owned_partitions = Array(
        fields.Nested(TopicPartitionsSchema),
        "the partitions it owned before. Several members may claim the same partition, and claims may name partitions and "
        "topics that do not exist",
        allow_none=True,
    )
    capacity = Number(
        "how much the member can read, relative to the others; `balanced` evens out load ÷ capacity. Absent: 1. Kafka's "
        "assignors ignore it",
        allow_none=True,
    )


def topics_field() -> Rows:
    """The body's ``topics``."""
    return Rows(TopicSchema, TOPIC, plain_topics, "the topics that exist, in any order", required=True)


def members_field(text: str = "the members; for the classic protocol in the order of the JoinGroup response") -> Rows:
    """The body's ``members``."""
    return Rows(MemberSchema, MEMBER, plain_members, text, required=True)


# ---- reading -----------------------------------------------------------------------------------------------------------


def read_body(text: bytes) -> Any:
    """The value of a JSON body; raises ValueError for what is not JSON.

    ``topics`` and ``members`` of a large body are Arrow arrays if all of it is plainly well-formed, so that a million owned
    partitions never become Python objects.
    """
    if len(text) < LARGE:
        return loads(text)
    lists = arrays.take_out(text)
    return (lists and _read_large(lists.rest, lists)) or _read_large(text, None) or loads(text)


def _read_large(text: bytes, lists: IntegerLists | None) -> dict[str, Any] | None:
    """A body read by Arrow; None unless it is plainly well-formed. lists : those that ``text`` no longer holds"""
    options = {**dict.fromkeys(NAMES, NAME), "balance_racks": pa.bool_(), "price_per_gb": pa.float64()}
    options |= {"min_partitions": pa.int32(), "max_records_per_partition": pa.int64(), "random_seed": pa.int64()}
    options |= {"max_moves": pa.int32(), "compare": COMPARED}
    columns = arrays.read_object(text, {**options, "topics": pa.list_(TOPIC), "members": pa.list_(MEMBER)})
    if columns is None or columns["topics"].null_count or columns["members"].null_count:
        return None
    if len(columns["compare"].flatten()) > MOST_COMPARED:
        return None  # refused by the schema; as Python objects, each would have all its fields
    topics, members = columns["topics"].flatten(), columns["members"].flatten()
    if lists and not members.null_count:
        # Integer lists may also have stood in partition_weights or, wrongly, anywhere else: then Arrow reads the whole text.
        members = arrays.put_back(members, ("owned_partitions", "partition_ids"), lists)
    if members is None or topics.null_count or members.null_count or not (plain_topics(topics) and plain_members(members)):
        return None
    given = {name: columns[name][0].as_py() for name in options if columns[name].null_count == 0}
    return {**given, "topics": topics, "members": members}


CLIENT: Final = fields.String(
    "classic: the library whose group leader assigns. Then `assignor` is the name in that library: `client: librdkafka` "
    "and `assignor: range` are the same as `assignor: librdkafka:range`. Absent: `java`",
    load_default=None,
    example="java",
)

CLIENT_VERSION: Final = fields.String(
    "the release of that library; GET /v1/assignors lists those compared. Absent: the newest of them", load_default=None
)


class ExpectedSchema(Schema):
    """What one member is expected to get."""

    member_id = Name(required=True)
    partitions = Array(fields.Nested(TopicPartitionsSchema), required=True)


class ComparedAssignorSchema(Schema):
    """Another assignor, to be set beside the one that is asked for."""

    group_protocol = fields.String("Absent: classic with a `client`, else as in the body", load_default=None, example="consumer")
    assignor = fields.String("Absent: the default", load_default=None, example="uniform")
    client = fields.String("as in the body", load_default=None)
    client_version = fields.String("as in the body", load_default=None)
    balance_racks = Bool("as in the body", load_default=None)
    kafka_version = fields.String("Absent: as in the body", load_default=None)


class GroupAssignmentSchema(Schema):
    """A group to be assigned."""

    kafka_version = fields.String(
        f"the release of Apache Kafka to reproduce; GET /v1/assignors lists those of each assignor. Absent: {LATEST}",
        load_default=None,
        example=LATEST,
    )
    group_protocol = fields.String(
        "the protocol of the group, as GET /v1/assignors lists them. A body for `connect` or `streams` is one of "
        "/v1/connect-assignments or /v1/streams-assignments, and is answered as there. Absent: classic",
        load_default=None,
        example="classic",
    )
    assignor = fields.String(
        "the name of an assignor of that protocol, as GET /v1/assignors lists them. Absent: `range` for classic, `uniform` "
        "for consumer, `simple` for share",
        load_default=None,
        example="range",
    )
    client = CLIENT
    client_version = CLIENT_VERSION
    balance_racks = Bool("franz-go: whether its leader has the option `kgo.BalanceRacks()`. Absent: false", load_default=None)
    group_id = Subject("group")
    topics = topics_field()
    members = members_field()
    expected = Array(
        fields.Nested(ExpectedSchema),
        "`assignments` to compare with. Then `partitions_count` of a topic may be a list of counts, of which the leader may "
        f"have seen any; at most {MAX_COMBINATIONS} combinations are tried",
        load_default=None,
    )

    compare = Array(
        fields.Nested(ComparedAssignorSchema),
        "other assignors, of any protocol and client, to compare with this one on the same group: see `comparisons`",
        load_default=None,
        validate=validate.Length(max=MOST_COMPARED),
        example=[
            {"assignor": "cooperative-sticky"},
            {"client": "librdkafka", "assignor": "range"},
            {"group_protocol": "consumer"},
        ],
    )
    random_seed = Int(
        "of what a client's library leaves to chance (`left_open`): each seed is one run of the library; default 0",
        minimum=0,
        maximum=INT64,
        load_default=None,
    )
    max_moves = Int(
        "`balanced`: at most this number of owned partitions go to another member; the best balance within that",
        minimum=0,
        load_default=None,
    )
    min_partitions = Int(
        "`spark:kafka-source`: Spark's `minPartitions`. If fewer partitions have records, they are divided into about this "
        "number of `ranges`, for which topics need `lag`",
        minimum=1,
        load_default=None,
    )
    max_records_per_partition = Int(
        "`spark:kafka-source`: Spark's `maxRecordsPerPartition` (since 4.0.0), the most records of a range",
        minimum=1,
        maximum=INT64,
        load_default=None,
    )
    price_per_gb = PRICE_PER_GB

    def load(self, data: Any, **options: Any) -> Any:
        """The question of a body, which may be of another family (ELSEWHERE)."""
        protocol = data.get("group_protocol") if isinstance(data, dict) else None
        if isinstance(protocol, str) and protocol in ELSEWHERE:
            schema = form_of(ELSEWHERE[protocol]).schema
            try:
                return schema.load(data, **options)
            except ValidationError as error:
                reword(error.messages, schema, data)
                raise
        return super().load(data, **options)

    @pre_load
    def candidates(self, body: Any, **_: Any) -> Any:
        """The body with one partition count for each topic. Raises ValidationError."""
        topics = body.get("topics") if isinstance(body, dict) else None
        if not isinstance(topics, list) or not any(map(_has_candidates, topics)):
            return body
        faults: dict[int, Any] = {}
        for i, topic in enumerate(topics):
            fault = _fault(topic, body) if _has_candidates(topic) else None
            if fault is not None:
                faults[i] = {"partitions_count": [fault]}
        if faults:
            raise ValidationError({"topics": faults})
        if prod(len(topic["partitions_count"]) for topic in topics if _has_candidates(topic)) > MAX_COMBINATIONS:
            raise ValidationError({"topics": [f"At most {MAX_COMBINATIONS} combinations of partition counts are tried."]})
        first = [
            topic | {"partitions_count": topic["partitions_count"][0]} if _has_candidates(topic) else topic for topic in topics
        ]
        return {**body, "topics": first}

    @post_load(pass_original=True)
    def question(self, body: dict[str, Any], original: Any, **_: Any) -> GroupQuestion:
        """The question."""
        compare = body.pop("compare") or ()
        # Each combination of the candidates, by topic name, in the order of the lists; one without names if there are none.
        topics = original["topics"] if isinstance(original["topics"], list) else ()
        lists = {topic["topic_name"]: topic["partitions_count"] for topic in topics if _has_candidates(topic)}
        combinations = islice(product(*lists.values()), MAX_COMBINATIONS)
        counts = tuple(dict(zip(lists, each, strict=True)) for each in combinations)
        return GroupQuestion(**body, compare=compare, counts=counts)


def _has_candidates(topic: Any) -> bool:
    return isinstance(topic, dict) and isinstance(topic.get("partitions_count"), list)


def _fault(topic: dict[str, Any], body: dict[str, Any]) -> str | None:
    counts = topic["partitions_count"]
    if body.get("expected") is None:
        return "Several counts can be tried only against `expected`."
    for name in ("partition_weights", "lag"):
        if topic.get(name) is not None:
            return f"Several counts cannot be tried with {name}."
    if not 0 < len(counts) <= MAX_COMBINATIONS or not all(type(count) is int and 0 < count <= INT32 for count in counts):
        return f"Must be an integer, or a list of 1 to {MAX_COMBINATIONS} integers, from 1 to {INT32}."
    racks = topic.get("partition_racks")
    if isinstance(racks, list) and len(racks) < max(counts):
        return f"partition_racks must have {counted(max(counts), 'entry', 'entries')}, one for each partition, not {len(racks)}."
    return None
