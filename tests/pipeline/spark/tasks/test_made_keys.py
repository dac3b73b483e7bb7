"""Made keys: the same ones whatever task makes them, as often as their distribution says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from service.pipeline.spark import skew as job
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.sources import Source, made_keys
from service.pipeline.spark.tasks.made_keys import BLOCK
from tests.pipeline.spark.skew.test_skew import OPTIONS
from tests.reference.hashes import murmur2


def made(text):
    return made_keys(Source.parse(text))


def numbers(text):
    keys = made(text)
    return np.concatenate([keys.numbers(block) for block in range(keys.blocks)])


def test_the_draws_are_those_of_every_release():
    """As the figures in docs/pipeline.md are of these records."""
    (batch,) = made("keys:5?distribution=zipf:0.99&keys=1e10&length=16&seed=1").batches_of([0], ["key"])
    assert batch.column(0).to_pylist() == [f"{n:016}" for n in (198004, 3510045750, 23, 3377287325, 1630)]
    assert numbers("keys:5?seed=1&keys=1000").tolist() == [511, 950, 144, 948, 311]


@pytest.mark.parametrize("distribution", ["uniform", "zipf:0.99", "hot:0.5", "range"])
def test_records_are_the_same_whatever_task_makes_them(distribution):
    """And the first of many are those of few."""
    text = f"?distribution={distribution}&keys=1e6&length=12"
    keys = made(f"keys:300000{text}")
    records = []
    for tasks, count in ((1, 1), (3, 3), (50, 5)):
        of_tasks = [keys.batches_of(blocks, ["key"]) for blocks in keys.splits(tasks)]
        assert len(of_tasks) == count
        records.append([key for batches in of_tasks for batch in batches for key in batch.column(0).to_pylist()])
    assert records[0] == records[1] == records[2]
    assert len(records[0]) == 300_000
    few = made(f"keys:70000{text}")
    assert [n for batch in few.batches_of(range(2), ["key"]) for n in batch.column(0).to_pylist()] == records[0][:70_000]


@pytest.mark.parametrize("power", [0.5, 0.99, 1, 2])
def test_zipfs_law_holds_for_hot_keys_and_for_all_others(power):
    """Chi-squared of 2,000 keys, and stretches of the rarer ones, to four standard deviations."""
    count, keys = 20 * BLOCK, 50_000
    seen = np.bincount(numbers(f"keys:{count}?distribution=zipf:{power}&keys={keys}"), minlength=keys)
    expected = np.arange(1, keys + 1) ** -float(power)
    expected *= count / expected.sum()
    cells = [*range(2_000), *range(2_000, keys, 2_000)]
    seen, expected = np.add.reduceat(seen, cells), np.add.reduceat(expected, cells)
    likely = expected > 5
    chi_squared = float(((seen - expected)[likely] ** 2 / expected[likely]).sum())
    assert abs(chi_squared - likely.sum()) < 4 * (2 * likely.sum()) ** 0.5


def test_one_key_has_half_of_the_records_and_the_others_are_alike():
    seen = np.bincount(numbers("keys:2e6?distribution=hot:0.5&keys=101"))
    assert len(seen) == 101
    assert abs(seen[0] - 1_000_000) < 4 * 707
    assert abs(seen[1:] - 10_000).max() < 5 * 100


def test_range_has_the_keys_of_kafkas_own_tool_in_its_order(pipeline):
    """KIP-1299: Integer.toString(recordIndex % keyRange). Read by the tasks, and by Spark because of the condition."""
    counts = Counter((murmur2(str(i % 70_001).encode()) & 0x7FFFFFFF) % 12 for i in range(140_000))
    for where in (None, "key >= ''"):
        source = Source("keys", "140000", (), {"distribution": "range", "keys": "70001"}, where)
        records, of_records = job.prepare(
            pipeline, source, OPTIONS | {"partitioners": ("java",), "partitions_counts": (12,), "size_columns": ()}
        )
        result, rejected = records.scan(of_records, "scanning")
        assert rejected == {}
        assert result.counts.totals("java", 12).records.tolist() == [counts[p] for p in range(12)]
    assert str(source) == "keys:140000?distribution=range&keys=70001"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("keys:", "the number of records must be a whole number"),
        ("keys:1.5", "the number of records must be a whole number"),
        ("keys:1e17", r"in \[1, 2\^53\]"),
        ("keys:10?skew=1", "no option 'skew'"),
        ("keys:10?seed=-1", "seed must be"),
        ("keys:10?keys=0", "keys must be"),
        ("keys:10?distribution=zipf", "distribution must be"),
        ("keys:10?distribution=hot:1", "distribution must be"),
        ("keys:10?distribution=uniform:3", "distribution must be"),
        ("keys:10?distribution=zipf:nan", "distribution must be"),
        ("keys:1?distribution=hot:0.5", "two keys at least"),
        ("keys:11?length=1", r"length must be in \[2, 32768\]"),
    ],
)
def test_what_names_no_keys_is_refused_in_a_sentence(text, fault):
    with pytest.raises(WrongSource, match=fault):
        Source.parse(text)
