"""The JSON form of a question about a Streams group."""

from typing import Final

from service.api.streams.document import document, table
from service.api.streams.schema import StreamsAssignmentSchema
from service.decisions.streams.groups import answer
from service.web.forms import Form

FORM: Final = Form(StreamsAssignmentSchema(), answer, document, table)
