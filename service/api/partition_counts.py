"""Plan a partition count: how even each count would be, what moves, and which is the smallest within the limits.

The body may also be an Arrow stream with a column `key` (binary, string, integers, floats, booleans) and, optionally,
`records` and `bytes` (integers); the other fields are query parameters then, `partitioners` and `partitions_counts` separated
by commas. It is decoded batch by batch, so that it needs memory for the body and its largest batch. `text/csv` and Arrow
answers have one row for each partitioner and partition count.

If keys spread evenly, a throughput T needs max(T ÷ p, T ÷ c) partitions, where p is the most that producers write to one
partition and c the most that one consumer reads. With keys this count is compared with the others, and p and c are limits of the
busiest partition; without keys it is the answer.

Records without a key are spread evenly over the partitions, as producers do, except by partitioners that hash them.
"""

from typing import Any, Final, get_args

import pyarrow as pa
from marshmallow import Schema, validate

from service.core.keys.columns import key_value
from service.core.keys.formats import FORMATS
from service.decisions.partition_counts import PlansAnswer, PlansQuestion, answer
from service.decisions.rows import MOST
from service.http import fields
from service.http.fields import Bool, Int, Number, Subject
from service.http.forms import AnswerSchema, CountsSchema, Form, KafkaVersion, Operation, QuestionSchema
from service.http.keys import KeyList
from service.http.lists import Array, Columns
from service.planner.sizing.conclusions import cause
from service.planner.sizing.counter import KeyCounter, Moved
from service.planner.sizing.distinct_keys import BYTES, RECORDS
from service.planner.sizing.plans import EVEN, CountPlan, Measure, Verdict


class HistogramRowSchema(Schema):
    """A key and what it stands for."""

    key = fields.Raw("null: without a key", required=True, allow_none=True)
    records = Int("default 1; in every row or in none", minimum=0, maximum=MOST)
    bytes = Int("of all these records; in every row or in none", minimum=0, maximum=MOST)


class PartitionCountPlansSchema(QuestionSchema):
    """Keys, or what is known of each, and the partition counts that come into question; or the topic's throughput; or both."""

    asks = PlansQuestion

    kafka_version = KafkaVersion()
    topic_name = Subject("topic")
    partitioners = Array(fields.String(), "names of GET /v1/partitioners; default `java`", validate=validate.Length(1, 20))
    partitions_counts = Array(
        Int(minimum=1),
        "the counts to compare, besides the one that throughput needs; default: proposed by rates, limits and current count",
        validate=validate.Length(1, 200),
        example=[12, 18, 24],
    )
    current_partitions_count = Int("the current count, from which keys would move", minimum=1, allow_none=True)
    key_format = fields.String("as in /v1/partitions; default `string`", validate=validate.OneOf(FORMATS))
    keys = KeyList("one for each record", in_batches=True, example=["order-1", "order-2"])
    histogram = Columns(HistogramRowSchema, {"key": None, "records": pa.int64(), "bytes": pa.int64()}, "instead of `keys`")
    is_sample = Bool(
        "whether `histogram` is a sample of the keys, scaled to the weight of all; the answer is then not `exact`",
        load_default=False,
    )
    duration_seconds = Number("the time span of these records; it gives the topic's rates")
    records_per_second = Number(
        "instead of `duration_seconds`: the rate of all of the topic's records, those without a key included"
    )
    bytes_per_second = Number("the same in bytes")
    target_mb_per_second = Number("the throughput that the topic must reach, in MB/s (10⁶ bytes); with it, keys are optional")
    producer_mb_per_second = Number(
        "what producers write to one partition at most, in MB/s; with keys a limit of the busiest partition"
    )
    consumer_mb_per_second = Number(
        "what one consumer reads from one partition at most, in MB/s; with keys a limit of the busiest partition"
    )
    max_partition_records_per_second = Number("limit of the busiest partition")
    max_partition_bytes_per_second = Number("limit of the busiest partition")
    max_skew = Number("limit of the skew of records, and of bytes where they are given")
    hottest_keys = Int("how many of the hottest keys to list", minimum=0, maximum=100, load_default=10)


LISTED: Final = 1_000
"""Most partitions that a plan lists one by one."""

LISTED_CELLS: Final = 10_000
"""Most cells of a plan's matrix."""


class HotKeySchema(AnswerSchema):
    """One of the heaviest keys."""

    key = fields.Raw("as `key_format` writes it")
    records = fields.Integer("in `by_records`", optional=True)
    bytes = fields.Integer("in `by_bytes`", optional=True)
    share = fields.Float("of all records, or of all bytes, those without a key included")
    error = fields.Integer("the maximum by which the number may be too large; 0 if the figures are exact")


