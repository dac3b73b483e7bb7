"""What is wrong with a reassignment that somebody has written, against the cluster that it is for.

======================= ======== =======================================================================================
rule                    severity meaning
======================= ======== =======================================================================================
unknown-topic           error    the cluster has no such topic
unknown-partition       error    the topic has no such partition
duplicate-partition     error    a partition stands in the reassignment twice
duplicate-replica       error    a broker stands in a partition twice
unknown-broker          error    the cluster has no such broker
fenced-broker           error    a replica comes to a broker that is fenced or draining; a warning if it is there already
cordoned-broker         error    a replica comes to a broker that is cordoned
unavailable-leader      error    the preferred leader is fenced
rack-rule               error    a partition is on fewer racks than now; a warning if it could be on more, but is on as many
replication-factor      warning  a partition gets another number of replicas than it has
no-op                   warning  the partition has these replicas in this order already
disk                    error    a broker that gets bytes would hold more than it may; only looked for where sizes and capacities
                                 are given
skew                    warning  replicas, or leaders, are less even than now over the brokers that are not emptied, and
                                 a broker has at least one more than the mean
avoidable-moves         note     a plan with fewer copies empties the same brokers and makes the cluster as even
======================= ======== =======================================================================================

The last three are of the whole reassignment, and only looked for if no row has an error.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from service.core.errors import MAX_ERRORS, Infeasible
from service.core.measures import COUNTS, distinct_in_rows, load_of
from service.core.model import NONE, Bools, Int32s, Ragged
from service.core.printable import all_of, counted
from service.core.ragged import changed, repeats, taken
from service.planner.reassignments.model import NO_LIMIT, RACKS_UNKNOWN, Brokers, Goal, Placements, broker_names, bytes_on
from service.planner.reassignments.plan import plan
from service.planner.reassignments.resources.loads import placed_loads
from service.planner.reassignments.sets import Permits, added, copied, reach

SEVERITIES: Final = ("error", "warning", "note")
RULES: Final = {
    "unknown-topic": "The topic must exist.",
    "unknown-partition": "The partition must exist.",
    "duplicate-partition": "The reassignment must list each partition only once.",
    "duplicate-replica": "The replicas of a partition must be on different brokers.",
    "unknown-broker": "The broker must exist.",
    "fenced-broker": "Replicas should not move to brokers that are fenced or draining.",
    "cordoned-broker": "No replica may move to a cordoned broker.",
    "unavailable-leader": "The preferred leader must not be fenced.",
    "rack-rule": "A partition should be on as many racks as possible.",
    "replication-factor": "The replication factor should not change.",
    "no-op": "A partition that stays as it is need not be listed.",
    "disk": "A broker should not hold more bytes than it may.",
    "skew": "Replicas and leaders should not become less even.",
    "avoidable-moves": "No more replicas should be copied than an equally even cluster takes.",
}


@dataclass(frozen=True)
class Reassigned:
    """The rows of a reassignment.

    topic_names : the name of each row's topic
    partition_ids : int32[rows]; partitions : int32[rows], indices of the placements, NONE for one that the cluster does not have
    known_topics : bool[rows]
    broker_ids : int32[replicas]; replicas : Ragged row → brokers, NONE for one that the cluster does not have
    """

    topic_names: list[str]
    partition_ids: Int32s
    partitions: Int32s
    known_topics: Bools
    broker_ids: Int32s
    replicas: Ragged


@dataclass(frozen=True)
class LintFinding:
    """Something to mend.

    row : of the reassignment, None for all of it; replica : index in its replicas, None for all of them
    text : what is wrong, the same where the same is wrong
    topic_name, partition_id : of the row; broker_ids : the broker at the replica, or all of the row
    """

    severity: str
    rule: str
    row: int | None
    replica: int | None
    text: str
    topic_name: str | None = None
    partition_id: int | None = None
    broker_ids: tuple[int, ...] = ()

    @property
    def detail(self) -> str:
        """A sentence."""
        on = f" on {broker_names(list(self.broker_ids))}" if self.replica is None else ""
        where = "" if self.row is None else f"{self.topic_name}-{self.partition_id}{on}: "
        return f"{where}{self.text}."


@dataclass(frozen=True)
class Lint:
    """The findings by row, at most MAX_ERRORS of one rule and severity.

    counts : severity → how many there are; row_errors : is one of them an error of a row?
    """

    findings: list[LintFinding]
    counts: dict[str, int]
    row_errors: bool


def lint(brokers: Brokers, placements: Placements, reassigned: Reassigned) -> Lint:
    """Everything that is wrong."""
    findings = _Findings(reassigned)
    _lint_rows(brokers, placements, reassigned, findings)
    row_errors = findings.counts["error"] > 0
    if not row_errors:
        _lint_cluster(brokers, placements, reassigned, findings)
    listed = sorted(findings.listed, key=lambda finding: (finding.row is None, finding.row or 0, finding.replica or 0))
    return Lint(listed, findings.counts, row_errors)


def conclusion(found: Lint, brokers: Brokers, placements: Placements, reassigned: Reassigned, *, racks_accepted: bool) -> str:
    """How much was found, and what was not looked for. racks_accepted : does the question say that racks are not known?"""
    counts = [counted(count, severity) for severity, count in found.counts.items() if count]
    of = f"a reassignment of {counted(len(reassigned.partition_ids), 'partition')}"
    text = f"{all_of(counts, len(counts)) if counts else 'No problem was found'} in {of}"
    missing = []
    if not brokers.cluster.rack_ids and reassigned.replicas.lengths().max(initial=1) > 1:
        missing.append("racks")
        text += "" if racks_accepted else f"; {RACKS_UNKNOWN}"
    if found.row_errors:
        missing.append("disks, evenness and copies (not with errors of partitions)")
    else:
        unlimited = (brokers.capacity_bytes == NO_LIMIT) & brokers.listed
        if placements.sizes is None or unlimited[brokers.listed].all():
            missing.append("disks (partition_bytes or capacity_bytes are not known)")
        elif unlimited.any():
            missing.append(f"disks of {brokers.names(unlimited)} (capacity_bytes not known)")
    missing.append("which replicas are in sync")
    return f"{text}. Not checked: {all_of(missing, len(missing))}."


class _Findings:
    """Collects findings, and counts those that are not listed."""

    def __init__(self, reassigned: Reassigned) -> None:
        self.reassigned = reassigned
        self.listed: list[LintFinding] = []
        self.counts = dict.fromkeys(SEVERITIES, 0)

    def add(self, severity: str, rule: str, which: Bools, text: str | Callable[[int], str]) -> None:
        """One finding for each of these rows. which : bool[rows]; text : of all, or of a row"""
        rows = np.flatnonzero(which)
        self.counts[severity] += len(rows)
        for row in rows[:MAX_ERRORS].tolist():
            self.listed.append(self._finding(severity, rule, row, None, text if isinstance(text, str) else text(row)))

    def add_overall(self, severity: str, rule: str, text: str) -> None:
        """A finding about the whole reassignment."""
        self.counts[severity] += 1
        self.listed.append(LintFinding(severity, rule, None, None, text))

    def add_replicas(self, severity: str, rule: str, which: Bools, text: str) -> None:
        """One finding for each of these replicas. which : bool[replicas]; text : with the broker's id for {}"""
        offsets, broker_ids, values = self.reassigned.replicas.offsets, self.reassigned.broker_ids, np.flatnonzero(which)
        self.counts[severity] += len(values)
        for value in values[:MAX_ERRORS].tolist():
            row = int(np.searchsorted(offsets, value, "right")) - 1
            self.listed.append(self._finding(severity, rule, row, value - int(offsets[row]), text.format(broker_ids[value])))

    def _finding(self, severity: str, rule: str, row: int, replica: int | None, text: str) -> LintFinding:
        reassigned, (start, stop) = self.reassigned, self.reassigned.replicas.offsets[row : row + 2].tolist()
        which = slice(start, stop) if replica is None else slice(start + replica, start + replica + 1)
        ids = tuple(reassigned.broker_ids[which].tolist())
        name, partition_id = reassigned.topic_names[row], int(reassigned.partition_ids[row])
        return LintFinding(severity, rule, row, replica, text, name, partition_id, ids)


