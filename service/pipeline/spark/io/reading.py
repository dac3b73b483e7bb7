"""Reads a source with Spark.

Text columns stay text, as the key format decides how a key is serialized: ``007`` is not 7.
"""

import json
import logging
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import __version__ as SPARK  # noqa: N812 - the release
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from service.pipeline.files.texts import Quotes
from service.pipeline.spark.cluster.jvm import NO_FILE, failure
from service.pipeline.spark.cluster.session import is_connect, is_local, tasks_for
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import sources
from service.pipeline.spark.io.columns import column, corrupt, integer, line, milliseconds
from service.pipeline.spark.tasks import parquet_files
from service.pipeline.spark.tasks.made_keys import SCHEMA

BYTES: Final = "ISO-8859-1"
"""The encoding in which every byte is a character."""

OBJECT: Final = r"^\ufeff?\s*\{"
"""How a line of JSON begins that may be a record."""

FLAT_OBJECT: Final = r"^[^{}]*\{[^{}]*\}\s*$"
"""A line of JSON that ends where its object does, if it is one."""

FIRST_LINES: Final = 1000
FIRST_BYTES: Final = 2**14
"""Lines of JSON that say of which type a column is, and the most bytes of such a line."""

MARK: Final = "\ufffd"
"""How no JSON begins."""

TYPES_OF_FOLDERS: Final = "spark.sql.sources.partitionColumnTypeInference.enabled"
"""Whether the names of folders become numbers and dates: ``code=007`` would be the key 7."""

OF_FILE: Final = ("path", "modificationTime", "length", "content")
"""What Spark's format binaryFile tells of a file, beside the columns of its folders."""

NANOS_AS_LONG: Final = "spark.sql.legacy.parquet.nanosAsLong"

IN_UTC: Final[dict[str, Any]] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
"""Spark 4.0 and 4.1 give timestamps UTC by themselves."""

MOST_MATCHED: Final = 100
"""Matches of a pattern of which it is asked whether they are in a lake table."""

INTERNAL: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics that look empty to Spark's admin client, so that a consumer has to fetch where they begin and end."""

KAFKA_CONNECTOR: Final = (
    f"ivy://org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK}?exclude=org.apache.spark:spark-token-provider-kafka-0-10_2.13",
    "ivy://org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0?transitive=false",
)
"""From Maven Central, which has version 4.2.0 of the connector, but not of the few classes that it needs: those of 4.0.0 do."""

COORDINATOR_COLUMNS: Final = ("key", "value", "partition", "offset", "timestamp")
"""Of records of ``__consumer_offsets``."""


def read(spark: SparkSession, source: sources.Source, names: Collection[str] = ()) -> DataFrame:
    """The records of a source. CSV and JSON have CORRUPT as an additional column.

    names : the columns that are needed, if they are known: of JSON there may be no others. Raises WrongSource.
    """
    frame = _read(spark, source, () if source.is_query else names)
    if not source.is_query:
        return frame
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # the error is one sentence
    try:
        if source.where is not None:
            unreadable = column(sources.CORRUPT).isNotNull() if sources.CORRUPT in frame.columns else F.lit(False)
            frame = frame.where(F.expr(source.where) | unreadable)
        return (
            frame.selectExpr(*source.select, *([sources.CORRUPT] if sources.CORRUPT in frame.columns else ()))
            if source.select
            else frame
        )
    except (PySparkException, Py4JError) as error:
        said = next(line for line in str(error).splitlines() if line.strip())
        reason = re.sub(r"^(?:[\w.]+Exception: )?\s*(?:\[[A-Z_.]+\] *)?", "", said).partition(" SQLSTATE")[0]
        raise WrongSource(f"{source}: --where or --select: {reason}") from None


def _read(spark: SparkSession, source: sources.Source, names: Collection[str]) -> DataFrame:
    try:
        if source.format == "kafka":
            return spark.read.format("kafka").options(**_kafka_options(spark, source)).load()
        if source.format == "keys":
            made = sources.made_keys(source)
            blocks = spark.range(0, made.blocks, 1, min(made.blocks, tasks_for(spark, made.size)))
            return blocks.mapInArrow(made.rows, from_arrow_schema(SCHEMA))
        if source.format == "table":
            return spark.read.options(**source.options).table(source.location)
        spark.conf.set(TYPES_OF_FOLDERS, "false")
        check_lake(spark, source)
        source = _with_folders_without_values(spark, source)
        if source.format in ("csv", "json"):
            return _read_csv(spark, source) if source.format == "csv" else _read_json(spark, source, names)
        if source.format == "parquet":
            return _read_parquet(spark, source)
        return spark.read.format(source.format).options(**source.options).load(source.location)
    except (PySparkException, Py4JError) as error:
        raise wrong(source, error) from None


