"""What a job reads: files, tables and topics, each named by one string.

============================================ ==========================================================
``flights.parquet``, ``data/``               files by their suffix (.parquet .csv .json .jsonl .ndjson
                                             .orc, also .gz …); a folder without one is Parquet
``csv:data/``, ``delta:s3a://bucket/t``      files of any format that Spark reads
``table:catalog.schema.name``                any table in Spark's catalogs: Delta, Iceberg, Hive …
``kafka://host:9092,host2/topic``            a live topic, with options of the connector
============================================ ==========================================================

Text columns stay text, as the key format decides how a key is serialized: ``007`` is not 7.
"""

from __future__ import annotations

import difflib
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import types
from pyspark.sql.pandas.types import to_arrow_schema

from service.spark.errors import JobFailed, WrongSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CORRUPT: Final = "_corrupt_record"
"""The column with a line of CSV or JSON that Spark could not read; null for all others."""

INTERNAL: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics that look empty to Spark's admin client, so that a consumer has to fetch where they begin and end."""

SUFFIXES: Final = dict(parquet="parquet", csv="csv", tsv="csv", json="json", jsonl="json", ndjson="json", orc="orc")  # noqa: C408
_COMPRESSED: Final = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_FORMAT: Final = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*):(?!//)(.+)", re.DOTALL)
KAFKA_CONNECTOR: Final = (
    "ivy://org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0?exclude=org.apache.spark:spark-token-provider-kafka-0-10_2.13",
    "ivy://org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0?transitive=false",
)
"""From Maven Central, which has version 4.2.0 of the connector, but not of the few classes that it needs."""
KAFKA_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp")
CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Source:
    """One source.

    format : of Spark's reader, or "table" or "kafka"
    location : path, table name or topic
    brokers : ``host:port`` of each bootstrap server of a topic
    options : of Spark's reader
    """

    format: str
    location: str
    brokers: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def parse(text: str, options: Mapping[str, str] | None = None) -> Source:
        """The source that ``text`` names; ``options`` go to Spark's reader. Raises WrongSource."""
        options = dict(options or {})
        if text.startswith("kafka://"):
            return _topic(text, options)
        named = _FORMAT.fullmatch(text)
        if named:
            return Source(named[1].lower(), named[2], (), options)
        stem = text.rstrip("/")
        for ending in _COMPRESSED:
            stem = stem.removesuffix(ending)
        suffix = stem.rpartition("/")[2].rpartition(".")[2].lower()
        if suffix == "tsv":
            options.setdefault("sep", "\t")
        return Source(SUFFIXES.get(suffix, "parquet"), text, (), options)

    def __str__(self) -> str:
        """As a user names it, without options, which may be secrets."""
        if self.format == "kafka":
            return f"kafka://{','.join(self.brokers)}/{self.location}"
        return self.location if self.format in SUFFIXES.values() else f"{self.format}:{self.location}"


def _topic(text: str, options: dict[str, str]) -> Source:
    url = urlsplit(text)
    topic = url.path.strip("/")
    if not url.netloc or not topic or "/" in topic:
        raise WrongSource(f"{text}: not of the form kafka://host:port[,host:port]/topic")
    brokers = []
    for broker in url.netloc.split(","):
        host, _, port = broker.rpartition(":") if re.search(r":\d+$", broker) else (broker, "", "9092")
        brokers.append(f"{host}:{port}")
    return Source("kafka", topic, tuple(brokers), options | dict(parse_qsl(url.query)))


def check_brokers(source: Source) -> None:
    """Raise WrongSource for a topic whose bootstrap servers accept no connection."""
    if source.format != "kafka":
        return
    if faults := unanswered(source.brokers):
        raise WrongSource(f"{source}: cannot connect to any broker: {', '.join(faults)}")


def unanswered(addresses: Iterable[str]) -> list[str]:
    """Why each of these, ``host:port``, refuses a connection; empty if one accepts it."""
    faults = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
                return []
        except OSError as error:
            faults.append(f"{address} ({error.strerror or error})")
    return faults


def check_plain(source: Source) -> None:
    """Raise WrongSource for a local Delta table that is named as plain Parquet: its deleted files would count."""
    path = Path(source.location.removeprefix("file://"))
    if source.format == "parquet" and (path / "_delta_log").is_dir():
        raise WrongSource(f"{source} is a Delta table: name it delta:{source.location}, with --package and Delta's settings")


def read(spark: SparkSession, source: Source) -> DataFrame:
    """The records of a source. CSV and JSON have CORRUPT as an additional column. Raises WrongSource."""
    try:
        if source.format == "kafka":
            _connect(spark, source)
            return spark.read.format("kafka").options(**_kafka_options(source, "earliest")).load()
        if source.format == "table":
            return spark.read.options(**source.options).table(source.location)
        if source.format in ("csv", "json"):
            return _read_text(spark, source)
        return spark.read.format(source.format).options(**source.options).load(source.location)
    except (PySparkException, Py4JError) as error:
        raise WrongSource(str(failure(error, source))) from None


def follow(spark: SparkSession, source: Source) -> DataFrame:
    """The records of a topic, existing and future ones, as a stream. Raises WrongSource."""
    if source.format != "kafka":
        raise WrongSource(f"{source} is not a topic: --follow needs kafka://host:port/topic")
    _connect(spark, source)
    try:
        return spark.readStream.format("kafka").options(**_kafka_options(source, "earliest")).load()
    except (PySparkException, Py4JError) as error:
        raise WrongSource(str(failure(error, source))) from None


def _connect(spark: SparkSession, source: Source) -> None:
    """Check that a broker answers, and load the connector unless the session has one."""
    check_brokers(source)
    if source.location in INTERNAL:
        spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true")
    jars = [row[0] for row in spark.sql("LIST JARS").collect()]
    if any("spark-sql-kafka" in jar for jar in jars):
        return
    try:
        for jar in KAFKA_CONNECTOR:
            spark.sql(f"ADD JAR {jar}")
    except (PySparkException, Py4JError) as error:
        raise WrongSource(f"{source}: cannot fetch Spark's Kafka connector from Maven: {failure(error)}") from None


def _kafka_options(source: Source, start: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": ",".join(source.brokers),
        "subscribe": source.location,
        "startingOffsets": start,
        **source.options,
    }


def _read_text(spark: SparkSession, source: Source) -> DataFrame:
    """CSV (every column text, names in the first line) or JSON lines, with malformed lines in CORRUPT."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, **source.options}
    if source.format == "csv":
        options = {"header": "true", "escape": '"', **options, "inferSchema": "false"}
    inferred = spark.read.format(source.format).options(**options).load(source.location).schema
    columns = [column for column in inferred.fields if column.name != CORRUPT]
    if not columns:
        raise WrongSource(f"{source} has no record that is readable as {source.format.upper()}")
    schema = types.StructType([*columns, types.StructField(CORRUPT, types.StringType())])
    return spark.read.format(source.format).options(**options).schema(schema).load(source.location)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The columns of a frame, as Arrow types. Timestamps get a zone, which does not matter here."""
    return to_arrow_schema(frame.schema, timezone="UTC")


def require(frame: DataFrame, names: Iterable[str], source: Source) -> None:
    """Raise WrongSource for the first of these columns that the frame lacks, with a list of its columns."""
    require_names(frame.columns, names, source)


def require_names(columns: Sequence[str], names: Iterable[str], source: Source) -> None:
    """The same, from the names alone."""
    columns = [column for column in columns if column != CORRUPT]
    for name in names:
        if name not in columns:
            close = difflib.get_close_matches(name, columns, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise WrongSource(f"{source} has no column {name!r}{hint}; it has {', '.join(columns) or 'none'}")


def _reason(error: PySparkException) -> str:
    """Spark's message, without error class and plan."""
    text = str(error).splitlines()[0]
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", re.sub(r"^\[[A-Z_.]+\]\s*", "", text))


def failure(error: Exception, source: Source | None = None) -> JobFailed:
    """Why Spark failed, in a sentence: the innermost cause in the words of the executor or the JVM, and the file."""
    text = _messages(error)
    causes = re.findall(r"^(?:Caused by: |(?=service\.[\w.]+: |(?:\w+[.$])*\w*(?:Error|Exception): ))(.+)$", text, re.MULTILINE)
    reason = re.sub(r"^(service\.[\w.]+|java\.lang\.RuntimeException): ", "", causes[-1]) if causes else _reason_of_any(error)
    file = re.search(r"Encountered error while reading file (?:file:/*(?=/))?(.+?)\.\s", text)
    if file and file[1] not in reason:
        reason = f"{file[1]}: {reason}"
    return JobFailed(f"{source}: {reason}" if source and source.location not in reason else reason)


def _messages(error: Any) -> str:
    """The message of an error and, from the JVM, those of its causes, on lines of their own."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    messages = []
    while java is not None:
        messages.append(str(java.toString()))
        java = java.getCause()
    return "\n".join(messages) or str(error)


def _reason_of_any(error: Any) -> str:
    return _reason(error) if isinstance(error, PySparkException) else str(error).splitlines()[0]
