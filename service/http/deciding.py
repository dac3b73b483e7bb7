"""From a question to its response: the part of a view that is the same in every family."""

import time
from typing import TypeVar

from flask import Response, request

from service.core.clock import limited
from service.decisions.budget import Budget
from service.http.context import answered, request_budget
from service.http.details import PARAMETER
from service.http.forms import FamilyAnswer, Form
from service.http.json.codec import dump_pieces
from service.http.media_types import JSON, JSON_LINES
from service.http.responses import answer as json_response
from service.http.responses import in_pieces, preferred, table

Q = TypeVar("Q")
A = TypeVar("A", bound=FamilyAnswer)


def decide(name: str, form: Form[Q, A], question: Q, *offered: str) -> Response:
    """Answer a question in the media type that the client prefers, and measure how.

    name : of the decision in metrics ("assignment")
    offered : media types, as for ``preferred``
    Raises what the form's ``answer`` and the budget raise, and NotAcceptable.
    """
    budget = request_budget()
    with limited(budget.check_time, budget.reserve):
        return _decided(name, form, question, budget, offered)


def _decided(name: str, form: Form[Q, A], question: Q, budget: Budget, offered: tuple[str, ...]) -> Response:
    media_type = preferred(*offered) if form.table is not None else preferred(JSON)
    parsed = time.perf_counter()
    answer = form.answer(question, budget)
    budget.check_time()  # kernels that do not look at the clock may have taken too long
    computed = time.perf_counter()
    figures = answer.figures
    if form.table is None or media_type == JSON:
        full = PARAMETER in request.environ["QUERY_STRING"].split("&")
        response = json_response(form.shown(answer, full=full))
    elif form.lines is not None and media_type == JSON_LINES:
        response = in_pieces(dump_pieces(form.lines(answer), budget.reserve), JSON_LINES)
    else:
        response = table(form.columns(answer, media_type), media_type)
    if figures.tag is not None:
        response.set_etag(figures.tag)
    answered(name, figures, parsed, computed)
    return response
