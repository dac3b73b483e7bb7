"""The JSON body of a question about a Streams group."""

from typing import Any, Final

from marshmallow import Schema, fields, post_load, validate

from service.core.kafka_versions import LATEST
from service.decisions.streams import StreamsQuestion
from service.web.fields import INT64, Boolean, Integer, List, Name, Subject, about

MOST_REPLICAS: Final = 100


class SubtopologySchema(Schema):
    """A subtopology."""

    subtopology_id = Name(required=True)
    tasks_count = Integer(
        minimum=1,
        required=True,
        metadata=about("the most partitions that a source topic of it has. Tasks have the ids from 0 on"),
    )
    stateful = Boolean(load_default=False, metadata=about("whether it has state, which standby tasks copy"))


class SubtopologyTasksSchema(Schema):
    """Tasks of one subtopology."""

    subtopology_id = Name(required=True)
    task_ids = List(Integer(minimum=0), required=True)


class TaskOffsetSchema(Schema):
    """How far a member has restored a task."""

    subtopology_id = Name(required=True)
    task_id = Integer(minimum=0, required=True)
    offset = Integer(
        minimum=0, maximum=INT64, required=True, metadata=about("the sum of the offsets of its changelog partitions")
    )


class StreamsMemberSchema(Schema):
    """A member, which is a thread of a process."""

    member_id = Name(required=True)
    instance_id = Name(allow_none=True, metadata=about("of a static member; it plays no part"))
    rack_id = Name(empty=True, allow_none=True, metadata=about("`client.rack`; it plays no part"))
    process_id = Name(required=True, metadata=about("of the process that it belongs to"))
    client_tags = fields.Dict(
        fields.String(), fields.String(), allow_none=True, metadata=about("`client.tag.…`; they play no part")
    )
    active_tasks = List(
        fields.Nested(SubtopologyTasksSchema), allow_none=True, metadata=about("its active tasks of the last target assignment")
    )
    standby_tasks = List(fields.Nested(SubtopologyTasksSchema), allow_none=True, metadata=about("its standby tasks, likewise"))
    task_offsets = List(
        fields.Nested(TaskOffsetSchema),
        allow_none=True,
        metadata=about("what it reports of its state; it plays a part from Kafka 4.4.0 on"),
    )


class StreamsAssignmentSchema(Schema):
    """A group of Kafka Streams. `POST /v1/group-assignments` takes this body, too, with its `group_protocol`."""

    group_protocol = fields.String(validate=validate.Equal("streams"), metadata=about("`streams`", example="streams"))
    kafka_version = fields.String(
        load_default=None,
        allow_none=True,
        metadata=about(f"the release of Kafka to reproduce: 4.3.1 or 4.4.0. Absent: {LATEST}", example=LATEST),
    )
    assignor = fields.String(
        load_default=None, allow_none=True, metadata=about("the broker's task assignor. Absent: sticky", example="sticky")
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
        fields.Nested(StreamsMemberSchema), required=True, validate=validate.Length(min=1), metadata=about("in any order")
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> StreamsQuestion:
        """The question."""
        body.pop("group_protocol", None)
        return StreamsQuestion(**body)
