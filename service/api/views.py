"""The operations: a POST for each family, and what else some of them take."""

from importlib import import_module
from typing import Any, Final

from flask import Request, Response, request
from werkzeug.exceptions import BadRequest

from service.api import coordinators, partitions
from service.api.coordinators import CoordinatorQuestion
from service.decisions.decodings import OFFSETS_TOPIC, DecodingQuestion
from service.decisions.families import FAMILIES, Family
from service.decisions.partitions import PartitionsQuestion
from service.descriptions.pasted import utf8
from service.http.blueprint import Blueprint, Offered, Parser
from service.http.bodies import read_body
from service.http.deciding import decide, reserve
from service.http.media_types import ARROW_STREAM, CSV, JSON, JSON_LINES
from service.http.parsers import StreamParser

TEXT: Final = "text/plain"


class TextParser(Parser):
    """The service's parser, which also takes a text as it is."""

    media_types = (*Parser.media_types, TEXT)

    def _raw_load_json(self, req: Request) -> Any:
        if req.mimetype != TEXT:
            return super()._raw_load_json(req)
        text = read_body(req)
        reserve(2 * len(text))
        try:
            return {"texts": [utf8(text).decode()]}
        except UnicodeDecodeError as error:
            raise BadRequest(f"The text is not UTF-8 at byte {error.start}: {error.reason}.") from None


def of_partitions(_: PartitionsQuestion) -> tuple[str, ...]:
    """The media types of partitions, that of a stream first."""
    return (ARROW_STREAM, JSON, CSV) if request.mimetype == ARROW_STREAM else ()


def of_decodings(question: DecodingQuestion) -> tuple[str, ...]:
    """The media types of what is decoded, that of the request first."""
    if question.records is None or question.kind == OFFSETS_TOPIC:
        return (JSON,)
    own = {ARROW_STREAM: ARROW_STREAM, JSON: JSON}.get(request.mimetype, JSON_LINES)
    return (own, *(each for each in (JSON, JSON_LINES, ARROW_STREAM, CSV) if each != own))


OFFERED: Final[dict[str, Offered]] = {"partitions": of_partitions, "decodings": of_decodings}
"""Of the families whose answers take other media types than ``preferred`` has."""


def resource(family: Family) -> Blueprint:
    """The POST of a family; its text is the docstring of the family's module."""
    module = import_module(f"service.api.{family.name}")
    form, operation = module.FORM, module.OPERATION
    parser = Parser(form.read)
    if family.name == "descriptions":
        parser = TextParser()
    elif operation.columns:
        parser = StreamParser(*operation.columns, read_json=form.read, lines=form.lines is not None)
    tag = operation.tag or family.path.removeprefix("/v1/")
    blueprint = Blueprint(tag, module.__name__, parser, description=operation.about)
    blueprint.decision(family.path, form, operation, module.__doc__, OFFERED.get(family.name))
    return blueprint


BLUEPRINTS: Final = {family.name: resource(family) for family in FAMILIES}


BLUEPRINTS["partitions"].lookup(
    "/v1/partitions",
    partitions.FORM,
    partitions.OPERATION,
    "allocatePartition",
    partitions.PartitionQuerySchema(),
    "Compute the partition of one key, like POST with `keys: [key]`.",
)


@BLUEPRINTS["coordinators"].get("/v1/coordinators")
@BLUEPRINTS["coordinators"].arguments(coordinators.CoordinatorQuerySchema, location="query")
@BLUEPRINTS["coordinators"].response(200, coordinators.FORM.answer_schema)
@BLUEPRINTS["coordinators"].doc(operationId="getCoordinator")
def get_coordinator(question: CoordinatorQuestion) -> Response:
    """Compute the partition that coordinates a group or a transactional id."""
    return decide("coordinator", coordinators.FORM, question)
