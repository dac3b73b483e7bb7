"""``/v1/keyless-distributions``: the expected share of each partition in the records that have no key."""

from flask import Response

from service.api.keyless.document import KeylessDistributionsAnswerSchema
from service.api.keyless.form import FORM
from service.api.keyless.schema import KeylessDistributionsSchema
from service.decisions.keyless import KeylessQuestion
from service.web.blueprint import Blueprint
from service.web.deciding import decide

blueprint = Blueprint("keyless-distributions", __name__, description="records without a key → shares of the partitions")

EXAMPLE = {
    "rule": "adaptive",
    "partitions": [{"partition_id": 0, "leader_id": 1, "queue_size": 0}, {"partition_id": 1, "leader_id": 2, "queue_size": 3}],
    "brokers": [{"broker_id": 1}, {"broker_id": 2}],
}
"""A body for the reference page."""


@blueprint.post("/v1/keyless-distributions")
@blueprint.arguments(KeylessDistributionsSchema, example=EXAMPLE)
@blueprint.response(200, KeylessDistributionsAnswerSchema)
@blueprint.doc(operationId="distributeKeyless")
def distribute_keyless(question: KeylessQuestion) -> Response:
    """Compute the share of each partition in records without a key, from its queue and its leader.

    As `text/csv` or Arrow the answer has the columns `partition_id` and `share`. The partition of a single record
    depends on chance; `POST /v1/partitions` draws it.
    """
    return decide("keyless", FORM, question)
