"""Assigns each group of a table by several assignors: Arrow in, Arrow out. Executors run this.

A row is a body of ``POST /v1/group-assignments``: ``group_id``, ``group_protocol``, ``assignor``, ``kafka_version``, and nested
``topics`` and ``members``. A group that an assignor refuses, or a row that is not a group, gives a row with the error.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson
import pyarrow as pa

from service.core.budget import Budget, OutOfTime, limited
from service.core.errors import AllocatorError, InvalidQuestion, PluginFailed
from service.core.kafka_versions import LATEST
from service.core.measures import NOT_KNOWN
from service.decisions.groups import rows as group_rows
from service.decisions.groups.answer import GroupAnswer, assigned, told
from service.decisions.groups.question import GroupQuestion, strategy
from service.decisions.groups.tables import assignments_array, topic_partitions_array
from service.decisions.member_counts.answer import Need, fewest_members
from service.decisions.rows import NAME, columns
from service.pipeline.analyses import nested_columns
from service.planner.rebalances import rebalance
from service.strategies import GROUP_PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TEXTS: Final = ("group_id", "group_protocol", "assignor", "kafka_version", "client", "client_version")
COLUMNS: Final = {
    **dict.fromkeys(TEXTS, NAME),
    "topics": pa.list_(group_rows.TOPIC),
    "members": pa.list_(group_rows.MEMBER),
    nested_columns.CORRUPT: NAME,
}
REQUIRED: Final = ("topics", "members")
UNASKED_SECONDS: Final = 60
"""How long an assignor may take for a group that is assigned by it only for comparison, because its own assignor is not known."""

NO_TOPICS: Final = pa.array([], group_rows.TOPIC)
NO_MEMBERS: Final = pa.array([], group_rows.MEMBER)

RESULT: Final = pa.schema(
    {
        **columns(
            "group_id string, group_protocol string, assignor string, kafka_version string, own boolean, members int, "
            "topics int, partitions int, recommended_members int, min long, max long, mean double, stddev double, "
            "skew double, settled_skew double, retained long, moved long, added long, revoked long, "
            "fewest_possible_moves long, follow_up_rebalance boolean, local_share double, cross_zone_bytes_per_second double"
        ),
        "warnings": pa.list_(NAME),
        "assignments": pa.list_(pa.struct({"member_id": NAME, "partitions": pa.list_(group_rows.TOPIC_PARTITIONS)})),
        "unassigned": pa.list_(group_rows.TOPIC_PARTITIONS),
        **columns("error string, exception string, detail string, record string"),
    }
)
"""A row for each group and assignor. ``own``: it is the group's own assignor. ``settled_skew``: that after the second
rebalance of a cooperative assignor, if one follows; else ``skew``. ``local_share``, ``cross_zone_bytes_per_second``: see
``ZoneTraffic``, then; null without racks. ``recommended_members``: see ``members_needed``, of
the own assignor. ``error``: the class of the assignor's error, or WRONG_ROW if the row is not a group, with the row as JSON in
``record``; the columns of the result are then null."""

ARRAYS: Final[dict[str, Callable[[list[Any]], pa.Array]]] = {
    "assignments": lambda pairs: assignments_array(*zip(*pairs, strict=True)),
    "unassigned": lambda pairs: topic_partitions_array(*zip(*pairs, strict=True)),
}
"""The nested columns, from the group and its partitions in each result."""

WRONG_ROW: Final = "InvalidRow"

Sizing: TypeAlias = "Callable[[GroupQuestion], int | None]"
"""Gives how many members a group needs."""

MOST: Final = 10**8
"""Most partitions, and most subscriptions, of one group: each takes some hundred bytes of an executor's memory."""


