"""Files that are not UTF-8: their rows are rejected with the reason by every reader, and different keys never become equal."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from service.cli import main
from service.cli.keys import files
from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.files.rejected import WrongTable
from service.pipeline.spark.io import sources
from service.pipeline.spark.io.scan import ScanSource, read_table
from service.pipeline.spark.io.sources import Source
from service.report.folders import REJECTED_ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from service.pipeline.spark.io.sinks import Pipeline

NOT_UTF8 = [b"a\xff", b"a\xfe", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\x80", b"K\xe4se"]
UTF8 = [b"a", b"/", b"?", b"??", "\ufffd".encode(), "a\ufffd".encode(), "Käse".encode(), "\U0001f600".encode(), b"\xef\xbb\xbfx"]
_BYTES = [byte for byte in range(0x21, 0x100) if byte not in b'",\\']
ROWS = st.lists(
    st.one_of(st.binary(min_size=1, max_size=4).map(lambda key: bytes(_BYTES[byte % len(_BYTES)] for byte in key)),
              st.sampled_from(UTF8 + NOT_UTF8), st.text("aé€😀", min_size=1, max_size=3).map(str.encode)),
    max_size=60,
)  # fmt: skip


def is_utf8(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def text_column(keys: list[bytes]) -> pa.Array:
    _, offsets, data = pa.array(keys, pa.binary()).buffers()
    return pa.StringArray.from_buffers(len(keys), offsets, data)


def written(path: Path, keys: list[bytes]) -> str:
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"n": [1] * len(keys), "key": text_column(keys)}), path)
    elif path.suffix == ".csv":
        path.write_bytes(b"n,key\n" + b"".join(b"1,%s\n" % key for key in keys))
    else:
        path.write_bytes(b"".join(b'{"n": 1, "key": "%s"}\n\n' % key for key in keys))
    return str(path)


def in_pipeline(pipeline: Pipeline, path: str, **options: str) -> tuple[Counter[bytes], dict[str, int]]:
    """The records of each key, and the rejected rows by reason."""
    source = ScanSource.of(pipeline, Source.parse(path, options), ("key",))
    scan = SkewScan(("key",), "string", ("java",), (3,), corrupt=source.corrupt)
    result, rejected = source.scan(scan, "scanning")
    return Counter({key: of[0] for key, of in result.sample.weights.items()}), rejected


def on_command_line(path: str) -> Counter[bytes]:
    batches = files.read(path, {"key": "key"})
    return Counter(key for batch in batches for key in batch.column("key").cast(pa.binary()).to_pylist())


@pytest.mark.slow
@given(ROWS.filter(bool).map(lambda rows: [*UTF8, *NOT_UTF8, *rows]))
@example([])
@settings(max_examples=1, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_readers_with_and_without_spark_reject_the_same_rows(pipeline, tmp_path, rows):
    """Each key of UTF-8 counts as it is, and each of the others is rejected."""
    keys = [b"first", *rows]
    accepted = Counter(key for key in keys if is_utf8(key))
    rejected = len(keys) - accepted.total()
    for suffix, options, reason in (
        ("csv", {}, "key is not UTF-8"),
        ("jsonl", {}, "not readable as a record"),
        ("parquet", {"mergeSchema": "false"}, "key is not UTF-8"),
        ("parquet", {}, "key is not UTF-8"),
    ):
        path = written(tmp_path / f"rows.{suffix}", keys)
        found = in_pipeline(pipeline, path, **options)
        assert found == (accepted, {reason: rejected} if rejected else {}), suffix
        assert on_command_line(path) == accepted, suffix


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_command_line_names_the_rows_that_are_not_utf8(suffix, tmp_path, capsys):
    path = written(tmp_path / f"rows.{suffix}", [*UTF8, *NOT_UTF8])
    assert on_command_line(path) == Counter(UTF8)
    note = " ".join(capsys.readouterr().err.split())
    first = {"csv": "row 11: key is not UTF-8: 'a\ufffd'", "jsonl": "line 19: not UTF-8",
             "parquet": "row 10: key is not UTF-8: 'a\ufffd'"}[suffix]  # fmt: skip
    assert note.startswith(f"{len(NOT_UTF8)} rows were rejected ({first}; ")
    assert "and 6 more" in note
    refused = CliRunner().invoke(main, ["plan", path, "--partitions", "3", "--strict"])
    assert refused.exit_code == 2
    assert first in refused.output


def test_rejected_rows_of_parquet_are_readable_themselves(watched, tmp_path):
    """In the table of rejected rows and in the message if no key is right; also if a partition is no text."""
    keys = [b"a", *NOT_UTF8]
    path = str(tmp_path / "records.parquet")
    pq.write_table(pa.table({"key": text_column(keys), "partition": text_column([b"1"] * 9 + [b"\xff"])}), path)
    into = tmp_path / "out"
    with watched("mismatch"):
        done = CliRunner().invoke(main, ["pipeline", "mismatch", path, "--partitions", "3", "--into", str(into)])
    assert done.exit_code == 0, done.output
    assert json.loads((into / "summary.json").read_text())["rejected"] == {"key is not UTF-8": 8, "no partition below 3": 1}
    rows = pq.read_table(into / REJECTED_ROWS).to_pylist()
    assert {row["record"] for row in rows} >= {"key=a\ufffd, partition=1", "key=K\ufffdse, partition=\ufffd"}
    pq.write_table(pa.table({"key": text_column(NOT_UTF8), "partition": [1] * 9}), path)
    done = CliRunner().invoke(main, ["pipeline", "mismatch", path, "--into", str(into)])
    assert done.exit_code == 2
    assert "No key in key has the format string: 'a\ufffd'" in done.output


ENCODED = {
    "utf-16": ": Its encoding is UTF-16, and only UTF-8 is read.",
    "utf-16-le": ": Its encoding is UTF-16, and only UTF-8 is read.",
    "utf-16-be": ": Its encoding is UTF-16, and only UTF-8 is read.",
    "utf-32": ": Its encoding is UTF-32, and only UTF-8 is read.",
    "utf-32-be": ": Its encoding is UTF-32, and only UTF-8 is read.",
    "latin-1": "The names of the columns are not UTF-8",
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.usefixtures("without_spark")
def test_a_file_of_another_encoding_is_named_with_it(encoding, suffix, tmp_path):
    if suffix == "jsonl" and encoding == "latin-1":
        return  # a line of JSON has its names in it, and is rejected with them
    path = tmp_path / f"keys.{suffix}"
    path.write_text("Straße,partition\na,1\n" if suffix == "csv" else '{"Straße": "a", "partition": 1}\n', encoding=encoding)
    for command in (
        ["plan", str(path), "--key-column", "Straße", "--partitions", "3"],
        ["fingerprint", str(path), "--key-column", "Straße"],
        ["pipeline", "skew", str(path), "--key-column", "Straße", "--partitions", "3"],
        ["pipeline", "load", str(path), "--topic-column", "Straße"],
    ):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 2, done.output
        assert str(path) in done.output
        assert ENCODED[encoding] in done.output


def test_a_byte_order_mark_of_utf8_is_no_part_of_the_file(tmp_path):
    for suffix in ("csv", "jsonl"):
        path = tmp_path / f"keys.{suffix}"
        written(path, [b"a", b"b"])
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
        assert on_command_line(str(path)) == Counter([b"a", b"b"])
        sources.check(Source.parse(str(path)), ("key",))


def test_a_table_of_the_driver_with_text_that_is_not_utf8_is_named_with_its_row(pipeline, tmp_path):
    path = str(tmp_path / "brokers.parquet")
    pq.write_table(pa.table({"broker_id": [1, 2], "rack_id": text_column([b"a", b"\xff"])}), path, row_group_size=1)
    with pytest.raises(WrongTable, match=r"brokers\.parquet: rack_id of row 2 is not UTF-8"):
        read_table(pipeline, Source.parse(path), {"broker_id": pa.int32()}, {"rack_id": pa.string()})


@pytest.mark.slow
def test_csv_through_spark_keeps_names_and_separators_that_are_not_ascii(pipeline, tmp_path):
    """Also where a quote has no end, which Spark reads to the end of the line."""
    path = tmp_path / "keys.csv"
    path.write_bytes('n§Straße\n1§"Käse\n1§"a§b"\n'.encode() + b"1\xc2\xa7\xff\n")
    source = ScanSource.of(pipeline, Source.parse(str(path), {"sep": "§"}), ("Straße",))
    scan = SkewScan(("Straße",), "string", ("java",), (3,), corrupt=source.corrupt)
    result, rejected = source.scan(scan, "scanning")
    assert rejected == {"key is not UTF-8": 1}
    assert result.sample.weights.keys() == {"Käse".encode(), "a§b".encode()}
