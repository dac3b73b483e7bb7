"""Reads a source with Spark.

Text columns stay text, as the key format decides how a key is serialized: ``007`` is not 7.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import types
from pyspark.sql.pandas.types import to_arrow_schema

from service.spark.errors import JobFailed, WrongSource
from service.spark.io.sources import CORRUPT, check_brokers, require_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from service.spark.io.sources import Source

INTERNAL: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics that look empty to Spark's admin client, so that a consumer has to fetch where they begin and end."""

KAFKA_CONNECTOR: Final = (
    "ivy://org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0?exclude=org.apache.spark:spark-token-provider-kafka-0-10_2.13",
    "ivy://org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0?transitive=false",
)
"""From Maven Central, which has version 4.2.0 of the connector, but not of the few classes that it needs."""


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
