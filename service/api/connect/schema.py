"""The JSON body of a question about a Connect group."""

from typing import Any, Final

from marshmallow import Schema, fields, post_load, validate

from service.core.kafka_versions import LATEST_RUNTIMES
from service.decisions.connect import MAX_DELAY_MS, ConnectQuestion
from service.web.fields import Boolean, Integer, List, Name, Subject, about

LATEST_MS: Final = 10**12
"""The latest time of a rebalance: 31 years."""
MOST_ROUNDS: Final = 1_000
MOST_LEADERS: Final = 100


class ConnectorSchema(Schema):
    """A connector that is configured."""

    connector_name = Name(required=True)
    tasks_count = Integer(minimum=0, required=True, metadata=about("the number of its tasks, whose ids begin at 0"))


class ConnectorTasksSchema(Schema):
    """Tasks of one connector."""

    connector_name = Name(required=True)
    task_ids = List(Integer(minimum=0), required=True)


class ConnectorsAndTasksSchema(Schema):
    """Connectors and tasks."""

    connectors = List(Name(), load_default=list)
    tasks = List(fields.Nested(ConnectorTasksSchema), load_default=list)


class WorkerSchema(Schema):
    """A worker that has joined, with what it runs."""

    member_id = Name(required=True)
    connectors = List(
        Name(),
        allow_none=True,
        metadata=about(
            "the connectors that it runs, in the order of its assignment: the first ones are revoked first. Without `connectors` "
            "and `tasks`: those that it has after the rounds before, none at first. `eager` ignores both"
        ),
    )
    tasks = List(fields.Nested(ConnectorTasksSchema), allow_none=True, metadata=about("the tasks that it runs, in that order"))


class ConnectRoundSchema(Schema):
    """A rebalance: the group as its leader sees it."""

    event = Name(allow_none=True, metadata=about("the caller's name for it; the answer repeats it"))
    at_ms = Integer(
        minimum=0,
        maximum=LATEST_MS,
        allow_none=True,
        metadata=about("when, on the leader's clock. Absent: at the time of the round before; the first one at 0"),
    )
    generation_id = Integer(
        minimum=0, allow_none=True, metadata=about("the group's generation. Absent: the one after that of the round before")
    )
    completed_generation_id = Integer(
        minimum=-1,
        allow_none=True,
        metadata=about(
            "the last generation in which the leader received its own assignment; -1: none. If it is not the one that it "
            "assigned last, the leader discards the assignment that it remembers. Absent: that of the last round with this worker"
        ),
    )
    leader_id = Name(allow_none=True, metadata=about("the leader of this round. Absent: that of the body"))
    connectors = List(
        fields.Nested(ConnectorSchema),
        allow_none=True,
        metadata=about("the connectors that are configured, in any order. Absent: as in the round before"),
    )
    workers = List(
        fields.Nested(WorkerSchema),
        required=True,
        validate=validate.Length(min=1),
        metadata=about("the workers that have joined, in the order of the JoinGroup response"),
    )


class LeaderStateSchema(Schema):
    """What a leader remembers between rebalances (`IncrementalCooperativeAssignor`). What is absent is as in a new leader."""

    leader_id = Name(required=True)
    previous_assignment = fields.Nested(
        ConnectorsAndTasksSchema,
        allow_none=True,
        metadata=about("connectors and tasks that it assigned and did not revoke, and lost ones that await their worker"),
    )
    previous_revocation = fields.Nested(ConnectorsAndTasksSchema, allow_none=True, metadata=about("those that it revoked last"))
    revoked_in_previous = Boolean(
        allow_none=True, metadata=about("whether it has revoked to balance loads, and loads were not balanced yet since then")
    )
    successive_revoking_rebalances = Integer(
        minimum=0,
        allow_none=True,
        metadata=about("how many rebalances in a row it then had to revoke again; the delay grows with it"),
    )
    scheduled_rebalance_ms = Integer(
        minimum=0, maximum=2 * LATEST_MS, allow_none=True, metadata=about("when the delay ends, on its clock; 0: no delay")
    )
    delay_ms = Integer(minimum=0, allow_none=True, metadata=about("the delay that it announced last"))
    candidates = List(
        Name(), allow_none=True, metadata=about("the workers that get lost connectors and tasks after the delay, in this order")
    )
    previous_generation_id = Integer(minimum=-1, allow_none=True, metadata=about("the generation that it assigned last"))
    previous_members = List(Name(), allow_none=True, metadata=about("the workers of that generation"))


class ConnectAssignmentSchema(Schema):
    """Rebalances of a Kafka Connect group. `POST /v1/group-assignments` takes this body, too, with its `group_protocol`."""

    group_protocol = fields.String(validate=validate.Equal("connect"), metadata=about("`connect`", example="connect"))
    kafka_version = fields.String(
        load_default=None,
        metadata=about(
            f"the release of Connect to reproduce. Absent: {LATEST_RUNTIMES}, the newest that is published",
            example=LATEST_RUNTIMES,
        ),
    )
    assignor = fields.String(
        load_default=None,
        metadata=about("the protocol of the group: sessioned, compatible or eager. Absent: sessioned", example="sessioned"),
    )
    group_id = Subject("group")
    leader_id = Name(load_default=None, metadata=about("the worker that leads. Absent: the first worker of each round"))
    scheduled_rebalance_max_delay_ms = Integer(
        minimum=0, load_default=MAX_DELAY_MS, metadata=about("the leader's setting `scheduled.rebalance.max.delay.ms`")
    )
    leader_states = List(
        fields.Nested(LeaderStateSchema),
        load_default=list,
        validate=validate.Length(max=MOST_LEADERS),
        metadata=about("what leaders remember, as an earlier answer has it. Absent: leaders are new"),
    )
    rounds = List(
        fields.Nested(ConnectRoundSchema),
        required=True,
        validate=validate.Length(min=1, max=MOST_ROUNDS),
        metadata=about("the rebalances, in the order of time"),
    )
    follow_ups = Boolean(
        load_default=False,
        metadata=about(
            "whether to add the rebalances that follow by themselves: at once after a revocation, and when a delay is over"
        ),
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> ConnectQuestion:
        """The question."""
        body.pop("group_protocol", None)
        return ConnectQuestion(**body)
