"""Read from logs and records what happened to a consumer group: every rebalance, with its cause and the line that says so.

`texts` are logs of group coordinators and consumers, records of `__consumer_offsets`, as kafka-console-consumer or kafka-dump-log
print them, snapshots, and `kafka-topics --describe`, which tells what topic ids mean, of several brokers and files, in any order.
What no line tells is `null`, and `conclusion` and `warnings` say so. Times without a `Z` are by a clock whose zone no source
tells. As `text/csv` or an Arrow stream the answer is the table of rebalances.
"""

from io import BytesIO
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, post_load, validate

from service.api.descriptions import MOST_TEXTS
from service.core.budget import reserve
from service.decisions.rows import columns
from service.histories.answer import HistoryAnswer, HistoryQuestion, answer
from service.histories.causes import WORDS
from service.histories.conclusions import conclusion, row_of, sentence, warnings
from service.histories.events import Roster
from service.histories.reading import HistorySource
from service.histories.times import written
from service.histories.told import Told
from service.http import fields
from service.http.fields import Bool, Name
from service.http.forms import AnswerSchema, Form, Operation
from service.http.lists import Array

TEXT_BYTES: Final = 20
"""Memory for each byte of a text, with the events that are made of it and their JSON."""


class HistorySchema(Schema):
    """A group, and what tells of it."""

    group_id = Name("default: the only one that a log names", example="orders")
    texts = Array(
        fields.String(),
        "logs and records, in any order; each is a source with its own clock",
        required=True,
        validate=validate.Length(min=1, max=MOST_TEXTS),
    )
    otherwise = Bool("whether to replay the events for a group that is run in other ways", load_default=False)
    names = Array(Name(), "of the texts, such as their files; default: text 1, text 2 …")

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> HistoryQuestion:
        """The question."""
        reserve(TEXT_BYTES * sum(map(len, body["texts"])))
        named = dict(enumerate(body.get("names", ())))
        texts = enumerate(body["texts"])
        sources = [HistorySource(named.get(i, f"text {i + 1}"), BytesIO(text.encode(errors="replace"))) for i, text in texts]
        return HistoryQuestion(body.get("group_id", ""), sources, body["otherwise"])


class HistoryEvidenceSchema(AnswerSchema):
    """A line of a source."""

    source = fields.String("its name")
    line = fields.Integer("from 1", example=17)
    text = fields.String("at most 400 characters of it")


class HistoryCauseSchema(HistoryEvidenceSchema):
    """Why a rebalance came."""

    kind = fields.String(", ".join(f"`{kind}`" for kind in WORDS), example="session_expired")
    members = fields.List(fields.String(), "whose doing it is, if that is told: instance ids, client ids or member ids")
    sentence = fields.String("in words")


class HistoryRosterSchema(AnswerSchema):
    """The members of a group."""

    count = fields.Integer("how many; null: not told", allow_none=True)
    members = fields.List(fields.String(), "those that are known, as `causes` calls them")


class HistoryBoundsSchema(AnswerSchema):
    """A time that is known within bounds."""

    least_ms = fields.Integer("null: not told", allow_none=True)
    most_ms = fields.Integer("null: not told", allow_none=True)


class HistoryMovesSchema(AnswerSchema):
    """What a rebalance moved."""

    moved = fields.Integer("partitions with another reader than before")
    of = fields.Integer("partitions that are assigned")
    since = fields.Integer("the last number before it whose assignment is known")


class HistoryCheckSchema(AnswerSchema):
    """Whether the assignor gives exactly what the members got, by `/v1/group-assignments`."""

    alike = fields.Boolean("that of Kafka's client, or of the coordinator; null: not told, or on a condition", allow_none=True)
    clients = fields.List(fields.String(), "whose assignor of this name does, or `coordinator`", example=["librdkafka"])
    sentence = fields.String("in words, with the first partition that differs, the condition, or what no source tells")


