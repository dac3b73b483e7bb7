"""Quotes of CSV, by Spark and by ``plan``: records may go on in the next line, and none is read as another."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.files.reader import Column
from service.pipeline.files.reader import read as read_file
from service.pipeline.files.rejected import RejectedRows, WrongTable
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io import sources
from service.pipeline.spark.io.scan import ScanSource
from service.pipeline.spark.io.sources import Source

if TYPE_CHECKING:
    from pathlib import Path

    from service.pipeline.spark.io.sinks import Pipeline

NO_END = "has a quote without an end, or one that goes on in the next line: set --read-option multiLine=true if all records do"
BACKSLASH = r"has quotes after backslashes: set --read-option escape=\\ if these escape them, or else escape=\"\."


def keys_of_csv(pipeline: Pipeline, location: str, **options: str) -> dict[str, int]:
    source = ScanSource.of(pipeline, Source.parse(location, options), ("key",))
    result, rejected = source.scan(SkewScan(("key",), "string", ("java",), (3,), corrupt=source.corrupt), "scanning")
    assert rejected == {}
    return {key.decode(): int(weights[0]) for key, weights in result.sample.weights.items()}


def keys_here(path: Path) -> dict[str, int]:
    rejected = RejectedRows(kept=True)
    batches = read_file(str(path), {"key": Column()}, rejected)
    return Counter(key for batch in batches for key in batch.column("key").to_pylist())


@pytest.mark.parametrize(
    ("text", "by_spark", "here"),
    [
        ('key,n\n"a ""q""\nb",1\n"",2\n"""",3\n', ['a "q"\nb', '"'], [None]),
        ('key,n\r\n"a\r\nb",1\r\nc,"\n2"\r\n', ["a\r\nb", "c"], []),
        ('\ufeff"key","n"\n"a\rb",1\n"c,\n\n,d",2\n', ["a\rb", "c,\n\n,d"], []),
        ('"n\nm","key"\n1,a\n2,b\n', ["a", "b"], []),
        ('key,n,m\n"a\nb","c\nd",1\n"\n",2,3\n', ["a\nb", "\n"], []),
        ('key,n\n5" disk,"go\non"\n6" disk,2\n', ['5" disk', '6" disk'], []),
        ('key,n\n5",1\nb,2\n', ['5"', "b"], []),
        ('key,n\n"C:\\",1\nb,2\n', ["C:\\", "b"], []),
        ('key,n\n"a\\"\nb",1\nc,2\n', BACKSLASH, 'There are quotes after backslashes: write each quote in a field as ""'),
        ('key,n\n"a\\"b",1\n"c\nd",2\n', BACKSLASH, "There are quotes after backslashes"),
        ('key,n\na,1\nb,"2\nc,3\n', ["a", "b", "c"], "The quote that begins in line 3 has no end"),
        ('key,n\n"a\nb",1\n"c,2\n', NO_END, "The quote that begins in line 4 has no end"),
        ('key,n\na,"1\nb,2\nc,"3\n', NO_END, ["a"]),
        ('key,n\r"a\rb",1\rc,2\r', "Its lines end with CR alone, and records go on in the next one", ["a\rb", "c"]),
        ('\ufeff"n\nm",key\n1,a\n', "The first name goes on in the next line, after a byte order mark", ["a"]),
    ],
)
def test_quotes_are_read_as_they_are_meant_or_refused(pipeline, tmp_path, text, by_spark, here):
    """``here`` has the keys that ``plan`` reads besides, or all if Spark refuses the file; or why ``plan`` refuses it."""
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    if isinstance(by_spark, str):
        with pytest.raises(WrongSource, match=rf"a\.csv.*{by_spark}"):
            keys_of_csv(pipeline, str(path))
    else:
        sources.check(Source.parse(str(path)), ["key"])
        assert keys_of_csv(pipeline, str(path)) == Counter(by_spark)
    if isinstance(here, str):
        with pytest.raises(WrongTable, match=here):
            keys_here(path)
    else:
        assert keys_here(path) == Counter([*here, *(by_spark if isinstance(by_spark, list) else [])])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('key,n\n"a\\"\nb",1\nc,2\n', {"escape": "\\"}),
        ("key|n\n'a\"\nb'|1\nc|2\n", {"quote": "'", "sep": "|"}),
        ('key,n\n"a""\nb",1\nc,2\n', {"escape": '"'}),
    ],
)
def test_another_quote_separator_and_escape(pipeline, tmp_path, text, options):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert keys_of_csv(pipeline, str(path), **options) == {'a"\nb': 1, "c": 1}
