"""The body of ``POST /v1/group-assignments``: its schema, and how it becomes a ``Group``.

A body may hold a million owned partitions, so what is well-formed is read in bulk; see ``Rows``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from marshmallow import Schema, ValidationError, fields, pre_load, validate

from service.api.groups.expected import (
    MAX_COMBINATIONS,
    ExpectedSchema,
    counts_to_try,
    expected_faults,
    expected_group,
    largest_counts,
    with_counts,
    without_candidates,
)
from service.core.assignors import GROUP_PROTOCOLS, Assignor, of_client
from service.core.errors import UnknownStrategy, raise_all
from service.core.kafka_versions import LATEST
from service.core.model import NONE
from service.decisions.groups.rows import (
    MEMBER,
    NAME,
    TOPIC,
    TOPIC_ID,
    WrongGroup,
    member_faults,
    partitions_total,
    plain_members,
    plain_topics,
    read_group,
    subscriptions_total,
    topic_faults,
)
from service.web import responses
from service.web.blueprint import Parser, Parts, QuestionSchema
from service.web.columns_field import Columns
from service.web.context import check_limit, reserve
from service.web.fields import Integer, List, Name, Number, Subject, TopicName, about
from service.web.json import arrays, integer_lists
from service.web.json.codec import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.core.model import Group, Int64s
    from service.web.json.integer_lists import IntegerLists

NAMES: Final = ("kafka_version", "group_protocol", "assignor", "client", "client_version", "group_id")
"""The members of a body besides topics and members; null is the same as absent."""

LARGE: Final = 2**20
"""Bytes from which a body is read faster by Arrow."""


# ---- fields ------------------------------------------------------------------------------------------------------------


class Rows(Columns):
    """A list of objects as one ``pyarrow.StructArray``. row : its type; is_plain : is every row of an array well-formed?"""

    def __init__(self, schema: type[Schema], row: pa.DataType, is_plain: Callable[[pa.StructArray], bool], **kwargs: Any) -> None:
        super().__init__(schema, {}, **kwargs)
        self.row = row
        self.is_plain = is_plain

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        # read_body has checked what is an array already.
        return value if isinstance(value, pa.StructArray) else super()._deserialize(value, attr, data, **kwargs)

    def plain(self, rows: list[Any]) -> pa.StructArray | None:
        """See Columns."""
        array = arrays.read(rows, self.row)
        return None if array is None or array.null_count or not self.is_plain(array) else array

    def odd(self, row: dict[str, Any]) -> pa.StructArray:
        """See Columns."""
        return pa.array([row], self.row)

    def joined(self, pieces: list[pa.StructArray]) -> pa.StructArray:
        """See Columns."""
        return pa.concat_arrays(pieces)


class TopicSchema(Schema):
    """A topic that exists."""

    topic_name = TopicName(required=True)
    topic_id = Name(
        # Python's $ also stands before a last newline; hence the length.
        rule=validate.And(
            validate.Regexp(TOPIC_ID, error="Not a Kafka Uuid: 22 characters of base64."), validate.Length(equal=22)
        ),
        allow_none=True,
        metadata=about("Kafka's base64 Uuid; it decides ties in the consumer and share protocols"),
    )
    partitions_count = Integer(
        required=True,
        minimum=1,
        metadata=about(
            "with `expected`, also a list of counts, of which the leader may have seen any; `partition_racks` then has at least "
            "an entry for each partition of the largest count"
        ),
    )
    partition_racks = List(
        List(Name(empty=True)),
        allow_none=True,
        metadata=about("for each partition the racks of its replicas; a replica without a rack is left out, or empty"),
    )
    partition_weights = List(
        Number(zero=True),
        allow_none=True,
        metadata=about(
            "the load of each partition (lag, bytes/s, records/s), of all topics or of none. Kafka's assignors "
            "ignore it; the answer contains the load of each member"
        ),
    )


class TopicPartitionsSchema(Schema):
    """Partitions of one topic."""

    topic_name = TopicName(required=True)
    partition_ids = List(Integer(minimum=0), required=True)


class MemberSchema(Schema):
    """A member of the group, with its subscription and its owned partitions."""

    member_id = Name(required=True)
    instance_id = Name(allow_none=True, metadata=about("`group.instance.id` of a static member"))
    rack_id = Name(empty=True, allow_none=True, metadata=about("`client.rack`; an empty text stands for no rack"))
    topic_names = List(
        TopicName(),
        allow_none=True,
        metadata=about(
            "the topics it subscribes to, in any order, without duplicates; a name that is not in "
            "`topics` does not exist. Absent: every topic of the request"
        ),
    )
    generation_id = Integer(
        minimum=NONE, allow_none=True, metadata=about("the last generation that it belonged to; absent or -1: none")
    )
    owned_partitions = List(
        fields.Nested(TopicPartitionsSchema),
        allow_none=True,
        metadata=about(
            "the partitions it owned before. Several members may claim the same partition, and claims may name partitions and "
            "topics that do not exist"
        ),
    )


def topics_field() -> Rows:
    """The body's ``topics``."""
    about = {"description": "the topics that exist, in any order"}
    return Rows(TopicSchema, TOPIC, plain_topics, required=True, metadata=about)


