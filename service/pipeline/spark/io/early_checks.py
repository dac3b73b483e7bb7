"""Checks of local files before Spark starts, which takes half a minute: they exist, are not empty, and have the columns."""

import csv
import gzip
import json
import math
import os
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final, cast

from service.core.printable import printable
from service.pipeline.files.encodings import wrong_encoding
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.sources import COMPRESSED, PATTERN, SUFFIXES, Source, require_names

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
        from service.pipeline.spark.tasks.parquet_files import ParquetFiles, UnreadableParquet  # noqa: PLC0415

        try:
            return [*ParquetFiles([(str(file), 0)]).schema().names, *partitions]
        except UnreadableParquet as error:
            raise WrongSource(str(error)) from None
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
