"""Plan moves between the log directories of brokers: to empty a disk, to keep a threshold, or to even disks out.

Replicas stay on their broker; each broker is planned independently. The `ETag` is the `plan_id`. If the directories of a
broker cannot have its replicas, the answer is a 422 of type `infeasible` with the rules that `clash` and `remedies`; if the
search ends without a plan, although there may be one, of type `not-found`. As an Arrow stream
(`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is the table of moves: `topic_name`, `partition_id`,
`broker_id`, `from`, `to`, `bytes`, `reason`, `batch`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from marshmallow import Schema, post_load, validate

from service.api.reassignment_schemas import PATTERNS, PacedSchema, placed_topics
from service.api.reassignments import BatchSchema, MovesSchema, PlanAnswerSchema, batch_seconds, plan_document
from service.core.measures import spread
from service.core.ragged import taken
from service.decisions.log_dirs import (
    DISK_BROKER,
    DirCluster,
    LogDirAnswer,
    LogDirQuestion,
    answer,
    dir_reasons,
    moves_table,
    plain_disk_brokers,
)
from service.decisions.reassignments.rows import MOST_BYTES
from service.http import fields
from service.http.fields import INT64, Bool, Int, Name, Number, TopicName
from service.http.forms import (
    OF_BROKERS,
    AnswerSchema,
    CountsSchema,
    Form,
    KafkaVersion,
    LoadsSchema,
    Operation,
    ReassignedSchema,
    reassignment,
)
from service.http.json.codec import LongText, dumps
from service.http.json.rows import Part, json_list
from service.http.json.rows import rows as json_rows
from service.http.lists import Array, Rows
from service.planner.reassignments import BATCH_ORDERS, OBJECTIVES

if TYPE_CHECKING:
    from service.core.model import Int32s
    from service.planner.log_dirs.model import DirMoves


def _bytes(text: str) -> Int:
    return Int(text, minimum=0, maximum=MOST_BYTES, allow_none=True)


class DirTopicSchema(Schema):
    """The replicas of a topic in a directory."""

    topic_name = TopicName(required=True)
    partition_ids = Array(Int(minimum=0), required=True)
    partition_bytes = Array(Int(minimum=0, maximum=MOST_BYTES), "the size of each of these replicas", required=True)


class LogDirSchema(Schema):
    """A log directory."""

    log_dir = Name("its path, as in `log.dirs`", required=True, example="/data/a")
    capacity_bytes = _bytes(
        "the size of its disk (`totalBytes`). Disks are evened out by their sizes; if that of one is unknown, all of the broker "
        "count as equally large"
    )
    used_bytes = _bytes(
        "the bytes in use on it (`totalBytes` less `usableBytes`); files other than `replicas` stay; default: none"
    )
    draining = Bool("whether to empty it: its replicas move to other directories; default false")
    cordoned = Bool("whether it keeps the replicas that it has and gets no others (KIP-1066); default false")
    replicas = Array(fields.Nested(DirTopicSchema), "the replicas in it", required=True)


class DiskBrokerSchema(Schema):
    """A broker and its disks."""

    broker_id = Int(required=True)
    log_dirs = Array(fields.Nested(LogDirSchema), "its directories that are online", required=True)


class LogDirLimitsSchema(PacedSchema):
    """What one batch may do, and how fast."""

    moves_per_broker = Int("the maximum number of replicas that a broker moves", minimum=1, allow_none=True)
    moves_per_log_dir = Int("the maximum number that a directory gets, and that it gives away", minimum=1, allow_none=True)
    bytes_in_flight = Int("bytes that a broker copies", minimum=1, maximum=INT64, allow_none=True)
    order = fields.String(
        f"which replicas come first, by their bytes; default `{BATCH_ORDERS[0]}`",
        allow_none=True,
        validate=validate.OneOf(BATCH_ORDERS),
    )
    throttle_bytes_per_second = Int(
        "`--replica-alter-log-dirs-throttle`: of each broker", minimum=1, maximum=INT64, allow_none=True
    )


class LogDirQuestionSchema(Schema):
    """Brokers with their log directories, what is in them, and what is to become of it."""

    kafka_version = KafkaVersion(description=OF_BROKERS)
    objective = fields.String(
        "`fewest-moves`: the fewest bytes that empty what is `draining` and keep `disk_threshold`, then the evenest disks; "
        "`even`: the evenest disks of each broker, then the fewest bytes; default `fewest-moves`, and `even` with "
        "`tolerance`, `max_moves` or `max_bytes`",
        load_default=None,
        validate=validate.OneOf(OBJECTIVES),
    )
    tolerance = Number(
        "for `even`: few bytes that bring every directory within this share of the mean of its broker, such as 0.1",
        zero=True,
        load_default=None,
    )
    max_moves = Int(
        "for `even`: the most replicas moved on each broker; the evenest disks within that", minimum=0, load_default=None
    )
    max_bytes = Int("for `even`: the same with bytes", minimum=0, maximum=INT64, load_default=None)
    disk_threshold = Number(
        "the share of its `capacity_bytes` that a directory may use, also while replicas are copied, such as 0.85; default 1",
        most=1,
        load_default=1.0,
    )
    brokers = Rows(
        DiskBrokerSchema,
        DISK_BROKER,
        plain_disk_brokers,
        "`log_dirs` of a snapshot; each broker is planned independently",
        required=True,
    )
    topics = placed_topics(
        "the current placement, which `kafka-reassign-partitions` needs besides the directories. Replicas of partitions that "
        "it does not have on their broker stay where they are. `partition_bytes` are not used"
    )
    included_topics = Array(
        TopicName(),
        f"the only topics whose replicas may move, {PATTERNS}; absent: all",
        load_default=None,
        validate=validate.Length(min=1),
    )
    excluded_topics = Array(
        TopicName(), f"topics whose replicas do not move, {PATTERNS}, also if `included_topics` has them", load_default=[]
    )
    limits = fields.Nested(LogDirLimitsSchema, load_default=None)

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> LogDirQuestion:
        """The question."""
        return LogDirQuestion.of(**(body.pop("limits") or {}), **body)


_ANY: Final = b'"any"'
"""Kafka's word for a replica that stays in its directory."""