def _lint_rows(brokers: Brokers, placements: Placements, reassigned: Reassigned, findings: _Findings) -> None:
    """The rules of single rows."""
    names, ids, replicas = reassigned.topic_names, reassigned.partition_ids, reassigned.replicas
    known = reassigned.partitions != NONE
    findings.add("error", "unknown-topic", ~reassigned.known_topics, "there is no such topic")
    findings.add("error", "unknown-partition", reassigned.known_topics & ~known, "the topic has no such partition")
    twice = repeats(np.unique(np.array(names, object), return_inverse=True)[1], ids)
    findings.add("error", "duplicate-partition", twice, "the partition is listed twice")
    row_of = replicas.row_of_each_value()
    twice = repeats(row_of, reassigned.broker_ids)
    findings.add_replicas("error", "duplicate-replica", twice, "broker {} is listed twice")
    exists = replicas.values != NONE
    exists[exists] = brokers.listed[replicas.values[exists]]
    findings.add_replicas("error", "unknown-broker", ~exists, "the cluster has no broker {}")
    partitions = np.where(known, reassigned.partitions, 0).astype(np.int32)
    now = taken(placements.replicas, partitions) if len(placements) else replicas
    was_there = ~added(now, replicas) & known[row_of]
    _lint_brokers(brokers, replicas, exists, was_there, findings)
    if not len(placements):
        return
    racks = reach(Permits.of(brokers, placements), partitions, (now.offsets, now.values), replicas.lengths()).racks
    _lint_changes(brokers, reassigned, now, exists, racks, findings)


