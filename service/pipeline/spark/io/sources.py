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

import difflib
import re
from dataclasses import dataclass, field
from glob import iglob
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from service.pipeline.spark.cluster.addresses import unanswered
from service.pipeline.spark.errors import WrongSource
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
