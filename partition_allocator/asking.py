"""Questions of the library: the same forms as the service's, read and written in this process. Nothing is limited.

Among the fields of any question, ``detail="full"`` is ``?detail=full`` of the endpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa
from orjson import Fragment

from partition_allocator import inputs
from partition_allocator.answers import Answer
from service.api import form_of
from service.core.budget import Budget
from service.http.forms import Form, Refused
from service.http.json.codec import dumps, loads
from service.http.keys import BatchStream

Output: TypeAlias = Literal["dict", "arrow", "pandas"]
"""The form of an answer: the JSON document, or its main table as a pyarrow.Table or a pandas.DataFrame."""


class Rejected(ValueError):
    """The request is invalid, or Kafka rejects it; ``str()`` is the reason, after the place of the first invalid value.

    problem : the problem document of the service: ``type``, ``detail``, ``errors`` with JSON pointers, Kafka's ``error``
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem["detail"])
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its problem, so that it comes back from another process."""
        return Rejected, (self.problem,)


def ask(path: str, body: dict[str, Any], output: Output, **query: bool) -> Any:
    """The answer to a JSON body; fields that are None are left out.

    query : the parameters of the endpoint's query
    Raises Rejected; TypeError, which names the argument, for what JSON does not have; ValueError for another output.
    """
    return ask_exactly(path, _given(body), output, **query)


def ask_exactly(path: str, body: dict[str, Any], output: Output, **query: bool) -> Any:
    """Like ``ask``, with None as null."""
    form = form_of(path)
    body, full = _detail(form, body)
    return _answer(form, path, _text(body), output, full=full, **query)


def ask_about_keys(
    path: str, fields: dict[str, Any], keys: Any, others: dict[str, Any], output: Output, key_format: str | None, **query: bool
) -> Any:
    """The answer to a body whose large list are keys, and perhaps further columns.

    keys : as ``inputs.key_column`` takes them; others : Arrow arrays by their names
    Raises as ``ask``, TypeError for keys that are no column, and ValueError for columns of several lengths.
    """
    column = inputs.key_column(keys, key_format)
    columns = {"key": column, **others}
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in columns.items())
        raise ValueError(f"Every column needs a value for each key: {lengths}.")
    form = form_of(path)
    fields, full = _detail(form, _given({**fields, "key_format": key_format}))
    if isinstance(column, list):  # which Arrow cannot hold
        return _answer(form, path, _text({**fields, **_as_rows(form.stream, column, others)}), output, full=full, **query)
    table = pa.table(columns)
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    # Through JSON, so that NumPy's numbers and tuples are what a body has.
    body = {**loads(_text(fields)), form.stream: BatchStream(batches[0], batches[1:])}
    return _answer(form, path, body, output, full=full, **query)


def _as_rows(stream: str, keys: list[Any], others: dict[str, Any]) -> dict[str, Any]:
    """The columns as the body has them without a table. stream : the field whose list a table can replace"""
    if not others:
        return {stream: keys}
    names, columns = ("key", *others), (keys, *(column.to_pylist() for column in others.values()))
    return {
        "histogram" if stream == "keys" else stream: [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    }


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _detail(form: Form[Any, Any], fields: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The fields of a body, and whether every figure is asked for; then a body with a detail of its own has the most."""
    if fields.get("detail") != "full":
        return fields, False
    most = {"detail": "assignments"} if "detail" in form.schema.fields else {}
    return {name: value for name, value in fields.items() if name != "detail"} | most, True


def _text(body: dict[str, Any]) -> bytes:
    """The body as JSON. Raises TypeError, which names the field, for a value that JSON does not have."""
    try:
        return dumps(body)
    except TypeError:  # also of an integer that the service is to refuse, and of a range
        return dumps({name: Fragment(_slowly(name, value)) for name, value in body.items()})


def _slowly(name: str, value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} cannot be written as JSON: {error}.") from None


def _plain(value: Any) -> Any:
    """An array, a column, a range or a mapping as JSON has it. Raises TypeError."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    for method in ("tolist", "to_pylist", "as_py"):
        if hasattr(value, method):
            return getattr(value, method)()
    raise TypeError(f"it has a value of type {type(value).__name__}")


def _answer(form: Form[Any, Any], path: str, body: bytes | dict[str, Any], output: Output, *, full: bool, **query: bool) -> Any:
    if output not in ("dict", "arrow", "pandas"):
        raise ValueError(f"output must be 'dict', 'arrow' or 'pandas', not {output!r}")
    try:
        answer = form.decide(replace(form.question(body), **query), Budget())
    except Refused as refused:
        raise Rejected(refused.problem) from None
    if output == "dict" or form.table is None:
        return Answer(loads(form.json(answer, full=full)), path)
    table = form.table(answer)
    return table if output == "arrow" else table.to_pandas()