class HottestKeysSchema(AnswerSchema):
    """The heaviest keys."""

    by_records = fields.List(fields.Nested(HotKeySchema))
    by_bytes = fields.List(fields.Nested(HotKeySchema), "empty without bytes")


class KeysSeenSchema(AnswerSchema):
    """What the keys are, all together."""

    distinct = fields.Integer("different keys")
    records = fields.Integer("with a key")
    bytes = fields.Integer(allow_none=True)
    keyless = fields.Integer("records without a key, not among `records`")
    without_key = fields.Dict(
        "records without a key (or with an empty key that the partitioner treats as none), by partitioner: each plan has them "
        "spread evenly over the partitions, as producers do",
        keys=fields.String(),
        values=fields.Integer(),
    )
    exact = fields.Boolean("false: there were too many different keys to hold each, or the histogram is a sample")
    method = fields.String("how different and hottest keys were counted; records and bytes are always exact", detail=True)
    relative_error = fields.Float("standard error of every number of different keys, as a share of it", detail=True)


class ChanceSchema(AnswerSchema):
    """The skew that random partitions for the same keys would give."""

    mean = fields.Float()
    low = fields.Float("the lower end of the range in which it is in 99 of 100 cases")
    high = fields.Float("the upper end of that range")


class MeasureSchema(CountsSchema):
    """How keys, records or bytes lie on the partitions."""

    min = fields.Float()
    max = fields.Float("of the fullest partition, which need not be whole: records without a key are spread evenly")
    counts = fields.List(fields.Integer(), f"of each partition; left out above {LISTED} partitions", optional=True)
    gini = fields.Float("0: all have the same; near 1: one has all", detail=True)
    empty_partitions = fields.Integer()
    floor = fields.Float(
        "the lowest skew that a partitioner can have: the heaviest key is on one partition, and two of n + 1 keys share one of "
        "n partitions"
    )
    hot_keys = fields.Integer(
        f"number of keys that each weigh more than {EVEN} × the mean of a partition; records without a key count as one key "
        "if the partitioner hashes them"
    )
    hot_share = fields.Float("their share of all")
    chance = fields.Nested(ChanceSchema)
    verdict = fields.String(
        f"the cause of the skew. `even`: it is at most {EVEN}. `hot-keys`: it is at most {EVEN} × a `floor` above {EVEN}, or "
        "at most what chance gives with the hot keys, but more than without. `partitioner`: it is outside `chance`; above, "
        "the partitioner is less even than a random one, below, more even. `chance`: it is within `chance`",
        validate=validate.OneOf(get_args(Verdict)),
    )
    cause = fields.String("the verdict in a few words")
    skew_without_hot_keys = fields.Float("the skew of all but the hot keys; null without any, or if not known", allow_none=True)


class SharesSchema(AnswerSchema):
    """Shares of all, from 0 to 1."""

    keys = fields.Float()
    records = fields.Float()
    bytes = fields.Float(allow_none=True)


class MatrixSchema(AnswerSchema):
    """From old to new partition: the cells that are not empty, column by column, in this order."""

    from_partition_ids = fields.List(fields.Integer())
    to_partition_ids = fields.List(fields.Integer())
    keys = fields.List(fields.Integer())
    records = fields.List(fields.Integer())
    bytes = fields.List(fields.Integer(), allow_none=True)


class SplitSchema(AnswerSchema):
    """One of today's partitions."""

    partition_id = fields.Integer()
    into = fields.List(fields.Integer(), "itself and the new partitions that get some of its keys")


class BusiestSchema(AnswerSchema):
    """What the busiest partition takes in."""

    records_per_second = fields.Float(allow_none=True)
    bytes_per_second = fields.Float(allow_none=True)
    mb_per_second = fields.Float(
        "of `target_mb_per_second`; if the bytes of keys are not known, of records of equal size", allow_none=True
    )


class PlanSchema(AnswerSchema):
    """One partitioner with one partition count."""

    partitioner = fields.String()
    partitions_count = fields.Integer()
    keys = fields.Nested(MeasureSchema)
    records = fields.Nested(MeasureSchema)
    bytes = fields.Nested(MeasureSchema, "null without bytes", allow_none=True)
    moved = fields.Nested(SharesSchema, "share that leaves its current partition", allow_none=True)
    needs_new_topic = fields.Boolean(
        "whether it is below the current count: Kafka cannot remove partitions; null: the current count is unknown",
        allow_none=True,
    )
    multiple = fields.Boolean(
        "whether it is a multiple of the current count: then no two of the current partitions mix, and keys move only out of "
        "their own",
        allow_none=True,
    )
    splits = fields.List(fields.Nested(SplitSchema), f"where `multiple`, up to {LISTED} partitions; else null", allow_none=True)
    matrix = fields.Nested(MatrixSchema, f"null above {LISTED_CELLS} cells that are not empty", allow_none=True)
    busiest = fields.Nested(BusiestSchema)
    meets = fields.Dict("for each limit, whether it is kept", keys=fields.String(), values=fields.Boolean())


