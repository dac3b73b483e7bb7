"""The JSON form of a question about what happens to a group."""

from typing import Final

from service.api.rebalances.document import document, table
from service.api.rebalances.schema import GroupRebalancesSchema
from service.decisions.rebalances.answer import answer
from service.web.forms import Form

FORM: Final = Form(GroupRebalancesSchema(), answer, document, table)
