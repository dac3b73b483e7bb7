"""From a command's words to an answer: the form of a family, read and written in this process. Nothing is limited."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from service import parameters
from service.cli import BAD_INPUT, note
from service.http.media_types import CSV

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from service.http.forms import Form


def ask(path: str, body: bytes | Mapping[str, Any], form: str = "json", **query: bool) -> bytes:
    """The answer of the family with this path. A refusal is printed; the command then exits with BAD_INPUT.

    form : "csv", or any other for JSON
    query : the parameters of the endpoint's query, such as ``explain``
    """
    return next(ask_each(path, [body], form, **query))


def ask_and_decide(path: str, body: bytes, form: str, **query: bool) -> tuple[bytes, Any]:
    """Like ``ask``, and the answer of ``service.decisions`` besides."""
    family = _form(path)
    answer = _decided(family, body, **query)
    return written(family, answer, form), answer


def ask_each(path: str, bodies: Iterable[bytes | Mapping[str, Any]], form: str = "json", **query: bool) -> Iterator[bytes]:
    """Like ``ask``, for several bodies one after the other."""
    family = _form(path)
    for body in bodies:
        yield written(family, _decided(family, body, **query), form)


def ask_stream(path: str, fields: Mapping[str, Any], batches: Iterator[pa.RecordBatch], form: str = "json") -> bytes:
    """Like ``ask``, for a table of any length in the place of the body's large list; where the family can, batch by batch.

    fields : the others; those that are None are left out
    batches : at least one. What they raise is raised again
    """
    return written(*decide_stream(path, fields, batches), form)


def decide_stream(path: str, fields: Mapping[str, Any], batches: Iterator[pa.RecordBatch]) -> tuple[Form[Any, Any], Any]:
    """Like ``ask_stream``, but the form of the family and the answer of ``service.decisions``."""
    first = next(batches)  # a file that cannot be read is refused before any library is imported
    form = _form(path)
    from service.http.keys import BatchStream  # noqa: PLC0415 - an import that --help does not need

    given = {name: value for name, value in fields.items() if value is not None}
    return form, _decided(form, {**given, form.stream: BatchStream(first, batches)})


def decide_question(path: str, question: Any) -> tuple[Form[Any, Any], Any]:
    """The form of a family and its answer to a question of its own, which no body can hold."""
    form = _form(path)
    return form, _answered(form, lambda: question)


def decide(path: str, body: bytes | Mapping[str, Any], **query: bool) -> Any:
    """Like ``ask``, but the answer of ``service.decisions``."""
    return _decided(_form(path), body, **query)


def _form(path: str) -> Form[Any, Any]:
    # What is imported and made now are many objects and no garbage: without the collector it takes a tenth less time.
    gc.disable()
    try:
        announce_compilation()
        from service.api import form_of  # noqa: PLC0415 - an import that --help does not need

        return form_of(path)
    finally:
        gc.freeze()
        gc.enable()


def _decided(form: Form[Any, Any], body: bytes | Mapping[str, Any], **query: bool) -> Any:
    def asked() -> Any:
        question = form.question(body)
        return replace(question, **query) if any(query.values()) else question

    return _answered(form, asked)


def _answered(form: Form[Any, Any], asked: Callable[[], Any]) -> Any:
    from service.core.budget import Budget  # noqa: PLC0415 - as above
    from service.http.forms import Refused  # noqa: PLC0415

    try:
        return form.decide(asked(), Budget())
    except Refused as refusal:
        fail(refusal.problem)


def written(family: Form[Any, Any], answer: Any, form: str) -> bytes:
    """An answer of ``decide_question`` in a form, see ``ask``."""
    if form != "csv" or family.table is None:
        return family.json(answer, full=form == "table" or parameters.full())
    from service.http.tables import written  # noqa: PLC0415 - as above

    return b"".join(written(family.columns(answer, CSV), CSV))


def printed(answer: bytes, form: str) -> bool:
    """Print an answer of ``ask`` as it is; False for a table, which the command makes of it."""
    if form != "table":
        click.echo(answer, nl=form == "json")
    return form != "table"


def announce_compilation() -> None:
    """Let the first kernel that has to be compiled, instead of loaded, say so on standard error, once."""
    from numba.core import event  # noqa: PLC0415 - as above

    class Announcement(event.Listener):
        def on_start(self, _: object) -> None:
            event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]
            note("Compiling kernels. This happens once per installation and may take some minutes.")

        def on_end(self, _: object) -> None:
            pass

    event.register("numba:compile", Announcement())  # type: ignore[no-untyped-call]


def fail(problem: Mapping[str, Any]) -> NoReturn:
    """Print a problem document to standard error, nothing of it twice, and exit with BAD_INPUT."""
    errors = problem.get("errors", ())
    if len(errors) != 1:
        note(f"Error: {len(errors)} faults" if errors else f"Error: {problem['detail']}")
    prefix = "Error: " if len(errors) == 1 else "  "
    for error in errors:
        place = _place(error["pointer"])
        note(f"{prefix}{place}: {error['detail']}" if place else f"{prefix}{error['detail']}")
    for remedy in problem.get("remedies", ()):
        note(f"  Remedy: {remedy}")
    sys.exit(BAD_INPUT)


def _place(pointer: str) -> str:
    """The option whose value a pointer shows; the pointer if another part of the command or a file has the value."""
    field, _, rest = pointer[1:].partition("/")
    context = click.get_current_context()
    if (rest and not rest.isdecimal()) or context.get_parameter_source(field) is not ParameterSource.COMMANDLINE:
        return pointer
    own = (param for param in context.command.params if isinstance(param, click.Option))
    return next((option.opts[0] for option in own if option.name == field), pointer)


def object_of(body: bytes) -> dict[str, Any] | None:
    """The JSON object of a body that a command adds to; None if it is anything else."""
    from service.http.json.codec import loads  # noqa: PLC0415 - an import that --help does not need

    try:
        document = loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def rows_of(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a list of a body; none where it is absent or wrong, of which the service says why."""
    found = body.get(name)
    return found if isinstance(found, list) and all(isinstance(row, dict) for row in found) else []
