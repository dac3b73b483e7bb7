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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from service.core.budget import check_time
from service.core.measures import distinct_in_rows
from service.core.model import NONE, Bools, Int32s, Int64s, distinct
from service.core.printable import all_of, counted
from service.core.ragged import taken
from service.planner.reassignments.leaders import leaders_now
from service.planner.reassignments.model import GIVE_RACKS, Brokers, Placements, broker_names

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
    in_sync = placements.replicas.count(serves)
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
    unknown = replicas.count(~known)
    return on, unknown, np.minimum(replicas.lengths(), len(np.unique(racks[racks != NONE]))).astype(np.int64)


def _alike(placements: Placements, rule: _Rule) -> Iterator[Int32s]:
    """Where the rule is broken, the partitions of one topic with equal numbers: int32[...] each, by topic and id."""
    partitions = np.flatnonzero(rule.which).astype(np.int32)
    labels = np.stack([placements.topics[partitions], *(number[partitions] for number in rule.numbers)])
    order = np.lexsort((placements.partition_ids[partitions], *labels[::-1]))
    bounds = np.flatnonzero((np.diff(labels[:, order]) != 0).any(axis=0)) + 1
    return (each for each in np.split(partitions[order], bounds) if len(each))


# The state of a cluster in sentences.

TOPICS: Final = 3
"""Topics that a sentence names at most."""

IDS: Final = 5
"""Partitions that it names of each at most."""

AT_RISK: Final = {
    "unavailable": "{of} {have} no leader: {names}",
    "under-min-isr": "{of} {have} fewer replicas in sync than min.insync.replicas, so writes with acks=all fail: {names}",
    "under-replicated": "{of} {are} under-replicated, not in sync on {brokers}: {names}",
    "at-min-isr": "{of} {have} {just} min.insync.replicas in sync, so one more failure stops writes with acks=all: {names}",
    "rack-unsafe": "{of} {are} not rack-safe: {names}",
}


def conclusion(check: PlacementCheck) -> str:
    """What is at risk, or that nothing is of what was looked at; and what is not known."""
    placements, total = check.placements, counted(len(check.placements), "partition")
    if not len(placements):
        return "No partition was given, so nothing was checked."
    sentences, unknown = list[str](), list(_unknown(check))
    for rule, text in AT_RISK.items():
        partitions = check.partitions(rule)
        if len(partitions):
            are, have = ("is", "has") if len(partitions) == 1 else ("are", "have")
            if rule != "unavailable" and len(check.partitions("unavailable")):
                have += " a leader and"  # partitions without one are not counted again
            lacking = np.unique(np.concatenate([each.brokers for each in check.findings if each.rule == rule]))
            brokers = check.brokers.names(lacking)
            just = "just" if check.in_sync_known[partitions].all() else "at most"
            names, of = partition_names(placements, partitions), f"{len(partitions):,} of {total}"
            sentences.append(text.format(of=of, are=are, have=have, just=just, names=names, brokers=brokers))
    no_racks = bool(len(check.racks_unknown)) and not check.brokers.cluster.rack_ids
    if not sentences:
        nothing = "Nothing is" if not unknown and not no_racks else "Nothing is known to be"
        sentences.append(f"{nothing} at risk in {total}{_safe(check)}")
    if no_racks:
        sentences[0] += f"; racks are not known ({GIVE_RACKS})"
    return " ".join(f"{sentence}." for sentence in (*sentences, *unknown))


def _safe(check: PlacementCheck) -> str:
    """What each partition has, as far as that was looked at of all."""
    has = list[str]()
    if check.in_sync_known.all():
        default = f" ({DEFAULT_MIN_IN_SYNC}, Kafka's default, where it is not given)" * bool(_min_unknown(check).any())
        has += ["has a leader", "all its replicas in sync", f"more of them than min.insync.replicas{default}"]
    if check.brokers.cluster.rack_ids and not len(check.racks_unknown):
        has += ["is on as many racks as its replicas allow"]
    return f": {'each' if len(check.placements) > 1 else 'it'} {all_of(has, len(has))}" if has else ""


