"""The JSON form of a question about a reassignment."""

from typing import Final

from service.api.reassignment_lints.document import document, table
from service.api.reassignment_lints.schema import ReassignmentLintSchema
from service.decisions.reassignment_lints import answer
from service.web.forms import Form

FORM: Final = Form(ReassignmentLintSchema(), answer, document, table)
