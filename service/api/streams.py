"""Assign a Kafka Streams group's active and standby tasks to its members.

As `text/csv` or an Arrow stream the answer is its table: `subtopology_id`, `task_id`, `member_id`, `role` (active, standby).
"""

from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa
from marshmallow import Schema, post_load, validate

from service.clients.streams.model import TASK_BITS, TASK_ID
from service.core.kafka_versions import LATEST
from service.decisions.rows import columns
from service.decisions.streams.answer import StreamsAnswer, answer, rows_of
from service.decisions.streams.question import StreamsQuestion
from service.http import fields
from service.http.fields import INT64, Bool, Int, Name, Subject
from service.http.forms import AnswerSchema, AssignedSchema, CountsSchema, Form, Operation, assigned_by, counts_document
from service.http.lists import Array, FlatRows

MOST_REPLICAS: Final = 100


class SubtopologySchema(Schema):
    """A subtopology."""

    subtopology_id = Name(required=True)
    tasks_count = Int("the largest partition count of its source topics. The ids of tasks begin at 0", minimum=1, required=True)
    stateful = Bool("whether it has state, which standby tasks copy", load_default=False)
    source_topic_names = Array(
        Name(), "classic, for `rack_aware_assignment_strategy`: the topics that its tasks read", allow_none=True
    )
    changelog_topic_names = Array(Name(), "for the same, with standby tasks: the topics that hold its state", allow_none=True)


class SubtopologyTasksSchema(Schema):
    """Tasks of one subtopology."""

    subtopology_id = Name(required=True)
    task_ids = Array(Int(minimum=0), required=True)


class TaskOffsetSchema(Schema):
    """The progress of a member in restoring a task."""

    subtopology_id = Name(required=True)
    task_id = Int(minimum=0, required=True)
    offset = Int("the sum of the offsets of its changelog partitions", minimum=0, maximum=INT64, required=True)


class StreamsMemberSchema(Schema):
    """A member, which is a thread of a process."""

    member_id = Name(required=True)
    instance_id = Name("of a static member; not used", allow_none=True)
    rack_id = Name("`client.rack`; not used", empty=True, allow_none=True)
    process_id = Name("of the process that it belongs to", required=True)
    client_tags = fields.Dict("`client.tag.…`; not used", keys=fields.String(), values=fields.String(), allow_none=True)
    active_tasks = Array(fields.Nested(SubtopologyTasksSchema), "its active tasks of the last target assignment", allow_none=True)
    standby_tasks = Array(fields.Nested(SubtopologyTasksSchema), "its standby tasks of that assignment", allow_none=True)
    task_offsets = FlatRows(
        fields.Nested(TaskOffsetSchema), "the offsets that it reports; used since Kafka 4.4.0", allow_none=True
    )


class TaskLagSchema(Schema):
    """The lag of a client's state."""

    subtopology_id = Name(required=True)
    task_id = Int(minimum=0, required=True)
    lag = Int(
        "offsets that it would have to restore. -2: the client runs the task; -3: unknown",
        minimum=-3,
        maximum=INT64,
        required=True,
    )


class StreamsClientSchema(Schema):
    """A client of a classic group: a process with its threads."""

    process_id = Name("a UUID in lower case", required=True)
    threads_count = Int("`num.stream.threads` that are members", minimum=1, load_default=1)
    client_tags = fields.Dict("`client.tag.…`", keys=fields.String(), values=fields.String(), allow_none=True)
    rack_id = Name("`client.rack`, for `rack_aware_assignment_strategy`", allow_none=True)
    active_tasks = Array(fields.Nested(SubtopologyTasksSchema), "its active tasks before", allow_none=True)
    standby_tasks = Array(fields.Nested(SubtopologyTasksSchema), "its standby tasks before", allow_none=True)
    lags = FlatRows(
        fields.Nested(TaskLagSchema),
        "of every task with state, also of those that it never had; `high-availability` needs them",
        allow_none=True,
    )


class TopicRacksSchema(Schema):
    """The racks of a topic's partitions."""

    topic_name = Name(required=True)
    partition_racks = Array(
        Array(Name(empty=True)),
        "for each partition the racks of its replicas; of a replica without a rack an empty one",
        required=True,
        validate=validate.Length(min=1),
    )


