"""The JSON form of a question about numbers of members."""

from typing import Final

from service.api.member_counts.document import document, table
from service.api.member_counts.schema import MemberCountPlansSchema
from service.decisions.member_counts.answer import answer
from service.web.forms import Form

FORM: Final = Form(MemberCountPlansSchema(), answer, document, table)
"""The JSON body of a question about numbers of members."""
