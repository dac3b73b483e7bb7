"""What a job reads: files, tables and topics, each named by one string.

============================================ ==========================================================
``flights.parquet``, ``data/``               files by their suffix (.parquet .csv .json .jsonl .ndjson
                                             .orc, also .gz …); a folder without one is Parquet
``csv:data/``, ``delta:s3a://bucket/t``      files of any format that Spark reads
``table:catalog.schema.name``                any table in Spark's catalogs: Delta, Iceberg, Hive …
``kafka://host:9092,host2/topic``            a live topic, with options of the connector
``keys:1e10?distribution=zipf:0.99``         made keys (``tasks/made_keys.py``)
============================================ ==========================================================

``reading.py`` reads them. Here is what can be said without Spark.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import json
import math
import os
import re
from dataclasses import dataclass, field
from glob import iglob
from io import TextIOWrapper
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast
from urllib.parse import parse_qsl, urlsplit

from service.core.printable import printable
from service.pipeline.files.texts import wrong_encoding
from service.pipeline.spark.errors import WrongSource, unanswered
from service.report.folders import url_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.pipeline.spark.tasks.made_keys import MadeKeys

CORRUPT: Final = "_corrupt_record"
"""The column with a line of CSV or JSON that Spark could not read; null for all others."""

SUFFIXES: Final = dict(parquet="parquet", csv="csv", tsv="csv", json="json", jsonl="json", ndjson="json", orc="orc")  # noqa: C408
LAKE_FILES: Final = ("parquet", "orc", "avro")
"""Formats of the files of lake tables."""

LAKE_TABLES: Final = (
    ("_delta_log", "Delta", "delta:{}"),
    (".hoodie", "Hudi", "hudi:{}"),
    ("metadata/*.metadata.json", "Iceberg", "table:CATALOG.NAME"),
    ("schema/schema-0", "Paimon", "table:CATALOG.NAME"),
)
"""What is in the folder of a table, its format, and how a source names it."""

PATTERN: Final = frozenset("*?[]{}")
"""What makes a path a pattern."""

MOST_MATCHES: Final = 1000
"""Matches of a pattern that are looked at."""

COMPRESSED: Final = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_FORMAT: Final = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*):(?!//)(.+)", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """One source.

    format : of Spark's reader, or "table", "kafka" or "keys"
    location : path, table name, topic or number of keys
    brokers : ``host:port`` of each bootstrap server of a topic
    options : of Spark's reader
    where : a condition of Spark SQL that its records must meet; None: none
    select : expressions of Spark SQL that are its columns, such as ``cast(user_id as string) key``; none: its own
    """

    format: str
    location: str
    brokers: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    select: tuple[str, ...] = ()

    @property
    def is_query(self) -> bool:
        """Whether only Spark SQL can tell its records."""
        return self.where is not None or bool(self.select)

    @staticmethod
    def parse(text: str, options: Mapping[str, str] | None = None) -> Source:
        """The source that ``text`` names; ``options`` go to Spark's reader. Raises WrongSource."""
        options = dict(options or {})
        if text.startswith("kafka://"):
            return _topic(text, options)
        if text.startswith("keys:"):
            return _made(text, options)
        text = url_of(text)
        named = _FORMAT.fullmatch(text)
        if named:
            return Source(named[1].lower(), url_of(named[2]), (), options)
        stem = text.rstrip("/")
        for ending in COMPRESSED:
            stem = stem.removesuffix(ending)
        suffix = stem.rpartition("/")[2].rpartition(".")[2].lower()
        if suffix == "tsv":
            options.setdefault("sep", "\t")
        return Source(SUFFIXES.get(suffix, "parquet"), text, (), options)

    def __str__(self) -> str:
        """As a user names it, without options, which may be secrets."""
        if self.format == "kafka":
            return f"kafka://{','.join(self.brokers)}/{self.location}"
        if self.format == "keys":
            return f"keys:{self.location}?{'&'.join(f'{name}={value}' for name, value in self.options.items())}".rstrip("?")
        return self.location if self.format in SUFFIXES.values() else f"{self.format}:{self.location}"