def _with_folders_without_values(spark: SparkSession, source: sources.Source) -> sources.Source:
    """The source; if no folder's name has a value (``day=7``), also with the files in folders, which Spark would leave out."""
    recursive = "recursiveFileLookup"
    if source.format not in sources.SUFFIXES.values() or recursive.lower() in {name.lower() for name in source.options}:
        return source
    of_folders = spark.read.format("binaryFile").load(source.location).columns[len(OF_FILE) :]
    return source if of_folders else replace(source, options={recursive: "true", **source.options})


def check_lake(spark: SparkSession, source: sources.Source) -> None:
    """Raise WrongSource for a lake table, or a part of one, that is named as plain files; see check_plain."""
    if source.format not in sources.LAKE_FILES or is_connect(spark) or ("://" not in source.location and is_local(spark)):
        return
    hadoop = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr] # noqa: SLF001 - it has no other door
    with suppress(Py4JError):  # a file system that cannot be asked is asked again by Spark, which says why
        files = hadoop.Path(source.location).getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
        folder = hadoop.Path(source.location)
        matches = files.globStatus(folder) or []
        folders = [match.getPath() for match in islice(matches, MOST_MATCHED)]
        while folder is not None:
            folders.append(folder)
            folder = folder.getParent()
        for folder in (each for each in folders if not sources.PATTERN & set(each.toString())):
            for mark, kind, name in sources.LAKE_TABLES:
                if files.globStatus(hadoop.Path(folder, mark)):
                    raise WrongSource(sources.in_lake(source, folder.toString(), kind, name))


def follow(spark: SparkSession, source: sources.Source) -> DataFrame:
    """The records of a topic, existing and future ones, as a stream. Raises WrongSource."""
    try:
        return spark.readStream.format("kafka").options(**_kafka_options(spark, source)).load()
    except (PySparkException, Py4JError) as error:
        raise wrong(source, error) from None


def _kafka_options(spark: SparkSession, source: sources.Source) -> dict[str, str]:
    """Those of the connector, which is loaded unless the session has it, once a broker answers."""
    sources.check_brokers(source)
    if source.location in INTERNAL:
        spark.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true")
    jars = [row[0] for row in spark.sql("LIST JARS").collect()]
    try:
        for jar in () if any("spark-sql-kafka" in jar for jar in jars) else KAFKA_CONNECTOR:
            spark.sql(f"ADD JAR {jar}")
    except (PySparkException, Py4JError) as error:
        raise WrongSource(f"{source}: Cannot fetch Spark's Kafka connector from Maven: {failure(error)}") from None
    servers = {"kafka.bootstrap.servers": ",".join(source.brokers)}
    return {**servers, "subscribe": source.location, "startingOffsets": "earliest", **source.options}


def _lines(spark: SparkSession, source: sources.Source) -> DataFrame:
    """The lines of a text as ``value``, and the columns of their folders."""
    return spark.read.format("text").options(**source.options).load(source.location)


def _is_utf8(source: sources.Source) -> bool:
    charset = next((value for name, value in source.options.items() if name.lower() in ("encoding", "charset")), "UTF-8")
    return charset.lower().replace("-", "") == "utf8"


def _fields(spark: SparkSession, source: sources.Source, options: dict[str, str]) -> list[types.StructField]:
    """The columns of a text that Spark finds in all of it. Raises WrongSource if there are none."""
    inferred = spark.read.format(source.format).options(**options).load(source.location).schema
    fields = [field for field in inferred.fields if field.name != sources.CORRUPT]
    if not fields:
        raise WrongSource(f"{source} has no record that is readable as {source.format.upper()}.")
    return fields


