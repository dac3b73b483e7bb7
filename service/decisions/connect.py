"""A group of Connect workers → what its leader assigns, rebalance by rebalance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Self

import numpy as np

from service.clients.connect import (
    PROTOCOLS,
    TASK_BITS,
    TASK_ID,
    ConnectAssignor,
    LeaderState,
    Reassignment,
    Round,
    Work,
    connector_of,
    serialized,
)
from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.jvm.hashing import java_hash_codes
from service.core.measures import spread
from service.core.model import java_order
from service.core.printable import counted
from service.core.registry import released
from service.decisions.rows import duplicates_in_rows, faults_of, longest_text, raise_all

Row = Mapping[str, Any]

WORKER_BYTES: Final = 2_000
"""What a rebalance takes for each worker besides its items, 1,800 measured."""

ITEM_BYTES: Final = 800
"""Most memory for each connector, task and worker of a rebalance, with its part of the answer but the names. Measured: 750 in the
first rebalance, 270 in later ones."""

MAX_DELAY_MS: Final = 300_000
"""The default of ``scheduled.rebalance.max.delay.ms``."""

INT32: Final = 2**31


@dataclass(frozen=True)
class ConnectQuestion:
    """Rebalances of a Connect group.

    rounds : rows (see ``ConnectRoundSchema``), each well-formed, at least one; what a row leaves out is as in the round before it
    assignor, kafka_version : the protocol of the group, and the release; default: sessioned, and the newest
    leader_id : who leads, unless a round says otherwise; default: its first worker
    scheduled_rebalance_max_delay_ms : the leader's setting
    leader_states : what leaders remember before the first round (see ``LeaderStateSchema``); others remember nothing
    follow_ups : whether to add the rebalances that revocations and delays cause
    group_id : what the group is called in metrics
    explain : whether to tell how the leader decided
    """

    rounds: Sequence[Row]
    assignor: str | None = None
    kafka_version: str | None = None
    leader_id: str | None = None
    scheduled_rebalance_max_delay_ms: int = MAX_DELAY_MS
    leader_states: Sequence[Row] = ()
    follow_ups: bool = False
    group_id: str | None = None
    explain: bool = False
    protocol: str = "connect"


@dataclass(frozen=True)
class ConnectorNames:
    """The connectors of a question in Java's order. hashes : int32[connectors], String.hashCode() of each"""

    connectors: tuple[str, ...]
    indices: dict[str, int]
    hashes: np.ndarray[Any, Any]

    @classmethod
    def of(cls, names: set[str]) -> Self:
        """These names."""
        unordered = tuple(names)
        connectors = tuple(unordered[i] for i in java_order(unordered))
        return cls(connectors, {name: i for i, name in enumerate(connectors)}, java_hash_codes(connectors))

    def work(self, row: Row) -> Work:
        """The ``connectors`` and ``tasks`` of a row."""
        connectors = [self.indices[name] for name in row.get("connectors") or ()]
        tasks = [
            self.indices[tasks["connector_name"]] << TASK_BITS | task
            for tasks in row.get("tasks") or ()
            for task in tasks["task_ids"]
        ]
        return Work.of(connectors, tasks)

    def row(self, work: Work) -> dict[str, Any]:
        """``{"connectors", "tasks"}``, in the order of the work."""
        return {
            "connectors": [self.connectors[connector] for connector in work.connectors],
            "tasks": [
                {"connector_name": self.connectors[connector], "task_ids": [task & TASK_ID for task in tasks]}
                for connector, tasks in groupby(work.tasks, connector_of)
            ],
        }

    def configured(self, rows: Sequence[Row]) -> Work:
        """The connectors and tasks of a round's ``connectors``."""
        counts = {self.indices[row["connector_name"]]: row["tasks_count"] for row in rows}
        ascending = sorted(counts)
        return Work.of(ascending, (name << TASK_BITS | task for name in ascending for task in range(counts[name])))


@dataclass(frozen=True)
class Rebalanced:
    """One rebalance.

    event : what the question calls it, or why it follows; None: neither
    held : member_id → what the worker runs afterwards, in its own order
    unassigned : what no worker runs or starts, though it is configured
    """

    event: str | None
    group: Round
    leader_id: str
    answer: Reassignment
    held: dict[str, Work]
    unassigned: Work

    @property
    def revokes(self) -> int:
        """How many connectors and tasks workers must stop."""
        return sum(len(work.connectors) + len(work.tasks) for work in self.answer.revoked.values())


