"""The JSON form of a question about a group."""

from typing import Final

from service.api.groups.document import document, table
from service.api.groups.schema import GroupAssignmentSchema, read_body
from service.decisions.groups.answer import answer
from service.web.forms import Form

FORM: Final = Form(GroupAssignmentSchema(), answer, document, table, read=read_body)