def _topic(text: str, options: dict[str, str]) -> Source:
    url = urlsplit(text)
    topic = url.path.strip("/")
    if not url.netloc or not topic or "/" in topic:
        raise WrongSource(f"{text}: Must have the form kafka://host:port[,host:port]/topic.")
    brokers = []
    for broker in url.netloc.split(","):
        host, _, port = broker.rpartition(":") if re.search(r":\d+$", broker) else (broker, "", "9092")
        brokers.append(f"{host}:{port}")
    return Source("kafka", topic, tuple(brokers), options | dict(parse_qsl(url.query)))


def _made(text: str, options: dict[str, str]) -> Source:
    count, _, query = text.removeprefix("keys:").partition("?")
    source = Source("keys", count, (), options | dict(parse_qsl(query, keep_blank_values=True)))
    try:
        made_keys(source)
    except ValueError as error:
        raise WrongSource(f"{text}: {error}") from None
    return source


def made_keys(source: Source) -> MadeKeys:
    """The records that a source of the format "keys" names."""
    from service.pipeline.spark.tasks.made_keys import MadeKeys  # noqa: PLC0415 - Arrow is not needed for other formats

    return MadeKeys.parse(source.location, source.options)


def in_folders(sources: Iterable[Source]) -> dict[str, str]:
    """The location of each source that is a file or a folder, and its name."""
    return {source.location: str(source) for source in sources if source.format not in ("table", "kafka", "keys")}


def check_brokers(source: Source) -> None:
    """Raise WrongSource for a topic whose bootstrap servers accept no connection."""
    if source.format != "kafka":
        return
    if faults := unanswered(source.brokers):
        raise WrongSource(f"{source}: Cannot connect to any broker: {', '.join(faults)}")


def check_plain(source: Source) -> None:
    """Raise WrongSource for a lake table on this machine, or a part of one, that is named as plain files: deleted rows and old
    versions would count.
    """
    location = source.location.removeprefix("file://")
    if source.format not in LAKE_FILES or "://" in location:
        return
    path = Path(location)
    fixed = Path(*takewhile(lambda part: not PATTERN & set(part), path.parts))
    found = [path] if fixed == path else [fixed, *islice(map(Path, iglob(location)), MOST_MATCHES)]  # noqa: PTH207 - "**" too
    inside = [folder for folder in fixed.glob("*/") if folder.is_dir()]
    for folder in dict.fromkeys([*(each for path in found for each in (path, *path.absolute().parents)), *inside]):
        for mark, kind, name in LAKE_TABLES:
            if next(folder.glob(mark), None) is not None:
                raise WrongSource(in_lake(source, str(folder), kind, name, contains=folder in inside))


def in_lake(source: Source, folder: str, kind: str, name: str, *, contains: bool = False) -> str:
    """That a source is the lake table in a folder, a part of it, or contains it. kind, name : see LAKE_TABLES"""
    remedy = f"Name it {name.format(folder)}, with --package and its settings."
    if folder == source.location.removeprefix("file://").rstrip("/"):
        return f"{source} is {'an' if kind == 'Iceberg' else 'a'} {kind} table. {remedy}"
    relation = "contains" if contains else "is part of"
    return f"{source} {relation} the {kind} table {folder}, whose deleted rows and old versions would count. {remedy}"


