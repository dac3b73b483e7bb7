"""The JSON body of a question about a reassignment."""

from typing import Any, Final

from marshmallow import Schema, post_load

from service.api.reassignment_schemas import KafkaReassignmentSchema, PlacedTopicSchema, TargetBrokerSchema
from service.decisions.reassignment_lints import LintQuestion
from service.decisions.reassignments.rows import PLACED_TOPIC, TARGET_BROKER, plain_placed_topics, plain_target_brokers
from service.web import described as fields
from service.web.columns_field import Rows
from service.web.schemas import OF_BROKERS, KafkaVersion, accepted_racks_field

EXAMPLE: Final = {
    "brokers": [{"broker_id": i, "rack_id": "aab"[i]} for i in range(3)],
    "topics": [{"topic_name": "orders", "placements": [{"partition_id": 0, "replicas": [0, 2]}]}],
    "reassignment": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [0, 1]}]},
}


class ReassignmentLintSchema(Schema):
    """A reassignment, and the cluster that it is for."""

    kafka_version = KafkaVersion(description=OF_BROKERS)
    brokers = Rows(
        TargetBrokerSchema, TARGET_BROKER, plain_target_brokers, "the cluster, as for /v1/reassignments", required=True
    )
    topics = Rows(PlacedTopicSchema, PLACED_TOPIC, plain_placed_topics, "the current placement", required=True)
    reassignment = fields.Nested(KafkaReassignmentSchema, "Kafka's reassignment JSON", required=True)
    racks = accepted_racks_field()

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> LintQuestion:
        """The question."""
        reassigned = body["reassignment"]["partitions"]
        return LintQuestion(body["brokers"], body["topics"], reassigned, body["kafka_version"], "racks" in body)