class ReachSchema(AnswerSchema):
    """What one partitioner's counts reach."""

    partitioner = fields.String()
    conclusion = fields.String(
        "which count keeps the limits, and how even the current count is and why; without one the recommended, or the most even"
    )
    smallest = fields.Dict(
        "the smallest of `partitions_counts` that keeps a limit, and `all` of them; null: none does",
        keys=fields.String(),
        values=fields.Integer(allow_none=True),
    )
    recommended = fields.Integer(
        "the smallest that keeps all limits and is not below `current_partitions_count`; null: none, or no limits",
        allow_none=True,
    )
    needs_new_topic = fields.Integer(
        "the smallest that keeps all limits, if below `current_partitions_count`: Kafka cannot remove partitions", allow_none=True
    )
    out_of_reach = fields.Dict("limits that the hottest key alone breaks, and how", keys=fields.String(), values=fields.String())


class ThroughputSchema(AnswerSchema):
    """The partitions that throughput needs, if keys spread evenly."""

    producers = fields.Integer("target ÷ what producers write to one partition, rounded up", allow_none=True)
    consumers = fields.Integer("target ÷ what one consumer reads, rounded up", allow_none=True)
    partitions_count = fields.Integer("the larger of both")
    conclusion = fields.String()


class PartitionCountPlansAnswerSchema(AnswerSchema):
    """Every plan, and the smallest count that keeps the limits; without keys, `kafka_version` and `throughput` alone."""

    kafka_version = fields.String()
    throughput = fields.Nested(ThroughputSchema, "for a request with `target_mb_per_second`", optional=True)
    current_partitions_count = fields.Integer(allow_none=True, optional=True)
    keys = fields.Nested(KeysSeenSchema, optional=True)
    hottest_keys = fields.Nested(HottestKeysSchema, optional=True)
    plans = fields.List(fields.Nested(PlanSchema), "of each partitioner, the counts in request order", optional=True)
    limits = fields.List(fields.Nested(ReachSchema), "of each partitioner; empty objects without limits", optional=True)


def document(answer: PlansAnswer) -> dict[str, Any]:
    """The answer, as PartitionCountPlansAnswerSchema has it."""
    question, needed, counted = answer.question, answer.throughput, answer.counted
    body = {"kafka_version": question.kafka_version} | (
        {"throughput": vars(needed) | {"conclusion": needed.conclusion}} if needed else {}
    )
    if counted is None:
        return body
    counts, hottest, key_format = counted.counts, question.hottest_keys, counted.key_format
    return {
        **body,
        "current_partitions_count": counts.current,
        "keys": _totals(counts, is_sample=question.is_sample),
        "hottest_keys": {
            "by_records": _hot(counts, RECORDS, "records", key_format, hottest),
            "by_bytes": _hot(counts, BYTES, "bytes", key_format, hottest),
        },
        "plans": [_plan(counts, plan) for plan in counted.plans],
        "limits": [vars(of) for of in counted.reached],
    }


def table(answer: PlansAnswer) -> pa.Table:
    """A row for each partitioner and count; without keys one row, with what the throughput needs."""
    if answer.counted is not None:
        return pa.Table.from_pylist(rows(answer.counted.plans))
    needed = vars(answer.throughput) if answer.throughput else {}
    return pa.table({name: pa.array([count], pa.int32()) for name, count in needed.items()})


def _totals(counts: KeyCounter, *, is_sample: bool) -> dict[str, Any]:
    distinct = counts.distinct
    method = f"every key's 64-bit hash, as there were no more than {distinct.max_keys}"
    if distinct.level:
        method = (
            f"a sample of one in {2**distinct.level} of the keys, by their hashes; the hottest by Space-Saving, which "
            "misses no key that weighs more than `error`"
        )
    if is_sample:
        method = "the request's histogram, which is a sample scaled to the weight of all keys"
    return {
        "distinct": distinct.distinct,
        "records": counts.records,
        "bytes": counts.bytes if counts.has_bytes else None,
        "keyless": int(counts.keyless[0]),
        "without_key": {name: counts.without_key(name)[0] for name in counts.names},
        "exact": distinct.level == 0 and not is_sample,
        "method": method,
        "relative_error": distinct.relative_error,
    }


