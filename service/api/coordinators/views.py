"""``/v1/coordinators``: group, transactional or share id → coordinator partition."""

from dataclasses import replace

from flask import Response

from service.api.coordinators.document import CoordinatorAnswerSchema
from service.api.coordinators.form import FORM
from service.api.coordinators.schema import CoordinatorQuerySchema, CoordinatorSchema
from service.decisions.coordinators import CoordinatorQuestion
from service.web.blueprint import Blueprint
from service.web.deciding import decide
from service.web.schemas import ExplainSchema

blueprint = Blueprint("coordinators", __name__, description="id → coordinator partition")

EXAMPLE = {"group_id": "billing"}
"""A body for the reference page."""


@blueprint.post("/v1/coordinators")
@blueprint.arguments(CoordinatorSchema, example=EXAMPLE)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, CoordinatorAnswerSchema)
@blueprint.doc(operationId="findCoordinator")
def find_coordinator(question: CoordinatorQuestion, query: dict[str, bool]) -> Response:
    """Compute the partition that coordinates an id."""
    return decide("coordinator", FORM, replace(question, explain=query["explain"]))


@blueprint.get("/v1/coordinators")
@blueprint.arguments(CoordinatorQuerySchema, location="query")
@blueprint.response(200, CoordinatorAnswerSchema)
@blueprint.doc(operationId="getCoordinator")
def get_coordinator(question: CoordinatorQuestion) -> Response:
    """Compute the partition that coordinates a group or a transactional id."""
    return decide("coordinator", FORM, question)
