"""Which partitions are at risk, as ``kafka-topics --describe`` would list them, and which are not rack-safe.

================== ======== ============================================================================================
rule               severity meaning
================== ======== ============================================================================================
unavailable        error    no leader
under-min-isr      error    fewer replicas in sync than ``min.insync.replicas``: no writes with acks=all
under-replicated   warning  a replica is not in sync
at-min-isr         warning  just ``min.insync.replicas`` in sync: the next failure stops writes with acks=all
rack-unsafe        warning  on fewer racks than its replicas could be
preferred-leader   note     another broker leads than the first of the list
replication-factor note     another number of replicas than most partitions have
================== ======== ============================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from service.core.clock import check_time
from service.core.measures.broker_load import distinct_in_rows
from service.core.model import NONE, Bools, Int32s, Int64s, distinct
from service.core.printable import counted
from service.core.ragged import taken
from service.planner.reassignments.leadership import leaders_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.planner.reassignments.model import Brokers, Placements

SEVERITIES: Final = {
    "unavailable": "error",
    "under-min-isr": "error",
    "under-replicated": "warning",
    "at-min-isr": "warning",
    "rack-unsafe": "warning",
    "preferred-leader": "note",
    "replication-factor": "note",
}
"""Rule → severity. What has an error or a warning is at risk."""

DEFAULT_MIN_IN_SYNC: Final = 1
"""Kafka's default of ``min.insync.replicas``."""


@dataclass(frozen=True)
class CheckFinding:
    """What is true of several partitions of one topic.

    partitions : int32[...], indices of the placements, at least one
    brokers : int32[...], of ``under-replicated`` those that are not in sync, of ``under-min-isr`` and ``at-min-isr`` those that
        are, of ``preferred-leader`` those that lead, otherwise all that have a replica
    """

    rule: str
    partitions: Int32s
    brokers: Int32s
    detail: str


@dataclass(frozen=True)
class PlacementCheck:
    """The state of a cluster.

    leaders : int32[partitions], who leads now as far as is known, NONE for nobody
    in_sync : int64[partitions], how many replicas are in sync; where that is not known, how many serve
    findings : by rule, in the order of SEVERITIES, then by topic
    racks_unknown : int32[...], the partitions of which brokers without a rack decide whether they are rack-safe
    in_sync_known : bool[partitions], those of which it is given which replicas are in sync
    """

    brokers: Brokers
    placements: Placements
    leaders: Int32s
    in_sync: Int64s
    findings: list[CheckFinding]
    racks_unknown: Int32s
    in_sync_known: Bools

    @property
    def at_risk(self) -> bool:
        """Is there an error or a warning?"""
        return any(SEVERITIES[finding.rule] != "note" for finding in self.findings)

    def partitions(self, rule: str) -> Int32s:
        """int32[...], those with a finding of this rule, ascending."""
        found = [each.partitions for each in self.findings if each.rule == rule]
        return np.sort(np.concatenate([np.empty(0, np.int32), *found]))


class _Rule(NamedTuple):
    """Where a rule is broken.

    which : bool[partitions]
    brokers : bool[replicas], those that a finding names
    numbers : int64[partitions] each, what the text is made of; a finding has equal ones
    """

    which: Bools
    brokers: Bools
    text: Callable[..., str]
    numbers: tuple[Int64s, ...] = ()


def check_placements(brokers: Brokers, placements: Placements, in_sync_known: Bools) -> PlacementCheck:
    """The state of a cluster. in_sync_known : see PlacementCheck"""
    serves = placements.in_sync_now(brokers)
    leaders = leaders_now(brokers, placements)
    in_sync = np.bincount(placements.replicas.row_of_each_value()[serves], minlength=len(placements))
    known, unknown, possible = _racks(brokers, placements)
    unsafe, rackless = known + unknown < possible, bool((brokers.cluster.racks == NONE).any())
    rules = _rules(placements, leaders, serves, in_sync, in_sync_known) | {
        "rack-unsafe": _Rule(unsafe, np.ones(len(serves), np.bool_), _on_racks, (known, unknown, possible))
    }
    findings = list[CheckFinding]()
    for name in SEVERITIES:
        rule = rules[name]
        named = placements.replicas.where(rule.brokers)
        for partitions in _alike(placements, rule):
            check_time()
            detail = rule.text(*(int(number[partitions[0]]) for number in rule.numbers))
            findings.append(CheckFinding(name, partitions, distinct(taken(named, partitions).values), detail))
    lengths = placements.replicas.lengths()
    doubtful = np.flatnonzero(~unsafe & (known < lengths) & (lengths > 1) & rackless).astype(np.int32)
    return PlacementCheck(brokers, placements, leaders, in_sync, findings, doubtful, in_sync_known)


