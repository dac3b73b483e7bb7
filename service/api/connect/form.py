"""The JSON form of a question about a Connect group."""

from typing import Final

from service.api.connect.document import document, table
from service.api.connect.schema import ConnectAssignmentSchema
from service.decisions.connect import answer
from service.web.forms import Form

FORM: Final = Form(ConnectAssignmentSchema(), answer, document, table)