class StreamsAssignmentSchema(Schema):
    """A group of Kafka Streams. `POST /v1/group-assignments` takes this body, too, with its `group_protocol`."""

    group_protocol = fields.String("`streams`", validate=validate.Equal("streams"), example="streams")
    kafka_version = fields.String(f"the release to reproduce. Absent: {LATEST}", load_default=None, example=LATEST)
    member_protocol = fields.String(
        "`streams` (KIP-1071): the broker assigns to `members`; `classic`: the leader assigns to `clients`. Absent: streams",
        load_default=None,
        validate=validate.OneOf(["streams", "classic"]),
        example="streams",
    )
    assignor = fields.String(
        "the task assignor. Of brokers: sticky. Of leaders: high-availability (the default), sticky, fallback-prior",
        load_default=None,
        example="sticky",
    )
    group_id = Subject("group")
    num_standby_replicas = Int(
        "the group's `streams.num.standby.replicas`: standby tasks of each stateful task",
        minimum=0,
        maximum=MOST_REPLICAS,
        load_default=0,
    )
    subtopologies = Array(fields.Nested(SubtopologySchema), required=True, validate=validate.Length(min=1))
    members = Array(fields.Nested(StreamsMemberSchema), "of a group of the streams protocol, at least one", load_default=None)
    clients = Array(fields.Nested(StreamsClientSchema), "of a classic group, at least one", load_default=None)
    max_warmup_replicas = Int("classic: `max.warmup.replicas`", minimum=1, load_default=2)
    acceptable_recovery_lag = Int("classic: `acceptable.recovery.lag`", minimum=0, maximum=INT64, load_default=10_000)
    rack_aware_assignment_tags = Array(
        Name(), "classic: `rack.aware.assignment.tags`, by which standby tasks are spread", load_default=list
    )

    rack_aware_assignment_strategy = fields.String(
        "classic: `rack.aware.assignment.strategy` (KIP-925), none, min_traffic or balance_subtopology. The latter two need "
        "`topics`, the topics of each subtopology and the rack of each client",
        load_default=None,
        example="none",
    )
    rack_aware_assignment_traffic_cost = Int(
        "classic: `rack.aware.assignment.traffic_cost`. Absent: 10; with sticky 1", minimum=-(2**31), load_default=None
    )
    rack_aware_assignment_non_overlap_cost = Int(
        "classic: `rack.aware.assignment.non_overlap_cost`. Absent: 1; with sticky 10", minimum=-(2**31), load_default=None
    )
    topics = Array(
        fields.Nested(TopicRacksSchema),
        "classic, for `rack_aware_assignment_strategy`: the topics that tasks read and restore",
        load_default=list,
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> StreamsQuestion:
        """The question."""
        body.pop("group_protocol", None)
        return StreamsQuestion(**body)


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

    conclusion = fields.String("who gets how many tasks, and what moves", example="sticky gives 2 members 3 active tasks each.")
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
        "conclusion": answer.conclusion,
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
        "member_load": {
            "active_tasks": counts_document([len(tasks) for tasks in assignment.active]),
            "standby_tasks": counts_document([len(tasks) for tasks in assignment.standby]),
        },
        "movement": asdict(answer.movement),
    }
    if answer.probing_rebalance is not None:
        body["probing_rebalance"] = answer.probing_rebalance
    if answer.rack_traffic is not None:
        body["rack_traffic"] = answer.rack_traffic
    return body | ({"warnings": answer.warnings} if answer.warnings else {})


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
    return pa.Table.from_pylist(rows, pa.schema(columns(f"subtopology_id string, task_id int, {name} string, role string")))


FORM: Final = Form(StreamsAssignmentSchema(), answer, StreamsAssignmentAnswerSchema, document, table)

EXAMPLE: Final = {
    "group_protocol": "streams",
    "assignor": "sticky",
    "num_standby_replicas": 1,
    "subtopologies": [
        {"subtopology_id": "0", "tasks_count": 4, "stateful": True},
        {"subtopology_id": "1", "tasks_count": 2, "stateful": False},
    ],
    "members": [
        {"member_id": "m1", "process_id": "p1", "active_tasks": [{"subtopology_id": "0", "task_ids": [0, 1, 2, 3]}]},
        {"member_id": "m2", "process_id": "p2", "standby_tasks": [{"subtopology_id": "0", "task_ids": [1]}]},
    ],
}
"""m2 has joined."""

OPERATION: Final = Operation("assignTasks", "assignment", "tasks → Streams' members", EXAMPLE)
