"""The JSON form of a question about two topics that are to be joined."""

from typing import Final

from service.api.co_partitionings.document import document
from service.api.co_partitionings.schema import CoPartitioningsSchema
from service.decisions.co_partitionings import answer
from service.web.forms import Form

FORM: Final = Form(CoPartitioningsSchema(), answer, document)