def members_field() -> Rows:
    """The body's ``members``."""
    about = {"description": "the members; for the classic protocol in the order of the JoinGroup response"}
    return Rows(MemberSchema, MEMBER, plain_members, required=True, metadata=about)


# ---- reading -----------------------------------------------------------------------------------------------------------


def read_body(text: bytes) -> Any:
    """The value of a JSON body; raises ValueError for what is not JSON.

    ``topics`` and ``members`` of a large body are Arrow arrays if all of it is plainly well-formed, so that a million owned
    partitions never become Python objects.
    """
    if len(text) < LARGE:
        return loads(text)
    lists = integer_lists.take_out(text)
    return (lists and _read_large(lists.rest, lists)) or _read_large(text, None) or loads(text)


def _read_large(text: bytes, lists: IntegerLists | None) -> dict[str, Any] | None:
    """A body read by Arrow; None unless it is plainly well-formed. lists : those that ``text`` no longer holds"""
    columns = arrays.read_object(text, dict.fromkeys(NAMES, NAME) | {"topics": pa.list_(TOPIC), "members": pa.list_(MEMBER)})
    if columns is None or columns["topics"].null_count or columns["members"].null_count:
        return None
    topics, members = columns["topics"].flatten(), columns["members"].flatten()
    if lists and not members.null_count:
        # Integer lists may also have stood in partition_weights or, wrongly, anywhere else: then Arrow reads the whole text.
        members = integer_lists.put_back(members, ("owned_partitions", "partition_ids"), lists)
    if members is None or topics.null_count or members.null_count or not (plain_topics(topics) and plain_members(members)):
        return None
    names = {name: columns[name][0].as_py() for name in NAMES if columns[name].null_count == 0}
    return {**names, "topics": topics, "members": members}


class GroupParser(Parser):
    """The service's parser, reading large bodies with Arrow."""

    read_json = staticmethod(read_body)


@dataclass(frozen=True)
class GroupAssignment:
    """A group, and the assignor that is to assign it.

    group : with the first of ``counts``, the combinations of partition counts by topic name
    topics, members : the rows of the request
    expected : what the members are expected to get, as ExpectedSchema has it
    """

    kafka_version: str
    group_protocol: str
    assignor: Assignor
    group_id: str | None
    group: Group
    topics: pa.StructArray
    members: pa.StructArray
    expected: list[dict[str, Any]] | None = None
    counts: tuple[dict[str, int], ...] = ({},)

    def candidates(self) -> Iterator[tuple[dict[str, int], Group, Group]]:
        """Each combination of partition counts, the group with it, and the group whose members own what is expected of them."""
        for i, counts in enumerate(self.counts):
            topics = with_counts(self.topics, counts)
            group = self.group if i == 0 else read_group(topics, self.members)
            yield counts, group, expected_group(topics, self.members, self.expected or [])


class GroupAssignmentSchema(QuestionSchema):
    """A group to be assigned."""

    kafka_version = fields.String(
        load_default=None,
        allow_none=True,
        metadata=about(
            f"the release of Apache Kafka to reproduce; GET /v1/assignors lists those of each assignor. Absent: {LATEST}",
            example=LATEST,
        ),
    )
    group_protocol = fields.String(
        load_default=None,
        allow_none=True,
        metadata=about("the protocol of the group, as GET /v1/assignors lists them. Absent: classic", example="classic"),
    )
    assignor = fields.String(
        load_default=None,
        allow_none=True,
        metadata=about(
            "the name of an assignor of that protocol, as GET /v1/assignors lists them. Absent: `range` for "
            "classic, `uniform` for consumer, `simple` for share",
            example="range",
        ),
    )
    client = fields.String(
        load_default=None,
        allow_none=True,
        metadata=about(
            "classic: the library whose group leader assigns. Then `assignor` is the name in that library: `client: librdkafka` "
            "and `assignor: range` are the same as `assignor: librdkafka:range`. Absent: `java`",
            example="java",
        ),
    )
    client_version = fields.String(
        load_default=None,
        allow_none=True,
        metadata=about("the release of that library, where releases differ; GET /v1/assignors lists those compared"),
    )
    group_id = Subject("group")
    topics = topics_field()
    members = members_field()
    expected = List(
        fields.Nested(ExpectedSchema),
        allow_none=True,
        load_default=None,
        metadata=about(
            "`assignments` to compare with. Then `partitions_count` of a topic may be a list of counts, of which the leader may "
            f"have seen any; at most {MAX_COMBINATIONS} combinations are tried"
        ),
    )

    @pre_load
    def candidates(self, body: Any, **_: Any) -> Any:
        """The body with one partition count for each topic."""
        return without_candidates(body) if isinstance(body, dict) else body

    def question(self, body: dict[str, Any], **context: Any) -> GroupAssignment:
        """The question: its assignor resolved, its size within the limits, its names turned into indices."""
        protocol, assignor, version = _strategy(body)
        counts = tuple(counts_to_try(context["original"]))
        group = _group(body, counts, shared=protocol == "share")
        raise_all(expected_faults(body["members"], body["expected"] or []))
        return GroupAssignment(
            version, protocol, assignor, body["group_id"], group, body["topics"], body["members"], body["expected"], counts
        )

    def parts(self) -> Parts:
        """The assignor; the rows of each list; the group; what is expected."""
        return (
            _strategy,
            check_topics,
            check_members,
            lambda body: _group(body, ({},), shared=False),
            lambda body: raise_all(expected_faults(body["members"], body["expected"] or [])),
        )


