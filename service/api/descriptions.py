"""Read what people have at hand of a cluster: the output of Kafka's tools and of many others, snapshots, logs of consumers.

The body is one text (`text/plain`), or JSON with several, of which later ones complete earlier ones: a description of topics, the
racks of brokers, a group with its offsets. `conclusion` says what was understood; what no text tells is absent.
"""

from typing import Any, Final

from marshmallow import Schema, validate

from service.descriptions.answers import DescriptionsAnswer, DescriptionsQuestion, answer
from service.http import fields
from service.http.fields import Bool
from service.http.forms import AnswerSchema, Form, Operation, QuestionSchema
from service.http.lists import Array

MOST_TEXTS = 100


class DescriptionsSchema(QuestionSchema):
    """Texts that describe one cluster."""

    asks = DescriptionsQuestion
    texts = Array(
        fields.String(),
        "what Kafka's tools and others print, snapshots, logs; later texts complete earlier ones",
        required=True,
        validate=validate.Length(min=1, max=MOST_TEXTS),
    )


class DescriptionsOptionsSchema(Schema):
    """What is to be answered besides."""

    bodies = Bool("whether to answer request bodies that the texts make, too", load_default=False)


class DescribedSchema(AnswerSchema):
    """What was read, in the shape of a snapshot. A member that no text tells is absent."""

    brokers = fields.List(fields.Dict(), "`broker_id`, `rack_id`, …")
    topics = fields.List(fields.Dict(), "`topic_name`, `partitions_count`, `placements`, `log_end_offsets`, …")
    groups = fields.List(fields.Dict(), "`group_id`, `assignor`, `members`, `committed_offsets`, …")
    log_dirs = fields.List(fields.Dict(), "`broker_id`, `log_dirs`")


class RequestBodiesSchema(AnswerSchema):
    """Bodies of other requests, made of what was read; null, or not in the list, where that does not suffice."""

    reassignment = fields.Dict("of `POST /v1/reassignments`", allow_none=True)
    log_dir_plan = fields.Dict("of `POST /v1/log-dir-plans`", allow_none=True)
    group_assignments = fields.List(fields.Dict(), "of `POST /v1/group-assignments`, one for each group; `lag` where it is known")


class DescriptionsAnswerSchema(AnswerSchema):
    """What was understood."""

    conclusion = fields.String("what was read, and what is not known, in sentences")
    forms = fields.List(fields.String(), "what the texts are: `kafka-topics`, `kafka-consumer-groups`, `snapshot`, …")
    warnings = fields.List(fields.String(), "what was skipped or assumed, and why a body is missing")
    snapshot = fields.Nested(DescribedSchema)
    bodies = fields.Nested(RequestBodiesSchema, "with `bodies=true`", optional=True)


def document(answer: DescriptionsAnswer) -> dict[str, Any]:
    """The answer, as DescriptionsAnswerSchema has it."""
    read = answer.description
    return {
        "conclusion": answer.conclusion,
        "forms": list(answer.forms),
        "warnings": list(answer.warnings),
        "snapshot": {name: list(getattr(read, name)) for name in ("brokers", "topics", "groups", "log_dirs")},
        **({} if answer.bodies is None else {"bodies": answer.bodies}),
    }


FORM: Final = Form(DescriptionsSchema(), answer, DescriptionsAnswerSchema, document)

EXAMPLE: Final = {
    "texts": [
        "Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n",
        "broker,rack\n1,a\n2,b\n",
    ]
}

OPERATION: Final = Operation(
    "describe", "description", "pasted texts → what they describe", EXAMPLE, query=DescriptionsOptionsSchema
)