def _read_csv(spark: SparkSession, source: sources.Source) -> DataFrame:
    """CSV: every column is text, their names are in the first line, and malformed lines in CORRUPT.

    Spark would replace what is not UTF-8 by U+FFFD, which makes different keys equal. So it reads each byte as a character, by
    BYTES, and the texts get the bytes back; whoever reads a text rejects it if it is not UTF-8.
    """
    by_bytes = _is_utf8(source)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": sources.CORRUPT, "header": "true", "escape": '"'}
    options |= {"enforceSchema": "false", **source.options, "inferSchema": "false"}  # files with other columns are refused
    if by_bytes:
        options = {name: value.encode().decode(BYTES) for name, value in options.items() if name.lower() != "charset"}
        options["encoding"] = BYTES
    lines = _lines(spark, source)
    folders = lines.columns[1:]
    goes_on = _breaks_in_quotes(lines, source)
    if goes_on:  # by default Spark would make each CR LF in quotes a LF
        _check_line_ends(spark, source)
        options = {"lineSep": "\n", **options, "multiLine": "true"}
    schema = types.StructType([*_fields(spark, source, options), types.StructField(sources.CORRUPT, types.StringType())])
    frame = spark.read.format("csv").options(**options).schema(schema).load(source.location)
    if by_bytes:
        names = [field.name for field in schema.fields]
        frame = frame.select(*(column(name) if name in folders else _text_of_bytes(name, source) for name in names))
    of_files = [name for name in frame.columns if name not in (*folders, sources.CORRUPT)]
    if goes_on:  # of lines that end with CR LF, the first one included
        last = of_files.pop()
        of_files.append(last.removesuffix("\r"))
        frame = frame.withColumn(last, F.regexp_replace(column(last), "\r$", "")).withColumnRenamed(last, of_files[-1])
    return _with_folders(frame, folders, of_files)


def _with_folders(frame: DataFrame, folders: Sequence[str], of_files: Sequence[str]) -> DataFrame:
    """The same records. Spark refuses to read CORRUPT and folders alone; so it gets to need a column of the files, too."""
    if not folders or not of_files:
        return frame
    return frame.withColumn(sources.CORRUPT, F.when(F.hash(column(of_files[0])).cast("string") != "", column(sources.CORRUPT)))


def _breaks_in_quotes(lines: DataFrame, source: sources.Source) -> bool:
    """Whether records of CSV go on in the next line, in quotes: Spark would end them there.

    A line may open a quote if it begins a record, and may close one if it does not. Where no line of a file opens one, each is a
    record. Where one does and none closes it, the quote has no end, and is text. Raises WrongSource where the lines do not tell:
    each is looked at without the one before.
    """
    given = {name.lower(): value for name, value in source.options.items()}
    quote, separator = given.get("quote", '"'), given.get("sep", given.get("delimiter", ","))
    if "multiline" in given or not quote:
        return False
    quotes = Quotes(separator, quote, given.get("escape", quote))
    text = F.col("value")
    for escaped in quotes.escaped:
        text = F.replace(text, F.lit(escaped), F.lit(""))

    def rest(record: Column) -> Column:
        return F.regexp_replace(record, quotes.field, "$1")

    opens, ends, is_other = rest(text).rlike(quotes.beginning), text.rlike(f"^{quotes.end}"), F.contains(rest(text), F.lit(quote))
    closes = ends & ~rest(F.regexp_replace(text, f"^{quotes.end}", "")).rlike(quotes.beginning)
    backslash = F.contains(F.col("value"), F.lit(f"\\{quote}")) if "escape" not in given else F.lit(False)
    kinds = {"opened": opens & ~ends, "again": opens & ends & ~closes, "either": opens & closes}
    kinds["closed"] = closes & ~opens & is_other
    of_kinds = [F.count_if(kind).alias(name) for name, kind in kinds.items()]
    of_files = lines.where(is_other | backslash).groupBy(F.input_file_name().alias("file"))
    counts = of_files.agg(*of_kinds, (F.bool_or(is_other) & F.bool_or(backslash)).alias("escaped"))
    opening = "opened + again + either > 0"
    endless = "opened + again + either = 1 and closed = 0"
    # A line that may open or close a quote does one of both, and one that may open a quote or go on may do so again.
    unclear = "opened - closed > either or closed - opened > either + again or (again = 0 and (opened + closed + either) % 2 = 1)"
    states = (f"{opening} opening", f"{endless} endless", f"{unclear} unclear")
    files = counts.where(f"{opening} or escaped").selectExpr("file", "escaped", *states).collect()
    goes_on = any(of["opening"] and not of["endless"] for of in files)
    for of in files:
        file = of["file"].removeprefix("file://")
        if of["escaped"]:
            hint = f"set --read-option escape=\\ if these escape them, or else escape={quote}"
            raise WrongSource(f"{file} has quotes after backslashes: {hint}.")
        if goes_on and of["opening"] and of["unclear"]:
            hint = "set --read-option multiLine=true if all records do that, or multiLine=false if none does"
            raise WrongSource(f"{file} has a quote without an end, or one that goes on in the next line: {hint}.")
    return goes_on


