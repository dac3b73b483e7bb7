"""Reads a source with Spark.

Text columns stay text, as the key format decides how a key is serialized: ``007`` is not 7.
"""

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema

from service.spark.cluster.failures import NO_FILE, failure
from service.spark.errors import WrongSource
from service.spark.io.columns import column
from service.spark.io.sources import CORRUPT, Source, check_brokers, require_names
from service.spark.tasks import parquet_files

PATTERN: Final = frozenset("*?[]{}")

BYTES: Final = "ISO-8859-1"
"""The encoding in which every byte is a character."""

OBJECT: Final = r"^\ufeff?\s*\{"
"""How a line of JSON begins that may be a record."""

FLAT_OBJECT: Final = r"^[^{}]*\{[^{}]*\}\s*$"
"""A line of JSON that ends where its object does, if it is one."""

MARK: Final = "\ufffd"
"""How no JSON begins."""

NANOS_AS_LONG: Final = "spark.sql.legacy.parquet.nanosAsLong"

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
            return spark.read.format("kafka").options(**_kafka_options(source)).load()
        if source.format == "table":
            return spark.read.options(**source.options).table(source.location)
        if source.format in ("csv", "json"):
            return _read_text(spark, source)
        if source.format == "parquet":
            return _read_parquet(spark, source)
        return spark.read.format(source.format).options(**source.options).load(source.location)
    except (PySparkException, Py4JError) as error:
        raise wrong(source, error) from None


def follow(spark: SparkSession, source: Source) -> DataFrame:
    """The records of a topic, existing and future ones, as a stream. Raises WrongSource."""
    if source.format != "kafka":
        raise WrongSource(f"{source} is not a topic: --follow needs kafka://host:port/topic.")
    _connect(spark, source)
    try:
        return spark.readStream.format("kafka").options(**_kafka_options(source)).load()
    except (PySparkException, Py4JError) as error:
        raise wrong(source, error) from None


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
        raise WrongSource(f"{source}: Cannot fetch Spark's Kafka connector from Maven: {failure(error)}") from None


def _kafka_options(source: Source) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": ",".join(source.brokers),
        "subscribe": source.location,
        "startingOffsets": "earliest",
        **source.options,
    }


def _read_text(spark: SparkSession, source: Source) -> DataFrame:
    """CSV (every column text, names in the first line) or JSON lines, with malformed lines in CORRUPT.

    Spark would replace what is not UTF-8 in CSV by U+FFFD, which makes different keys equal. So it reads each byte as a
    character, by BYTES, and the texts get the bytes back; whoever reads a text rejects it if it is not UTF-8.
    """
    charset = next((value for name, value in source.options.items() if name.lower() in ("encoding", "charset")), "UTF-8")
    is_utf8 = charset.lower().replace("-", "") == "utf8"
    by_bytes = is_utf8 and source.format == "csv"
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, **source.options}
    if source.format == "csv":
        options = {"header": "true", "escape": '"', **options, "inferSchema": "false"}
    if by_bytes:
        options = {name: value.encode().decode(BYTES) for name, value in options.items() if name.lower() != "charset"}
        options["encoding"] = BYTES
    inferred = spark.read.format(source.format).options(**options).load(source.location).schema
    columns = [column for column in inferred.fields if column.name != CORRUPT]
    if not columns:
        raise WrongSource(f"{source} has no record that is readable as {source.format.upper()}.")
    schema = types.StructType([*columns, types.StructField(CORRUPT, types.StringType())])
    if is_utf8 and source.format == "json" and (lines := _lines_with_faults(spark, source)) is not None:
        folders = [column(name) for name in lines.columns[1:]]
        members = types.StructType([field for field in schema.fields if field.name not in lines.columns[1:]])
        records = lines.select(F.from_json("value", members, options).alias("record"), *folders).select("record.*", *folders)
        return records.withColumn(CORRUPT, F.regexp_replace(CORRUPT, f"^{MARK}", ""))
    frame = spark.read.format(source.format).options(**options).schema(schema).load(source.location)
    return frame.select(*(_text_of_bytes(column.name, source) for column in schema.fields)) if by_bytes else frame


def _read_parquet(spark: SparkSession, source: Source) -> DataFrame:
    """The records, with timestamps of nanoseconds, as pandas writes them and Spark refuses them, to the microsecond."""

    def load() -> DataFrame:
        return spark.read.options(**source.options).parquet(source.location)

    spark.conf.set(NANOS_AS_LONG, "false")
    try:
        return load()
    except PySparkException as error:
        if "NANOS" not in str(error):
            raise
    finally:
        spark.conf.set(NANOS_AS_LONG, "true")  # when tasks read them; without nanoseconds it changes nothing
    files = parquet_files.find(source.location)
    if files is None:
        raise WrongSource(f"{source} has timestamps of nanoseconds, which Spark does not read; write them as microseconds.")
    names = [field.name for field in files.schema() if pa.types.is_timestamp(field.type) and field.type.unit == "ns"]
    return load().withColumns({name: F.timestamp_micros(F.call_function("div", column(name), F.lit(1000))) for name in names})


def _lines_with_faults(spark: SparkSession, source: Source) -> DataFrame | None:
    """The lines of JSON as ``value``, and the columns of their folders, if any line is not UTF-8 or no object; None if all are.

    Spark's parser reads ``C0 AF`` as a slash and encoded surrogates as question marks, which makes different keys equal, and the
    elements of an array as records of their own; it leaves out what follows an object. Such lines begin with MARK here, so that
    they are no JSON.
    """
    if {"multiline", "mode"} & {name.lower() for name in source.options}:
        return None
    lines = spark.read.format("text").options(**source.options).load(source.location).where(F.col("value").rlike(r"\S"))
    array = F.concat(F.lit("["), F.regexp_replace("value", "^\ufeff", ""), F.lit("\n]"))
    objects = F.size(F.from_json(array, "array<string>", dict(source.options)))
    is_one = F.when(F.col("value").rlike(FLAT_OBJECT), True).otherwise(F.coalesce(objects == 1, F.lit(False)))
    plain = F.is_valid_utf8("value") & F.col("value").rlike(OBJECT) & is_one
    if lines.where(~plain).isEmpty():
        return None
    marked = F.concat(F.lit(MARK), F.make_valid_utf8("value"))
    return lines.withColumn("value", F.when(plain, F.col("value")).otherwise(marked))


def _text_of_bytes(name: str, source: Source) -> Column:
    """The column of a name, both with the bytes of BYTES as UTF-8. Raises WrongSource for a name that is none."""
    try:
        return F.encode(column(name), BYTES).cast("string").alias(name.encode(BYTES).decode())
    except UnicodeDecodeError:
        raise WrongSource(f"{source}: The names of the columns are not UTF-8.") from None


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The columns of a frame, as Arrow types. Timestamps get a zone, which does not matter here."""
    return to_arrow_schema(frame.schema, timezone="UTC")


def require(frame: DataFrame, names: Iterable[str], source: Source) -> None:
    """Raise WrongSource for the first of these columns that the frame lacks, with a list of its columns."""
    require_names(frame.columns, names, source)


def wrong(source: Source, error: Exception) -> WrongSource:
    """The error for a source that Spark cannot read."""
    reason = str(failure(error))
    if "[PATH_NOT_FOUND]" in reason and set(source.location) & PATTERN:
        reason = NO_FILE
    return WrongSource(reason if source.location in reason else f"{source}: {reason}")
