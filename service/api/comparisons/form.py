"""The JSON form of a question that compares partitioners."""

from typing import Final

from service.api.comparisons.document import document, table
from service.api.comparisons.schema import PartitionerComparisonsSchema
from service.decisions.comparisons import answer
from service.web.forms import Form
from service.web.keys import read_body

FORM: Final = Form(PartitionerComparisonsSchema(), answer, document, table, read=read_body)