def _check_line_ends(spark: SparkSession, source: sources.Source) -> None:
    """Raise WrongSource for a text whose lines end with CR alone: to a reader of lines that end with LF it is one."""
    lines = spark.read.format("text").options(**{"lineSep": "\n", **source.options}).load(source.location)
    has_cr = F.bool_or(F.col("value").rlike("\r[^\r]")).alias("has_cr")
    files = lines.groupBy(F.input_file_name().alias("file")).agg(F.count("*").alias("count"), has_cr)
    one = files.where("count = 1 and has_cr").first()
    if one is not None:
        file = one["file"].removeprefix("file://")
        raise WrongSource(f"{file}: Its lines end with CR alone, and records go on in the next one: write it with LF.")


def _read_parquet(spark: SparkSession, source: sources.Source) -> DataFrame:
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
    micros = {name: F.timestamp_micros(F.call_function("div", column(name), F.lit(1000))) for name in files.nanoseconds()}
    return load().withColumns(micros)


def _read_json(spark: SparkSession, source: sources.Source, names: Collection[str]) -> DataFrame:
    """JSON lines, with malformed ones in CORRUPT, and those that are not UTF-8 or no object.

    Spark's parser reads ``C0 AF`` as a slash and encoded surrogates as question marks, which makes different keys equal, and the
    elements of an array as records of their own; it leaves out what follows an object. Such lines begin with MARK here, so that
    they are no JSON.

    The types of ``names`` are those of the first records, so that the lines are read once; a value of another type ends the job.
    """
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": sources.CORRUPT, **source.options}
    given = {name.lower() for name in source.options}
    lines = _lines(spark, source).where(F.col("value").rlike(r"\S"))
    folders = lines.columns[1:]
    corrupt = types.StructField(sources.CORRUPT, types.StringType())
    if not _is_utf8(source) or given & {"multiline", "mode"}:
        fields = _fields(spark, source, options)
        frame = spark.read.format("json").options(**options).schema(types.StructType([*fields, corrupt])).load(source.location)
        return _with_folders(frame, folders, [field.name for field in fields if field.name not in folders])
    is_object = _is_object(source)
    by_first = names and "samplingratio" not in given
    first = _fields_of_first(lines.where(is_object), {*names} - {*folders}, source) if by_first else None
    fields = first or [field for field in _fields(spark, source, options) if field.name not in folders]
    marked = F.when(is_object, F.col("value")).otherwise(F.concat(F.lit(MARK), F.make_valid_utf8("value")))
    of_folders = [column(name) for name in folders]
    record = F.from_json("value", types.StructType([*fields, corrupt]), options).alias("record")
    records = lines.select(marked.alias("value"), *of_folders).select("value", record, *of_folders)
    fault = F.col("record").getField(sources.CORRUPT)
    if first is not None:
        as_texts = types.StructType([*(types.StructField(field.name, types.StringType()) for field in first), corrupt])
        is_other = fault.isNotNull() & F.from_json("value", as_texts, options).getField(sources.CORRUPT).isNull()
        of_first = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in first)
        said = f"{source}: The first records have {of_first}, and another has not: "
        hint = " --read-option samplingRatio=1 reads all records for their types first."
        error = F.raise_error(F.concat(F.lit(said), F.substring("value", 1, 100), F.lit(hint)))
        fault = F.when(is_other, error.cast("string")).otherwise(fault)
    members = [F.col("record").getField(field.name).alias(field.name) for field in fields]
    return records.select(*members, F.regexp_replace(fault, f"^{MARK}", "").alias(sources.CORRUPT), *of_folders)


def _is_object(source: sources.Source) -> Column:
    """Whether ``value`` is UTF-8, and may be one object of JSON."""
    array = F.concat(F.lit("["), F.regexp_replace("value", "^\ufeff", ""), F.lit("\n]"))
    objects = F.size(F.from_json(array, "array<string>", dict(source.options)))
    is_one = F.when(F.col("value").rlike(FLAT_OBJECT), True).otherwise(F.coalesce(objects == 1, F.lit(False)))
    return F.is_valid_utf8("value") & F.col("value").rlike(OBJECT) & is_one


