"""The JSON body of a question about a topic's placement."""

from typing import Any, Final

from marshmallow import Schema, post_load, validate

from service.api.placement_schemas import BrokerSchema
from service.core.kafka_versions import LATEST
from service.decisions.placement_audits import AuditQuestion
from service.decisions.placements.rows import BROKER, PLACEMENT, plain_brokers, plain_placements
from service.web import described as fields
from service.web.columns_field import Rows
from service.web.fields import Array, Int, TopicName
from service.web.schemas import row_of_a_snapshot

EXAMPLE: Final = {
    "placer": "striped",
    "brokers": [{"broker_id": 1, "rack_id": "a"}, {"broker_id": 2, "rack_id": "b"}, {"broker_id": 3, "rack_id": "c"}],
    "topic_name": "orders",
    "placements": [
        {"partition_id": 0, "replicas": [1, 2, 3]},
        {"partition_id": 1, "replicas": [2, 3, 1]},
        {"partition_id": 2, "replicas": [3, 1, 2]},
    ],
}


@row_of_a_snapshot("in_sync_replicas", "leader")
class AuditedPartitionSchema(Schema):
    """What a partition has."""

    partition_id = Int(required=True, minimum=0)
    replicas = Array(Int(), "broker ids, the preferred leader first", required=True)


class PlacementAuditSchema(Schema):
    """A topic's placement, and the placer that may have made it."""

    kafka_version = fields.String("the release to reproduce, one of the placer's", example=LATEST)
    placer = fields.String("the name of a placer, as GET /v1/placers lists them", load_default="striped")
    topic_name = TopicName("the topic's name in this service's metrics")
    brokers = Rows(
        BrokerSchema,
        BROKER,
        plain_brokers,
        "the cluster that the topic was placed on. `modulo` and `rack-unaware` count along this list",
        required=True,
    )
    placements = Rows(
        AuditedPartitionSchema, PLACEMENT, plain_placements, "the topic's partitions in any order, without a gap", required=True
    )
    additions = Array(
        Int(minimum=1),
        "the first id of the partitions that were added to the topic, for each addition: [12] for a topic that was created "
        "with 12 partitions and grown once. Default: none were added",
        load_default=[],
        validate=validate.Length(max=1_000),
    )

    @post_load
    def question(self, body: dict[str, Any], **_: Any) -> AuditQuestion:
        """The question."""
        return AuditQuestion(**{**body, "additions": tuple(body["additions"])})