class Positions(NamedTuple):
    """Replicas of some partitions.

    partitions : int32[rows], ascending
    rows, columns : int64[moves], which of these partitions, and which of its replicas
    sources, targets : int32[moves], directories
    """

    partitions: Int32s
    rows: np.ndarray  # type: ignore[type-arg]
    columns: np.ndarray  # type: ignore[type-arg]
    sources: Int32s
    targets: Int32s

    @classmethod
    def of(cls, cluster: DirCluster, replicas: Int32s, sources: Int32s, targets: Int32s) -> Positions:
        """Those of these replicas."""
        partitions, rows = np.unique(cluster.partitions[replicas], return_inverse=True)
        lists = taken(cluster.placements.replicas, cluster.partitions[replicas])
        log_dirs = cluster.log_dirs
        holders = np.searchsorted(cluster.broker_ids, log_dirs.broker_ids[log_dirs.broker_of()[sources]])
        places = np.flatnonzero(lists.values == holders[lists.row_of_each_value()])  # one for each replica
        return cls(partitions.astype(np.int32), rows, places - lists.offsets[:-1], sources, targets)


class DirTexts:
    """The texts of a question's topics and paths."""

    def __init__(self, cluster: DirCluster) -> None:
        self._cluster = cluster
        self._topics = [dumps(name) for name in cluster.placements.topic_names]
        self._paths = [dumps(path) for path in cluster.log_dirs.paths]

    def paths(self, labels: Int32s, before: bytes = b"") -> Part:
        """A path in each row. labels : int32[rows]"""
        return Part([before + path for path in self._paths], labels)

    def reassignment(self, positions: Positions, dirs: Int32s) -> LongText:
        """The file that takes these replicas to the directories, and leaves all others. dirs : int32[moves]"""
        placements, count = self._cluster.placements, len(positions.partitions)
        lists = taken(placements.replicas, positions.partitions)
        lengths = lists.lengths()
        columns = int(lengths.max(initial=0))
        stays, absent = len(self._paths), len(self._paths) + 1
        labels = np.where(np.arange(columns)[:, None] < lengths, stays, absent).astype(np.int32)
        labels[positions.columns, positions.rows] = self._cluster.log_dirs.path_of[dirs]
        topics, of_topic = np.unique(placements.topics[positions.partitions], return_inverse=True)
        opened = [b'{"topic":%s,"partition":' % self._topics[i] for i in topics.tolist()]
        return reassignment(
            json_rows(
                count,
                Part(opened or [b""], of_topic.astype(np.int32), placements.partition_ids[positions.partitions]),
                Part([b',"replicas":['], numbers=lists, ids=self._cluster.broker_ids),
                Part([b'],"log_dirs":[']),
                *(
                    Part([b"," * (column > 0) + text for text in (*self._paths, _ANY)] + [b""], labels[column])
                    for column in range(columns)
                ),
                Part([b"]}"]),
            )
        )

    def reasons(self, moves: DirMoves) -> LongText:
        """``[{"topic_name", "partition_id", "broker_id", "from", "to", "reason"}]``."""
        log_dirs, placements = self._cluster.log_dirs, self._cluster.placements
        partitions = self._cluster.partitions[moves.replicas]
        reasons = dir_reasons(log_dirs, moves)
        return json_list(
            len(moves),
            Part(
                [b'{"topic_name":%s,"partition_id":' % name for name in self._topics],
                placements.topics[partitions],
                placements.partition_ids[partitions],
            ),
            Part([b',"broker_id":'], numbers=log_dirs.broker_of()[moves.sources], ids=log_dirs.broker_ids),
            self.paths(log_dirs.path_of[moves.sources], b',"from":'),
            self.paths(log_dirs.path_of[moves.targets], b',"to":'),
            Part([b',"reason":%s}' % dumps(text) for text in reasons.dictionary.to_pylist()], reasons.indices.to_numpy()),
        )


