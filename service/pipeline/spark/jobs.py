"""The jobs on the command line: their options, and what can be said of them before Spark and the kernels are imported."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from io import BufferedReader
from typing import TYPE_CHECKING, Any, Final, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from service.core.errors import InvalidQuestion
from service.core.keys.formats import FORMATS
from service.parameters import COUNTS, DURATION, NAMED_VALUE, PLANNING, Parsed
from service.pipeline.analyses.skew import MAX_KEYS
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import sources
from service.pipeline.spark.io.sources import Source
from service.report.folders import check_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType

    from service.pipeline.analyses.fleet.assignments import Choice
    from service.pipeline.analyses.results import Outcome
    from service.pipeline.spark.io.sinks import Pipeline


@dataclass(frozen=True)
class Job:
    """One job.

    name : ``partition-allocator pipeline NAME``, and of its module, which has ``run``
    summary : what it does, in a sentence
    parameters : its own arguments and options; SOURCE is the type of those that name a source
    columns : ``columns(**parameters)`` gives the columns that ``source`` must have, as far as the parameters say
    scans : all that it has tasks do is to scan its source
    check : ``check(**parameters)`` raises an error of the core or of the pipeline before Spark starts
    """

    name: str
    summary: str
    parameters: tuple[click.Parameter, ...]
    check: Callable[..., None] = lambda **_: None
    columns: Callable[..., Sequence[str]] = lambda **_: ()
    scans: bool = False

    def check_early(
        self, parameters: Mapping[str, Any], into: str, master: str | None, settings: Mapping[str, str] | None
    ) -> None:
        """Raise an error for what is wrong with the sources, the options and the folder of the results, ``into``."""
        read = [value for value in parameters.values() if isinstance(value, Source)]
        check_folder(into, sources.in_folders(read))
        for source in read:
            sources.check_plain(source)
            if sources.is_here(master, settings):
                sources.check(source, self.columns(**parameters) if source is parameters.get("source") else ())
        self.check(**parameters)
        for source in read:
            sources.check_brokers(source)

    @staticmethod
    def bytes_here(parameters: Mapping[str, Any], master: str | None, settings: Mapping[str, str] | None) -> float:
        """Bytes of the largest source; infinity unless the job and all its sources are on this machine."""
        if not sources.is_here(master, settings):
            return math.inf
        return max((sources.bytes_here(value) for value in parameters.values() if isinstance(value, Source)), default=0)

    def is_light(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the JVM only starts tasks, which read plain Parquet by themselves, and passes on their results."""
        return self.scans and sources.is_plain_parquet(parameters["source"])

    def imports(self) -> ModuleType:
        """What runs the job. Also imports what draws its report."""
        import_module("matplotlib.figure")
        return import_module(f"service.pipeline.spark.{self.name}")

    def run(self, pipeline: Pipeline, **parameters: Any) -> Outcome | None:
        """The outcome; None from a job that runs until it is stopped."""
        return cast("Outcome | None", self.imports().run(pipeline, **parameters))


# ---- what several jobs have --------------------------------------------------------------------------------------------

_READER, _QUERY = "service.pipeline.spark.read_options", "service.pipeline.spark.query"
"""Where a command's context has the options of readers, and what is asked of the records."""


class SourceType(click.ParamType[Any]):
    """A source, as ``service.pipeline.spark.io.sources`` describes it."""

    name = "source"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Source:
        """Parse the source."""
        if isinstance(value, Source):
            return value
        meta = {} if ctx is None else ctx.meta
        try:
            source = Source.parse(value, meta.get(_READER, {}))
            return replace(source, **meta.get(_QUERY, {})) if param is not None and param.name == "source" else source
        except WrongSource as error:
            self.fail(str(error), param, ctx)


