"""Groups between JSON and Arrow: a request's fields, and an answer's text. ``service/arrow/groups.py`` makes the arrays.

A body may hold a million owned partitions, so what is well-formed is read in bulk; see ``Rows``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import orjson
import pyarrow as pa
from marshmallow import Schema, ValidationError, fields, validate
from numba import njit

from service.arrow.groups import (
    LONGEST_TOPIC_NAME,
    MEMBER,
    NAME,
    TOPIC,
    TOPIC_ID,
    TOPIC_PARTITIONS,
    plain_members,
    plain_topics,
)
from service.core.errors import MAX_ERRORS
from service.core.model import NONE, Group, Ragged
from service.web import json_arrays, json_integer_lists
from service.web.fields import Integer, Number
from service.web.json_writing import COMMA, opened, pieces, write, write_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.core.model import Bytes, Int32s

NAMES: Final = ("kafka_version", "group_protocol", "assignor", "group_id")
"""The members of a body beside topics and members; null is absent."""

LARGE: Final = 2**20
"""Bytes from which on a body is worth reading by Arrow."""


# ---- what a body may say -----------------------------------------------------------------------------------------------


class Name(fields.String):
    """A string that Kafka could carry: UTF-8, not empty (unless ``empty`` says that it may be)."""

    def __init__(self, *, empty: bool = False, rule: validate.Validator | None = None, **kwargs: Any) -> None:
        super().__init__(validate=() if empty else rule or validate.Length(min=1), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        name: str = super()._deserialize(value, attr, data, **kwargs)
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValidationError("Holds half of a surrogate pair.") from None
        return name


def topic_name(**kwargs: Any) -> Name:
    """A name no longer than Kafka's longest."""
    return Name(rule=validate.Length(min=1, max=LONGEST_TOPIC_NAME), **kwargs)


class Rows(fields.List[Any]):
    """A list of objects, read in one pass into a ``pyarrow.StructArray``.

    The schema is the rule and the documentation; it judges, and names the exact place, wherever a row is not plainly
    well-formed: where it does not fit the Arrow type to the letter, or ``plain`` says no. So one fault in a large list is
    found without the schema, which takes 50 µs an object, looking at all of it.
    """

    def __init__(self, schema: type[Schema], row: pa.DataType, plain: Callable[[pa.StructArray], bool], **kwargs: Any) -> None:
        super().__init__(fields.Nested(schema), **kwargs)
        self.row = row
        self.plain = plain

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, pa.StructArray):
            return value  # read_body has looked at it
        if type(value) is not list:
            super()._deserialize(value, attr, data, **kwargs)  # which refuses it
        faults: dict[int, Any] = {}
        pieces = list(self._pieces(value, 0, faults))
        if faults:
            raise ValidationError(faults)
        return pa.concat_arrays(pieces)

    def _pieces(self, rows: list[Any], at: int, faults: dict[int, Any]) -> Iterator[pa.StructArray]:
        """``rows``, which begin at ``at`` in the whole list, halved until what is not plainly well-formed stands alone."""
        found = json_arrays.read(rows, self.row)
        if found is not None and not found.null_count and self.plain(found):
            yield found
        elif len(rows) > 1:
            half = len(rows) // 2
            yield from self._pieces(rows[:half], at, faults)
            if len(faults) < MAX_ERRORS:
                yield from self._pieces(rows[half:], at + half, faults)
        else:
            try:
                yield pa.array(super()._deserialize(rows, None, None), self.row)
            except ValidationError as error:
                faults[at] = cast("dict[int, Any]", error.messages)[0]


class TopicSchema(Schema):
    """A topic that exists."""

    topic_name = topic_name(required=True)
    topic_id = Name(
        # Python's $ also stands before a last newline; hence the length.
        rule=validate.And(
            validate.Regexp(TOPIC_ID, error="Not a Uuid as Kafka writes it: 22 characters of base64 for URLs."),
            validate.Length(equal=22),
        ),
        allow_none=True,
        metadata={"description": "Kafka's base64 Uuid; it decides ties in the consumer and share protocols"},
    )
    partitions_count = Integer(required=True, minimum=1)
    partition_racks = fields.List(
        fields.List(Name(empty=True)),
        allow_none=True,
        metadata={"description": "for each partition the racks of its replicas; a replica without a rack is left out, or empty"},
    )
    partition_weights = fields.List(
        Number(zero=True),
        allow_none=True,
        metadata={
            "description": "the load of each partition (lag, bytes/s, records/s), of all topics or of none. Kafka's assignors do "
            "not look at it; the answer says what load each member gets"
        },
    )


