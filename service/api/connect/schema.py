"""The JSON body of a question about a Connect group."""

from typing import Any, Final

from marshmallow import Schema, post_load, validate

from service.core.kafka_versions import LATEST
from service.decisions.connect import MAX_DELAY_MS, ConnectQuestion
from service.web import described as fields
from service.web.fields import Array, Bool, Int, Name, Subject

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


class ConnectAssignmentSchema(Schema):
    """Rebalances of a Kafka Connect group. `POST /v1/group-assignments` takes this body, too, with its `group_protocol`."""

    group_protocol = fields.String("`connect`", validate=validate.Equal("connect"), example="connect")
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

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> ConnectQuestion:
        """The question."""
        body.pop("group_protocol", None)
        return ConnectQuestion(**body)
