"""Topics that grew: earlier partition counts are named, and no writer that does not exist."""

from __future__ import annotations

import json
import random
import zlib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from service.api.fingerprints import document
from service.cli import main
from service.core.budget import Budget
from service.decisions.fingerprints import FingerprintQuestion, answer
from tests.reference.hashes import murmur2

CASE = Path(__file__).parents[2] / "cases" / "sentence-grown-topic" / "grown.csv"


def java(key: str, n: int) -> int:
    return (murmur2(key.encode()) & 0x7FFFFFFF) % n


def rdkafka(key: str, n: int) -> int:
    return zlib.crc32(key.encode()) % n


def asked(seed: int, parts, partitions_count: int | None = None, keys_count: int = 400) -> dict:
    """The answer about keys of which a share each was written in some way. parts : (writer, count, share)"""
    draw = random.Random(seed)
    keys = [f"k-{seed}-{draw.randrange(10**9)}" for _ in range(keys_count)]
    ways = draw.choices([part[:2] for part in parts], [part[2] for part in parts], k=keys_count)
    partition_ids = np.array([writer(key, n) for key, (writer, n) in zip(keys, ways, strict=True)], np.int32)
    return document(answer(FingerprintQuestion(keys, partition_ids, partitions_count), Budget()))


@pytest.mark.parametrize("options", [(), ("--partitions", "12")])
def test_the_growth_of_a_topic_is_named_with_the_pairs_of_each_count(options):
    run = CliRunner().invoke(main, ["fingerprint", str(CASE), *options, "--output", "json"])
    found = json.loads(run.output)
    assert found["conclusion"].endswith(
        "explains all 1,000 different pairs: 759 with 12 partitions (252 of them only so), the other 241 with 6. "
        "The topic probably grew from 6 to 12."
    )
    assert (found["verdict"], found["partitions_count"], found["earlier_partitions_counts"]) == ("identified", 12, [6])
    assert [writer["partitions_count"] for writer in found["writers"]] == [12, 6]


def test_a_report_names_the_growth_too(tmp_path):
    CliRunner().invoke(main, ["fingerprint", str(CASE), "--partitions", "12", "--into", str(tmp_path / "out")])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["verdict"] == "identified"
    assert [part["partitions_count"] for part in summary["mixture"]] == [12, 6]
    assert all("java with 6 partitions" in example["explained_by"] for example in summary["examples"])
    report = (tmp_path / "out" / "report.html").read_text()
    assert "the topic probably grew from 6 to 12 partitions" in report
    assert "24.1%, all as before the topic grew" in report


def test_what_another_client_wrote_is_not_the_growths(tmp_path):
    keys = [f"k-{i}" for i in range(400)]
    file = tmp_path / "seen.csv"
    rows = [f"{key},{rdkafka(key, 8 if i % 2 else 12)}" for i, key in enumerate(keys)]
    file.write_text("\n".join(["key,partition", *rows]) + "\n")
    CliRunner().invoke(main, ["fingerprint", str(file), "--partitions", "12", "--into", str(tmp_path / "out")])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    parts = [(part["partitioners"][0], part["partitions_count"]) for part in summary["mixture"]]
    assert sorted(parts) == [("librdkafka:consistent_random", 8), ("librdkafka:consistent_random", 12)]
    report = (tmp_path / "out" / "report.html").read_text()
    assert "the topic probably grew from 8 to 12 partitions" in report
    assert "all as before the topic grew" not in report


@pytest.mark.parametrize(
    "counts",
    [(8, 12), (10, 15), (6, 12), (2, 5), (1, 6), (7, 24), (4, 6, 12), (3, 100)],
    ids=lambda counts: "-".join(map(str, counts)),
)
@pytest.mark.parametrize("writer", [java, rdkafka])
@pytest.mark.parametrize("given", [True, False])
def test_any_growth_is_found_and_nobody_else_is_blamed(counts, writer, given):
    parts = [(writer, n, 1 / (1 + i)) for i, n in enumerate(counts)]
    found = asked(int(given), parts, counts[-1] if given else None)
    assert found["verdict"] == "identified", found["conclusion"]
    assert (*found["earlier_partitions_counts"], found["partitions_count"]) == counts
    assert found["conclusion"].endswith(f"The topic probably grew from {' to '.join(map(str, counts))}.")
    assert "95% confidence" not in found["conclusion"]


def test_all_records_may_be_older_than_the_growth():
    found = asked(1, [(java, 6, 1)], 12)
    assert "explains all 400 different pairs, with 6 partitions as before it grew" in found["conclusion"]


def test_without_growth_none_is_named():
    """Two writers, records whose partition was named, one writer: in each, a topic that never grew."""
    named = lambda _, n: random.Random(_).randrange(n)  # noqa: E731
    for seed in range(5):
        for parts in (
            [(java, 12, 0.7), (rdkafka, 12, 0.3)],
            [(java, 12, 0.7), (named, 12, 0.3)],
            [(java, 12, 0.7), (named, 5, 0.3)],
        ):
            found = asked(seed, parts, 12 if seed % 2 else None)
            assert "grew" not in found["conclusion"]
            assert "for example" in found["conclusion"] or not found["unexplained"]["pairs"]