def _fields_of_first(objects: DataFrame, names: Collection[str], source: sources.Source) -> list[types.StructField] | None:
    """The columns of these names, with the types of the first objects; None if one has no value in them."""
    short = objects.where(F.octet_length("value") <= FIRST_BYTES).select("value").limit(FIRST_LINES)
    texts, records = [], []
    for (text,) in short.collect():
        with suppress(ValueError):
            records.append(json.loads(text.removeprefix("\ufeff")))
            texts.append(text)
    if not texts:
        return None
    kind = F.schema_of_json(F.lit(f"[{','.join(texts)}]"), dict(source.options))
    ((text,),) = objects.sparkSession.range(1).select(kind).collect()
    array: Any = types.DataType.fromDDL(text)
    found = {field.name: field for field in array.elementType.fields}
    tops = {name: name if name in found else name.partition(".")[0] for name in names}
    if any(all(_member(record, top, name) is None for record in records) for name, top in tops.items()):
        return None
    return [found[top] for top in dict.fromkeys(tops.values())]


def _member(record: dict[str, Any], top: str, name: str) -> Any:
    """What a record has at a name: the member ``top``, or one within it."""
    value = record.get(top)
    for part in name.removeprefix(top).split(".")[1:]:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _text_of_bytes(name: str, source: sources.Source) -> Column:
    """The column of a name, both with the bytes of BYTES as UTF-8. Raises WrongSource for a name that is none.

    A name in quotes that follows a byte order mark still has them where records go on in the next line.
    """
    try:
        text = name.encode(BYTES).decode()
        text = re.sub('^\ufeff(?:"(.*)"$|(?!"))', r"\1", name.encode(BYTES).decode(), flags=re.DOTALL)
    except UnicodeDecodeError:
        raise WrongSource(f"{source}: The names of the columns are not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise WrongSource(f"{source}: The first name goes on in the next line, after a byte order mark: write it without.")
    return F.encode(column(name), BYTES).cast("string").alias(text)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The columns of a frame, as Arrow types. Timestamps get a zone, which does not matter here."""
    return to_arrow_schema(frame.schema, **IN_UTC)


def with_members(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """The frame with a column for each name that is a member of one: ``user.id`` is ``id`` in ``user``."""
    members = {}
    for name in names:
        first, *rest = name.split(".")
        if name not in frame.columns and rest and first in frame.columns:
            member = column(first)
            for part in rest:
                member = member.getField(part)
            members[name] = member
    return frame.withColumns(members) if members else frame


def partitions_of(frame: DataFrame) -> int:
    """Into how many partitions Spark divides a frame."""
    if is_connect(frame.sparkSession):
        return frame.select(F.spark_partition_id()).distinct().count()
    return int(frame.rdd.getNumPartitions())


def wrong(source: sources.Source, error: Exception) -> WrongSource:
    """The error for a source that Spark cannot read."""
    reason = str(failure(error))
    if "[PATH_NOT_FOUND]" in reason and set(source.location) & sources.PATTERN:
        reason = NO_FILE
    return WrongSource(reason if source.location in reason else f"{source}: {reason}")


def read_coordinator_records(spark: SparkSession, source: sources.Source) -> DataFrame:
    """The input of ``tasks.coordinator_records``: keys and values as bytes (text is base64, as in CSV), and their positions."""
    frame = read(spark, source, COORDINATOR_COLUMNS)
    sources.require_names(frame.columns, COORDINATOR_COLUMNS, source)
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    partition, offset = integer(frame, "partition").try_cast("int"), F.col("offset").try_cast("long")
    time = milliseconds("timestamp", kinds["timestamp"])
    fault = F.when(corrupt(frame).isNotNull(), "the line could not be read")
    for name, value in (("partition", partition), ("offset", offset), ("timestamp", time)):
        fault = fault.when(F.col(name).isNotNull() & value.isNull(), f"the {name} is unreadable")
    return frame.select(
        *(F.when(fault.isNull(), _bytes(name, kinds[name])).alias(name) for name in ("key", "value")),
        partition.alias("log_partition"),
        offset.alias("log_offset"),
        F.coalesce(time, F.lit(-1)).alias("timestamp"),
        fault.alias("fault"),
        F.when(fault.isNotNull(), line(frame)).alias("line"),
    )


def _bytes(name: str, kind: types.DataType) -> Column:
    if not isinstance(kind, types.StringType):
        return F.col(name).cast("binary")
    # Text that is not base64 becomes empty bytes, which are unreadable; null would be a tombstone.
    nothing = F.when(F.col(name).isNotNull(), F.lit(b""))
    return F.coalesce(F.try_to_binary(name, F.lit("base64")), nothing)
