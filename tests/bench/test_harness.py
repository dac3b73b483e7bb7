"""``make bench``'s own arithmetic: turns, medians, ratios, and what becomes of a row that cannot be measured."""

from __future__ import annotations

import gc
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache

import numpy as np
import pytest

from benchmarks import every, groups, groups_ask, harness, partitions, servers  # noqa: F401 - importing declares the benchmarks
from benchmarks.groups_streams import Streams
from benchmarks.harness import BENCHMARKS, Result, Row, benchmark, peak_bytes, seconds
from benchmarks.harness import Skipped as NotHere
from benchmarks.shapes import SCENARIOS, Shape, body_of, group_of
from service.strategies import GROUP_PROTOCOLS, KAFKAS
from tests.support.groups import group_of as read_body
from tests.support.jvm import SHORT_LIVED
from tests.support.serving import serving

TIME = Row("a/time", "s", 1.0, "ours ÷ theirs")
THROUGHPUT = Row("a/throughput", "requests/s", 1.25, "ours ÷ theirs")


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """Each row looks for garbage first; without what earlier tests left, that takes a few milliseconds and not half a second."""
    gc.freeze()


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


def test_missing_programs_are_reported(declare):
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
    "groups/classic-cooperative-sticky/200x10000-heterogeneous/fresh": {"shape": Shape(20, 10, 10, heterogeneous=True)},
    "groups/share-simple/2000x1000000/fresh": {"shape": Shape(100, 50, 100)},  # which a JVM's heap shows
    "groups/consumer-uniform/http": {"shape": Shape(20, 10, 10)},
    "groups/streams-sticky/20x400": {"group": Streams(3, 10)},
    "groups/ask/first": {"shape": Shape(20, 10, 10)},
    "groups/ask/memory": {"shape": Shape(20, 10, 10)},
    "groups/classic-sticky/curve-heterogeneous/10000": {"members": 20, "sizes": (1000, 2000)},
    "groups/memory/curve/10000": {"members": 20, "sizes": (1000, 2000)},
    "partition-counts/twenty": {"count": 1000},
    "partition-counts/memory": {"count": 200_000, "times": 1},
    "placements/rack-aware": {"partitions": 1000, "brokers": 30},
    "reassignments/small": {"partitions": 100, "brokers": 20},
    "reassignments/large": {"partitions": 100, "brokers": 20},
    "reassignments/large-topics": {"partitions": 100, "brokers": 20, "topics": 5},
    "member-counts/1000x1000": {"partitions": 20, "members": 3},
    "reassignments/huge": {"partitions": 100, "brokers": 20},
    "reassignments/moves-generate": {"partitions": 100, "brokers": 20},
    "reassignments/moves-cruise-control": {"partitions": 100, "brokers": 20},
    "reassignments/frontier": {"partitions": 100, "brokers": 20},
    "log-dirs/even": {"brokers": 10, "replicas": 100},
}
"""One benchmark of each kind: its first row, and a size at which it takes no time."""


@contextmanager
def forked(module, *arguments, server=servers.server):
    """``server`` of benchmarks.servers, with ours forked from a process that has loaded what a start loads."""
    if module == "service":
        with serving(forked=True, ALLOCATOR_WORKERS="1") as ours:
            yield int(ours.url.rpartition(":")[2]), ours.process.pid
    else:
        with server(module, *arguments) as theirs:
            yield theirs


@pytest.fixture(scope="module")
def running():
    """``forked``, with one server of each kind for all benchmarks but those that measure its memory."""
    with ExitStack() as stack:
        start = cache(lambda *command: stack.enter_context(forked(*command)))
        yield lambda *command: nullcontext(start(*command))


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_kind_of_benchmark_runs(name: str, monkeypatch, running):
    """On a small input, once; the harness beside the project, which has its own sizes, is left to ``make bench``."""
    monkeypatch.setattr(groups, "JVM_SECONDS", 0.01)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", " ".join(SHORT_LIVED))
    monkeypatch.setenv("ALLOCATOR_WORKERS", "1")
    for module in (servers, partitions):
        monkeypatch.setattr(module, "server", running)
    monkeypatch.setattr(groups_ask, "server", forked)
    measured = next(b for b in BENCHMARKS if b.rows[0].name == name)
    rows = 1 if "sizes" in SMALL[name] else len(measured.rows)
    try:
        with measured.sides(**SMALL[name]) as (ours, reference):
            sides = [ours()]
            itself = name == "groups/ask/memory"  # the reference is another service of ours, asked less at a time
            if not itself and (name.startswith("groups/") or "JVM" not in measured.rows[0].what):
                sides.append(reference())
    except NotHere as reason:
        pytest.skip(str(reason))
    for figures in sides:
        assert len(figures) == rows
        assert all(figure > 0 for figure in figures)


def test_every_assignor_is_measured_at_every_size_in_every_scenario():
    names = {row.name for b in BENCHMARKS for row in b.rows}
    for protocol, assignors in KAFKAS.items():
        for assignor in assignors:
            for shape in groups.SHAPES:
                assert {f"groups/{protocol}-{assignor.name}/{shape}/{scenario}" for scenario in SCENARIOS} <= names
            assert f"groups/{protocol}-{assignor.name}/http" in names


@pytest.mark.parametrize("heterogeneous", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_group_to_time_is_the_same_as_arrays_and_as_a_body(scenario, heterogeneous):
    shape = Shape(12, 11, 7, heterogeneous)
    group, read = group_of(shape, scenario), read_body(body_of(shape, scenario))
    assert group.member_ids == read.member_ids
    assert group.topics.names == read.topics.names
    assert group.topics.ids == read.topics.ids
    for one, other in ((group.topics.first, read.topics.first), (group.subscriptions.values, read.subscriptions.values)):
        np.testing.assert_array_equal(one, other)


def test_what_was_assigned_is_owned_when_something_happens():
    """Owned partitions keep their topic and id though topics grow; who leaves takes what it had away, who joins has nothing."""
    shape = Shape(4, 3, 20)
    before = GROUP_PROTOCOLS["classic"]["sticky"].run(group_of(shape)).rows
    sizes = {"leaves": 45, "joins": 60, "added": 60}
    for scenario, size in sizes.items():
        group = group_of(shape, scenario, before)
        assert len(group.owned.values) == size
        assert len(group) == 4 + {"leaves": -1, "joins": 1, "added": 0}[scenario]
        assert GROUP_PROTOCOLS["classic"]["sticky"].run(group).rows.lengths().sum() == group.topics.partitions_count
    topics, ids = group_of(shape, "added", before).topic_partitions(group.owned.row(0))
    np.testing.assert_array_equal(topics * 20 + ids, np.sort(before.row(0)))


def test_a_memory_figure_is_what_a_call_takes_at_its_peak():
    """Sixty-four megabytes, half of them only for a while."""

    def takes() -> object:
        kept = np.ones(32 << 20, np.uint8)
        np.ones(32 << 20, np.uint8)
        return kept

    assert 60e6 < peak_bytes(takes) < 80e6


def test_a_reference_that_takes_long_is_asked_once(declare, monkeypatch):
    monkeypatch.setattr(harness, "PATIENCE", 0.0)
    turns = []

    @declare(TIME, rounds=5)
    def slow():
        yield lambda: turns.append("ours") or [1.0], lambda: turns.append("theirs") or [1.0]

    assert slow.run()[0].ratio == 1.0
    assert turns == ["ours", "theirs"]
