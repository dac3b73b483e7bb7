"""What a job leaves behind: a folder with its tables, ``summary.json`` and ``report.html``.

Large tables are written by Spark, small ones by the driver; where the folder is not of this machine's file system everything goes
through Spark's, with Spark's credentials.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from service.spark.errors import PipelineError
from service.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Sink:
    """The folder ``into``: a path of this machine, or a URL that Spark's file systems know (``s3a://…``, ``hdfs://…``)."""

    spark: SparkSession
    into: str

    @property
    def folder(self) -> Path | None:
        """The folder on this machine; None if it is elsewhere."""
        url = urlsplit(self.into)
        if url.scheme == "file":
            return Path(unquote(url.path))
        return None if "://" in self.into else Path(self.into)

    def at(self, name: str) -> str:
        """Where ``name`` is in the folder."""
        return f"{self.into.rstrip('/')}/{name}"

    def frame(self, name: str, frame: DataFrame) -> str:
        """Let Spark write a table (a folder of Parquet files), in place of an older one. Returns where it is."""
        target = str((self.folder / name).absolute()) if self.folder else self.at(name)
        frame.write.mode("overwrite").parquet(target)
        return self.at(name)

    def table(self, name: str, table: pa.Table) -> str:
        """Write a small table (one Parquet file), in place of an older one. Returns where it is."""
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer, compression="zstd")
        return self._write(name, buffer.getvalue().to_pybytes())

    def json(self, name: str, document: dict[str, Any]) -> str:
        """Write a JSON document. Returns where it is."""
        return self._write(name, orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2) + b"\n")

    def remove(self, name: str) -> None:
        """Remove what an earlier run left, where this one has none of it."""
        if self.folder:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        else:
            files, path = self._hadoop(name)
            files.delete(path, True)

    def text(self, name: str, text: str) -> str:
        """Write a text. Returns where it is."""
        return self._write(name, text.encode())

    def _write(self, name: str, data: bytes) -> str:
        if self.folder:
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                shutil.rmtree(target)  # what Spark wrote there before
            # Whoever is killed meanwhile leaves the old file or the new one, not half of one.
            unfinished = target.with_name(f".{target.name}.unfinished")
            unfinished.write_bytes(data)
            unfinished.replace(target)
        else:
            files, path = self._hadoop(name)
            stream = files.create(path, True)
            try:
                stream.write(bytearray(data))
            finally:
                stream.close()
        return self.at(name)

    def _hadoop(self, name: str) -> tuple[Any, Any]:
        """Hadoop's file system of the folder, and the path of ``name`` in it."""
        if is_connect(self.spark):
            raise PipelineError(f"{self.at(name)}: with Spark Connect the results go to a folder of this machine")
        context: Any = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(self.at(name))  # noqa: SLF001 - PySpark has no public way there
        return path.getFileSystem(context._jsc.hadoopConfiguration()), path  # noqa: SLF001
