"""The answer about a Connect group as JSON and as a table."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.api.connect.schema import ConnectAssignmentSchema, ConnectorsAndTasksSchema, ConnectorTasksSchema, LeaderStateSchema
from service.clients.connect.model import LeaderState
from service.clients.connect.work import TASK_BITS, Work, connector_of
from service.core.measures.skew import spread
from service.decisions.connect import ConnectAnswer, ConnectorNames, Rebalanced, answer
from service.decisions.rows.arrays import columns
from service.web import described as fields
from service.web.forms import Form
from service.web.schemas import AnswerSchema, AssignedSchema, CountsSchema, assigned_by, counts_document

TASK_ID = (1 << TASK_BITS) - 1


class WorkerAssignmentSchema(AnswerSchema):
    """The assignment of one worker."""

    member_id = fields.String()
    connectors = fields.List(
        fields.String(), "the connectors to start, in addition to those that it keeps; `eager`: all that it runs"
    )
    tasks = fields.List(fields.Nested(ConnectorTasksSchema), "the tasks to start; `eager`: all that it runs")
    revoked_connectors = fields.List(fields.String(), "the connectors to stop; not with `eager`", optional=True)
    revoked_tasks = fields.List(fields.Nested(ConnectorTasksSchema), "the tasks to stop; not with `eager`", optional=True)
    delay_ms = fields.Integer("the time after which it rejoins; 0: no rejoin is scheduled", optional=True)


class WorkerLoadSchema(AnswerSchema):
    """What workers run after a round; counts in the order of the round's workers."""

    connectors = fields.Nested(CountsSchema)
    tasks = fields.Nested(CountsSchema)


class ConnectExplanationSchema(AnswerSchema):
    """How the leader decided."""

    decision = fields.String("why it waits, revokes, or does not")
    deleted = fields.Nested(ConnectorsAndTasksSchema, "assigned before, and no longer configured")
    created = fields.Nested(ConnectorsAndTasksSchema, "configured, and neither assigned before nor run")
    lost = fields.Nested(ConnectorsAndTasksSchema, "assigned before, and run by no worker now")
    duplicated = fields.Nested(ConnectorsAndTasksSchema, "run by more than one worker")


class RebalancedSchema(AnswerSchema):
    """A rebalance."""

    event = fields.String(
        "as in the request; `rejoin-after-revocation` and `delay-over` of those that `follow_ups` adds", optional=True
    )
    at_ms = fields.Integer()
    generation_id = fields.Integer()
    leader_id = fields.String()
    assignments = fields.List(fields.Nested(WorkerAssignmentSchema), "workers in request order")
    delay_ms = fields.Integer("the time after which all workers join again; 0: they do not")
    follow_up_rebalance = fields.Boolean(
        "whether all workers join again at once, because something was revoked. It is assigned only then"
    )
    unassigned = fields.Nested(ConnectorsAndTasksSchema, "configured connectors and tasks that no worker runs or starts")
    worker_load = fields.Nested(WorkerLoadSchema)
    explanation = fields.Nested(ConnectExplanationSchema, "with `explain=true`", optional=True)


class RunsSchema(AnswerSchema):
    """What a worker runs."""

    member_id = fields.String()
    connectors = fields.List(fields.String())
    tasks = fields.List(fields.Nested(ConnectorTasksSchema))


class ConnectAssignmentAnswerSchema(AssignedSchema):
    """The rebalances."""

    rounds = fields.List(fields.Nested(RebalancedSchema))
    workers = fields.List(
        fields.Nested(RunsSchema),
        "what each worker of the last round runs after it, in its own order: the `workers` of a next request",
    )
    leader_states = fields.List(
        fields.Nested(LeaderStateSchema), "what leaders remember then, for a next request; not with `eager`", optional=True
    )