class DirMovesSchema(MovesSchema):
    """How much moves, and how little could."""

    class Meta:
        """Leaders stay."""

        exclude = ("leaders", "elections")

    replicas = fields.Integer("moves between directories; those of detours count too")
    bytes = fields.Integer()
    lower_bound = fields.Integer(
        "a lower bound of the bytes that any plan copies that keeps the rules and, for `even`, is as even"
    )


class DirReassignedSchema(ReassignedSchema):
    """One partition of a reassignment between directories."""

    log_dirs = fields.List(fields.String(), "one for each of `replicas`; `any`: stays where it is", example=["any", "/data/b"])


class DirReassignmentSchema(AnswerSchema):
    """What ``kafka-reassign-partitions --reassignment-json-file`` reads."""

    version = fields.Integer()
    partitions = fields.List(fields.Nested(DirReassignedSchema))


class DirReasonSchema(AnswerSchema):
    """One move."""

    topic_name = fields.String()
    partition_id = fields.Integer()
    broker_id = fields.Integer()
    source = fields.String("a log directory", data_key="from")
    target = fields.String("a log directory", data_key="to")
    reason = fields.String('such as "drains /data/a", "evens out /data/b", "limits of /data/a"')


class DirBatchSchema(BatchSchema):
    """One step, on all brokers at the same time."""

    reassignment = fields.Nested(DirReassignmentSchema)
    rollback = fields.Nested(DirReassignmentSchema, "undoes this step")
    moves = fields.Integer()
    bytes = fields.Integer()


class DiskBrokersSchema(AnswerSchema):
    """What each broker copies, and how even its disks become."""

    broker_ids = fields.List(fields.Integer(), "in request order")
    bytes = fields.List(fields.Integer(), "copied")
    lower_bounds = fields.List(fields.Integer(), "of the bytes copied, as in `moves`")
    skews_before = fields.List(
        fields.Float(),
        "the fullest directory ÷ the mean, by the sizes of the disks; those that are `draining` do not count",
    )
    skews_after = fields.List(fields.Float())
    evenness_gaps = fields.List(
        fields.Float(),
        "the sum of (bytes on a disk)² ÷ its size above a lower bound of it, as a share of that; 0: proven the least. The "
        "bound is one of any plan that keeps the rules and, for `fewest-moves`, copies as little",
    )


class DirLoadSchema(AnswerSchema):
    """What directories have. Their evenness counts those that are not `draining`."""

    broker_ids = fields.List(fields.Integer(), "of each directory, in request order")
    log_dirs = fields.List(fields.String())
    replicas = fields.Nested(CountsSchema)
    bytes = fields.Nested(LoadsSchema, "of the replicas and of what else is on the disk")
    usage = fields.List(fields.Float(allow_none=True), "`bytes` ÷ `capacity_bytes`; null where that is not known", example=[0.42])


class LogDirAnswerSchema(PlanAnswerSchema):
    """The plan."""

    moves = fields.Nested(DirMovesSchema)
    brokers = fields.Nested(DiskBrokersSchema)
    outside_tolerance = fields.List(
        fields.Dict(), "`broker_id` and `log_dir` of the directories; null without `tolerance`", allow_none=True
    )
    reassignment = fields.Nested(DirReassignmentSchema, "all partitions of which a replica moves")
    rollback = fields.Nested(DirReassignmentSchema, "their current directories")
    reasons = fields.List(fields.Nested(DirReasonSchema))
    batches = fields.List(fields.Nested(DirBatchSchema), "all rules hold after each, and while it runs")
    before = fields.Nested(DirLoadSchema)
    after = fields.Nested(DirLoadSchema)


