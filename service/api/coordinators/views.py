"""Compute the partition that coordinates an id."""

from flask import Response

from service.api.coordinators.document import FORM
from service.api.coordinators.schema import CoordinatorQuerySchema
from service.decisions.coordinators import CoordinatorQuestion
from service.web.blueprint import Blueprint
from service.web.deciding import decide
from service.web.schemas import ExplainSchema

blueprint = Blueprint("coordinators", __name__, description="id → coordinator partition")

EXAMPLE = {"group_id": "billing"}

blueprint.decision("/v1/coordinators", FORM, "findCoordinator", "coordinator", __doc__, example=EXAMPLE, query=ExplainSchema)


@blueprint.get("/v1/coordinators")
@blueprint.arguments(CoordinatorQuerySchema, location="query")
@blueprint.response(200, FORM.answer_schema)
@blueprint.doc(operationId="getCoordinator")
def get_coordinator(question: CoordinatorQuestion) -> Response:
    """Compute the partition that coordinates a group or a transactional id."""
    return decide("coordinator", FORM, question)
