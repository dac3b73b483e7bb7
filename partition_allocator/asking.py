"""The app in this process that the library asks, without limits and without the settings of a server."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeAlias
from urllib.parse import urlencode

import pyarrow as pa
from werkzeug.test import Client, TestResponse

from partition_allocator.answers import Answer
from service.api.forms import form_of
from service.app import create_app
from service.cli.local_client import UNLIMITED, has_form
from service.config import Settings
from service.decisions.budget import Budget
from service.web.forms import Refused
from service.web.json.codec import dumps, loads
from service.web.tables import ARROW_STREAM, JSON

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


def ask(path: str, body: dict[str, Any], output: Output) -> Any:
    """The answer to a JSON body; fields that are None are left out. Raises Rejected, and ValueError for another output."""
    accept = _media_type(output)
    sent = dumps({name: value for name, value in body.items() if value is not None})
    if has_form(path):
        return _decided(path, sent, output)
    return _read(_client().post(path, data=sent, content_type=JSON, headers={"Accept": accept}), path, output)


def _decided(path: str, body: bytes, output: Output) -> Any:
    form, budget = form_of(path), Budget()
    try:
        answer = form.decide(form.question(body), budget)
    except Refused as refused:
        raise Rejected(refused.problem) from None
    if output == "dict" or form.table is None:
        return Answer(loads(form.json(answer, budget)), path)
    table = form.table(answer, budget)
    return table if output == "arrow" else table.to_pandas()


def ask_with_columns(path: str, question: dict[str, Any], columns: dict[str, Any], output: Output) -> Any:
    """The answer to an Arrow stream of these columns, with the other fields as its query.

    Raises as ``ask``, and ValueError for columns of several lengths.
    """
    accept = _media_type(output)
    query = {name: _text(value) for name, value in question.items() if value is not None}
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in columns.items())
        raise ValueError(f"Every column needs a value for each key: {lengths}.")
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    url = f"{path}?{urlencode(query)}"
    sent = sink.getvalue().to_pybytes()
    return _read(_client().post(url, data=sent, content_type=ARROW_STREAM, headers={"Accept": accept}), path, output)


def ask_list(path: str) -> Answer:
    """A list of the catalogue."""
    return Answer(loads(_client().get(path).get_data()), path)


@cache
def _client() -> Client:
    """A client of an app without limits. It ignores the variables that configure a server."""
    limits: dict[str, Any] = {name: UNLIMITED for name in Settings.__dataclass_fields__ if name.startswith("max_")}
    limits |= {"max_concurrent": 1_000, "max_queued": 1_000, "max_subjects": 1_000}
    return Client(create_app(Settings(auth="off", **limits)))


def _media_type(output: str) -> str:
    if output not in ("dict", "arrow", "pandas"):
        raise ValueError(f"output must be 'dict', 'arrow' or 'pandas', not {output!r}")
    return JSON if output == "dict" else ARROW_STREAM


def _read(response: TestResponse, path: str, output: Output) -> Any:
    if response.status_code != 200:
        raise Rejected(loads(response.get_data()))
    if output == "dict":
        return Answer(loads(response.get_data()), path)
    with pa.ipc.open_stream(response.get_data()) as reader:
        table = reader.read_all()
    return table if output == "arrow" else table.to_pandas()


def _text(value: Any) -> str:
    """A value as a query has it."""
    if isinstance(value, str | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return ",".join(map(str, value))
