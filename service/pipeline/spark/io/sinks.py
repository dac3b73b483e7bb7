"""The results of a job: a folder with its tables, ``summary.json`` and ``report.html``.

Executors write large tables, the driver small ones. To a folder that is not on this machine's file system it writes through
Hadoop, with Spark's credentials, or with Spark Connect, which has no JVM on this side, through Arrow with this machine's.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyarrow import fs
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema

from service.pipeline.spark.cluster.session import Tasks, cores, is_connect, is_local
from service.pipeline.spark.errors import NoSpark
from service.pipeline.spark.io.columns import column
from service.pipeline.spark.tasks import parquet_files
from service.pipeline.spark.tasks.parquet_files import ParquetWriter, Stamp
from service.report.folders import REJECTED_ROWS, local_folder, parquet_of, remove, replace_results

STAMP_TYPES: Final = from_arrow_schema(parquet_files.STAMP_COLUMNS)

PROBES: Final = 64
"""Most tasks that check whether they can read the results' folder."""

JDBC: Final = "jdbc:"

DRIVERS: Final = {
    "mariadb": "org.mariadb.jdbc.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "oracle": "oracle.jdbc.OracleDriver",
    "postgresql": "org.postgresql.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
}
"""The class for each kind of URL, which the JVM does not find by itself in a package that was fetched."""


