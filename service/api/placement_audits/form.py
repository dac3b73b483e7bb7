"""The JSON form of a question about a topic's placement."""

from typing import Final

from service.api.placement_audits.document import document, table
from service.api.placement_audits.schema import PlacementAuditSchema
from service.decisions.placement_audits import answer
from service.web.forms import Form

FORM: Final = Form(PlacementAuditSchema(), answer, document, table)