class TopicPartitionsSchema(Schema):
    """Partitions of one topic."""

    topic_name = topic_name(required=True)
    partition_ids = fields.List(Integer(minimum=0), required=True)


class MemberSchema(Schema):
    """A member of the group, and what it says of itself."""

    member_id = Name(required=True)
    instance_id = Name(allow_none=True, metadata={"description": "`group.instance.id` of a static member"})
    rack_id = Name(empty=True, allow_none=True, metadata={"description": "`client.rack`; empty is none"})
    topic_names = fields.List(
        topic_name(),
        allow_none=True,
        metadata={
            "description": "the topics it subscribes to, in any order, none twice; one that `topics` does not hold does not "
            "exist. Absent: every topic of the request"
        },
    )
    generation_id = Integer(
        minimum=NONE, allow_none=True, metadata={"description": "the generation it was last in; absent or -1: none"}
    )
    owned_partitions = fields.List(
        fields.Nested(TopicPartitionsSchema),
        allow_none=True,
        metadata={
            "description": "the partitions it has had until now. Claims of several members to one partition, to partitions and "
            "to topics that do not exist are taken as they are"
        },
    )


def topics_field() -> Rows:
    """The body's ``topics``."""
    about = {"description": "the topics that exist; their order means nothing"}
    return Rows(TopicSchema, TOPIC, plain_topics, required=True, metadata=about)


def members_field() -> Rows:
    """The body's ``members``."""
    about = {"description": "the members; for the classic protocol in the order of the JoinGroup response"}
    return Rows(MemberSchema, MEMBER, plain_members, required=True, metadata=about)


def read_body(text: bytes) -> dict[str, Any] | None:
    """A large body straight from its text, if all of it is plainly well-formed: a million owned rows never become objects."""
    if len(text) < LARGE:
        return None
    taken = json_integer_lists.taken_out(text)
    # Lists of integers may stand elsewhere as well, so that not all are found again.
    return (taken and _read_text(taken.rest, taken)) or _read_text(text, None)


def _read_text(text: bytes, taken: json_integer_lists.Taken | None) -> dict[str, Any] | None:
    """``read_body``. taken : what was taken out of the text"""
    lists = {"topics": pa.list_(TOPIC), "members": pa.list_(MEMBER)}
    found = json_arrays.read_object(text, dict.fromkeys(NAMES, NAME) | lists)
    if found is None or any(found[name].null_count for name in lists):
        return None
    topics, members = found["topics"].flatten(), found["members"].flatten()
    if taken:
        members = _with_ids(members, taken)
    if members is None or topics.null_count or members.null_count or not (plain_topics(topics) and plain_members(members)):
        return None
    return {name: value for name in NAMES if (value := found[name][0].as_py()) is not None} | {
        "topics": topics,
        "members": members,
    }


def _with_ids(members: pa.StructArray, taken: json_integer_lists.Taken) -> pa.StructArray | None:
    """The members with the partition_ids that were taken out of the text; None unless these are all that was."""
    owned = members.field("owned_partitions")
    ids = json_integer_lists.put_back(owned.values.field("partition_ids"), taken)
    if ids is None or members.null_count or owned.values.null_count:
        return None
    rows = pa.StructArray.from_arrays([owned.values.field("topic_name"), ids], fields=list(TOPIC_PARTITIONS))
    columns = {name.name: members.field(name.name) for name in MEMBER}
    columns["owned_partitions"] = pa.ListArray.from_arrays(
        owned.offsets, rows, mask=owned.is_null() if owned.null_count else None
    )
    return pa.StructArray.from_arrays(list(columns.values()), fields=list(MEMBER))


# ---- what an answer says -------------------------------------------------------------------------------------------------