class PatternSchema(AnswerSchema):
    """Several rebalances that are one thing."""

    kind = fields.String("`rolling_restart`, `surge`, `comes_and_goes`, `flapping` or `slow_polls`", example="surge")
    members = fields.List(fields.String())
    numbers = fields.List(fields.Integer(), "the rebalances that are its evidence")
    sentence = fields.String("in words")


class OtherWaySchema(AnswerSchema):
    """A way to run the group, simulated with the same events."""

    name = fields.String("in words", example="static members")
    rebalances = fields.Integer()
    moved = fields.Integer("partitions that changed their reader")
    idle_ms = fields.Integer("without a reader, summed over partitions")
    least_idle_ms = fields.Integer("the least, depending on when members heartbeat and poll")
    most_idle_ms = fields.Integer("the most")


class OtherwiseSchema(AnswerSchema):
    """What would have been."""

    conclusion = fields.String("the simulation beside what was, and the way with the fewest rebalances")
    notes = fields.List(fields.String(), "what is uncertain")
    ways = fields.List(fields.Nested(OtherWaySchema), "the group as it was, simulated, then others")


class ToldRebalanceSchema(AnswerSchema):
    """A rebalance."""

    number = fields.Integer("the generation of a classic group, the epoch of a consumer group (KIP-848)")
    protocol = fields.String("`classic` or `consumer`", example="classic")
    began_at = fields.String("the members were asked to rejoin, or the epoch was raised", allow_none=True)
    joined_at = fields.String("all had rejoined, or the target assignment was computed", allow_none=True)
    ended_at = fields.String("the assignment was given out, or all members had theirs", allow_none=True)
    causes = fields.List(
        fields.Nested(HistoryCauseSchema), "the first began it, the others came while it was under way; none: not told"
    )
    second_step_of = fields.Integer("the number of the rebalance whose second, cooperative step this is", allow_none=True)
    before = fields.Nested(HistoryRosterSchema, allow_none=True)
    after = fields.Nested(HistoryRosterSchema, allow_none=True)
    assignor = fields.String(allow_none=True, example="range")
    moves = fields.Nested(HistoryMovesSchema, "null: assignments are not told", allow_none=True)
    check = fields.Nested(HistoryCheckSchema, "null: no record, or no assignor of Kafka's", allow_none=True)
    standstill = fields.Nested(HistoryBoundsSchema, "for how long a partition or more had no reader, as the coordinator sees it")
    sources = fields.List(fields.Nested(HistoryEvidenceSchema), "every line that tells of it")


class HistorySourceSchema(AnswerSchema):
    """A source."""

    name = fields.String()
    lines = fields.Integer("how many it has")
    lines_told = fields.Integer("how many of them tell of the group")
    shift_ms = fields.Integer("what was added to its times, so that they are comparable; null: they are not", allow_none=True)
    spread_ms = fields.Integer("by how much the events disagree that it shares with others")
    shared = fields.Integer("how many these are")


class HistoryAnswerSchema(AnswerSchema):
    """The history of a group."""

    group_id = fields.String()
    conclusion = fields.String("how many rebalances, by whom, and for how long partitions had no reader")
    warnings = fields.List(fields.String(), "what is not told, assumed or not read")
    begins_at = fields.String("the first time that is told of the group", allow_none=True)
    ends_at = fields.String("the last", allow_none=True)
    rebalances = fields.List(fields.Nested(ToldRebalanceSchema), "in the order of their numbers")
    patterns = fields.List(fields.Nested(PatternSchema), "what several rebalances are together")
    otherwise = fields.Nested(OtherwiseSchema, "null: not asked for", allow_none=True)
    missing = fields.Integer("how many more rebalances the numbers count, without a line in the sources")
    sources = fields.List(fields.Nested(HistorySourceSchema))


