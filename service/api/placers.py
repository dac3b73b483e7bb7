"""``GET /v1/placers``: the placers installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marshmallow import Schema, fields

from service.api import Blueprint, render
from service.core.placers import PLACERS

if TYPE_CHECKING:
    from flask import Response

blueprint = Blueprint("placers", __name__, description="the placers installed")


class PlacerSchema(Schema):
    """A placer."""

    placer = fields.String(metadata={"description": "what a request calls it", "example": "striped"})
    reproduces = fields.String(metadata={"description": "the class and releases whose answers it gives"})
    summary = fields.String()
    kafka_versions = fields.List(fields.String(), metadata={"description": "the releases it can be asked for; default: the last"})


class PlacersSchema(Schema):
    """The placers."""

    placers = fields.List(fields.Nested(PlacerSchema))


@blueprint.get("/v1/placers")
@blueprint.response(200, PlacersSchema)
@blueprint.doc(operationId="listPlacers")
def list_placers() -> Response:
    """List the placers, plug-ins included."""
    return render.answer(
        {
            "placers": [
                {
                    "placer": placer.name,
                    "reproduces": placer.reproduces,
                    "summary": placer.summary,
                    "kafka_versions": placer.kafka_versions,
                }
                for placer in PLACERS
            ]
        }
    )