def assignments_json(group: Group, assignment: Ragged) -> orjson.Fragment:
    """``[{"member_id", "partitions": [{"topic_name", "partition_ids"}]}]``, members in request order.

    assignment : Ragged member → partitions, in the answer's order
    """
    return _rows_json(group, opened("member_id", group.member_ids, "partitions"), assignment, b"]}")


def topic_partitions_json(group: Group, partitions: Int32s) -> orjson.Fragment:
    """``[{"topic_name", "partition_ids"}]``; partitions : int32[...], ascending, existing ones."""
    return _rows_json(group, pieces([b""]), Ragged(np.array([0, len(partitions)], np.int32), partitions), b"")


def _rows_json(group: Group, before: tuple[Int32s, Bytes], rows: Ragged, after: bytes) -> orjson.Fragment:
    """A list with, for each row, its own text ``before``, its partitions by topic, and ``after``."""
    names = opened("topic_name", (*group.topics.names, *group.unknown_topic_names), "partition_ids")
    closed = np.frombuffer(bytearray(after), np.uint8)
    first, unknown = group.topics.first, group.unknown_partitions
    topic_of = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    if len(unknown):
        topic_of = np.concatenate([topic_of, unknown[:, 0]])
    text = _write_rows(*before, *names, rows.offsets, rows.values, topic_of, first, unknown[:, 1].copy(), closed)
    return orjson.Fragment(text.tobytes())


@njit(nogil=True, cache=True)
def _write_rows(  # noqa: C901 (a kernel)
    before_of: Int32s,
    before: Bytes,
    names_of: Int32s,
    names: Bytes,
    rows_of: Int32s,
    partitions: Int32s,
    topic_of: Int32s,
    first: Int32s,
    unknown_ids: Int32s,
    after: Bytes,
) -> Bytes:
    """The text of ``_rows_json``, uint8[...].

    before_of, before : the text before each row
    names_of, names : the text that opens a topic's object
    rows_of, partitions : row → its partitions, a topic's together
    topic_of : int32[partitions]   the topic of each partition
    first : int32[topics + 1]   the first partition of each topic
    unknown_ids : int32[...]    the id of each partition that does not exist
    """
    longest = len(before) + (len(rows_of) - 1) * (len(after) + 1) + 2 + 12 * len(partitions)
    for row in range(len(rows_of) - 1):
        topic = start = stop = NONE
        for partition in partitions[rows_of[row] : rows_of[row + 1]]:
            if not start <= partition < stop:
                last = topic
                topic, start, stop, _ = _topic(partition, topic_of, first, unknown_ids)
                if topic != last:
                    longest += names_of[topic + 1] - names_of[topic] + 3
    text = np.empty(longest, np.uint8)
    text[0] = 91
    at = 1
    for row in range(len(rows_of) - 1):
        if row > 0:
            text[at] = COMMA
            at += 1
        at = write(before[before_of[row] : before_of[row + 1]], text, at)
        topic = start = stop = base = NONE
        for partition in partitions[rows_of[row] : rows_of[row + 1]]:
            last = topic
            if not start <= partition < stop:
                topic, start, stop, base = _topic(partition, topic_of, first, unknown_ids)
            if topic != last:
                if last != NONE:
                    text[at], text[at + 1], text[at + 2] = 93, 125, COMMA
                    at += 3
                at = write(names[names_of[topic] : names_of[topic + 1]], text, at)
            else:
                text[at] = COMMA
                at += 1
            at = write_number(partition - base, text, at)
        if topic != NONE:
            text[at], text[at + 1] = 93, 125
            at += 2
        at = write(after, text, at)
    text[at] = 93
    return text[: at + 1]


@njit(nogil=True, cache=True, inline="always")
def _topic(partition: int, topic_of: Int32s, first: Int32s, unknown_ids: Int32s) -> tuple[int, int, int, int]:
    """A partition's topic; from which partition up to which this is true; and what to take from these to have their ids."""
    topic = topic_of[partition]
    if partition < first[-1]:
        return topic, first[topic], first[topic + 1], first[topic]
    return topic, partition, partition + 1, partition - unknown_ids[partition - first[-1]]
