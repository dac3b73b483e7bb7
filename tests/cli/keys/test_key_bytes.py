"""``fingerprint`` where the keys' text is not what was hashed."""

from __future__ import annotations

import base64
import json
import struct
import uuid
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli import main
from service.pipeline.analyses.results import LocalRecords
from tests.reference.hashes import murmur2

CASE = Path(__file__).parents[2] / "cases" / "keys-are-not-the-bytes"
TEXTS = [f"acct-{i:03}" for i in range(40)]
UUIDS = [str(uuid.uuid5(uuid.NAMESPACE_DNS, text)) for text in TEXTS]
NUMBERS = [str(7 * i + 1000) for i in range(40)]


def found(path: Path, *options: str) -> dict:
    run = CliRunner().invoke(main, ["fingerprint", str(path), *options, "--output", "json"])
    assert run.exit_code == 0, run.output
    return json.loads(run.output)


def written(folder: Path, keys: list[str], made: list[bytes], partitions_count: int = 12) -> Path:
    """A file of the keys, on the partitions where Java puts their bytes."""
    path = folder / "seen.csv"
    rows = (f"{key},{(murmur2(each) & 0x7FFFFFFF) % partitions_count}" for key, each in zip(keys, made, strict=True))
    path.write_text("\n".join(("key,partition", *rows)) + "\n")
    return path


@pytest.mark.parametrize(
    ("file", "transformation", "options"),
    [
        ("quoted.csv", "JSON strings with their quotes", ()),
        ("uuid-bytes.csv", "the UUID's 16 bytes", ("--partitions", "12")),
        ("avro.csv", "Avro's string with magic byte and schema id 7", ()),
        ("avro.csv", "Avro's string with magic byte and schema id 7", ("--schema-id", "7")),
    ],
)
def test_the_bytes_of_the_case_are_found(file, transformation, options):
    answer = found(CASE / file, *options)
    assert (answer["verdict"], answer["key_transformation"], answer["partitions_count"]) == ("identified", transformation, 12)
    assert answer["writers"][0]["partitioners"][0] == "java"
    assert answer["conclusion"].startswith(f"The keys are hashed as {transformation}: java (or one of 16 others")
    assert "10^-" in answer["conclusion"]


@pytest.mark.parametrize(
    ("keys", "make", "transformation"),
    [
        (TEXTS, lambda text: f"{text}\r".encode(), r"the text with \r at its end"),
        (TEXTS, lambda text: f"{text}\n".encode(), r"the text with \n at its end"),
        (TEXTS, lambda text: f"{text}\0".encode(), "the text with a byte 0 at its end"),
        (TEXTS, lambda text: text.encode("utf-16-le"), "UTF-16, little-endian"),
        (TEXTS, lambda text: base64.b64encode(text.encode()), "base64 text"),
        (TEXTS, lambda text: b"\x00\x00\x00\x00\x15\x00\x0a\x08" + text.encode(), "a Protobuf"),
        (TEXTS, lambda text: b"\x07" + text.encode(), "the text behind a byte 7"),
        ([text.encode().hex() for text in TEXTS], bytes.fromhex, "the bytes of which the key is the hexadecimal text"),
        (
            [base64.b64encode(text.encode() * 2).decode() for text in TEXTS],
            base64.b64decode,
            "the bytes of which the key is the base64 text",
        ),
        ([f"string:{text}" for text in TEXTS], lambda text: text.split(":")[1].encode(), "what follows the first colon"),
        ([text.upper() for text in UUIDS], lambda text: uuid.UUID(text).bytes, "the UUID's 16 bytes"),
        ([text.upper() for text in UUIDS], lambda text: text.lower().encode(), "lower-case text"),
        (NUMBERS, lambda text: struct.pack("<i", int(text)), "numbers of 4 bytes, little-endian"),
        (NUMBERS, lambda text: struct.pack("<q", int(text)), "numbers of 8 bytes, little-endian"),
        (NUMBERS, lambda text: f'"{text}"'.encode(), "JSON strings with their quotes"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_serializers_do_to_keys_is_found(tmp_path, keys, make, transformation):
    answer = found(written(tmp_path, keys, [make(key) for key in keys]), "--partitions", "12")
    assert answer["verdict"] == "identified", answer["conclusion"]
    assert transformation in answer["key_transformation"] or "Protobuf" in answer["key_transformation"]


def test_a_large_schema_id_is_found_once_it_is_named(tmp_path):
    path = written(tmp_path, TEXTS, [struct.pack(">bIB", 0, 100_123, 2 * len(text)) + text.encode() for text in TEXTS])
    without = found(path, "--partitions", "12")
    assert not without["writers"]
    assert without["key_transformation"] is None
    assert "--key-format hex" in without["conclusion"]
    assert "--schema-id" in without["conclusion"]
    assert found(path, "--schema-id", "100123")["key_transformation"] == "Avro's string with magic byte and schema id 100123"


def test_a_topic_of_other_bytes_may_have_grown(tmp_path):
    keys = [f"acct-{i:03}" for i in range(400)]
    path = tmp_path / "seen.csv"
    hashes = [murmur2(f'"{key}"'.encode()) & 0x7FFFFFFF for key in keys]
    path.write_text(
        "key,partition\n"
        + "".join(f"{key},{h % (8 if i < 200 else 12)}\n" for i, (key, h) in enumerate(zip(keys, hashes, strict=True)))
    )
    answer = found(path)
    assert (answer["key_transformation"], answer["earlier_partitions_counts"]) == ("JSON strings with their quotes", [8])


def test_chance_is_called_none_of_these(tmp_path):
    """Partitions without a relation to the keys, with few partitions, and keys that fit as they are."""
    for seed in range(3):
        path = tmp_path / "seen.csv"
        path.write_text(
            "key,partition\n" + "".join(f"{key},{zlib.adler32(f'{seed}{key}'.encode()) * 2654435761 >> 7 & 3}\n" for key in TEXTS)
        )
        answer = found(path, "--partitions", "4")
        assert answer["key_transformation"] is None
    assert found(written(tmp_path, TEXTS, [text.encode() for text in TEXTS]))["key_transformation"] is None


def test_the_report_of_mismatch_tries_other_bytes_too(tmp_path, monkeypatch):
    """Where nothing explains the keys as given, and only there; the file is read no further time."""
    pytest.importorskip("matplotlib")
    scan, scans = LocalRecords.scan, []
    monkeypatch.setattr(LocalRecords, "scan", lambda *arguments: scans.append(arguments) or scan(*arguments))
    quoted, plain = [f'"{text}"'.encode() for text in TEXTS], [text.encode() for text in TEXTS]
    for made, transformation in ((quoted, "JSON strings with their quotes"), (plain, None)):
        path = written(tmp_path, TEXTS, made)
        for i, options in enumerate(((), ("--partitions", "12"))):
            into = tmp_path / f"{transformation}-{i}"
            scans.clear()
            run = CliRunner().invoke(main, ["fingerprint", str(path), *options, "--into", str(into)])
            assert run.exit_code == 0, run.output
            assert len(scans) == (1 if options else 2)  # for the number of partitions
            summary = json.loads((into / "summary.json").read_text())
            said = " ".join(summary["warnings"])
            assert summary.get("key_transformation") == transformation
            assert (f"as {transformation}, java explains 40 of 40 different pairs" in said) == (transformation is not None)
