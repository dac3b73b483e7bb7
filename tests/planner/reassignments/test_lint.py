"""What is wrong with a reassignment that somebody has written: each rule, by the smallest case, and none of the others."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.model import NONE
from service.planner.reassignments.lint import RULES, Reassigned, lint
from tests.planner.reassignments.test_plan import a_cluster, some_placements

NOW = [[0, 1], [1, 2], [2, 0]]


def found(
    rows: list[tuple[int, list[int]]], racks="abc", now=NOW, topic="t", **given
) -> list[tuple[str, str, int | None, int | None]]:
    """(severity, rule, row, replica) of a reassignment. rows : partition_id and broker ids; of three brokers, from 0"""
    brokers, placements = a_cluster([*racks], **given), some_placements(now)
    offsets = np.cumsum([0, *(len(row) for _, row in rows)]).astype(np.int32)
    ids = np.array([broker for _, row in rows for broker in row], np.int32)
    known = np.array([i if topic == "t" and i < len(now) else NONE for i, _ in rows], np.int32)
    replicas = type(placements.replicas)(offsets, np.where(ids < len(brokers), ids, NONE).astype(np.int32))
    topics = np.full(len(rows), topic == "t")
    reassigned = Reassigned([topic] * len(rows), np.array([i for i, _ in rows], np.int32), known, topics, ids, replicas)
    findings = lint(brokers, placements, reassigned)
    assert sum(findings.counts.values()) == len(findings.findings)
    return [(one.severity, one.rule, one.row, one.replica) for one in findings.findings]


OFTEN = {"skew", "replication-factor", "duplicate-partition", "rack-rule", "avoidable-moves"}
"""Rules that the cases of others break too."""

CASES = {
    "unknown-topic": ([(0, [0, 1])], {"topic": "u"}, ("error", 0, None)),
    "unknown-partition": ([(3, [0, 1])], {}, ("error", 0, None)),
    "duplicate-partition": ([(0, [1, 0]), (0, [0, 2])], {}, ("error", 1, None)),
    "duplicate-replica": ([(0, [0, 0])], {}, ("error", 0, 1)),
    "unknown-broker": ([(0, [0, 9])], {}, ("error", 0, 1)),
    "fenced-broker": ([(0, [0, 2])], {"draining": [False, False, True]}, ("error", 0, 1)),
    "cordoned-broker": ([(0, [0, 2])], {"cordoned": [False, False, True]}, ("error", 0, 1)),
    "replication-factor": ([(0, [0, 1, 2])], {}, ("warning", 0, None)),
    "no-op": ([(0, [0, 1])], {}, ("warning", 0, None)),
    "rack-rule": ([(0, [0, 2])], {"racks": "aba"}, ("error", 0, None)),
    "skew": ([(0, [1, 2])], {}, ("warning", None, None)),
    "avoidable-moves": ([(0, [1, 2]), (1, [2, 0]), (2, [0, 1])], {}, ("note", None, None)),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_found(rule: str) -> None:
    rows, given, expected = CASES[rule]
    findings = found(rows, **given)
    assert (expected[0], rule, *expected[1:]) in findings
    assert {name for _, name, _, _ in findings} - {rule} <= OFTEN


def test_a_fenced_leader_is_an_error_and_every_rule_has_a_case() -> None:
    brokers = a_cluster([*"abc"])
    brokers.cluster.fenced[1] = True
    placements = some_placements(NOW)
    replicas = some_placements([[1, 0]]).replicas
    one = np.zeros(1, np.int32)
    reassigned = Reassigned(["t"], one, one, np.ones(1, np.bool_), replicas.values, replicas)
    assert "unavailable-leader" in {finding.rule for finding in lint(brokers, placements, reassigned).findings}
    assert RULES.keys() == CASES.keys() | {"unavailable-leader", "disk"}  # the latter: tests/api/test_reassignment_lints.py


def test_a_good_reassignment_has_no_findings() -> None:
    assert found([(0, [2, 1])], now=[[0, 1], [1, 2]], draining=[True, False, False]) == []


def test_a_cordoned_broker_keeps_what_it_has_and_its_rack_counts_for_what_it_has() -> None:
    """The second partition cannot come to rack b, whose only broker is cordoned, so it is on as many racks as it could be."""
    now, cordoned = [[0, 1], [0, 2]], [False, True, False]
    assert {rule for _, rule, _, _ in found([(0, [2, 1])], racks="aba", now=now, cordoned=cordoned)} <= {"avoidable-moves"}
    assert {"rack-rule"} == {rule for _, rule, _, _ in found([(1, [0, 2])], racks="aba", now=now)} - {"no-op"}
    assert {"no-op"} == {rule for _, rule, _, _ in found([(1, [0, 2])], racks="aba", now=now, cordoned=cordoned)}


def test_a_broker_that_is_gone_is_on_no_rack() -> None:
    """The partition is on one rack now and on one afterwards, so nothing gets worse."""
    for severity, listed in (("error", True), ("warning", False)):
        findings = found([(0, [0, 1])], racks=["a", "a", "b", None], now=[[0, 3]], listed=[True, True, True, listed])
        assert (severity, "rack-rule", 0, None) in findings