@dataclass(frozen=True)
class Choice:
    """An assignor of a group protocol, as ``classic:range``."""

    group_protocol: str
    assignor: str

    def __str__(self) -> str:
        return f"{self.group_protocol}:{self.assignor}"

    @staticmethod
    def parse(text: str) -> Choice:
        """The choice that ``protocol:assignor`` names, the protocol ``classic`` if there is none; raises UnknownStrategy.

        An assignor of another client has a colon of its own: ``classic:librdkafka:range``, or without the protocol.
        """
        protocol, _, assignor = text.partition(":")
        choice = Choice(protocol, assignor) if protocol in GROUP_PROTOCOLS else Choice("classic", text)
        strategy(choice.of(GroupQuestion(NO_TOPICS, NO_MEMBERS)))
        return choice

    def of(self, question: GroupQuestion) -> GroupQuestion:
        """The question, for this assignor."""
        return replace(question, group_protocol=self.group_protocol, assignor=self.assignor, client=None, client_version=None)


def members_needed(need: Need | None, question: GroupQuestion) -> int | None:
    """The fewest members that a group needs, as of ``fewest_members``; None where no number is enough, or that is not known."""
    try:
        return fewest_members(question, need, Budget())
    except AllocatorError:
        return None


def check_columns(schema: pa.Schema) -> None:
    """Raise InvalidQuestion unless the table's columns can be groups."""
    nested_columns.required(schema, COLUMNS, REQUIRED)


def assign_groups(
    batches: Iterable[pa.RecordBatch],
    choices: tuple[Choice, ...] | None,
    body_column: str | None = None,
    sizing: Sizing | None = None,
) -> Iterator[pa.RecordBatch]:
    """RESULT rows of every group in the batches.

    choices : the assignors to try on each group besides its own; None: every assignor of the group's own protocol
    body_column : the column with the whole group as JSON; None: the row is nested columns
    sizing : gives the number of members that a group needs; None: nobody asks
    """
    for batch in batches:
        if body_column is not None:
            results = (_assign_text(text, choices, sizing) for text in batch.column(body_column).to_pylist())
        else:
            rows = zip(
                nested_columns.rows_of(nested_columns.conformed(batch, COLUMNS), COLUMNS),
                nested_columns.rows_of(batch, COLUMNS),
                strict=True,
            )
            results = (_assign_row(row, original, choices, sizing) for row, original in rows)
        yield from nested_columns.gathered(chain.from_iterable(results), RESULT, ARRAYS)


def _assign_text(text: str | bytes | None, choices: tuple[Choice, ...] | None, sizing: Sizing | None) -> Iterator[dict[str, Any]]:
    """The results of a group, for ``gathered``."""
    try:
        row = _read_text(text)
    except InvalidQuestion as error:
        record = text.decode(errors="replace") if isinstance(text, bytes) else text
        yield {"error": WRONG_ROW, "detail": nested_columns.located(error), "record": record}
    else:
        yield from _assign_row(row, row, choices, sizing)


