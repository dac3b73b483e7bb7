"""``GET /v1/assignors``: the assignors installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marshmallow import Schema, fields

from service.api import Blueprint, render
from service.core.assignors import GROUP_PROTOCOLS
from service.core.assignors.releases import known_to

if TYPE_CHECKING:
    from flask import Response

blueprint = Blueprint("assignors", __name__, description="the assignors installed")


class AssignorSchema(Schema):
    """An assignor."""

    group_protocol = fields.String(metadata={"description": "the group protocol in which it assigns", "example": "classic"})
    assignor = fields.String(metadata={"description": "what a request calls it", "example": "range"})
    reproduces = fields.String(metadata={"description": "the class and release whose answers it gives"})
    summary = fields.String()
    kafka_versions = fields.List(fields.String(), metadata={"description": "the releases whose answers it can give"})


class AssignorsSchema(Schema):
    """The assignors."""

    assignors = fields.List(fields.Nested(AssignorSchema))


@blueprint.get("/v1/assignors")
@blueprint.response(200, AssignorsSchema)
@blueprint.doc(operationId="listAssignors")
def list_assignors() -> Response:
    """List the assignors, plug-ins included."""
    return render.answer(
        {
            "assignors": [
                {
                    "group_protocol": group_protocol,
                    "assignor": assignor.name,
                    "reproduces": assignor.reproduces,
                    "summary": assignor.summary,
                    "kafka_versions": known_to(assignor),
                }
                for group_protocol, assignors in GROUP_PROTOCOLS.items()
                for assignor in assignors
            ]
        }
    )
