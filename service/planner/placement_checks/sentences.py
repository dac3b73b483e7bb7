"""The state of a cluster in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.model import NONE
from service.core.printable import all_of, counted
from service.planner.placement_checks.check import DEFAULT_MIN_IN_SYNC
from service.planner.racks import GIVE_RACKS
from service.planner.reassignments.model import broker_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.core.model import Bools, Int32s
    from service.planner.placement_checks.check import PlacementCheck
    from service.planner.reassignments.model import Placements

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
            lacking = np.unique(np.concatenate([each.brokers for each in check.findings if each.rule == rule]))
            brokers = broker_names(check.brokers.cluster.broker_ids[lacking].tolist())
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
