"""The JSON body of a question about a Streams group."""

from typing import Any, Final

from marshmallow import Schema, fields, post_load, validate

from service.core.kafka_versions import LATEST, LATEST_RUNTIMES
from service.decisions.streams.groups import StreamsQuestion
from service.web.fields import INT64, Boolean, FlatRows, Integer, List, Name, Subject, about

MOST_REPLICAS: Final = 100


class SubtopologySchema(Schema):
    """A subtopology."""

    subtopology_id = Name(required=True)
    tasks_count = Integer(
        minimum=1,
        required=True,
        metadata=about("the largest partition count of its source topics. The ids of tasks begin at 0"),
    )
    stateful = Boolean(load_default=False, metadata=about("whether it has state, which standby tasks copy"))
    source_topic_names = List(
        Name(), allow_none=True, metadata=about("classic, for `rack_aware_assignment_strategy`: the topics that its tasks read")
    )
    changelog_topic_names = List(
        Name(), allow_none=True, metadata=about("for the same, with standby tasks: the topics that hold its state")
    )


class SubtopologyTasksSchema(Schema):
    """Tasks of one subtopology."""

    subtopology_id = Name(required=True)
    task_ids = List(Integer(minimum=0), required=True)


class TaskOffsetSchema(Schema):
    """The progress of a member in restoring a task."""

    subtopology_id = Name(required=True)
    task_id = Integer(minimum=0, required=True)
    offset = Integer(
        minimum=0, maximum=INT64, required=True, metadata=about("the sum of the offsets of its changelog partitions")
    )


class StreamsMemberSchema(Schema):
    """A member, which is a thread of a process."""

    member_id = Name(required=True)
    instance_id = Name(allow_none=True, metadata=about("of a static member; not used"))
    rack_id = Name(empty=True, allow_none=True, metadata=about("`client.rack`; not used"))
    process_id = Name(required=True, metadata=about("of the process that it belongs to"))
    client_tags = fields.Dict(fields.String(), fields.String(), allow_none=True, metadata=about("`client.tag.…`; not used"))
    active_tasks = List(
        fields.Nested(SubtopologyTasksSchema), allow_none=True, metadata=about("its active tasks of the last target assignment")
    )
    standby_tasks = List(
        fields.Nested(SubtopologyTasksSchema), allow_none=True, metadata=about("its standby tasks of that assignment")
    )
    task_offsets = FlatRows(
        fields.Nested(TaskOffsetSchema),
        allow_none=True,
        metadata=about("the offsets that it reports; used since Kafka 4.4.0"),
    )


class TaskLagSchema(Schema):
    """The lag of a client's state."""

    subtopology_id = Name(required=True)
    task_id = Integer(minimum=0, required=True)
    lag = Integer(
        minimum=-3,
        maximum=INT64,
        required=True,
        metadata=about("offsets that it would have to restore. -2: the client runs the task; -3: unknown"),
    )


class StreamsClientSchema(Schema):
    """A client of a classic group: a process with its threads."""

    process_id = Name(required=True, metadata=about("a UUID in lower case"))
    threads_count = Integer(minimum=1, load_default=1, metadata=about("`num.stream.threads` that are members"))
    client_tags = fields.Dict(fields.String(), fields.String(), allow_none=True, metadata=about("`client.tag.…`"))
    rack_id = Name(allow_none=True, metadata=about("`client.rack`, for `rack_aware_assignment_strategy`"))
    active_tasks = List(fields.Nested(SubtopologyTasksSchema), allow_none=True, metadata=about("its active tasks before"))
    standby_tasks = List(fields.Nested(SubtopologyTasksSchema), allow_none=True, metadata=about("its standby tasks before"))
    lags = FlatRows(
        fields.Nested(TaskLagSchema),
        allow_none=True,
        metadata=about("of every task with state, also of those that it never had; `high-availability` needs them"),
    )


class TopicRacksSchema(Schema):
    """The racks of a topic's partitions."""

    topic_name = Name(required=True)
    partition_racks = List(
        List(Name(empty=True)),
        required=True,
        validate=validate.Length(min=1),
        metadata=about("for each partition the racks of its replicas; of a replica without a rack an empty one"),
    )


class StreamsAssignmentSchema(Schema):
    """A group of Kafka Streams. `POST /v1/group-assignments` takes this body, too, with its `group_protocol`."""

    group_protocol = fields.String(validate=validate.Equal("streams"), metadata=about("`streams`", example="streams"))
    kafka_version = fields.String(
        load_default=None,
        metadata=about(f"the release to reproduce. Absent: {LATEST}; of a classic group {LATEST_RUNTIMES}", example=LATEST),
    )
    member_protocol = fields.String(
        load_default=None,
        validate=validate.OneOf(["streams", "classic"]),
        metadata=about(
            "`streams` (KIP-1071): the broker assigns to `members`; `classic`: the leader assigns to `clients`. Absent: streams",
            example="streams",
        ),
    )
    assignor = fields.String(
        load_default=None,
        metadata=about(
            "the task assignor. Of brokers: sticky. Of leaders: high-availability (the default), sticky, fallback-prior",
            example="sticky",
        ),
    )
    group_id = Subject("group")
    num_standby_replicas = Integer(
        minimum=0,
        maximum=MOST_REPLICAS,
        load_default=0,
        metadata=about("the group's `streams.num.standby.replicas`: standby tasks of each stateful task"),
    )
    subtopologies = List(fields.Nested(SubtopologySchema), required=True, validate=validate.Length(min=1))
    members = List(
        fields.Nested(StreamsMemberSchema), load_default=None, metadata=about("of a group of the streams protocol, at least one")
    )
    clients = List(fields.Nested(StreamsClientSchema), load_default=None, metadata=about("of a classic group, at least one"))
    max_warmup_replicas = Integer(minimum=1, load_default=2, metadata=about("classic: `max.warmup.replicas`"))
    acceptable_recovery_lag = Integer(
        minimum=0, maximum=INT64, load_default=10_000, metadata=about("classic: `acceptable.recovery.lag`")
    )
    rack_aware_assignment_tags = List(
        Name(), load_default=list, metadata=about("classic: `rack.aware.assignment.tags`, by which standby tasks are spread")
    )

    rack_aware_assignment_strategy = fields.String(
        load_default=None,
        metadata=about(
            "classic: `rack.aware.assignment.strategy` (KIP-925), none, min_traffic or balance_subtopology. The latter two need "
            "`topics`, the topics of each subtopology and the rack of each client",
            example="none",
        ),
    )
    rack_aware_assignment_traffic_cost = Integer(
        minimum=-(2**31),
        load_default=None,
        metadata=about("classic: `rack.aware.assignment.traffic_cost`. Absent: 10; with sticky 1"),
    )
    rack_aware_assignment_non_overlap_cost = Integer(
        minimum=-(2**31),
        load_default=None,
        metadata=about("classic: `rack.aware.assignment.non_overlap_cost`. Absent: 1; with sticky 10"),
    )
    topics = List(
        fields.Nested(TopicRacksSchema),
        load_default=list,
        metadata=about("classic, for `rack_aware_assignment_strategy`: the topics that tasks read and restore"),
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> StreamsQuestion:
        """The question."""
        body.pop("group_protocol", None)
        return StreamsQuestion(**body)
