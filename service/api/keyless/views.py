"""``/v1/keyless-distributions``: the expected share of each partition in the records that have no key."""

from flask import Response

from service.api.keyless.request import KeylessDistributionsSchema, KeylessQuestion
from service.api.keyless.response import KeylessDistributionsAnswerSchema, document, table
from service.core.keyless import distribution
from service.web.blueprint import Blueprint
from service.web.context import decision
from service.web.responses import respond

blueprint = Blueprint("keyless-distributions", __name__, description="records without a key → shares of the partitions")


@blueprint.post("/v1/keyless-distributions")
@blueprint.arguments(KeylessDistributionsSchema)
@blueprint.response(200, KeylessDistributionsAnswerSchema)
@blueprint.doc(operationId="distributeKeyless")
def distribute_keyless(question: KeylessQuestion) -> Response:
    """Say which share of the records without a key each partition gets, given what waits for it and where its leader is.

    As `text/csv` or Arrow the answer has the columns `partition_id` and `share`. Where a single record goes is a matter of
    chance, which `POST /v1/partitions` draws.
    """
    report = decision("keyless", question.keyless.rule)
    with report.compute():
        result = distribution(question.keyless)
    report.sees(partitions=len(result.shares))
    report.gives(result.skew, subject=question.topic_name)
    with report.render():
        return respond(lambda: document(question, result), lambda _: table(result))