def document(answer: HistoryAnswer) -> dict[str, Any]:
    """The answer, as HistoryAnswerSchema has it."""
    span = answer.span_ms or (None, None)
    reading, replayed = answer.reading, answer.otherwise
    return {
        "group_id": answer.question.group_id,
        "conclusion": conclusion(answer),
        "warnings": list(warnings(answer)),
        "begins_at": _at(answer, span[0]),
        "ends_at": _at(answer, span[1]),
        "rebalances": [_rebalance(answer, told) for told in answer.told],
        "patterns": [each._asdict() for each in answer.patterns],
        "otherwise": None if replayed is None else {**vars(replayed), "ways": [each._asdict() for each in replayed.ways]},
        "missing": answer.missing,
        "sources": [
            {"name": name, "lines": lines, "lines_told": told, **clock._asdict()}
            for name, lines, told, clock in zip(reading.names, reading.lines, reading.told, answer.aligned.clocks, strict=True)
        ],
    }


def _at(answer: HistoryAnswer, at_ms: int | None) -> str | None:
    return None if at_ms is None else written(at_ms, answer.aligned.clock)


def _times(answer: HistoryAnswer, told: Told) -> dict[str, str | None]:
    return {f"{name}_at": _at(answer, getattr(told.rebalance, f"{name}_ms")) for name in ("began", "joined", "ended")}


def _rebalance(answer: HistoryAnswer, told: Told) -> dict[str, Any]:
    rebalance, names, sources = told.rebalance, answer.names, answer.reading.names

    def evidence(event: Any) -> dict[str, Any]:
        return {"source": sources[event.source], "line": event.line, "text": event.text}

    def roster(of: Roster | None) -> dict[str, Any] | None:
        if of is None:
            return None
        return {"count": of.count, "members": sorted(names(each) or name for name, each in of.members.items())}

    return {
        "number": rebalance.number,
        "protocol": rebalance.protocol,
        **_times(answer, told),
        "causes": [
            {"kind": each.kind, "members": list(map(names, each.members)), "sentence": sentence(each, names)}
            | evidence(each.event)
            for each in rebalance.causes
        ],
        "second_step_of": None if told.leads is None else told.leads.number,
        "before": roster(rebalance.before),
        "after": roster(rebalance.after),
        "assignor": rebalance.assignor,
        "moves": told.moves and told.moves._asdict(),
        "check": told.check and told.check._asdict(),
        "standstill": told.standstill._asdict(),
        "sources": list(map(evidence, rebalance.events)),
    }


TABLE: Final = pa.schema(
    columns(
        "number long, began_at string, joined_at string, ended_at string, cause string, members string, sentence string, "
        "members_before long, members_after long, moved long, standstill_least_ms long, standstill_most_ms long, source string, "
        "line long"
    )
)


def table(answer: HistoryAnswer) -> pa.Table:
    """The rebalances as columns, each with its first cause."""
    rows = []
    for told in answer.told:
        row = row_of(answer, told) | _times(answer, told)
        row["members"] = ", ".join(row["members"])
        for cause in told.rebalance.causes[:1]:
            row |= {"source": answer.reading.names[cause.event.source], "line": cause.event.line}
        rows.append(row)
    return pa.Table.from_pylist(rows, TABLE)


FORM: Final = Form(HistorySchema(), answer, HistoryAnswerSchema, document, table)

_LOG: Final = (
    "Member c3-1 in group orders has failed, removing it from the group.",
    "Preparing to rebalance group orders with old generation 1 (reason: removing member c3-1 on heartbeat expiration).",
    "Stabilized group orders generation 2 with 2 members.",
    "Assignment received from leader c1-1 for group orders for generation 2.",
)
EXAMPLE: Final = {
    "group_id": "orders",
    "names": ["broker-1.log"],
    "texts": ["".join(f"[2026-11-21 09:00:1{i},022] INFO {line}\n" for i, line in enumerate(_LOG))],
}

OPERATION: Final = Operation("tellHistory", "history", "logs and records → what happened to a group", EXAMPLE)
