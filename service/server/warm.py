"""Loads every kernel: from Numba's cache if it was compiled before; otherwise it is compiled now and cached.

``python -m service.server.warm`` compiles at set-up and at build, in two processes. A server calls ``load_kernels`` before it
forks its workers, so that no request waits for a compiler. The requests that do so were recorded, each because it loads a kernel
that those before it do not (``make warm-requests``). Tests look for what is missing.
"""

import base64
import gc
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Lock
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from werkzeug.test import Client

from service.app import create_app
from service.config import Settings
from service.core.kernels import unsaved
from service.planner.sizing.frequent_keys import FrequentKeys
from service.web.json import integer_lists, string_lists
from service.web.media_types import ARROW_STREAM

REQUESTS: Final = Path(__file__).with_name("warm_requests.jsonl")
"""A request a line: path, query, and the body as json or arrow_base64."""


class NotCompiled(BaseException):
    """A kernel is not in Numba's cache. No Exception, so that the app does not answer it as a fault of the request."""


class _Refusal(event.Listener):
    """Raises NotCompiled instead of having a kernel compiled."""

    def on_start(self, _: event.Event) -> None:
        raise NotCompiled

    def on_end(self, _: event.Event) -> None:
        """Nothing has been compiled."""


def load_kernels(settings: Settings) -> None:
    """Load every kernel from Numba's cache. Raises NotCompiled at the first that is not there, or DamagedCache."""
    with event.install_listener("numba:compile", _Refusal()):
        warm(settings)


def warm(settings: Settings | None = None) -> None:
    """Send the recorded requests, so small that only loading their kernels takes time, or compiling them where that is needed.

    They go to an app of their own, whose metrics are thrown away. A strategy that rejects its request has loaded what rejects it.
    Raises DamagedCache.
    """
    client = client_of(settings or Settings())
    for load in HALVES:
        load(client)


def client_of(settings: Settings) -> Client:
    """A client of an app that raises unexpected errors, where a service answers 500."""

    def reraise(error: Exception) -> NoReturn:
        raise error

    app = create_app(replace(settings, auth="off", otlp_endpoint=""))
    app.register_error_handler(Exception, reraise)
    app.testing = True  # or Flask answers 500 for what its handler raises
    return Client(app)


def compile_kernels(halves: Sequence[Callable[[Client], None]] | None = None) -> None:
    """Compile what is not cached, each half in a process. Exits if one of them does, which also happens if it cannot save."""
    fork = get_context("fork")
    client, lock = client_of(Settings()), fork.Lock()
    processes = [fork.Process(target=_compile_half, args=(load, client, lock)) for load in halves or HALVES]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


def _compile_half(load: Callable[[Client], None], client: Client, lock: Lock) -> None:
    save: Callable[..., None] = IndexDataCacheFile.save

    def save_alone(*args: Any) -> None:
        with lock:  # Numba reads the index of a kernel's compilations, adds one and writes it back
            save(*args)

    IndexDataCacheFile.save = save_alone  # type: ignore[method-assign]
    gc.freeze()  # a compiler makes millions of objects and no garbage to speak of: looking for it takes a tenth of the time
    gc.set_threshold(100_000, 50, 50)
    load(client)
    if unsaved:
        sys.exit(1)


def _load_others(client: Client) -> None:
    _send_all(client, of_groups=False)
    load_kernels_of_large_requests()


def _send_all(client: Client, *, of_groups: bool) -> None:
    for line in REQUESTS.read_text("utf-8").splitlines():
        request = json.loads(line)
        if request["path"].startswith("/v1/group") == of_groups:
            send(client, request)


def send(client: Client, request: dict[str, Any]) -> None:
    """Post one of the requests."""
    body = {"json": request["json"]} if "json" in request else {}
    if "arrow_base64" in request:
        body = {"data": base64.b64decode(request["arrow_base64"]), "content_type": ARROW_STREAM}
    client.post(request["path"], query_string=request.get("query"), **body)


def load_kernels_of_large_requests() -> None:
    """Those of bodies above a megabyte, and of a million different keys."""
    integer_lists.take_out(b"[0,1,2,3,4,5,6,7,8]")
    string_lists.take_out(b'{"keys":["a"]}', "keys")
    frequent, one = FrequentKeys(), np.ones(1, np.int64)
    frequent.add(one, one, np.zeros(1, np.bool_), 0)
    frequent.merged(frequent)


HALVES = (partial(_send_all, of_groups=True), _load_others)
"""They take about equally long to compile, and have few kernels in common."""


if __name__ == "__main__":
    compile_kernels()
