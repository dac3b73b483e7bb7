"""Compute the share of each partition in records without a key, from its queue and its leader.

As `text/csv` or Arrow the answer has the columns `partition_id` and `share`. The partition of a single record
depends on chance; `POST /v1/partitions` draws it.
"""

from service.api.keyless.document import FORM
from service.web.blueprint import Blueprint

blueprint = Blueprint("keyless-distributions", __name__, description="records without a key → shares of the partitions")

EXAMPLE = {
    "rule": "adaptive",
    "partitions": [{"partition_id": 0, "leader_id": 1, "queue_size": 0}, {"partition_id": 1, "leader_id": 2, "queue_size": 3}],
    "brokers": [{"broker_id": 1}, {"broker_id": 2}],
}

blueprint.decision("/v1/keyless-distributions", FORM, "distributeKeyless", "keyless", __doc__, example=EXAMPLE)