def _lint_brokers(brokers: Brokers, replicas: Ragged, exists: Bools, was_there: Bools, findings: _Findings) -> None:
    """The rules about brokers that should not have replicas.

    replicas : Ragged row → brokers
    exists, was_there : bool[replicas], whether the broker is one of the cluster, and whether it has the replica now
    """
    fenced = exists & brokers.cluster.fenced[replicas.values]
    draining = exists & brokers.draining[replicas.values] & ~fenced
    for which, state in ((fenced, "fenced"), (draining, "draining")):
        findings.add_replicas("error", "fenced-broker", which & ~was_there, f"broker {{}} is {state}, and gets a replica")
        findings.add_replicas("warning", "fenced-broker", which & was_there, f"broker {{}} is {state}, and keeps a replica")
    cordoned = exists & brokers.cordoned[replicas.values] & ~fenced & ~draining & ~was_there
    findings.add_replicas("error", "cordoned-broker", cordoned, "broker {} is cordoned, and gets a replica")
    first = np.zeros(len(fenced), np.bool_)
    first[replicas.offsets[:-1]] = True
    findings.add_replicas("error", "unavailable-leader", fenced & first, "broker {} is fenced and cannot lead")


def _lint_changes(
    brokers: Brokers, reassigned: Reassigned, now: Ragged, exists: Bools, racks_usable: Int32s, findings: _Findings
) -> None:
    """The rules about what changes.

    now : Ragged row → brokers, the current replicas; racks_usable : int32[rows], the racks that each may be on; both of another
        partition where the cluster does not have it
    exists : bool[replicas], as of ``_lint_brokers``
    """
    known = reassigned.partitions != NONE
    replicas = reassigned.replicas
    lengths, lengths_now = replicas.lengths(), now.lengths()
    findings.add(
        "warning",
        "replication-factor",
        known & (lengths != lengths_now),
        lambda row: f"{counted(int(lengths[row]), 'replica')} instead of {lengths_now[row]:,}",
    )
    unchanged = known & ~changed(now, replicas)
    findings.add("warning", "no-op", unchanged, "the partition has these replicas in this order already")
    racks, racks_now = (  # a broker that is gone is on no rack
        distinct_in_rows(rows, brokers.racks()[rows.values], there)
        for rows, there in ((replicas, exists), (now, brokers.listed[now.values]))
    )
    possible = np.minimum(lengths, racks_usable)
    usable = replicas.count(~exists) == 0
    crowded = known & usable & (racks < possible)
    worse = racks < np.minimum(racks_now, possible)

    def detail(row: int) -> str:
        return f"{racks[row]:,} of {counted(int(possible[row]), 'possible rack')}, {racks_now[row]:,} now"

    findings.add("error", "rack-rule", crowded & worse, detail)
    findings.add("warning", "rack-rule", crowded & ~worse, detail)


