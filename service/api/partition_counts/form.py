"""The JSON form of a question about partition counts."""

from typing import Final

from service.api.partition_counts.document import document, table
from service.api.partition_counts.schema import PartitionCountPlansSchema
from service.decisions.partition_counts import answer
from service.web.forms import Form

FORM: Final = Form(PartitionCountPlansSchema(), answer, document, table)