@dataclass(frozen=True)
class Sink:
    """The folder ``into``: a path on this machine, or a URL of Spark's file systems (``s3a://…``, ``hdfs://…``).

    stamp : of the rows of all tables; None: none
    """

    spark: SparkSession
    into: str
    stamp: Stamp | None = None

    @property
    def folder(self) -> Path | None:
        """The folder, if it is on this machine; else None."""
        return local_folder(self.into)

    def check(self) -> None:
        """Raise NoSpark if the folder is on this machine and executors on others would write to one of the same name."""
        if self.folder is None or is_local(self.spark):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="partition-allocator-", dir=self.folder.absolute()) as folder:
            Path(folder).chmod(0o755)
            for task in range(min(cores(self.spark), PROBES)):
                (Path(folder) / f"{task}.txt").write_text("probe\n")
            try:
                self.spark.read.text(f"file://{folder}").collect()
            except (PySparkException, Py4JError):
                raise NoSpark(
                    f"{self.into} is a folder on this machine, which the executors cannot read: set --into to a folder that all "
                    "machines share, or to a URL such as s3a://bucket/results."
                ) from None

    def _part(self, name: str) -> str:
        """The name of a table, or of the part of it that is this run's."""
        return name if self.stamp is None else f"{name}{self.stamp.folder}"

    def at(self, name: str) -> str:
        """The location of ``name`` in the folder."""
        return f"{self.into.rstrip('/')}/{name}"

    def frame(self, name: str, frame: DataFrame) -> str:
        """Write a table by Spark (a folder of Parquet files), in place of an older one. Returns its URL for Spark."""
        name = self._part(name)
        if self.stamp is not None:
            values = {each: F.lit(getattr(self.stamp, each)) for each in self.stamp.lacking(frame.columns)}
            frame = frame.withColumns({each: value.cast(STAMP_TYPES[each].dataType) for each, value in values.items()})
        # With its scheme, as a cluster may resolve a plain path to HDFS.
        target = f"file://{(self.folder / name).absolute()}" if self.folder else self.at(name)
        frame.write.mode("overwrite").parquet(target)
        return target

    def mapped(self, name: str, tasks: Tasks, schema: pa.Schema) -> str:
        """Write the rows of ``schema`` that tasks give, as ``frame`` does. Returns its URL.

        To a folder that all machines see, the tasks write Parquet themselves, which spares the JVM nested rows.
        """
        if self.folder is None:
            return self.frame(name, tasks.rows(schema))
        target = self.folder.absolute() / self._part(name)
        unfinished = target.with_name(f".{target.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        writers = replace(tasks, function=ParquetWriter(tasks.function, schema, str(unfinished), self.stamp))
        finished = writers.rows(ParquetWriter.RESULT).toArrow()["file"].to_pylist()
        for file in unfinished.iterdir():
            if file.name not in finished:
                file.unlink()  # of a task that failed and was run again
        remove(target)
        unfinished.rename(target)
        return f"file://{target}"

    def columns(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of a table that ``mapped`` wrote."""
        name = self._part(name)
        if self.folder is None:
            return self.spark.read.parquet(self.at(name)).select(*columns).toArrow()
        return pq.read_table(self.folder / name, columns=list(columns))

    def table(self, name: str, table: pa.Table) -> str:
        """Write a small table (one Parquet file), in place of an older one. Returns its location."""
        if self.stamp is None:
            return self.write(name, parquet_of(table))
        file = f"{self._part(name)}/part.parquet" if self.stamp.appended else name
        self.write(file, parquet_of(self.stamp.on(table)))
        return self.at(name)

    def write(self, name: str, data: bytes) -> str:
        """Write a file. Returns its location."""
        if self.folder:
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_results(target.parent, {target.name: data})
            return self.at(name)
        self._remove(name)
        if is_connect(self.spark):
            files, path = arrow_file(self.at(name))
            with files.open_output_stream(path) as stream:
                stream.write(data)
        else:
            hadoop, path = self._hadoop(name)
            stream = hadoop.create(path, True)
            try:
                stream.write(bytearray(data))
            finally:
                stream.close()
        return self.at(name)

    def remove(self, name: str) -> None:
        """Remove a table of an earlier run that this one does not have."""
        self._remove(self._part(name))

    def _remove(self, name: str) -> None:
        if self.folder:
            remove(self.folder / name)
        elif is_connect(self.spark):
            files, path = arrow_file(self.at(name))
            match files.get_file_info(path).type:
                case fs.FileType.Directory:
                    files.delete_dir(path)
                case fs.FileType.File:
                    files.delete_file(path)
        else:
            hadoop, path = self._hadoop(name)
            hadoop.delete(path, True)

    def _hadoop(self, name: str) -> tuple[Any, Any]:
        """Hadoop's file system of the folder, and the path of ``name`` in it."""
        context: Any = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(self.at(name))  # noqa: SLF001 - PySpark has no public way there
        return path.getFileSystem(context._jsc.hadoopConfiguration()), path  # noqa: SLF001


def arrow_file(url: str) -> tuple[fs.FileSystem, str]:
    """Arrow's file system for a URL of Spark's, and the path in it."""
    files, path = fs.FileSystem.from_uri(url.replace("s3a://", "s3://", 1))
    return files, path


@dataclass(frozen=True)
class Pipeline:
    """The environment of a job.

    spark : the session that runs its tasks
    sink : where it writes its results
    progress : ``with pipeline.progress("scanning"):`` shows the progress of the tasks
    estimates : whether a scan first says what it will take

    As a context manager it is the time of a job, until its results are written.
    """

    spark: SparkSession
    sink: Sink
    progress: Callable[..., AbstractContextManager[None]]
    estimates: bool = False
    _persisted: list[DataFrame] = field(default_factory=list)

    def persist(self, frame: DataFrame) -> DataFrame:
        """``frame``, whose rows Spark computes once and keeps until the end of the job."""
        self._persisted.append(frame.persist())
        return frame

    def written(self, name: str, frame: DataFrame) -> tuple[str, DataFrame]:
        """Write ``frame`` as the table ``name``. Returns its place, and the frame that reads it.

        Other results follow from that: Spark plans it in a fraction of the time, and executors keep no rows in memory.
        """
        place = self.sink.frame(name, frame)
        return place, self.spark.read.schema(frame.schema).parquet(place)

    def rejected(self, rows: DataFrame | None) -> dict[str, DataFrame]:
        """The table of the rejected rows; for None, that of an earlier run is removed."""
        if rows is None:
            self.sink.remove(REJECTED_ROWS)
        return {} if rows is None else {REJECTED_ROWS: rows}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Free what ``persist`` keeps: the session may outlive the job."""
        while self._persisted:
            self._persisted.pop().unpersist()


def export(spark: SparkSession, tables: Mapping[str, str], target: str, job: str, stamp: Stamp) -> None:
    """Add the rows of this run to the tables ``JOB_NAME`` of ``target``, which are made where they do not exist.

    Each run is there once, whatever is repeated: of a lake's table it replaces its own part, and to a database's, which gets all
    rows of a run or none, it adds no second time.

    tables : the location of each, a folder or file of Parquet, by its name
    target : ``jdbc:…``, or ``FORMAT:FOLDER`` of Spark's writers
    """
    for name, location in tables.items():
        frame = spark.read.parquet(location).withColumn("run_id", F.lit(stamp.run_id))
        if target.startswith(JDBC):
            _to_database(spark, frame, target, f"{job}_{name}", stamp.run_id)
        else:
            form, _, folder = target.partition(":")
            writer = frame.write.format(form).mode("overwrite").option("partitionOverwriteMode", "dynamic")
            writer.partitionBy("run_id").save(f"{folder.rstrip('/')}/{job}_{name}")


def _to_database(spark: SparkSession, frame: DataFrame, url: str, table: str, run_id: str) -> None:
    kind = url.split(":")[1]
    driver = {"driver": DRIVERS[kind]} if kind in DRIVERS else {}
    try:
        if not spark.read.jdbc(url, table, properties=driver).where(F.col("run_id") == run_id).select("run_id").isEmpty():
            return
    except (PySparkException, Py4JError):
        pass  # there is no such table yet; of a database that does not answer, the writer says why
    nested = (types.ArrayType, types.MapType, types.StructType)
    texts = {field.name: F.to_json(column(field.name)) for field in frame.schema if isinstance(field.dataType, nested)}
    # Of a long text, which is what Spark makes of strings, not every database can tell whether two are equal.
    writer = frame.withColumns(texts).coalesce(1).write.option("createTableColumnTypes", "run_id VARCHAR(200)")
    writer.jdbc(url, table, "append", driver)