def _lint_cluster(brokers: Brokers, placements: Placements, reassigned: Reassigned, findings: _Findings) -> None:
    """The rules about the cluster as a whole, for a reassignment without errors."""
    after = _after(placements, reassigned)
    had, has = (load_of(brokers.cluster, rows).replicas > 0 for rows in (placements.replicas, after))
    emptied = had & ~has  # as when a broker is drained or replaced
    _lint_disks(brokers, placements, after, findings)
    drained = replace(brokers, draining=brokers.draining | emptied)
    loads = placed_loads(drained, placements, after)
    for measure in COUNTS:
        before, then = (load.spread(measure) for load in loads)
        if then.skew > before.skew and then.max >= then.mean + 1:  # else no plan with as many replicas has a smaller maximum
            counts = loads[1].totals[measure]
            most = int(np.argmax(np.where(loads[1].counted, counts, NONE)))
            what = "Preferred leaders" if measure == "leaders" else "Replicas"
            detail = f"{what} are less even over the brokers: skew {before.skew:.3f} becomes {then.skew:.3f}; "
            detail += f"broker {brokers.cluster.broker_ids[most]} has {counts[most]:,} of {counts.sum():,}"
            findings.add_overall("warning", "skew", detail)
    copies = int(copied(placements, after).sum())
    fewer = _fewest_copies(drained, placements, after, copies)
    if fewer < copies:
        ids = brokers.cluster.broker_ids[emptied].tolist()
        empty = f"to empty {broker_names(ids)} and " if ids else ""
        even = f"The reassignment copies {counted(copies, 'replica')}; {empty}to make the cluster as even, {fewer:,} are enough"
        findings.add_overall("note", "avoidable-moves", f"{even} (POST /v1/reassignments)")


def _lint_disks(brokers: Brokers, placements: Placements, after: Ragged, findings: _Findings) -> None:
    """The bytes that brokers may hold, where both are known."""
    if placements.sizes is None:
        return
    before, then = (bytes_on(rows, placements.sizes, len(brokers)) for rows in (placements.replicas, after))
    for broker in np.flatnonzero((then > before) & (then > brokers.capacity_bytes)).tolist():
        name = broker_names([int(brokers.cluster.broker_ids[broker])]).capitalize()
        holds = f"{name} would hold {counted(int(then[broker]), 'byte')} of replicas, {before[broker]:,} now,"
        findings.add_overall("error", "disk", f"{holds} and may hold {brokers.capacity_bytes[broker]:,}")


def _fewest_copies(brokers: Brokers, placements: Placements, after: Ragged, copies: int) -> int:
    """Copies of the best plan that is found to a cluster as even as ``after``, at most ``copies``.

    brokers : those that ``after`` empties are draining, so that the plan empties them too
    """
    if copies == 0:
        return 0
    reached = brokers.unevenness(after)
    factors = replace(placements, replication_factors=after.lengths().astype(np.int32), sizes=None, rates=None)
    for objective in ("fewest-moves", "even"):
        try:
            planned = plan(brokers, factors, Goal(objective, leaders="keep"))
        except Infeasible:
            return copies
        if brokers.unevenness(planned.replicas) <= reached:
            return min(copies, int(copied(placements, planned.replicas).sum()))
    return copies


def _after(placements: Placements, reassigned: Reassigned) -> Ragged:
    """Ragged partition → brokers when the reassignment is complete."""
    row_of = np.full(len(placements), NONE, np.int32)
    row_of[reassigned.partitions] = np.arange(len(reassigned.partitions), dtype=np.int32)
    parts = (placements.replicas, reassigned.replicas)
    both = Ragged.of_lengths(np.concatenate([rows.lengths() for rows in parts]), np.concatenate([rows.values for rows in parts]))
    here = np.arange(len(placements), dtype=np.int32)
    return taken(both, np.where(row_of == NONE, here, len(placements) + row_of).astype(np.int32))
