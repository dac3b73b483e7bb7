"""The JSON form of a family of questions: what the service, the command line and the library take and give alike."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from marshmallow import Schema, ValidationError

from service.core.errors import AllocatorError, InvalidQuestion
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.http.details import without_details
from service.http.json.codec import LongText, dumps, loads
from service.http.json.limits import JsonRejected, memory_bytes
from service.http.media_types import CSV
from service.http.problems import of_allocator_error, of_messages, problem, reword
from service.http.schemas import DetailSchema


class Refused(Exception):
    """A question that is not answered. problem : the problem document, without a request id"""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document["detail"])
        self.problem = document


class FamilyAnswer(Protocol):
    """The answer of any family."""

    @property
    def figures(self) -> Figures:
        """What it is about, in numbers."""


Q = TypeVar("Q")
A = TypeVar("A", bound=FamilyAnswer)


@dataclass(frozen=True)
class Operation:
    """The POST of a family.

    tag : its resource in the contract, and about : what that answers
    name : the operationId
    metric : the decision's name in metrics
    example : a body for the reference page
    query : the parameters, each a field of the question
    columns : the members of a body that an Arrow stream replaces; the field of the first gets the stream
    """

    tag: str
    name: str
    metric: str
    about: str
    example: dict[str, Any]
    query: type[Schema] = DetailSchema
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form(Generic[Q, A]):
    """How a family's questions and answers look as JSON.

    schema : of a body; it makes the question
    answer : decides. Raises AllocatorError
    answer_schema : documents the answer
    document : the answer as what ``json.codec`` writes
    table : the answer's main table; None: it has none
    lines : the answer as JSON lines; None: it has none
    read : the value of a JSON text
    stream : the field whose large list a table can replace
    csv_row : the first column of the table as CSV, whose rows somebody may sort: their numbers; None: no such column
    """

    schema: Schema
    answer: Callable[[Q, Budget], A]
    answer_schema: type[Schema]
    document: Callable[[A], dict[str, Any]]
    table: Callable[[A], pa.Table] | None = None
    lines: Callable[[A], LongText] | None = None
    read: Callable[[bytes], Any] = loads
    csv_row: str | None = None
    stream: str = "keys"

    def question(self, body: bytes | Mapping[str, Any]) -> Q:
        """The question of a body. Raises Refused for what is not JSON, and for faults of single fields."""
        value = self._value(body) if isinstance(body, bytes) else body
        try:
            question: Q = self.schema.load(value)
        except ValidationError as error:
            reword(error.messages, self.schema, value)
            raise Refused(of_messages(error.messages)) from None
        except InvalidQuestion as error:
            raise Refused(of_allocator_error(error)) from None
        return question

    def decide(self, question: Q, budget: Budget) -> A:
        """The answer. Raises Refused."""
        try:
            return self.answer(question, budget)
        except AllocatorError as error:
            raise Refused(of_allocator_error(error)) from error

    def columns(self, answer: A, media_type: str) -> pa.Table:
        """The answer's table for a media type. Raises TypeError if it has none."""
        if self.table is None:
            raise TypeError("the family has no table")
        table = self.table(answer)
        if self.csv_row is not None and media_type == CSV:
            table = table.add_column(0, self.csv_row, pa.array(np.arange(len(table))))
        return table

    def shown(self, answer: A, *, full: bool = False) -> dict[str, Any]:
        """The answer as what ``json.codec`` writes. full : with its details"""
        document = self.document(answer)
        return document if full else without_details(self.answer_schema, document)

    def json(self, answer: A, *, full: bool = False) -> bytes:
        """The answer as JSON. full : with its details"""
        return dumps(self.shown(answer, full=full))

    def _value(self, body: bytes) -> Any:
        """The value of a text that is UTF-8 and whose members are unique."""
        try:
            body.decode()
            memory_bytes(body)
            return self.read(body)
        except JsonRejected as error:
            raise Refused(of_allocator_error(InvalidQuestion(str(error), *error.field))) from None
        except ValueError as error:
            raise Refused(problem(400, "bad-request", "Bad Request", f"The body is not JSON: {error}")) from None
