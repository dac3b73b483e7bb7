"""The JSON form of a question about partitions."""

from typing import Final

from service.api.partitions.document import document, table
from service.api.partitions.schema import PartitionsSchema
from service.decisions.partitions import answer
from service.web.forms import Form
from service.web.keys import read_body

FORM: Final = Form(PartitionsSchema(), answer, document, table, read=read_body, csv_row="record")
