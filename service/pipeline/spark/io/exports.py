"""The tables of a job, written once more where dashboards read them: a database, or tables of a lake.

Each run is there once, whatever is repeated: of a lake's table it replaces its own part, and to a database's, which gets all
rows of a run or none, it adds no second time.
"""

from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, types
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from service.pipeline.spark.io.columns import column
from service.pipeline.spark.tasks.stamp import Stamp

JDBC: Final = "jdbc:"

DRIVERS: Final = {
    "mariadb": "org.mariadb.jdbc.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "oracle": "oracle.jdbc.OracleDriver",
    "postgresql": "org.postgresql.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
}
"""The class for each kind of URL, which the JVM does not find by itself in a package that was fetched."""


def export(spark: SparkSession, tables: Mapping[str, str], target: str, job: str, stamp: Stamp) -> None:
    """Add the rows of this run to the tables ``JOB_NAME`` of ``target``, which are made where they do not exist.

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