def _hot(counts: KeyCounter, column: int, what: str, key_format: str, count: int) -> list[dict[str, Any]]:
    total = max(1, int((counts.all + counts.keyless)[column]))
    return [
        {"key": key_value(text, key_format), what: weight, "share": weight / total, "error": error}
        for text, weight, error in counts.distinct.heaviest(column, count)
    ]


def _plan(counts: KeyCounter, plan: CountPlan) -> dict[str, Any]:
    n, current = plan.partitions_count, counts.current
    splits = None
    if plan.multiple and current is not None and n <= LISTED:
        splits = [{"partition_id": p, "into": list(range(p, n, current))} for p in range(current)]
    return {
        "partitioner": plan.partitioner,
        "partitions_count": n,
        "keys": _measure(plan.keys),
        "records": _measure(plan.records),
        "bytes": _measure(plan.bytes) if plan.bytes else None,
        "moved": _shares(plan),
        "needs_new_topic": plan.needs_new_topic,
        "multiple": plan.multiple,
        "splits": splits,
        "matrix": _matrix(plan.moved, has_bytes=plan.bytes is not None) if plan.moved else None,
        "busiest": vars(plan.busiest),
        "meets": plan.meets,
    }


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        **({"counts": measure.counts} if len(measure.counts) <= LISTED else {}),
        **vars(measure.spread),
        "gini": measure.gini,
        "empty_partitions": measure.empty_partitions,
        "floor": measure.floor,
        "hot_keys": measure.hot_keys,
        "hot_share": measure.hot_share,
        "chance": vars(measure.chance),
        "verdict": measure.verdict,
        "cause": cause(measure),
        "skew_without_hot_keys": measure.skew_without_hot_keys,
    }


def _shares(plan: CountPlan) -> dict[str, Any] | None:
    """The shares of all keys, records and bytes that move."""
    if plan.moved is None:
        return None
    measures = {"keys": plan.keys, "records": plan.records, "bytes": plan.bytes}
    return {what: measure and getattr(plan.moved, what) / max(1, int(measure.counts.sum())) for what, measure in measures.items()}


def _matrix(moved: Moved, *, has_bytes: bool) -> dict[str, Any] | None:
    if moved.cells is None or moved.from_partitions is None or len(moved.from_partitions) > LISTED_CELLS:
        return None
    where = {"from_partition_ids": moved.from_partitions, "to_partition_ids": moved.to_partitions}
    return where | moved.cells._asdict() | ({} if has_bytes else {"bytes": None})


def rows(plans: list[CountPlan]) -> list[dict[str, Any]]:
    """The answer's main table: one row a plan."""
    table = []
    for plan in plans:
        row: dict[str, Any] = {"partitioner": plan.partitioner, "partitions_count": plan.partitions_count}
        for what in ("keys", "records", "bytes"):
            measure: Measure | None = getattr(plan, what)
            row |= {
                f"{what}_skew": measure and measure.spread.skew,
                f"{what}_skew_floor": measure and measure.floor,
                f"{what}_skew_by_chance": measure and measure.chance.mean,
                f"{what}_skew_by_chance_low": measure and measure.chance.low,
                f"{what}_skew_by_chance_high": measure and measure.chance.high,
                f"{what}_gini": measure and measure.gini,
                f"{what}_verdict": measure and measure.verdict,
                f"{what}_skew_without_hot_keys": measure and measure.skew_without_hot_keys,
                f"{what}_moved": (_shares(plan) or {}).get(what),
            }
        row |= {
            "empty_partitions": plan.records.empty_partitions,
            "needs_new_topic": plan.needs_new_topic,
            "multiple": plan.multiple,
            "meets_limits": all(plan.meets.values()),
        }
        row |= {f"busiest_{name}": rate for name, rate in vars(plan.busiest).items()}
        table.append(row)
    return table


FORM: Final = Form(PartitionCountPlansSchema(), answer, PartitionCountPlansAnswerSchema, document, table)

EXAMPLE: Final = {
    "current_partitions_count": 6,
    "partitions_counts": [12, 18],
    "max_skew": 1.5,
    "histogram": [{"key": f"order-{i}", "records": 10} for i in range(1, 13)],
}

OPERATION: Final = Operation(
    "planPartitionCounts", "partition_count_plan", "keys → how many partitions", EXAMPLE, columns=("keys", "histogram")
)