class ChoiceType(click.ParamType[Any]):
    """An assignor, as ``classic:range``."""

    name = "protocol:assignor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Choice:
        """Parse the choice; fails with the list of assignors."""
        from service.pipeline.analyses.fleet.assignments import Choice  # noqa: PLC0415 - files are refused without kernels

        try:
            return value if isinstance(value, Choice) else Choice.parse(value)
        except InvalidQuestion as error:
            self.fail(str(error), param, ctx)


def _option(name: str, text: str, *others: str, **attributes: Any) -> click.Option:
    """An option; --help shows its default, if it has one. others : the name of its parameter, if that is another one"""
    return click.Option([name, *others], help=text, show_default="default" in attributes, **attributes)


def _early(name: str, text: str, keep: Callable[[dict[str, Any], Any], None], *others: str, **attributes: Any) -> click.Option:
    """An option that the sources get from the context, and the job does not: it may be a secret."""

    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        keep(ctx.meta, value)

    return _option(name, text, *others, is_eager=True, expose_value=False, callback=callback, **attributes)


SOURCE, ASSIGNOR = SourceType(), ChoiceType()
POSITIVE: Final = click.FloatRange(0, min_open=True)
_AT_LEAST_ONE: Final = click.IntRange(1)
KEY_FORMAT = _option("--key-format", "How a key is serialized. Default: by the column's type.", type=click.Choice(FORMATS))
TOPIC = _option("--topic", "Topic of the records, for the results. Default: that of kafka://host:port/topic.")
PARTITION_COLUMN = _option("--partition-column", "Column with the partition of each record.", default="partition")
SIZE_COLUMNS = _option(
    "--bytes-column",
    "Column that counts towards a record's bytes: a string, bytes, or an integer size (in CSV, digits). Repeatable.",
    "size_columns",
    multiple=True,
)
READ_OPTIONS = _early(
    "--read-option",
    "Option of Spark's reader, such as sep=; or kafka.security.protocol=SSL. Repeatable.",
    lambda meta, pairs: meta.update({_READER: dict(pairs)}),
    "read_options",
    type=NAMED_VALUE,
    multiple=True,
)
QUERY = (
    _early(
        "--where",
        "Condition of Spark SQL that records must meet, such as \"dt >= '2026-11-01'\".",
        lambda meta, text: meta.setdefault(_QUERY, {}).update(where=text),
    ),
    _early(
        "--select",
        'Expression of Spark SQL that is a column, such as "cast(user_id as string) key". Repeatable. Default: all columns.',
        lambda meta, texts: meta.setdefault(_QUERY, {}).update(select=texts),
        multiple=True,
    ),
)


