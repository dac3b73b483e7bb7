"""Questions of the library: the same forms as the service's, read and written in this process. Nothing is limited."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from partition_allocator.answers import Answer
from service.api.forms import form_of
from service.decisions.budget import Budget
from service.web.forms import Refused
from service.web.json.codec import dumps, loads
from service.web.keys import BatchStream

if TYPE_CHECKING:
    from service.web.forms import Form

Output: TypeAlias = Literal["dict", "arrow", "pandas"]
"""The form of an answer: the JSON document, or its main table as a pyarrow.Table or a pandas.DataFrame."""


class Rejected(ValueError):
    """The request is invalid, or Kafka rejects it; ``str()`` is the reason.

    problem : the problem document of the service: ``type``, ``detail``, ``errors`` with JSON pointers, Kafka's ``error``
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem["detail"])
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its problem, so that it comes back from another process."""
        return Rejected, (self.problem,)


def ask(path: str, body: dict[str, Any], output: Output, **query: bool) -> Any:
    """The answer to a JSON body; fields that are None are left out. Raises Rejected, and ValueError for another output.

    query : the parameters of the endpoint's query
    """
    return _answer(form_of(path), path, dumps(_given(body)), output, **query)


def ask_with_columns(path: str, fields: dict[str, Any], columns: dict[str, Any], output: Output) -> Any:
    """The answer to a body whose large list is a table of these columns.

    Raises as ``ask``, and ValueError for columns of several lengths.
    """
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in columns.items())
        raise ValueError(f"Every column needs a value for each key: {lengths}.")
    form, table = form_of(path), pa.table(columns)
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    # Through JSON, so that NumPy's numbers and tuples are what a body has.
    return _answer(form, path, {**loads(dumps(_given(fields))), form.stream: BatchStream(batches[0], batches[1:])}, output)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _answer(form: Form[Any, Any], path: str, body: bytes | dict[str, Any], output: Output, **query: bool) -> Any:
    if output not in ("dict", "arrow", "pandas"):
        raise ValueError(f"output must be 'dict', 'arrow' or 'pandas', not {output!r}")
    try:
        answer = form.decide(replace(form.question(body), **query), Budget())
    except Refused as refused:
        raise Rejected(refused.problem) from None
    if output == "dict" or form.table is None:
        return Answer(loads(form.json(answer)), path)
    table = form.table(answer)
    return table if output == "arrow" else table.to_pandas()
