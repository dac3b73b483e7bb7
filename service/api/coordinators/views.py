"""``/v1/coordinators``: group, transactional or share id → coordinator partition."""

from flask import Response

from service.api.coordinators.request import Coordination, CoordinatorQuerySchema, CoordinatorSchema
from service.api.coordinators.response import CoordinatorAnswerSchema, document, table
from service.web.blueprint import Blueprint
from service.web.responses import respond
from service.web.schemas import ExplainSchema

blueprint = Blueprint("coordinators", __name__, description="id → coordinator partition")


@blueprint.post("/v1/coordinators")
@blueprint.arguments(CoordinatorSchema)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, CoordinatorAnswerSchema)
@blueprint.doc(operationId="findCoordinator")
def find_coordinator(question: Coordination, query: dict[str, bool]) -> Response:
    """Say which partition coordinates an id."""
    return _answer(question, explained=query["explain"])


@blueprint.get("/v1/coordinators")
@blueprint.arguments(CoordinatorQuerySchema, location="query")
@blueprint.response(200, CoordinatorAnswerSchema)
@blueprint.doc(operationId="getCoordinator")
def get_coordinator(question: Coordination) -> Response:
    """Say which partition coordinates a group or a transactional id."""
    return _answer(question, explained=question.explained)


def _answer(question: Coordination, *, explained: bool) -> Response:
    return respond(lambda: document(question, explained=explained), lambda _: table(question))
