"""The answer about a Streams group as JSON and as a table."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.api.streams.schema import StreamsAssignmentSchema, SubtopologyTasksSchema
from service.clients.streams.model import TASK_BITS, TASK_ID
from service.core.measures.skew import spread
from service.decisions.streams.answer import StreamsAnswer, answer, rows_of
from service.web import described as fields
from service.web.forms import Form
from service.web.schemas import AnswerSchema, AssignedSchema, CountsSchema, assigned_by, counts_document


class MemberTasksSchema(AnswerSchema):
    """What one member is assigned."""

    member_id = fields.String("of a group of the streams protocol", optional=True)
    process_id = fields.String("of a classic group: the client", optional=True)
    active_tasks = fields.List(fields.Nested(SubtopologyTasksSchema))
    standby_tasks = fields.List(fields.Nested(SubtopologyTasksSchema))


class MissingStandbysSchema(AnswerSchema):
    """A task with fewer standby tasks than asked for."""

    subtopology_id = fields.String()
    task_id = fields.Integer()
    missing = fields.Integer("how many")


class TasksLoadSchema(AnswerSchema):
    """Tasks of each member; counts in request order."""

    active_tasks = fields.Nested(CountsSchema)
    standby_tasks = fields.Nested(CountsSchema)


class TasksMovementSchema(AnswerSchema):
    """What becomes of tasks."""

    retained = fields.Integer("active tasks that stay with their member")
    promoted = fields.Integer("active tasks that go to a member that had them as standby tasks")
    moved = fields.Integer("active tasks that go to a member without their state")
    added = fields.Integer("active tasks that no member had")
    retained_standbys = fields.Integer("standby tasks of a member that had them, as active or standby tasks")


class RackTrafficSchema(AnswerSchema):
    """What tasks read from other racks."""

    active_partitions = fields.Integer("partitions that active tasks read")
    active_cross_rack = fields.Integer("those among them without a replica in the client's rack")
    standby_partitions = fields.Integer(
        "partitions that standby tasks read; 0 without `num_standby_replicas`, also if there are warm-up tasks"
    )
    standby_cross_rack = fields.Integer("those among them without a replica in the client's rack")


class StreamsAssignmentAnswerSchema(AssignedSchema):
    """The group, assigned."""

    assignments = fields.List(fields.Nested(MemberTasksSchema), "members in request order")
    missing_standby_tasks = fields.List(fields.Nested(MissingStandbysSchema), "the tasks that too few processes can copy")
    member_load = fields.Nested(TasksLoadSchema)
    movement = fields.Nested(TasksMovementSchema)
    probing_rebalance = fields.Boolean(
        "of a classic group: whether another rebalance follows, since tasks wait for their state elsewhere", optional=True
    )
    rack_traffic = fields.Nested(
        RackTrafficSchema, "of a classic group, where its leader takes racks into account", optional=True
    )
    warnings = fields.List(fields.String(), "assumptions behind the answer; absent without warnings", optional=True)


def document(answer: StreamsAnswer) -> dict[str, Any]:
    """The answer, as StreamsAssignmentAnswerSchema has it."""
    name = answer.question.holders[1]
    group, assignment, topology = answer.group, answer.assignment, answer.group.topology
    body: dict[str, Any] = {
        **assigned_by(answer.kafka_version, "streams", answer.assignor),
        "assignments": [
            {
                name: member.member_id,
                "active_tasks": rows_of(topology, active),
                "standby_tasks": rows_of(topology, standby),
            }
            for member, active, standby in zip(group.members, assignment.active, assignment.standby, strict=True)
        ],
        "missing_standby_tasks": [
            {"subtopology_id": topology.subtopology_ids[task >> TASK_BITS], "task_id": task & TASK_ID, "missing": missing}
            for task, missing in sorted(assignment.missing_standbys.items())
        ],
        "member_load": {"active_tasks": _load(assignment.active), "standby_tasks": _load(assignment.standby)},
        "movement": asdict(answer.movement),
    }
    if answer.probing_rebalance is not None:
        body["probing_rebalance"] = answer.probing_rebalance
    if answer.rack_traffic is not None:
        body["rack_traffic"] = asdict(answer.rack_traffic)
    return body | ({"warnings": answer.warnings} if answer.warnings else {})


def _load(tasks: Sequence[Sequence[int]]) -> dict[str, Any]:
    counts = np.array([len(of_member) for of_member in tasks], np.int64)
    return counts_document(counts, spread(counts))


def table(answer: StreamsAnswer) -> pa.Table:
    """A row for each active and standby task of each member."""
    ids, assignment = answer.group.topology.subtopology_ids, answer.assignment
    name = answer.question.holders[1]
    rows = [
        {"subtopology_id": ids[task >> TASK_BITS], "task_id": task & TASK_ID, name: member.member_id, "role": kind}
        for i, member in enumerate(answer.group.members)
        for kind, tasks in (("active", assignment.active[i]), ("standby", assignment.standby[i]))
        for task in sorted(tasks)
    ]
    kinds = {"subtopology_id": pa.string(), "task_id": pa.int32(), name: pa.string(), "role": pa.string()}
    return pa.Table.from_pylist(rows, pa.schema(kinds))


FORM: Final = Form(StreamsAssignmentSchema(), answer, StreamsAssignmentAnswerSchema, document, table)
