"""Which files of a source are plain, so that tasks can read them themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from service.spark.io.sources import COMPRESSED, CORRUPT
from service.spark.tasks import csv_files, parquet_files

if TYPE_CHECKING:
    from service.spark.cluster.executors import Executors
    from service.spark.io.sources import Source
    from service.spark.tasks.splits import PlainFiles


def find(executors: Executors, source: Source) -> PlainFiles | None:
    """The files that tasks can read themselves; None if Spark has to."""
    if source.format == "csv" and executors.processes is not None:
        return _csv(executors, source)
    if source.format != "parquet" or source.options:
        return None
    if "://" not in source.location:
        if not executors.is_local:
            return None  # a path on the executors' machines, or in HDFS: Spark can tell
    elif executors.processes is None and any(
        name.startswith("spark.hadoop.fs.") and ".vectored." not in name for name in executors.spark.conf.getAll
    ):
        return None  # only Spark has these credentials and endpoints; it sets .vectored. by itself
    return parquet_files.find(source.location)


def _csv(executors: Executors, source: Source) -> PlainFiles | None:
    """The file, if tasks that look at its lines first find all of them plain: a fifth of the time that reading them takes."""
    file = csv_file(source)
    if file is None:
        return None
    parts = file.splits(executors.cores)
    check = executors.numbered(csv_files.PlainCheck(file, parts), len(parts))
    return file if all(check.run(csv_files.PlainCheck.RESULT)["plain"].to_pylist()) else None


def csv_file(source: Source) -> csv_files.CsvFile | None:
    """The file of a source that may be plain CSV, as far as its name, its options and its header tell; None if it is not."""
    path = Path(source.location.removeprefix("file:")).absolute()
    separator = source.options.get("sep", ",")
    if source.options.keys() - {"sep"} or len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        return None
    if path.name.startswith(("_", ".")) or path.name.endswith(COMPRESSED) or set(source.location) & set("*?[{"):
        return None
    try:
        file = csv_files.with_header(path, separator)
    except OSError:
        return None
    return file if file is not None and CORRUPT not in map(str.casefold, file.names) else None