def _unknown(check: PlacementCheck) -> Iterator[str]:
    """What is not known, but for the racks of all brokers."""
    unknown = int((~check.in_sync_known).sum())
    if unknown:
        of = "" if unknown == len(check.placements) else f" of {counted(unknown, 'partition')}"
        yield f"Which replicas{of} are in sync is not known"
    doubtful, cluster = len(check.racks_unknown), check.brokers.cluster
    if doubtful and cluster.rack_ids:
        of = f"{counted(doubtful, 'partition')} {'is' if doubtful == 1 else 'are'} rack-safe is not known"
        rackless = cluster.broker_ids[cluster.racks == NONE].tolist()
        racks = "the rack of {} is" if len(rackless) == 1 else "the racks of {} are"
        yield f"Whether {of}: {racks.format(broker_names(rackless))} not known either"
    if check.placements.in_progress is not None and check.placements.in_progress.any():
        running = np.flatnonzero(check.placements.in_progress).astype(np.int32)
        are = f"{counted(len(running), 'reassignment')} {'is' if len(running) == 1 else 'are'} in progress"
        yield f"{are}, which this takes as done: {partition_names(check.placements, running)}"


def warnings(check: PlacementCheck) -> Iterator[str]:
    """What was assumed, and what is unusual."""
    placements, cluster = check.placements, check.brokers.cluster
    unknown = _min_unknown(check)
    if unknown.any():
        topics = counted(len(np.unique(placements.topics[unknown])), "topic")
        more = int((check.in_sync[unknown] == DEFAULT_MIN_IN_SYNC + 1).sum())
        if_two = f"; if it is 2, one more failure stops writes with acks=all to {counted(more, 'more partition')}" * bool(more)
        yield f"The min.insync.replicas of {topics} is not given: {DEFAULT_MIN_IN_SYNC}, Kafka's default, is assumed{if_two}."
    if len(cluster.rack_ids) == 1 and (cluster.racks != NONE).all():
        yield f"All brokers are on rack {cluster.rack_ids[0]}, so no partition outlasts it."
    others = check.partitions("preferred-leader")
    if len(others):
        of = f"{len(others):,} of {counted(len(placements), 'partition')} {'is' if len(others) == 1 else 'are'}"
        yield f"{of} not led by the preferred leader: {partition_names(placements, others)}."
    lengths = placements.replicas.lengths()
    if len(np.unique(lengths)) > 1:
        factors = [f"{counted(count, 'partition')} with {counted(factor, 'replica')}" for factor, count in _counts(lengths)]
        yield f"Replication factors differ: {all_of(factors, TOPICS)}."


def partition_names(placements: Placements, partitions: Int32s) -> str:
    """``audit-log 2 and 5, returns 0``. partitions : int32[...], by topic"""
    topics, first = np.unique(placements.topics[partitions], return_index=True)
    parts = [
        f"{placements.topic_names[topic]} {all_of(placements.partition_ids[rows].tolist(), IDS)}"
        for topic, rows in zip(topics[:TOPICS].tolist(), np.split(partitions, first[1:])[:TOPICS], strict=True)
    ]
    if len(topics) > TOPICS:
        more = counted(len(partitions) - int(first[TOPICS]), "partition")
        parts.append(f"and {more} of {counted(len(topics) - TOPICS, 'topic')}")
    return ", ".join(parts)


def _min_unknown(check: PlacementCheck) -> Bools:
    """bool[partitions], those whose min.insync.replicas is not given."""
    given = check.placements.min_in_sync
    return np.ones(len(check.placements), np.bool_) if given is None else given == 0


def _counts(values: Int32s) -> list[tuple[int, int]]:
    """Each value and how often it occurs, the most frequent first."""
    each, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return list(zip(each[order].tolist(), counts[order].tolist(), strict=True))