def sizes_of(source: Source, size_columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that count towards a record's bytes; by default those of a topic that have any."""
    return tuple(size_columns or (("key", "value") if source.format == "kafka" else ()))


def shown(parameters: Iterable[click.Parameter], values: Mapping[str, Any]) -> dict[str, str]:
    """The options of a command that differ from the default, for a report, without those that say where and how to show it."""
    texts = {}
    for parameter in parameters:
        value = values.get(parameter.name or "")
        values_of = value if isinstance(value, tuple) else (value,)
        text = ",".join(each.name if isinstance(each, BufferedReader) else str(each) for each in values_of)
        text = f"{value}ms" if parameter.type is DURATION else text
        hidden = not isinstance(parameter, click.Option) or parameter.name in ("into", "output")
        if not hidden and value not in (None, (), False, ""):
            default = parameter.default if isinstance(parameter.default, tuple) else (parameter.default,)
            if text != ",".join(map(str, default)):
                texts[parameter.opts[0]] = text
    return texts


# ---- skew --------------------------------------------------------------------------------------------------------------


def _check_skew(*, partitioners: tuple[str, ...], key_format: str | None, follow: bool, source: Source, **options: Any) -> None:
    """Raise an error for options that are wrong whatever the source contains."""
    from service.pipeline.analyses.skew.scan import check_partitioners  # noqa: PLC0415 - files are refused without kernels

    check_partitioners(partitioners, key_format)
    if follow and source.format != "kafka":
        raise WrongSource(f"{source} is not a topic: --follow needs kafka://host:port/topic.")
    if options["duration_seconds"] is None and not follow:
        for what in ("records", "bytes"):
            if options[f"max_partition_{what}_per_second"] is not None:
                raise InvalidQuestion(f"--max-partition-{what}-per-second needs --duration-seconds.")


SKEW: Final = Job(
    name="skew",
    summary="Compute how evenly partitioners and partition counts distribute records, in one scan.\n\n"
    "SOURCE is a path, table:NAME, FORMAT:PATH or kafka://host:port/topic.",
    scans=True,
    check=_check_skew,
    columns=lambda *, source, key_columns, size_columns, **_: (*(key_columns or ("key",)), *sizes_of(source, size_columns)),
    parameters=(
        click.Argument(["source"], type=SOURCE),
        _option("--key-column", "Column of the key. Default: key. Repeat to join columns.", "key_columns", multiple=True),
        _option("--key-separator", "Text between the values of several key columns.", default="-"),
        KEY_FORMAT,
        _option("--partitioner", "Partitioner to compute. Repeatable.", "partitioners", multiple=True, default=("java",)),
        _option(
            "--partitions", "Counts to compare: 12,18,24 or 12-48:12.", "partitions_counts", type=COUNTS, default="6,12,24,48"
        ),
        _option("--current-partitions", "Current number of partitions.", "current", type=_AT_LEAST_ONE),
        SIZE_COLUMNS,
        _option("--duration-seconds", "Time span of the records, in seconds.", type=POSITIVE),
        *(
            _option(f"--max-partition-{what}-per-second", f"Limit for the busiest partition, in {what} per second.", type=float)
            for what in ("records", "bytes")
        ),
        _option("--max-skew", "Limit for the skew (maximum ÷ mean).", type=click.FloatRange(1)),
        _option("--max-keys", "Distinct keys to count exactly; more are estimated.", type=click.IntRange(1024), default=MAX_KEYS),
        _option("--follow", "Follow a live topic, window by window, until stopped.", is_flag=True),
        _option("--window-seconds", "Length of a window, with --follow.", type=_AT_LEAST_ONE, default=60),
        _option("--metrics-port", "Port of the Prometheus metrics, with --follow.", type=int, default=9464),
        TOPIC,
        READ_OPTIONS,
        *QUERY,
    ),
)

# ---- load --------------------------------------------------------------------------------------------------------------

PARTITION, CONSUMER, BROKER = "partition", "consumer", "broker"
LIMITS: Final = {
    "max_partition_records_per_second": (PARTITION, "records"),
    "max_partition_bytes_per_second": (PARTITION, "bytes"),
    "max_consumer_records_per_second": (CONSUMER, "records"),
    "max_consumer_bytes_per_second": (CONSUMER, "bytes"),
    "max_broker_bytes_in_per_second": (BROKER, "bytes"),
    "max_broker_bytes_out_per_second": (BROKER, "bytes_out"),
}


def _check_load(*, duration_seconds: float | None, time_zone: str, topic: str | None, **options: Any) -> None:
    """Raise an error for options that do not go together."""
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise InvalidQuestion(f"Unknown time zone {time_zone!r}; an example is Europe/Berlin.") from None
    if duration_seconds is not None and topic is None:
        raise InvalidQuestion(
            "--duration-seconds is only for the partitions of one topic, counted by skew; name the topic with --topic."
        )
    if options["group"] is not None and options["groups"] is None:
        raise InvalidQuestion("--group needs --groups.")
    for name, (kind, _) in LIMITS.items():
        needed = {CONSUMER: "groups", BROKER: "placements"}.get(kind)
        if needed and options[name] is not None and options[needed] is None:
            raise InvalidQuestion(f"--{name.replace('_', '-')} needs --{needed}.")


def _load_columns(*, source: Source, topic: str | None, **options: Any) -> tuple[str, ...]:
    """The columns that a source of records, or a table of ``skew``, must have; other tables are checked later."""
    if options["duration_seconds"] is not None:
        return ("partition_id", "records")
    of_topic = (options["topic_column"],) if topic is None else ()
    return (*of_topic, options["partition_column"], options["time_column"], *sizes_of(source, options["size_columns"]))


LOAD: Final = Job(
    name="load",
    summary="Compute the load of partitions, consumers and brokers: means, peaks, hours of the day, and breaches of limits.\n\n"
    "SOURCE has records with times: a path, table:NAME, FORMAT:PATH or kafka://host:port/topic. With --duration-seconds it is "
    "the partitions.parquet of skew.",
    check=_check_load,
    columns=_load_columns,
    parameters=(
        READ_OPTIONS,
        *QUERY,
        click.Argument(["source"], type=SOURCE),
        _option("--topic-column", "Column of the topic.", default="topic"),
        _option("--topic", "Topic of all records, in place of --topic-column."),
        PARTITION_COLUMN,
        _option("--time-column", "Column of timestamps, or ms since 1970.", default="timestamp"),
        SIZE_COLUMNS,
        _option("--window-seconds", "Length of a window.", type=click.IntRange(1, 3600), default=60),
        _option("--time-zone", "Time zone of the hours of the day.", default="UTC"),
        _option("--duration-seconds", "Time span of the records that skew counted.", type=POSITIVE),
        _option("--partitioner", "Partitioner of the plan of skew, with --duration-seconds."),
        _option(
            "--partitions",
            "Partition count of the plan of skew, with --duration-seconds.",
            "partitions_count",
            type=_AT_LEAST_ONE,
        ),
        _option("--groups", "Table of groups, as fleet reads it.", type=SOURCE),
        _option("--assignor", "Assignor of all groups, such as consumer:uniform. Default: each group's own.", type=ASSIGNOR),
        _option("--group", "Group whose request to /v1/group-assignments becomes the summary."),
        _option("--placements", "Table of topic_name and placements [{partition_id, replicas}], such as fleet's.", type=SOURCE),
        *(
            _option(f"--{name.replace('_', '-')}", f"Limit for each {kind}.", type=click.FloatRange(0))
            for name, (kind, _) in LIMITS.items()
        ),
    ),
)

# ---- fleet -------------------------------------------------------------------------------------------------------------


def _check_fleet(
    *, groups: Source | None, topics: Source | None, placer: str | None, consumption_rate: float | None, max_lag: int | None,
    **_: Any,
) -> None:  # fmt: skip
    """Raise an error if there is no table, no such placer, or a rate without a time."""
    if (consumption_rate is None) != (not max_lag):
        raise click.UsageError("--consumption-rate and --max-lag must be set together.")
    if groups is None and topics is None:
        raise WrongSource("Name a table of groups, or a table of topics with --topics.")
    if placer is not None:
        from service.strategies import PLACERS  # noqa: PLC0415 - files are refused without kernels

        PLACERS[placer]  # raises UnknownStrategy


FLEET: Final = Job(
    name="fleet",
    summary="Assign every group of a table by several assignors; place every topic of another, and audit its current placement.",
    check=_check_fleet,
    parameters=(
        READ_OPTIONS,
        click.Argument(["groups"], type=SOURCE, required=False),
        _option(
            "--assignor",
            "Assignor to try besides the group's own, such as consumer:uniform. Repeatable. Default: all of its protocol.",
            "assignors",
            type=ASSIGNOR,
            multiple=True,
        ),
        _option(
            "--body-column", "Column with the group as a JSON request, in place of nested columns. Default of a topic: value."
        ),
        _option("--fewest-members", "Look for the fewest members that each group needs.", is_flag=True),
        _option("--consumption-rate", "Records per second of a member.", type=POSITIVE),
        _option("--max-lag", "How long every member may take to process its lag: 60s. With --consumption-rate.", type=DURATION),
        _option("--topics", "Table of topics to place, and to audit where it has placements.", type=SOURCE),
        _option("--brokers", "Table of broker_id, rack_id and fenced. Default: brokers of each row.", type=SOURCE),
        _option("--placer", "Placer of topics that name none. Default: striped."),
    ),
)

# ---- offsets, history --------------------------------------------------------------------------------------------------

RETENTION_MINUTES: Final = 7 * 24 * 60
"""Kafka's default of offsets.retention.minutes."""


def _milliseconds(text: str) -> int:
    """A time in ISO 8601, by default in UTC, or in ms since 1970; in ms."""
    if text.isdigit():
        return int(text)
    time = datetime.fromisoformat(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


OFFSETS: Final = Job(
    name="offsets",
    summary="Compute committed offsets from records of __consumer_offsets; with log end offsets also lag and time to catch up.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["records"], type=SOURCE),
        _option(
            "--log-end",
            "Table of topic, partition, log_end_offset and optionally time; several snapshots give the trend.",
            type=SOURCE,
        ),
        _option(
            "--as-of",
            "Time to describe: 2026-11-21T08:00:00Z. Default: the last record's.",
            type=Parsed("time", _milliseconds, "a time such as 2026-11-21T08:00:00Z or ms since 1970"),
        ),
        _option("--retention-minutes", "The brokers' offsets.retention.minutes.", type=_AT_LEAST_ONE, default=RETENTION_MINUTES),
        _option(
            "--weight",
            "Weight of a partition in requests: its lag, or the records produced to it per second.",
            type=click.Choice(("lag", "produced")),
            default="lag",
        ),
        _option("--group", "Describe this group only; its request to /v1/group-assignments becomes the summary."),
    ),
)

HISTORY: Final = Job(
    name="history",
    summary="Tell what happened to every group, from records of __consumer_offsets: each rebalance, with its cause.",
    parameters=(READ_OPTIONS, click.Argument(["records"], type=SOURCE)),
)

# ---- mismatch ----------------------------------------------------------------------------------------------------------


def _check_mismatch(*, expected: str, partitioners: tuple[str, ...], **_: Any) -> None:
    """Raise InvalidQuestion for a partitioner that does not exist or is given twice."""
    from service.pipeline.analyses.mismatch.outcome import suspects  # noqa: PLC0415 - files are refused without kernels

    suspects(partitioners, expected)


MISMATCH: Final = Job(
    name="mismatch",
    summary="Find which partitioners wrote a topic, and the records that the expected one would have put elsewhere.\n\n"
    "SOURCE is a path, table:NAME, FORMAT:PATH or kafka://host:port/topic.",
    scans=True,
    check=_check_mismatch,
    columns=lambda *, key_column, partition_column, **_: (key_column, partition_column),
    parameters=(
        READ_OPTIONS,
        *QUERY,
        TOPIC,
        click.Argument(["source"], type=SOURCE),
        _option("--key-column", "Column of the key.", default="key"),
        KEY_FORMAT,
        PARTITION_COLUMN,
        _option("--partitions", "Number of partitions of the topic. Default: inferred.", "partitions_count", type=_AT_LEAST_ONE),
        _option("--expected", "Partitioner that should have placed every record.", default="java"),
        _option("--partitioner", "Partitioner to consider. Repeatable. Default: all.", "partitioners", multiple=True),
    ),
)

# ---- reassign ----------------------------------------------------------------------------------------------------------

REASSIGN: Final = Job(
    name="reassign",
    summary="Plan a reassignment for all topics of a table, with the fewest moves or to the evenest load.",
    parameters=(
        READ_OPTIONS,
        click.Argument(["placements"], type=SOURCE),
        _option("--brokers", "Table of broker_id, rack_id, draining, weight and so on.", type=SOURCE, required=True),
        *PLANNING,
    ),
)

JOBS: Final = {job.name: job for job in (SKEW, LOAD, FLEET, OFFSETS, HISTORY, MISMATCH, REASSIGN)}