def require_names(columns: Sequence[str], names: Iterable[str], source: Source) -> None:
    """Raise WrongSource for the first of these names that is not among the columns, with a list of the columns."""
    columns = [column for column in columns if column != CORRUPT]
    for name in names:
        if name not in columns:
            close = difflib.get_close_matches(name, columns, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise WrongSource(f"{source} has no column {name!r}{hint}; it has {', '.join(columns) or 'none'}.")


LINES: Final = 100
"""Lines of JSON whose members are checked: a member that some records lack may be in others."""

_FRAMES: Final = {b"\x04\x22\x4d\x18": "an lz4 frame", b"\xff\x06\x00\x00sNaPpY": "a snappy frame"}
"""How files begin that every tool writes, but Hadoop's codecs of these names do not read: they have formats of their own."""

_FRAMED: Final = (".lz4", ".snappy")

SMALL_BYTES: Final = 2**24
"""Most bytes of files that are small; compressed ones are taken for ten times as large."""

FEW_BYTES: Final = 2**18
"""Most bytes of files with a few rows. Joined to each other, 38,000 take half as long again if their queries are interpreted."""

HEAD: Final = 2**20
"""Most characters of a line that is checked."""


def is_here(master: str | None, settings: Mapping[str, str] | None) -> bool:
    """Whether Spark will read a path without a scheme on this machine."""
    elsewhere = any("fs.defaultFS" in name for name in settings or ()) or "PYSPARK_GATEWAY_PORT" in os.environ
    return not elsewhere and (master is None or master.startswith("local"))


def check(source: Source, columns: Iterable[str]) -> None:
    """Raise WrongSource for a path that does not exist, holds no data, is not of its format, or lacks one of these columns."""
    location = source.location.removeprefix("file://")
    if source.format not in SUFFIXES.values() or "://" in location or set(location) & set("*?[{,"):
        return
    path = Path(location)
    if not path.exists():
        raise WrongSource(f"{source} does not exist.")
    file = _first_file(path)
    if file is None:
        raise WrongSource(f"{source} is empty.")
    with file.open("rb") as opened:
        head = opened.read(len(max(_FRAMES, key=len)))
    for mark, kind in _FRAMES.items():
        if file.suffix in _FRAMED and head.startswith(mark):
            raise WrongSource(f"{file} is {kind}, which Spark does not read: write it as .gz or .zst.")
    if not source.select and (names := _columns(file, source)):
        require_names(names, (name for name in columns if name.partition(".")[0] not in names or name in names), source)


def bytes_here(source: Source) -> float:
    """Bytes of a file or folder on this machine, of compressed files ten times as many; infinity for any other source."""
    location = source.location.removeprefix("file://")
    if source.format in ("table", "kafka", "keys") or "://" in location or PATTERN & set(location):
        return math.inf
    path = Path(location)
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size * (10 if file.suffix in COMPRESSED else 1) for file in files if file.is_file())


def is_plain_parquet(source: Source) -> bool:
    """Whether tasks on this machine read the source themselves, and not Spark."""
    if source.format != "parquet" or source.options or source.is_query or "://" in source.location:
        return False
    from service.pipeline.spark.tasks.parquet_files import find  # noqa: PLC0415 - Arrow is not needed for other formats

    return find(source.location) is not None


def _first_file(path: Path) -> Path | None:
    """The first data file of a path that is not empty, in the order of names; None if there is none."""
    if path.is_file():
        return path if path.stat().st_size else None
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        for name in sorted(files):
            file = Path(folder) / name
            if not name.startswith(("_", ".")) and file.stat().st_size:
                return file
    return None


def _columns(file: Path, source: Source) -> list[str] | None:
    """The columns of a file and of the folders that it is in (``day=7``); None if only Spark can tell."""
    partitions = [part.partition("=")[0] for part in file.parts if "=" in part]
    if source.format == "parquet" and not source.options:
        # Arrow is not needed for other formats.
        from service.pipeline.spark.tasks.parquet_files import ParquetFiles  # noqa: PLC0415

        return [*ParquetFiles([(str(file), 0)]).schema().names, *partitions]
    if source.options.keys() - {"sep"} or source.format not in ("csv", "json") or file.suffix not in ("", ".gz", *_TEXTS):
        return None
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            if fault := wrong_encoding(lines.read(4)):
                raise WrongSource(f"{file}: {fault}")
            lines.seek(0)
            text = TextIOWrapper(cast("BinaryIO", lines), encoding="utf-8", errors="surrogateescape", newline="")
            return [*(_header(text, source) if source.format == "csv" else _members(text, file)), *partitions]
    except (OSError, EOFError) as error:
        raise WrongSource(f"{file} cannot be read: {printable(str(error))}") from None


_TEXTS: Final = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")


def _header(text: TextIOWrapper, source: Source) -> list[str]:
    lines = chain([text.readline(HEAD).lstrip("\ufeff")], iter(lambda: text.readline(HEAD), ""))  # a name may have line breaks
    names = next(csv.reader(lines, delimiter=source.options.get("sep", ",")), [])
    if any("\udc80" <= character <= "\udcff" for character in "".join(names)):
        raise WrongSource(f"{source}: The names of the columns are not UTF-8.")
    return names


def _members(text: TextIOWrapper, file: Path) -> list[str]:
    """The members of the first lines; those that are not records are left to Spark, which counts them."""
    names: dict[str, None] = {}
    lines = [line for line in islice(iter(lambda: text.readline(HEAD), ""), LINES) if line.strip()]
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        names |= dict.fromkeys(record if isinstance(record, dict) else ())
    if not names:
        raise WrongSource(f"{file} has no record that is readable as JSON.")
    return list(names)
