"""The JSON form of a question about a coordinator."""

from typing import Final

from service.api.coordinators.document import document, table
from service.api.coordinators.schema import CoordinatorSchema
from service.decisions.coordinators import answer
from service.web.forms import Form

FORM: Final = Form(CoordinatorSchema(), answer, document, table)