@dataclass(frozen=True)
class ConnectAnswer:
    """The rebalances; leader_states : by member_id, what leaders remember afterwards."""

    question: ConnectQuestion
    assignor: ConnectAssignor
    kafka_version: str
    names: ConnectorNames
    rounds: list[Rebalanced]
    leader_states: dict[str, LeaderState]

    def assignments(self, each: Rebalanced) -> list[Row]:
        """What each worker is to start and to stop in a rebalance; workers in request order."""
        rows: list[Row] = []
        for member in each.group.workers:
            row = {"member_id": member, **self.names.row(each.answer.assigned[member].ascending())}
            if self.assignor.is_cooperative:
                revoked = self.names.row(each.answer.revoked[member].ascending())
                row |= {f"revoked_{kind}": value for kind, value in revoked.items()} | {"delay_ms": each.answer.delay_ms}
            rows.append(row)
        return rows

    @property
    def conclusion(self) -> str:
        """What workers run after the last rebalance, what was stopped on the way, and what is to follow."""
        last, stopped = self.rounds[-1], sum(each.revokes for each in self.rounds)
        tasks = [len(work.tasks) for work in last.held.values()]
        most = counted(max(tasks), "task")
        many = most if min(tasks) == max(tasks) else f"{min(tasks):,} to {most}"
        after, workers = counted(len(self.rounds), "rebalance"), counted(len(tasks), "worker")
        parts = [f"After {after} {workers} {'run' if len(tasks) > 1 else 'runs'} {many}{' each' * (len(tasks) > 1)}"]
        idle = len(last.unassigned.connectors) + len(last.unassigned.tasks)
        configured = last.group.configured
        gone = len({each for work in last.held.values() for each in work.connectors} - {*configured.connectors})
        gone += len({each for work in last.held.values() for each in work.tasks} - {*configured.tasks})
        if len(self.rounds) > 1 and not self.assignor.is_cooperative:
            parts.append("each rebalance stops all that runs")
        for count, what in (
            (stopped, "stopped on the way"),
            (idle, "run by no worker"),
            (gone, "run though no longer configured"),
        ):
            if count:
                parts.append(f"{counted(count, 'connector or task is', 'connectors and tasks are')} {what}")
        if last.revokes or last.answer.delay_ms:
            parts.append("workers join again " + (f"after {last.answer.delay_ms / 1000:,g} s" if not last.revokes else "at once"))
        return f"{'; '.join(parts)}."

    @property
    def figures(self) -> Figures:
        """See Figures."""
        last = self.rounds[-1]
        loads = np.array([len(work.tasks) for work in last.held.values()], np.int64)
        items = {"partitions": len(last.group.configured.tasks), "members": len(loads)}
        revoked = sum(each.revokes for each in self.rounds)
        return Figures(f"connect-{self.assignor.name}", items, spread(loads).skew, self.question.group_id, revoked)


def answer(question: ConnectQuestion, budget: Budget) -> ConnectAnswer:
    """Play the rebalances. Raises InvalidQuestion (all faults at once), and what the budget raises."""
    raise_all(_faults(question))
    assignor, version = _strategy(question)
    group = _ConnectGroup(question, assignor, budget)
    for i, row in enumerate(question.rounds):
        group.rebalance(row)
        if question.follow_ups:
            later = question.rounds[i + 1].get("at_ms") if i + 1 < len(question.rounds) else None
            group.follow_up(before_ms=later)
    return ConnectAnswer(question, assignor, version, group.names, group.played, group.states)


def _strategy(question: ConnectQuestion) -> tuple[ConnectAssignor, str]:
    """The protocol, and the release. Raises UnknownStrategy, and InvalidQuestion for a release that was not compared."""
    return released(PROTOCOLS, question.assignor, question.kafka_version)


