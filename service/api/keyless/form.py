"""The JSON form of a question about records without a key."""

from typing import Final

from service.api.keyless.document import document, table
from service.api.keyless.schema import KeylessDistributionsSchema
from service.decisions.keyless import answer
from service.web.forms import Form

FORM: Final = Form(KeylessDistributionsSchema(), answer, document, table)
