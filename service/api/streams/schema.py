"""The JSON body of a question about a Streams group."""

from typing import Any, Final

from marshmallow import Schema, post_load, validate

from service.core.kafka_versions import LATEST
from service.decisions.streams.question import StreamsQuestion
from service.web import described as fields
from service.web.fields import INT64, Array, Bool, FlatRows, Int, Name, Subject

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