class _ConnectGroup:
    """A group as it goes through the rebalances.

    states : what each leader remembers; held, completed : of each worker ever seen, what it runs, and its last generation
    size, item_bytes : the items of all rebalances so far, and the memory that each takes
    """

    def __init__(self, question: ConnectQuestion, assignor: ConnectAssignor, budget: Budget) -> None:
        self.question, self.assignor, self.budget = question, assignor, budget
        self.names = ConnectorNames.of(set(_names(question)))
        self.states = {row["leader_id"]: _read_state(row, self.names) for row in question.leader_states}
        self.held: dict[str, Work] = {}
        self.completed = {leader: state.previous_generation_id for leader, state in self.states.items()}
        self.played: list[Rebalanced] = []
        self.connectors: Sequence[Row] = ()
        self.size = 0
        workers = longest_text(worker["member_id"] for row in question.rounds for worker in row["workers"])
        self.item_bytes = ITEM_BYTES + workers + 2 * longest_text(self.names.connectors)  # of what it gets and of what it runs

    def rebalance(self, row: Row) -> None:
        """One rebalance. row : a round"""
        self.connectors = self.connectors if row.get("connectors") is None else row["connectors"]
        workers: Sequence[Row] = row["workers"]
        self._reserve(workers)
        runs = {worker["member_id"]: self._work(worker) for worker in workers}
        leader = row.get("leader_id") or self.question.leader_id or workers[0]["member_id"]
        before = self.played[-1].group if self.played else None
        generation = row.get("generation_id")
        if generation is None:
            last = before.generation_id if before else self.completed.get(leader, 0)
            generation = (last + 1 + INT32) % (2 * INT32) - INT32  # the next Java int
        completed = row.get("completed_generation_id")
        now = row.get("at_ms")
        group = Round(
            now_ms=now if now is not None else before.now_ms if before else 0,
            generation_id=generation,
            completed_generation_id=self.completed.get(leader, -1) if completed is None else completed,
            configured=self.names.configured(self.connectors),
            workers={member: serialized(work, self.names.hashes) for member, work in runs.items()},
        )
        delay, state = self.question.scheduled_rebalance_max_delay_ms, self.states.get(leader, LeaderState())
        outcome, self.states[leader] = self.assignor.run(group, state, delay)
        for member, work in runs.items():
            self.completed[member] = generation
            self.held[member] = self._after(work, outcome, member)
        held = {member: self.held[member] for member in runs}
        unassigned = group.configured.without(Work.union(held.values()))
        self.played.append(Rebalanced(row.get("event"), group, leader, outcome, held, unassigned))

    def follow_up(self, before_ms: int | None) -> None:
        """The rebalances that the last one causes. before_ms : when the next given one is; None: there is none"""
        while self.assignor.is_cooperative:
            last = self.played[-1]
            now, event = last.group.now_ms, "rejoin-after-revocation"
            if not last.revokes:
                now, event = now + last.answer.delay_ms, "delay-over"
                if not last.answer.delay_ms or (before_ms is not None and before_ms <= now):
                    return
            workers = [{"member_id": member} for member in last.group.workers]
            self.rebalance({"event": event, "at_ms": now, "leader_id": last.leader_id, "workers": workers})

    def _work(self, worker: Row) -> Work:
        """What a worker runs: what it says, or else what it was left with."""
        if worker.get("connectors") is None and worker.get("tasks") is None:
            return self.held.get(worker["member_id"], Work())
        return self.names.work(worker)

    def _after(self, work: Work, outcome: Reassignment, member: str) -> Work:
        """What a worker runs after a rebalance: first what is new, then what it keeps (WorkerCoordinator.onJoinComplete)."""
        new = serialized(outcome.assigned[member], self.names.hashes)
        if self.assignor.is_cooperative:
            new.add(work.without(outcome.revoked[member]))
        return new

    def _reserve(self, workers: Sequence[Row]) -> None:
        """Take the memory of another rebalance. Raises LimitExceeded, and what the budget raises."""
        tasks = sum(row["tasks_count"] for row in self.connectors)
        claims = sum(len(tasks["task_ids"]) for worker in workers for tasks in worker.get("tasks") or ())
        claims += sum(len(work.tasks) for work in self.held.values())
        size = tasks + claims + len(self.names.connectors) + len(workers)
        self.size += size
        self.budget.check("max_partitions", self.size, "tasks, connectors and workers in all rounds", "rounds")
        self.budget.reserve(self.item_bytes * size + WORKER_BYTES * len(workers))
        self.budget.check_time()


def _read_state(row: Row, names: ConnectorNames) -> LeaderState:
    given = {name: value for name, value in row.items() if name != "leader_id" and value is not None}
    for name in ("previous_assignment", "previous_revocation"):
        if name in given:
            given[name] = names.work(given[name])
    for name, kind in (("candidates", tuple), ("previous_members", frozenset)):
        if name in given:
            given[name] = kind(given[name])
    return LeaderState(**given)


def _names(question: ConnectQuestion) -> Iterator[str]:
    """Every connector that the question names."""
    for group in question.rounds:
        yield from (connector["connector_name"] for connector in group.get("connectors") or ())
        for worker in group["workers"]:
            yield from _names_of_work(worker)
    for state in question.leader_states:
        for part in ("previous_assignment", "previous_revocation"):
            yield from _names_of_work(state.get(part) or {})


def _names_of_work(row: Row) -> Iterator[str]:
    yield from row.get("connectors") or ()
    yield from (tasks["connector_name"] for tasks in row.get("tasks") or ())


# ---- rules -----------------------------------------------------------------------------------------------------------


def _faults(question: ConnectQuestion) -> Iterator[InvalidQuestion]:
    yield from faults_of(lambda: _strategy(question))
    now = 0
    for i, row in enumerate(question.rounds):
        place = ("rounds", i)
        if row.get("at_ms") is not None:
            if row["at_ms"] < now:
                yield InvalidQuestion(f"Rounds are in the order of time: must be at least {now}.", *place, "at_ms")
            now = row["at_ms"]
        if i == 0 and row.get("connectors") is None:
            yield InvalidQuestion("Required in the first round.", *place, "connectors")
        for rows, name in (("connectors", "connector_name"), ("workers", "member_id")):
            yield from duplicates_in_rows(row.get(rows) or (), name, *place, rows)
        members = [worker["member_id"] for worker in row["workers"]]
        leader = row.get("leader_id") or question.leader_id
        if leader is not None and leader not in members:
            at = (*place, "leader_id") if row.get("leader_id") else ("leader_id",)
            yield InvalidQuestion(f"The leader {leader!r} is not among the workers of round {i}.", *at)
    yield from duplicates_in_rows(question.leader_states, "leader_id", "leader_states")
