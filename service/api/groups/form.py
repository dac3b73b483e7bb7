"""The JSON form of a question about a group."""

from typing import Any, Final

import pyarrow as pa

from service.api.forms import form_of
from service.api.groups.document import document, table
from service.api.groups.schema import ELSEWHERE, GroupAssignmentSchema, read_body
from service.decisions.budget import Budget
from service.decisions.groups.answer import answer
from service.decisions.groups.question import GroupQuestion
from service.web.forms import Form

_PARTITIONS: Final = Form(GroupAssignmentSchema(), answer, document, table)
"""A group of members and partitions."""


def _of(question: Any) -> Form[Any, Any]:
    """The form of the family that the question is of."""
    return _PARTITIONS if isinstance(question, GroupQuestion) else form_of(ELSEWHERE[question.protocol])


def _answer(question: Any, budget: Budget) -> Any:
    return _of(question).answer(question, budget)


def _document(answer: Any, budget: Budget) -> dict[str, Any]:
    return _of(answer.question).document(answer, budget)


def _table(answer: Any, budget: Budget) -> pa.Table:
    return _of(answer.question).columns(answer, budget, "")


FORM: Final[Form[Any, Any]] = Form(GroupAssignmentSchema(), _answer, _document, _table, read=read_body)