def _read_text(text: str | bytes | None) -> dict[str, pa.Array]:
    """A body's members as columns of one value; raises InvalidQuestion."""
    if text is None:
        raise InvalidQuestion("The record has no body.")
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidQuestion(f"The body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise InvalidQuestion("The body is not a JSON object.")
    for name in (*(name for name in body if name not in COLUMNS), *(name for name in REQUIRED if name not in body)):
        raise InvalidQuestion("Unknown field." if name in body else "Missing data for required field.", name)
    row = {}
    for name, value in body.items():
        try:
            row[name] = pa.array([value])
        except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
            raise InvalidQuestion(str(error), name) from None
        nested_columns.check_type(row[name].type, COLUMNS[name], f"/{name}")
    return row


def _assign_row(
    row: dict[str, pa.Array], original: dict[str, pa.Array], choices: tuple[Choice, ...] | None, sizing: Sizing | None
) -> Iterator[dict[str, Any]]:
    """The results of a group, for ``gathered``. original : the row before its columns were converted, for a rejection"""
    texts: dict[str, Any] = {name: row[name][0].as_py() if name in row else None for name in TEXTS}
    known: dict[str, Any] = {"group_id": texts["group_id"], "kafka_version": texts["kafka_version"] or LATEST}
    try:
        nested_columns.check_line(row)
        own = _own(GroupQuestion(NO_TOPICS, NO_MEMBERS, **texts))
        question = GroupQuestion(*_read(row), **texts, moves=False)
        group = group_rows.read_group(question.topics, question.members)
    except InvalidQuestion as error:
        yield {**known, "error": WRONG_ROW, **nested_columns.rejection(original, error)}
        return
    known |= {"members": len(group), "topics": len(group.topics), "partitions": group.topics.partitions_count}
    # Another client's assignor is no choice of a group whose members are of one client.
    offered = (Choice(question.protocol, each.name) for each in GROUP_PROTOCOLS[question.protocol] if ":" not in each.name)
    for choice in dict.fromkeys((own, *(offered if choices is None else choices))):
        named = {"group_protocol": choice.group_protocol, "assignor": choice.assignor, "own": choice == own}
        asked = question if choice == own else choice.of(question)
        unasked = choices is None and choice != own
        limit = Budget(started=time.perf_counter(), seconds=UNASKED_SECONDS if unasked else math.inf)
        try:
            assignor = strategy(asked)
            with limited(limit):
                answer = told(asked, assignor, assigned(group, rebalance(group, assignor)), None, Budget())
            needed = {} if sizing is None or choice != own else {"recommended_members": sizing(question)}
            yield {**known, **named, **needed, **_columns(answer)}
        except OutOfTime as error:
            detail = f"The assignor took more than {UNASKED_SECONDS} s. Name it with --assignor, and it may take any time."
            yield {**known, **named, **nested_columns.failure(error), "detail": detail}
        except AllocatorError as error:
            yield {**known, **named, **nested_columns.failure(error)}


def _own(question: GroupQuestion) -> Choice:
    """The assignor that a group names, or its protocol's default; raises InvalidQuestion."""
    try:
        return Choice(question.protocol, strategy(question).name)
    except PluginFailed:  # its own row says so
        return Choice(question.protocol, question.assignor or "")


def _read(row: dict[str, pa.Array]) -> tuple[pa.StructArray, pa.StructArray]:
    """The topics and the members of a row, each well-formed; raises InvalidQuestion, which points into the row's body."""
    lists = {}
    for name, plain in (("topics", group_rows.plain_topics), ("members", group_rows.plain_members)):
        try:
            column = nested_columns.conform(row[name], COLUMNS[name])
        except pa.ArrowInvalid as error:
            raise InvalidQuestion(str(error), name) from None
        if column.null_count:
            raise InvalidQuestion("Must not be null.", name)
        rows = nested_columns.compact(column.flatten())

        def is_plain(some: pa.Array, plain: Any = plain) -> bool:
            return not some.null_count and plain(some)

        if not is_plain(rows):
            at = nested_columns.first_misfit(rows, is_plain)
            raise InvalidQuestion(f"Not well-formed: {json.dumps(rows[at].as_py(), ensure_ascii=False)[:200]}.", name, at)
        lists[name] = rows
    topics, members = lists["topics"], lists["members"]
    for count, what in (
        (group_rows.partitions_total(topics), "partitions"),
        (group_rows.subscriptions_total(topics, members), "subscriptions"),
    ):
        if count > MOST:
            raise InvalidQuestion(f"{count} {what}; an executor accepts at most {MOST} in a group.")
    return topics, members


def _columns(answer: GroupAnswer) -> dict[str, Any]:
    group, outcome = answer.first.group, answer.first.outcome
    settled = answer.second or answer.first
    traffic = (answer.settled.traffic if answer.second else answer.traffic) or NOT_KNOWN
    figures = traffic.figures(None, of_lag=group_rows.has_lag(answer.question.topics))
    return {
        **vars(outcome.load),
        "settled_skew": settled.outcome.load.skew,
        **vars(outcome.movement),
        "fewest_possible_moves": outcome.fewest_possible_moves,
        "follow_up_rebalance": outcome.assignment.follow_up_rebalance,
        **{name: figures[name] for name in ("local_share", "cross_zone_bytes_per_second")},
        "warnings": answer.warnings,
        "assignments": (group, answer.first.rows),
        "unassigned": (group, outcome.unassigned),
    }
