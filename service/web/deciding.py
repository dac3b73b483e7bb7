"""From a question to its response: the part of a view that is the same in every family."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from service.web.context import decision, request_budget
from service.web.responses import JSON, preferred, table
from service.web.responses import answer as json_response

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from flask import Response

    from service.decisions.budget import Budget
    from service.decisions.figures import Figures


class Answer(Protocol):
    """The answer of any family."""

    @property
    def figures(self) -> Figures:
        """What it is about, in numbers."""


Q = TypeVar("Q")
A = TypeVar("A", bound=Answer)


def decide(
    name: str,
    question: Q,
    answer: Callable[[Q, Budget], A],
    document: Callable[[A, Budget], dict[str, Any]],
    columns: Callable[[A], pa.Table] | None = None,
) -> Response:
    """Answer a question in the media type that the client prefers, and measure how.

    name : of the decision in metrics ("assignment"); columns : its main table, if it has one
    Raises what ``answer`` raises, and NotAcceptable.
    """
    budget = request_budget()
    media_type = preferred() if columns is not None else preferred(JSON)
    started = time.perf_counter()
    answered = answer(question, budget)
    figures = answered.figures
    report = decision(name, figures.strategy, started)
    report.computed(started)
    report.sees(**figures.items)
    if figures.skew is not None:
        report.gives(figures.skew, subject=figures.subject, moved=figures.moved)
    with report.render():
        if columns is None or media_type == JSON:
            return json_response(document(answered, budget))
        return table(columns(answered), media_type)
