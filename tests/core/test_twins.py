"""Modules with kernels name their plain-Python twin in tests/reference, or stand here with the test that covers them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.support.golden import PROJECT

KERNEL = re.compile(r"^@(?:(?:inner_|borrowing_|brief_)?kernel|njit)\b", re.MULTILINE)

COVERED = {
    "clients/streams/classic/client.py": "clients/streams/test_high_availability.py",
    "core/assignors/classic/members.py": "core/assignors/classic/test_range.py",
    "core/assignors/share/simple.py": "core/assignors/share/test_simple.py",
    "core/budget.py": "core/assignors/test_time_limits.py",
    "core/jvm/red_black.py": "core/jvm/test_ordering.py",
    "core/keys/codecs.py": "core/keys/test_columns.py",
    "core/measures.py": "core/measures/test_zone_traffic.py",
    "core/partitioners/counting.py": "core/partitioners/test_rules.py",
    "core/partitioners/crc32.py": "core/partitioners/test_hashes.py",
    "core/partitioners/drawing.py": "core/partitioners/test_rules.py",
    "core/partitioners/allocation.py": "core/partitioners/test_rules.py",
    "core/partitioners/md5.py": "core/partitioners/test_hashes.py",
    "core/partitioners/murmur3.py": "core/partitioners/test_hashes.py",
    "core/partitioners/side_by_side.py": "core/partitioners/test_hashes.py",
    "core/placers/draws/__init__.py": "planner/placement_audits/test_draws.py",
    "core/placers/draws/striped.py": "planner/placement_audits/test_draws.py",
    "core/ragged.py": "core/test_ragged.py",
    "core/words.py": "core/partitioners/test_hashes.py",
    "decisions/groups/rows.py": "core/assignors/classic/test_sticky.py",
    "http/json/rows.py": "http/json/test_rows.py",
    "planner/balanced/exchanges.py": "planner/balanced/test_weighted.py",
    "planner/balanced/transport.py": "planner/balanced/test_balanced.py",
    "planner/flows.py": "planner/test_flows.py",
    "planner/kinds.py": "planner/rebalances/test_fewest_moves.py",
    "planner/log_dirs/exchanges.py": "planner/log_dirs/test_exchanges.py",
    "planner/reassignments/batches/schedule.py": "planner/reassignments/batches/test_batches.py",
    "planner/reassignments/feasibility/feasible.py": "planner/reassignments/test_sets.py",
    "planner/reassignments/feasibility/start.py": "planner/reassignments/test_sets.py",
    "planner/reassignments/leaders.py": "planner/reassignments/test_moves.py",
    "planner/reassignments/planned.py": "planner/reassignments/test_moves.py",
    "planner/reassignments/resources/search.py": "planner/reassignments/resources/test_resources.py",
    "planner/reassignments/resources/swaps.py": "planner/reassignments/resources/test_resources.py",
    "planner/reassignments/search/byte_balance.py": "planner/reassignments/search/test_improvement.py",
    "planner/reassignments/search/exchanges.py": "planner/reassignments/search/test_improvement.py",
    "planner/reassignments/search/paths.py": "planner/reassignments/search/test_improvement.py",
    "planner/reassignments/search/same_rack.py": "planner/reassignments/test_racks.py",
    "planner/reassignments/search/topic_balance.py": "planner/reassignments/search/test_topic_balance.py",
    "planner/reassignments/search/trade.py": "planner/reassignments/search/test_trade.py",
    "planner/reassignments/sets.py": "planner/reassignments/test_sets.py",
    "planner/sizing/counter.py": "planner/sizing/test_counter.py",
}
"""Module → the test that compares it with a brute force, a twin of what calls it, a real implementation or its plain form."""


def kernels_without_twin() -> set[str]:
    sources = {file: file.read_text() for file in (PROJECT / "service").rglob("*.py")}
    without = {file for file, text in sources.items() if KERNEL.search(text) and "tests/reference/" not in text}
    return {str(file.relative_to(PROJECT / "service")) for file in without}


@cache
def named(file: Path) -> frozenset[Path]:
    """The modules of the service and of the tests' helpers that a module imports, at once or later."""
    text = file.read_text()
    names = set(re.findall(r"\b(?:service|tests)(?:\.\w+)+", text))
    for parent, listed in re.findall(r"from ((?:service|tests)[\w.]*) import (\([^)]*\)|[^\n]*)", text):
        names |= {f"{parent}.{name}" for name in re.findall(r"\w+", listed)}
    paths = (PROJECT / name.replace(".", "/") for name in names)
    return frozenset(each for path in paths for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file())


def reached(file: Path) -> set[Path]:
    found, left = {file}, [file]
    while left:
        further = named(left.pop()) - found
        found |= further
        left += further
    return found


def test_each_kernel_has_a_twin_or_is_covered_by_another_test() -> None:
    assert kernels_without_twin() == COVERED.keys()


def test_what_covers_a_kernel_exists_and_reaches_it() -> None:
    for test in set(COVERED.values()):
        modules = reached(PROJECT / "tests" / test)
        assert {PROJECT / "service" / module for module, by in COVERED.items() if by == test} <= modules, test
