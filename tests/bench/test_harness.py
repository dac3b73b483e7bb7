"""``make bench``'s own arithmetic: turns, medians, ratios, and what becomes of a row that cannot be measured."""

from __future__ import annotations

import pytest

from benchmarks import groups, groups_curve, groups_http, jvm, partitions, placements  # noqa: F401 - they declare the benchmarks
from benchmarks.harness import BENCHMARKS, Benchmark, Result, Row, benchmark, seconds
from benchmarks.harness import Skipped as NotHere

TIME = Row("a/time", "s", 1.0, "ours ÷ theirs")
THROUGHPUT = Row("a/throughput", "requests/s", 1.25, "ours ÷ theirs")


@pytest.fixture
def declare():
    """``@benchmark``, taken back when the test is over."""
    known = len(BENCHMARKS)
    yield benchmark
    del BENCHMARKS[known:]


def test_a_times_ratio_is_ours_over_the_reference():
    assert Result(TIME, ours=3.0, reference=2.0).ratio == 1.5
    assert not Result(TIME, ours=3.0, reference=2.0).good


def test_a_throughputs_ratio_is_the_reference_over_ours():
    assert Result(THROUGHPUT, ours=800.0, reference=1000.0).ratio == 1.25
    assert Result(THROUGHPUT, ours=800.0, reference=1000.0).good


def test_a_result_is_written_with_the_six_members_of_the_list():
    assert Result(TIME, ours=0.5, reference=2.0).as_json() == {
        "name": "a/time",
        "ours": 0.5,
        "reference": 2.0,
        "unit": "s",
        "ratio": 0.25,
        "goal": 1.0,
    }


def test_the_sides_take_turns_and_each_gives_its_median(declare):
    """Three rounds: ours, theirs; theirs, ours; ours, theirs. One slow round does not count."""
    turns = []

    @declare(TIME, THROUGHPUT, rounds=3)
    def both():
        ours = iter([(1.0, 10.0), (9.0, 10.0), (1.5, 30.0)])
        theirs = iter([(2.0, 10.0), (2.0, 90.0), (2.0, 20.0)])

        def side(name, figures):
            turns.append(name)
            return next(figures)

        yield lambda: side("ours", ours), lambda: side("theirs", theirs)
        turns.append("tidied up")

    results = both.run()
    assert turns == ["ours", "theirs", "theirs", "ours", "ours", "theirs", "tidied up"]
    assert [(r.ours, r.reference) for r in results] == [(1.5, 2.0), (10.0, 20.0)]


def test_what_a_machine_lacks_is_said_and_not_passed_over(declare):
    @declare(TIME)
    def lacking():
        raise NotHere("no such thing: apt-get install it")
        yield

    with pytest.raises(NotHere, match="apt-get"):
        lacking.run()


def test_the_first_run_is_not_measured():
    """It compiles, fills caches and touches memory."""
    calls = []
    seconds(calls.append, 1, runs=3)
    assert len(calls) == 4


def test_names_are_all_different():
    names = [row.name for b in BENCHMARKS for row in b.rows]
    assert len(set(names)) == len(names)


SMALL = {
    "partitions/murmur2-16": {"count": 1000},
    "partitions/get": {"run_seconds": 1},
    "partitions/arrow": {"count": 1000},
    "partitions/json": {"count": 1000},
    "groups/range": {"members": 20, "topics": 10, "partitions": 10},
    "groups/range-http": {"members": 20, "topics": 10, "partitions": 10},
    "placements/rack-aware": {"partitions": 1000, "brokers": 30},
}


@pytest.mark.slow
@pytest.mark.parametrize("measured", BENCHMARKS, ids=lambda b: b.rows[0].name)
def test_every_benchmark_runs(measured: Benchmark):
    """On a small input, once; the JVM's harness, which has its own sizes, is left to ``make bench``."""
    try:
        with measured.sides(**SMALL[measured.rows[0].name]) as (ours, reference):
            sides = [ours()]
            if "JVM" not in measured.rows[0].what:
                sides.append(reference())
    except NotHere as reason:
        pytest.skip(str(reason))
    for figures in sides:
        assert len(figures) == len(measured.rows)
        assert all(figure > 0 for figure in figures)
