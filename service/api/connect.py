"""Assign a Kafka Connect group's connectors and tasks to its workers, rebalance by rebalance.

The assignment also depends on what the leader remembers and on its clock. Both are in the request, and in the answer for the
next request. As `text/csv` or an Arrow stream the answer is the table of what workers are to start and stop.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, validate

from service.clients.connect import TASK_ID, LeaderState, connector_of
from service.core.kafka_versions import LATEST
from service.decisions.connect import MAX_DELAY_MS, ConnectAnswer, ConnectorNames, ConnectQuestion, Rebalanced, answer
from service.decisions.rows import columns
from service.http import fields
from service.http.fields import Bool, Int, Name, Subject
from service.http.forms import (
    AnswerSchema,
    AssignedSchema,
    CountsSchema,
    ExplainSchema,
    Form,
    Operation,
    QuestionSchema,
    assigned_by,
    counts_document,
)
from service.http.lists import Array

LATEST_MS: Final = 10**12
"""The latest time of a rebalance: 31 years."""
MOST_ROUNDS: Final = 1_000
MOST_LEADERS: Final = 100


class ConnectorSchema(Schema):
    """A connector that is configured."""

    connector_name = Name(required=True)
    tasks_count = Int("the number of its tasks, whose ids begin at 0", minimum=0, required=True)


class ConnectorTasksSchema(Schema):
    """Tasks of one connector."""

    connector_name = Name(required=True)
    task_ids = Array(Int(minimum=0), required=True)


class ConnectorsAndTasksSchema(Schema):
    """Connectors and tasks."""

    connectors = Array(Name(), load_default=list)
    tasks = Array(fields.Nested(ConnectorTasksSchema), load_default=list)


class WorkerSchema(Schema):
    """A worker that has joined, with what it runs."""

    member_id = Name(required=True)
    connectors = Array(
        Name(),
        "the connectors that it runs, in the order of its assignment: the first ones are revoked first. Without `connectors` "
        "and `tasks`: those that it has after the rounds before, none at first. `eager` ignores both",
        allow_none=True,
    )
    tasks = Array(fields.Nested(ConnectorTasksSchema), "the tasks that it runs, in that order", allow_none=True)


class ConnectRoundSchema(Schema):
    """A rebalance: the group as its leader sees it."""

    event = Name("the caller's name for it; the answer repeats it", allow_none=True)
    at_ms = Int(
        "when, on the leader's clock. Absent: at the time of the previous round; the first one at 0",
        minimum=0,
        maximum=LATEST_MS,
        allow_none=True,
    )
    generation_id = Int("the group's generation. Absent: the one after that of the previous round", minimum=0, allow_none=True)
    completed_generation_id = Int(
        "the last generation in which the leader received its own assignment; -1: none. If it is not the one that it assigned "
        "last, the leader discards the assignment that it remembers. Absent: that of the last round with this worker",
        minimum=-1,
        allow_none=True,
    )
    leader_id = Name("the leader of this round. Absent: that of the body", allow_none=True)
    connectors = Array(
        fields.Nested(ConnectorSchema),
        "the connectors that are configured, in any order. Absent: as in the previous round",
        allow_none=True,
    )
    workers = Array(
        fields.Nested(WorkerSchema),
        "the workers that have joined, in the order of the JoinGroup response",
        required=True,
        validate=validate.Length(min=1),
    )


class LeaderStateSchema(Schema):
    """What a leader remembers between rebalances (`IncrementalCooperativeAssignor`). What is absent is as in a new leader."""

    leader_id = Name(required=True)
    previous_assignment = fields.Nested(
        ConnectorsAndTasksSchema,
        "connectors and tasks that it assigned and did not revoke, and lost ones that await their worker",
        allow_none=True,
    )
    previous_revocation = fields.Nested(ConnectorsAndTasksSchema, "those that it revoked last", allow_none=True)
    revoked_in_previous = Bool(
        "whether it has revoked to balance loads, and loads were not balanced yet since then", allow_none=True
    )
    successive_revoking_rebalances = Int(
        "how many rebalances in a row it then had to revoke again; the delay grows with it", minimum=0, allow_none=True
    )
    scheduled_rebalance_ms = Int(
        "when the delay ends, on its clock; 0: no delay", minimum=0, maximum=2 * LATEST_MS, allow_none=True
    )
    delay_ms = Int("the delay that it announced last", minimum=0, allow_none=True)
    candidates = Array(Name(), "the workers that get lost connectors and tasks after the delay, in this order", allow_none=True)
    previous_generation_id = Int("the generation that it assigned last", minimum=-1, allow_none=True)
    previous_members = Array(Name(), "the workers of that generation", allow_none=True)


class ConnectAssignmentSchema(QuestionSchema):
    """Rebalances of a Kafka Connect group. `POST /v1/group-assignments` takes this body, too, with its `group_protocol`."""

    asks = ConnectQuestion

    group_protocol = fields.String("`connect`", validate=validate.Equal("connect"), example="connect", attribute="protocol")
    kafka_version = fields.String(f"the release of Connect to reproduce. Absent: {LATEST}", load_default=None, example=LATEST)
    assignor = fields.String(
        "the protocol of the group: sessioned, compatible or eager. Absent: sessioned", load_default=None, example="sessioned"
    )
    group_id = Subject("group")
    leader_id = Name("the worker that leads. Absent: the first worker of each round", load_default=None)
    scheduled_rebalance_max_delay_ms = Int(
        "the leader's setting `scheduled.rebalance.max.delay.ms`", minimum=0, load_default=MAX_DELAY_MS
    )
    leader_states = Array(
        fields.Nested(LeaderStateSchema),
        "what leaders remember, as an earlier answer has it. Absent: leaders are new",
        load_default=list,
        validate=validate.Length(max=MOST_LEADERS),
    )
    rounds = Array(
        fields.Nested(ConnectRoundSchema),
        "the rebalances, in the order of time",
        required=True,
        validate=validate.Length(min=1, max=MOST_ROUNDS),
    )
    follow_ups = Bool(
        "whether to add the rebalances that follow by themselves: at once after a revocation, and when a delay is over",
        load_default=False,
    )


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

    conclusion = fields.String(
        "what workers run in the end, and what was stopped", example="After 1 rebalance 1 worker runs 4 tasks."
    )
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
    names, assignor = answer.names, answer.assignor
    body: dict[str, Any] = {
        **assigned_by(answer.kafka_version, "connect", assignor),
        "conclusion": answer.conclusion,
        "rounds": [_round(answer, each) for each in answer.rounds],
        "workers": [{"member_id": member, **names.row(work)} for member, work in answer.rounds[-1].held.items()],
    }
    if assignor.is_cooperative:
        body["leader_states"] = [_state(names, *each) for each in answer.leader_states.items()]
    return body


def _round(answer: ConnectAnswer, each: Rebalanced) -> dict[str, Any]:
    body: dict[str, Any] = {} if each.event is None else {"event": each.event}
    body |= {
        "at_ms": each.group.now_ms,
        "generation_id": each.group.generation_id,
        "leader_id": each.leader_id,
        "assignments": answer.assignments(each),
        "delay_ms": each.answer.delay_ms,
        "follow_up_rebalance": each.revokes > 0,
        "unassigned": answer.names.row(each.unassigned),
        "worker_load": {
            "connectors": counts_document([len(work.connectors) for work in each.held.values()]),
            "tasks": counts_document([len(work.tasks) for work in each.held.values()]),
        },
    }
    if answer.question.explain:
        sets = each.answer.sets
        body["explanation"] = {
            "decision": each.answer.decision,
            **{name: answer.names.row(getattr(sets, name)) for name in ("deleted", "created", "lost", "duplicated")},
        }
    return body


def _state(names: ConnectorNames, leader: str, state: LeaderState) -> dict[str, Any]:
    work = {name: names.row(getattr(state, name).ascending()) for name in ("previous_assignment", "previous_revocation")}
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

EXAMPLE: Final = {
    "group_protocol": "connect",
    "assignor": "sessioned",
    "rounds": [
        {
            "connectors": [{"connector_name": "jdbc", "tasks_count": 4}, {"connector_name": "s3", "tasks_count": 2}],
            "workers": [{"member_id": "w1"}],
        },
        {"at_ms": 60_000, "workers": [{"member_id": "w1"}, {"member_id": "w2"}]},
        {"at_ms": 90_000, "workers": [{"member_id": "w1"}]},
    ],
    "follow_ups": True,
}
"""w2 joins, and leaves again."""

OPERATION: Final = Operation(
    "assignConnectors", "assignment", "connectors and tasks → Connect's workers", EXAMPLE, query=ExplainSchema
)
