"""The JSON form of a question about replicas."""

from typing import Final

from service.api.placements.document import document, table
from service.api.placements.schema import ReplicaPlacementSchema
from service.decisions.placements.answer import answer
from service.web.forms import Form

FORM: Final = Form(ReplicaPlacementSchema(), answer, document, table)
