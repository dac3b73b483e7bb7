"""The JSON form of a question about captured bytes."""

from typing import Final

from service.api.decodings.document import document
from service.api.decodings.records import json_lines, table
from service.api.decodings.schema import CaptureSchema
from service.decisions.decodings import answer
from service.web.forms import Form

FORM: Final = Form(CaptureSchema(), answer, document, table, lines=json_lines)