def _strategy(body: dict[str, Any]) -> tuple[str, Assignor, str]:
    """The protocol, the assignor, and the release of Kafka."""
    protocol = body["group_protocol"] or "classic"
    if protocol not in GROUP_PROTOCOLS:
        raise UnknownStrategy("group_protocol", protocol, tuple(GROUP_PROTOCOLS))
    version = body["kafka_version"] or LATEST
    name = body["assignor"] if body["client"] is None else of_client(protocol, body["client"], body["assignor"])
    assignor = (GROUP_PROTOCOLS[protocol].builtins[0] if name is None else _assignor(protocol, name)).at(version)
    return protocol, assignor if body["client_version"] is None else assignor.of_client(body["client_version"]), version


def check_topics(body: dict[str, Any]) -> None:
    """Raise ValidationError if topics do not go together."""
    if faults := dict(topic_faults(body["topics"])):
        raise ValidationError({"topics": faults})


def check_members(body: dict[str, Any]) -> None:
    """Raise ValidationError if members do not go together."""
    if faults := dict(member_faults(body["members"])):
        raise ValidationError({"members": faults})


def _group(body: dict[str, Any], counts: tuple[dict[str, int], ...], *, shared: bool) -> Group:
    """The group with the first of these combinations of partition counts. Raises ValidationError, LimitExceeded."""
    topics, members = body["topics"], body["members"]
    largest = with_counts(topics, largest_counts(topics, counts))
    partitions = partitions_total(largest)
    check_limit("max_partitions", partitions, "partitions", "topics")
    check_limit("max_assignment_cells", partitions * len(members), "partitions × members")
    check_limit("max_subscriptions", subscriptions_total(topics, members), "subscriptions of members to topics", "members")
    reserve(assignment_bytes(largest, members, responses.preferred(), shared=shared))
    try:
        return read_group(with_counts(topics, counts[0]), members)
    except WrongGroup as error:
        raise ValidationError(error.messages) from None


def _assignor(protocol: str, name: str) -> Assignor:
    """The assignor of a protocol; raises UnknownStrategy, which says where else there is one of that name."""
    try:
        return GROUP_PROTOCOLS[protocol][name]
    except UnknownStrategy as error:
        elsewhere = [other for other, registry in GROUP_PROTOCOLS.items() if name in registry.names()]
        if elsewhere:
            error.detail = (
                f"There is no assignor {name!r} in the {protocol} protocol; it needs group_protocol: {' or '.join(elsewhere)}."
            )
            error.args = (error.detail,)
        raise


def assignment_bytes(topics: pa.StructArray, members: pa.StructArray, media_type: str, *, shared: bool) -> int:
    """Most bytes of memory that an assignment takes: arrays, and the answer twice, in pieces and as a whole.

    shared : whether a partition may have several members: once more for each member, or for each subscription if they differ

    Measured: 32 bytes a partition, 45 in share groups, 8 a subscription, 150 a claim of unlike members (`sticky`).
    """
    names, ids = _json_lengths(topics.field("topic_name")), _json_lengths(members.field("member_id"))
    counts = np.array(topics.field("partitions_count"), np.int64)
    owned = len(members.field("owned_partitions").values.field("partition_ids").values)
    subscriptions, partitions = subscriptions_total(topics, members), int(counts.sum())
    named = members.field("topic_names")
    again = 0 if not shared else len(members) if named.null_count == len(named) else subscriptions
    rows = partitions + again
    longest_name, longest_id = int(names.max(initial=0)), int(ids.max(initial=0))
    text = 12 * rows
    if media_type == responses.CSV:
        text = int(counts @ names) + again * longest_name + rows * (longest_id + 20)
    elif media_type == responses.JSON:
        pairs = np.minimum(counts, len(ids))
        text += int(pairs @ (names + 45)) + again * (longest_name + 45) + int(ids.sum()) + 100 * len(ids)
    return 2 * text + 40 * rows + 12 * subscriptions + 150 * owned + 500 * (len(names) + len(ids))


def _json_lengths(names: pa.StringArray) -> Int64s:
    """int64[n], the bytes of names in JSON, without quotation marks; at least those in CSV."""
    escaped = pc.replace_substring_regex(names, pattern=r'[\x00-\x1f"\\]', replacement="......")
    return np.array(pc.binary_length(escaped), np.int64)