def document(answer: ConnectAnswer) -> dict[str, Any]:
    """The answer, as ConnectAssignmentAnswerSchema has it."""
    names, assignor, question = answer.names, answer.assignor, answer.question
    body: dict[str, Any] = {
        **assigned_by(answer.kafka_version, "connect", assignor),
        "rounds": [
            _round(names, each, is_cooperative=assignor.is_cooperative, explain=question.explain) for each in answer.rounds
        ],
        "workers": [{"member_id": member, **_work(names, work)} for member, work in answer.rounds[-1].held.items()],
    }
    if assignor.is_cooperative:
        body["leader_states"] = [_state(names, *each) for each in answer.leader_states.items()]
    return body


def _round(names: ConnectorNames, each: Rebalanced, *, is_cooperative: bool, explain: bool) -> dict[str, Any]:
    body: dict[str, Any] = {} if each.event is None else {"event": each.event}
    body |= {
        "at_ms": each.group.now_ms,
        "generation_id": each.group.generation_id,
        "leader_id": each.leader_id,
        "assignments": [_assignment(names, each, member, is_cooperative=is_cooperative) for member in each.group.workers],
        "delay_ms": each.answer.delay_ms,
        "follow_up_rebalance": each.revokes > 0,
        "unassigned": _work(names, each.unassigned),
        "worker_load": {
            "connectors": _load(len(work.connectors) for work in each.held.values()),
            "tasks": _load(len(work.tasks) for work in each.held.values()),
        },
    }
    if explain:
        sets = each.answer.sets
        body["explanation"] = {
            "decision": each.answer.decision,
            **{name: _work(names, getattr(sets, name)) for name in ("deleted", "created", "lost", "duplicated")},
        }
    return body


def _assignment(names: ConnectorNames, each: Rebalanced, member: str, *, is_cooperative: bool) -> dict[str, Any]:
    body = {"member_id": member, **_work(names, each.answer.assigned[member].ascending())}
    if is_cooperative:
        revoked = _work(names, each.answer.revoked[member].ascending())
        body |= {f"revoked_{kind}": value for kind, value in revoked.items()} | {"delay_ms": each.answer.delay_ms}
    return body


def _work(names: ConnectorNames, work: Work) -> dict[str, Any]:
    """``{"connectors", "tasks"}``, in the order of the work."""
    return {
        "connectors": [names.connectors[connector] for connector in work.connectors],
        "tasks": [
            {"connector_name": names.connectors[connector], "task_ids": [task & TASK_ID for task in tasks]}
            for connector, tasks in groupby(work.tasks, connector_of)
        ],
    }


def _load(counts: Iterable[int]) -> dict[str, Any]:
    loads = np.fromiter(counts, np.int64)
    return counts_document(loads, spread(loads))


def _state(names: ConnectorNames, leader: str, state: LeaderState) -> dict[str, Any]:
    work = {name: _work(names, getattr(state, name).ascending()) for name in ("previous_assignment", "previous_revocation")}
    return {"leader_id": leader, **vars(state), **work, "previous_members": sorted(state.previous_members)}


COLUMNS: Final = pa.schema(
    columns("round int, at_ms long, generation_id int, member_id string, connector_name string, task_id int, revoked boolean")
)


def table(answer: ConnectAnswer) -> pa.Table:
    """A row for each connector (``task_id`` null) and task that a worker is to start or stop, in the order of the rounds."""
    return pa.Table.from_pylist([dict(zip(COLUMNS.names, row, strict=True)) for row in _rows(answer)], COLUMNS)


def _rows(answer: ConnectAnswer) -> Iterator[tuple[Any, ...]]:
    connectors = answer.names.connectors
    for i, each in enumerate(answer.rounds):
        for member in each.group.workers:
            for revoked, work in ((False, each.answer.assigned[member]), (True, each.answer.revoked[member])):
                head = (i, each.group.now_ms, each.group.generation_id, member)
                sorted_work = work.ascending()
                for connector in sorted_work.connectors:
                    yield (*head, connectors[connector], None, revoked)
                for task in sorted_work.tasks:
                    yield (*head, connectors[connector_of(task)], task & TASK_ID, revoked)


FORM: Final = Form(ConnectAssignmentSchema(), answer, ConnectAssignmentAnswerSchema, document, table)