def _rules(placements: Placements, leaders: Int32s, serves: Bools, in_sync: Int64s, in_sync_known: Bools) -> dict[str, _Rule]:
    """All rules but that of racks. leaders, in_sync, in_sync_known : see PlacementCheck; serves : bool[replicas]"""
    replicas, count = placements.replicas, len(placements)
    lengths, led, everywhere = replicas.lengths().astype(np.int64), leaders != NONE, np.ones(len(serves), np.bool_)
    given = np.zeros(count, np.int64) if placements.min_in_sync is None else placements.min_in_sync.astype(np.int64)
    least = np.maximum(given, DEFAULT_MIN_IN_SYNC)
    usual = int(np.bincount(lengths).argmax()) if count else 0
    leads = replicas.values == leaders[replicas.row_of_each_value()]
    preferred_known, known = placements.leaders is not None, in_sync_known.astype(np.int64)
    return {
        "unavailable": _Rule(~led, everywhere, lambda: "no leader"),
        "under-min-isr": _Rule(led & (in_sync < least), serves, _min_in_sync, (in_sync, known, least)),
        "under-replicated": _Rule(in_sync < lengths, ~serves, _in_sync, (in_sync, known, lengths)),
        "at-min-isr": _Rule(led & (in_sync == least), serves, _min_in_sync, (in_sync, known, least)),
        "preferred-leader": _Rule(
            led & (leaders != replicas.firsts()) & preferred_known, leads, lambda: "the preferred leader does not lead"
        ),
        "replication-factor": _Rule(
            lengths != usual, everywhere, lambda has: f"{counted(has, 'replica')}; most partitions have {usual:,}", (lengths,)
        ),
    }


def _min_in_sync(has: int, known: int, least: int) -> str:
    return f"{'' if known else 'at most '}{has:,} in sync; min.insync.replicas is {least:,}"


def _in_sync(has: int, known: int, replicas: int) -> str:
    return f"{'' if known else 'at most '}{has:,} of {counted(replicas, 'replica')} in sync"


def _on_racks(known: int, unknown: int, possible: int) -> str:
    return f"on {'at most ' * (unknown > 0)}{counted(known + unknown, 'rack')}; {possible:,} are possible"


def _racks(brokers: Brokers, placements: Placements) -> tuple[Int64s, Int64s, Int64s]:
    """int64[partitions] each: the racks of its replicas, the replicas whose rack is not known, the racks that it could be on."""
    replicas, racks = placements.replicas, brokers.cluster.racks
    known = racks[replicas.values] != NONE
    on = distinct_in_rows(replicas, racks[replicas.values], known)
    unknown = np.bincount(replicas.row_of_each_value()[~known], minlength=len(placements))
    return on, unknown, np.minimum(replicas.lengths(), len(np.unique(racks[racks != NONE]))).astype(np.int64)


def _alike(placements: Placements, rule: _Rule) -> Iterator[Int32s]:
    """Where the rule is broken, the partitions of one topic with equal numbers: int32[...] each, by topic and id."""
    partitions = np.flatnonzero(rule.which).astype(np.int32)
    labels = np.stack([placements.topics[partitions], *(number[partitions] for number in rule.numbers)])
    order = np.lexsort((placements.partition_ids[partitions], *labels[::-1]))
    bounds = np.flatnonzero((np.diff(labels[:, order]) != 0).any(axis=0)) + 1
    return (each for each in np.split(partitions[order], bounds) if len(each))
