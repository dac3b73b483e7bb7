"""The pipeline's benchmarks, on a few keys and in the tests' Spark."""

from __future__ import annotations

import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import every, pipeline, pipeline_engines  # noqa: F401 - every: in the order of the table, whoever asks first

KEYS = ["a"] * 500 + ["b"] * 300 + [f"key-{i}" for i in range(200)]


@pytest.mark.parametrize("engine", [pipeline_engines.by_duckdb, pipeline_engines.by_polars])
def test_the_other_engines_answer_the_three_questions(tmp_path, engine):
    path = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"key": KEYS}), path)
    answers = engine(str(path))
    assert sum(answers.records) == 1000
    assert len(answers.records) == 12
    assert answers.distinct == pytest.approx(202, rel=0.1)
    assert answers.top[:2] == ["a", "b"]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "benchmark",
    [pipeline.one, pipeline_engines.duckdb_four_by_twenty, pipeline_engines.polars_one],
    ids=lambda each: each.rows[0].name,
)
def test_both_sides_run(monkeypatch, tmp_path, benchmark):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # the file of keys
    with benchmark.sides(count=1000) as (ours, reference):
        assert len(ours()) == len(reference()) == 1
