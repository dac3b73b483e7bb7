"""The JSON form of a question about log directories."""

from typing import Final

from service.api.log_dirs.document import document, table
from service.api.log_dirs.schema import LogDirQuestionSchema
from service.decisions.log_dirs.answer import answer
from service.web.forms import Form

FORM: Final = Form(LogDirQuestionSchema(), answer, document, table)
