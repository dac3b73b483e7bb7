"""The JSON body of a question about the state of a cluster."""

from typing import Any, Final

from marshmallow import Schema, post_load

from service.api.reassignment_schemas import PlacedTopicSchema, TargetBrokerSchema
from service.decisions.placement_checks import CheckQuestion
from service.decisions.reassignments.rows import PLACED_TOPIC, TARGET_BROKER, plain_placed_topics, plain_target_brokers
from service.web.columns_field import Rows
from service.web.schemas import OF_BROKERS, KafkaVersion

EXAMPLE: Final = {
    "brokers": [{"broker_id": i, "rack_id": "aab"[i]} for i in range(3)],
    "topics": [
        {
            "topic_name": "orders",
            "min_insync_replicas": 2,
            "placements": [
                {"partition_id": 0, "replicas": [0, 2], "in_sync_replicas": [0, 2], "leader": 0},
                {"partition_id": 1, "replicas": [0, 1], "in_sync_replicas": [1], "leader": 1},
            ],
        }
    ],
}


class PlacementCheckSchema(Schema):
    """A cluster as it is."""

    kafka_version = KafkaVersion(description=OF_BROKERS)
    brokers = Rows(
        TargetBrokerSchema,
        TARGET_BROKER,
        plain_target_brokers,
        "the cluster, as for /v1/reassignments; only `rack_id` and `fenced` matter",
        required=True,
    )
    topics = Rows(
        PlacedTopicSchema,
        PLACED_TOPIC,
        plain_placed_topics,
        "where the replicas are, as for /v1/reassignments, with `leader`, `in_sync_replicas` and `min_insync_replicas`",
        required=True,
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> CheckQuestion:
        """The question."""
        return CheckQuestion(**body)
