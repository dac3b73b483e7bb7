"""A client of the service that needs no server: the app runs in this process, with the resource that is asked only."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from io import BufferedReader
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast
from urllib.parse import urlencode

from service.cli.errors import BAD_INPUT, BadInput, note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from flask import Flask
    from werkzeug.test import Client, TestResponse

    from service.config import Settings

UNLIMITED: Final = 2**62
"""Limits protect a shared server; and nobody needs credentials on their own machine."""

OWN_MACHINE: Final = ("max_decision_bytes", "max_request_seconds", "max_simulated_cells")
"""The settings that limit nothing on the caller's own machine."""


def settings() -> Settings:
    """The settings of the environment. Raises BadInput, which names every invalid variable."""
    from environs.exceptions import EnvValidationError  # noqa: PLC0415 - an import that --help does not need

    from service.config import Settings  # noqa: PLC0415

    try:
        return Settings.from_environment()
    except EnvValidationError as error:
        messages = cast("dict[str, list[str]]", error.error_messages)
        raise BadInput("; ".join(f"{name}: {' '.join(texts)}" for name, texts in messages.items())) from None


class Refused(Exception):
    """An endpoint's refusal, as its words."""


class LocalApp:
    """The service in this process, which answers any number of requests. Of each path only what answers it is imported.

    limits : the settings that are not to limit anything
    """

    def __init__(self, limits: tuple[str, ...] = OWN_MACHINE) -> None:
        unlimited: dict[str, Any] = dict.fromkeys(limits, UNLIMITED)
        self._settings = replace(settings(), auth="off", otlp_endpoint="", **unlimited)
        self._clients: dict[str, Client] = {}

    def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a body. Raises Refused."""
        from service.web.json.codec import dumps, loads  # noqa: PLC0415 - an import that --help does not need

        response = self.post(path, dumps(body))
        answer: dict[str, Any] = loads(response.get_data())
        if response.status_code == 200:
            return answer
        faults = [": ".join(filter(None, (error["pointer"], error["detail"]))) for error in answer.get("errors", ())]
        raise Refused(" ".join(faults or [answer["detail"]]))

    def post(self, path: str, body: bytes, accept: str = "application/json") -> TestResponse:
        """The response to a JSON body."""
        return self.client(path).post(path, data=body, content_type="application/json", headers={"Accept": accept})

    def client(self, path: str) -> Client:
        """A client of an app that answers this path."""
        from werkzeug.test import Client  # noqa: PLC0415 - as above

        path = path.partition("?")[0]
        if path not in self._clients:
            # What is imported and made now are many objects and no garbage: without the collector it takes a tenth less time.
            gc.disable()
            try:
                self._clients[path] = Client(_app(self._settings))
            finally:
                gc.freeze()
                gc.enable()
        return self._clients[path]


def post(path: str, body: bytes, accept: str = "application/json") -> bytes:
    """Post a JSON body and return the answer's. An error is printed to standard error; the command then exits with BAD_INPUT."""
    return next(post_each(path, [body], accept))


def post_each(path: str, bodies: Iterable[bytes], accept: str = "application/json") -> Iterator[bytes]:
    """Like ``post``, for several bodies one after the other."""
    if has_form(path.partition("?")[0]):
        for body in bodies:
            yield decide(path.partition("?")[0], body, accept, explain="explain=true" in path)
        return
    app = LocalApp()
    for body in bodies:
        yield _body(app.post(path, body, accept))


