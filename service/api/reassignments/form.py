"""The JSON form of a question about a reassignment to be planned."""

from typing import Final

from service.api.reassignments.document import document, table
from service.api.reassignments.schema import ReassignmentQuestionSchema
from service.decisions.reassignments.answer import answer
from service.web.forms import Form

FORM: Final = Form(ReassignmentQuestionSchema(), answer, document, table)
