"""The folder of the results: a job must neither write into what it reads, nor replace what no job wrote."""

from __future__ import annotations

import fcntl
import os
import posixpath
import re
import shutil
import socket
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import orjson

from service.core.errors import AllocatorError
from service.core.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from io import TextIOWrapper

    import pyarrow as pa


# One job at a time in a folder of results, where a second one would replace tables of the first.
#
# The lock is an ``flock`` on a file in the folder. The kernel releases it however the process ends, so there are no stale locks,
# and file systems that share locks between machines (NFS 4, CephFS) share this one. A URL (``s3a://…``) is not locked: object
# stores have no locks, and a marker would outlive a killed job.

SUMMARY: Final = "summary.json"

REPORT: Final = "report.html"

REJECTED_ROWS: Final = "quarantine.parquet"
"""The table of the rows that could not be read, with the reason: no row is dropped silently."""

LOCK: Final = ".lock"
"""The file that a job locks while it runs. It stays if the job ends without a report, but with tables."""

GENERATOR: Final = b'<meta name="generator" content="partition-allocator">'
"""In the head of every report."""

_HEAD: Final = 4096
_RESULTS: Final = (".parquet", ".json", ".html")
"""Endings of what jobs write."""


class WrongFolder(AllocatorError):
    """A folder of results that cannot be created or locked, or that another job writes to."""


FILE_SYSTEMS: Final = (
    *("file", "hdfs", "viewfs", "webhdfs", "swebhdfs", "ofs", "dbfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs"),
    *("adl", "oss", "obs", "cosn", "maprfs", "lakefs"),
)
"""Schemes of Hadoop's file systems."""

_ONE_SLASH: Final = re.compile(rf"({'|'.join(FILE_SYSTEMS)}):(/(?!/).*)", re.IGNORECASE | re.DOTALL)


def url_of(path: str) -> str:
    """A path; with a scheme but without an authority, such as ``hdfs:/out``, as ``hdfs:///out``, which is the same to Hadoop."""
    match = _ONE_SLASH.fullmatch(path)
    return f"{match[1]}://{match[2]}" if match else path


def local_folder(into: str) -> Path | None:
    """The folder that a path or a ``file:`` URL names; None for any other URL."""
    url = urlsplit(into)
    if url.scheme == "file":
        return Path(unquote(url.path))
    return None if "://" in into else Path(into)


def check_folder(into: str, sources: Mapping[str, str]) -> None:
    """Raise WrongFolder if a job that reads these sources must not write to ``into``.

    sources : location of each that is a file or a folder → its name in the error
    """
    place = _place(into)
    for location, source in sources.items():
        read = _place(location)
        if place == read:
            fault = f"is the source {source}"
        elif _is_below(read, place):
            fault = f"contains the source {source}"
        elif _is_below(place, read):
            fault = f"is in the source {source}"
        else:
            continue
        raise WrongFolder(f"{into}: The folder of the results {fault}; set --into to another one.")
    folder = local_folder(into)
    if folder is not None and folder.is_dir() and not is_ours(folder) and (names := tables(folder)):
        raise WrongFolder(f"{into}: No job wrote {printable(names[0])} in this folder; set --into to another one.")


def check_append(into: str, *, append: bool) -> None:
    """Raise WrongFolder if a job would mix tables of several runs in the folder ``into`` with those of one, or replace them."""
    folder = local_folder(into)
    for table in [] if folder is None else folder.glob("*.parquet"):
        parts = [part.name for part in table.iterdir()] if table.is_dir() else [""]
        appended = any(part.startswith("run_id=") for part in parts)
        if append and parts and not appended:
            raise WrongFolder(f"{into}: {printable(table.name)} was written without --append; set --into to another folder.")
        if appended and not append:
            raise WrongFolder(f"{into}: {printable(table.name)} has several runs, written with --append; add --append.")


def tables(folder: Path) -> list[str]:
    """The names in a folder that a job could replace."""
    return sorted(entry.name for entry in folder.iterdir() if entry.suffix in _RESULTS and not entry.name.startswith("."))


def is_ours(folder: Path) -> bool:
    """Whether a folder has the report of a job, or the lock of one that ended without a report."""
    try:
        with (folder / REPORT).open("rb") as report:
            return GENERATOR in report.read(_HEAD)
    except OSError:
        return (folder / LOCK).exists()


def parquet_of(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    import pyarrow as pa  # noqa: PLC0415 - folders are looked at before what is read needs Arrow
    import pyarrow.parquet as pq  # noqa: PLC0415

    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    data: bytes = buffer.getvalue().to_pybytes()
    return data


def json_of(document: dict[str, Any]) -> bytes:
    """A JSON document as a file."""
    return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2) + b"\n"


def replace_results(folder: Path, files: Mapping[str, bytes], stale: Iterable[str] = ()) -> None:
    """Write these files, by name, in place of the results of an earlier run, or none of them if one cannot be written.

    stale : results that are removed unless they are among the files
    """
    unfinished = {name: folder / f".{name}.unfinished" for name in files}
    try:
        for name, path in unfinished.items():
            path.write_bytes(files[name])
        for name, path in unfinished.items():
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)  # a table that executors wrote
            path.replace(folder / name)
        for name in stale:
            if name not in files:
                remove(folder / name)
    finally:
        for path in unfinished.values():
            path.unlink(missing_ok=True)


def remove(target: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def _place(location: str) -> str:
    """A location that is the same text for the same place: a path without links, or a URL."""
    folder = local_folder(location)
    if folder is not None:
        return str(folder.resolve())
    url = urlsplit(location)
    scheme = "s3" if url.scheme.lower() in ("s3a", "s3n") else url.scheme.lower()
    return f"{scheme}://{url.netloc.lower()}{posixpath.normpath('/' + url.path.lstrip('/'))}"


def _is_below(place: str, folder: str) -> bool:
    """Whether a place is in a folder, which may be a pattern of Hadoop's, such as ``*.csv``."""
    pattern = re.sub(r"\{[^}]*\}", "*", folder).rstrip("/")
    return fnmatchcase(place, f"{pattern}/*") or place.startswith(f"{folder.rstrip('/')}/")


@contextmanager
def exclusive(into: str) -> Iterator[None]:
    """Keep other jobs out of the folder ``into``, which is created. Raises WrongFolder if another job writes to it.

    The locked file names the process that holds the lock.
    """
    folder = local_folder(into)
    if folder is None:
        yield
        return
    created = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _locked(folder / LOCK, into)
    except OSError as error:
        raise WrongFolder(f"{into}: Cannot create or lock the folder of the results: {error.strerror}") from None
    with file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
        file.flush()
        try:
            yield
        finally:
            if (folder / REPORT).exists() or not tables(folder):
                (folder / LOCK).unlink(missing_ok=True)
            if created and not any(folder.iterdir()):
                folder.rmdir()  # the job has failed


def _locked(path: Path, into: str) -> TextIOWrapper:
    """The file, open and locked. Raises WrongFolder if another process has locked it, and OSError."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            with file:
                if not isinstance(error, BlockingIOError):
                    raise
                file.seek(0)
                holder = file.read() or "just started"
            raise WrongFolder(f"{into}: Another job is writing to this folder ({holder}); set --into to another one.") from None
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # the job that held the lock has just removed the file