def post_stream(path: str, pieces: Iterator[bytes], accept: str = "application/json") -> bytes:
    """Like ``post``, for an Arrow stream of any length; only a piece of it is in memory at a time.

    pieces : at least one
    A BadInput that ``pieces`` raises is raised again here.
    """
    first = next(pieces)  # a file that cannot be read is refused before the service is imported
    from service.web.arrow.parser import Pieces  # noqa: PLC0415 - as above
    from service.web.tables import ARROW_STREAM  # noqa: PLC0415

    errors: list[BadInput] = []

    def until_error() -> Iterator[bytes]:
        try:
            yield first
            yield from pieces
        except BadInput as error:
            errors.append(error)

    streamed = {
        "wsgi.input": BufferedReader(Pieces(until_error())),
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
        "HTTP_ACCEPT": accept,
    }
    app = LocalApp(("max_body_bytes", "max_decision_bytes", "max_keys", "max_request_seconds"))
    response = app.client(path).post(path, content_type=ARROW_STREAM, environ_overrides=streamed)
    if errors:
        raise errors[0]
    return _body(response)


def has_form(path: str) -> bool:
    """Whether the family of a path is asked without an app."""
    from service.decisions.families import BY_PATH  # noqa: PLC0415 - as above

    return path in BY_PATH and find_spec(f"service.api.{BY_PATH[path].name}.form") is not None


def decide(path: str, body: bytes, accept: str, *, explain: bool) -> bytes:
    """The answer to a JSON body, as JSON or CSV. An error is printed; the command then exits with BAD_INPUT."""
    announce_compilation()
    from service.api.forms import form_of  # noqa: PLC0415 - as above
    from service.decisions.budget import Budget  # noqa: PLC0415
    from service.web.forms import Refused as Refusal  # noqa: PLC0415

    form, budget = form_of(path), Budget()
    try:
        question = form.question(body)
        answer = form.decide(replace(question, explain=True) if explain else question, budget)
    except Refusal as refusal:
        fail(refusal.problem)
    if accept == "application/json" or form.table is None:
        return form.json(answer, budget)
    from service.web.tables import written  # noqa: PLC0415

    return b"".join(written(form.columns(answer, budget, accept), accept))


def with_query(path: str, query: Mapping[str, Any]) -> str:
    """The path with a query. Bytes of the command line that are not UTF-8 are passed on, for the service to refuse."""
    return f"{path}?{urlencode(query, errors='surrogateescape')}"


def _app(own_settings: Settings) -> Flask:
    import_libraries()
    announce_compilation()
    from service.app import create_app  # noqa: PLC0415 - the whole service

    return create_app(own_settings)


class Absent(MetaPathFinder):
    """Lets some modules seem not to be installed."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def find_spec(self, fullname: str, *_: object) -> None:
        """Raise ModuleNotFoundError for these modules; leave others to the other finders."""
        if fullname in self.names:
            raise ModuleNotFoundError(name=fullname)


def import_libraries() -> None:
    """Import Numba and Arrow without what they import only where it is installed: half a second of CPU.

    Numba needs SciPy's BLAS and cffi to compile products of matrices and calls of C functions, which no kernel has. Arrow asks
    Pandas whether a list is a column of its.
    """
    absent = Absent("scipy.linalg", "cffi", "pandas")
    sys.meta_path.insert(0, absent)
    try:
        for user in ("numba.np.arraymath", "numba.core.typing.cffi_utils"):
            import_module(user)
        import_module("pyarrow").array([])
    finally:
        sys.meta_path.remove(absent)


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


def _body(response: TestResponse) -> bytes:
    if response.status_code != 200:
        from service.web.json.codec import loads  # noqa: PLC0415 - as above

        fail(loads(response.get_data()))
    return response.get_data()


def fail(problem: Mapping[str, Any]) -> NoReturn:
    """Print a problem document to standard error, nothing of it twice, and exit with BAD_INPUT."""
    errors = problem.get("errors", ())
    if len(errors) != 1:
        note(f"Error: {len(errors)} faults" if errors else f"Error: {problem['detail']}")
    prefix = "Error: " if len(errors) == 1 else "  "
    for error in errors:
        place = error["pointer"]
        note(f"{prefix}{place}: {error['detail']}" if place else f"{prefix}{error['detail']}")
    for remedy in problem.get("remedies", ()):
        note(f"  Remedy: {remedy}")
    sys.exit(BAD_INPUT)