def document(answer: LogDirAnswer) -> dict[str, Any]:
    """The answer, as LogDirAnswerSchema has it."""
    question, cluster, plan = answer.question, answer.cluster, answer.plan
    texts = DirTexts(cluster)
    now = cluster.replicas.dirs
    changed = np.flatnonzero(plan.dirs != now).astype(np.int32)
    every = Positions.of(cluster, changed, now[changed], plan.dirs[changed])
    copied, bound = int(plan.copied.sum()), int(plan.lower_bound.sum())
    return {
        **plan_document(answer),
        "moves": {"replicas": len(plan.moves), "bytes": copied, "lower_bound": bound, "gap": _gap(copied, bound)},
        "brokers": {
            "broker_ids": cluster.log_dirs.broker_ids,
            "bytes": plan.copied,
            "lower_bounds": plan.lower_bound,
            "skews_before": answer.usage[0].skews,
            "skews_after": answer.usage[1].skews,
            "evenness_gaps": plan.evenness_gaps(),
        },
        "outside_tolerance": None if question.goal.tolerance is None else _outside(answer),
        "reassignment": texts.reassignment(every, every.targets),
        "rollback": texts.reassignment(every, every.sources),
        "reasons": texts.reasons(plan.moves),
        "batches": list(_batches(answer, texts)),
        **{name: _load(answer, i, texts) for i, name in enumerate(("before", "after"))},
    }


def _gap(copied: int, bound: int) -> float | None:
    if copied <= bound:
        return 0.0
    return (copied - bound) / bound if bound else None


def _outside(answer: LogDirAnswer) -> list[dict[str, Any]]:
    log_dirs = answer.cluster.log_dirs
    broker_ids = log_dirs.broker_ids[log_dirs.broker_of()]
    return [{"broker_id": int(broker_ids[i]), "log_dir": log_dirs.path(i)} for i in np.flatnonzero(answer.plan.outside).tolist()]


def _batches(answer: LogDirAnswer, texts: DirTexts) -> Any:
    plan = answer.plan
    moves, count = plan.moves, plan.batch_count()
    amounts = np.zeros(count, np.int64)
    np.add.at(amounts, moves.batches, answer.cluster.replicas.sizes[moves.replicas])
    bounds = np.searchsorted(moves.batches, np.arange(count + 1))
    for i in range(count):
        some = slice(*bounds[i : i + 2].tolist())
        step = Positions.of(answer.cluster, moves.replicas[some], moves.sources[some], moves.targets[some])
        yield {
            "reassignment": texts.reassignment(step, step.targets),
            "rollback": texts.reassignment(step, step.sources),
            "moves": int(bounds[i + 1] - bounds[i]),
            "bytes": int(amounts[i]),
            "duration_seconds": batch_seconds(answer.timing, i),
        }


def _load(answer: LogDirAnswer, i: int, texts: DirTexts) -> dict[str, Any]:
    """What directories have before (0) or after (1)."""
    usage, log_dirs = answer.usage[i], answer.cluster.log_dirs
    counted = ~log_dirs.draining
    return {
        "broker_ids": log_dirs.broker_ids[log_dirs.broker_of()],
        "log_dirs": json_list(len(log_dirs), texts.paths(log_dirs.path_of)),
        "replicas": {"counts": usage.replicas, **asdict(spread(usage.replicas[counted]))},
        "bytes": {"totals": usage.amounts.astype(np.float64), **asdict(spread(usage.amounts[counted].astype(np.float64)))},
        "usage": pa.array(usage.shares, from_pandas=True).to_pylist(),
    }


FORM: Final = Form(LogDirQuestionSchema(), answer, LogDirAnswerSchema, document, moves_table)

EXAMPLE: Final = {
    "objective": "fewest-moves",
    "brokers": [
        {
            "broker_id": 1,
            "log_dirs": [
                {
                    "log_dir": "/data/a",
                    "capacity_bytes": 10_000_000_000,
                    "draining": True,
                    "replicas": [
                        {"topic_name": "orders", "partition_ids": [0, 2], "partition_bytes": [2_000_000_000, 1_000_000_000]}
                    ],
                },
                {
                    "log_dir": "/data/b",
                    "capacity_bytes": 10_000_000_000,
                    "replicas": [{"topic_name": "orders", "partition_ids": [1], "partition_bytes": [2_500_000_000]}],
                },
                {"log_dir": "/data/c", "capacity_bytes": 10_000_000_000, "replicas": []},
            ],
        }
    ],
    "topics": [
        {
            "topic_name": "orders",
            "placements": [
                {"partition_id": 0, "replicas": [1, 2]},
                {"partition_id": 1, "replicas": [2, 1]},
                {"partition_id": 2, "replicas": [1, 3]},
            ],
        }
    ],
    "limits": {"throttle_bytes_per_second": 50_000_000},
}

OPERATION: Final = Operation(
    "planLogDirs", "log_dirs", "log directories → which replica moves to which disk of its broker", EXAMPLE, tag="log-dirs"
)
