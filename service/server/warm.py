"""Loads every kernel: from Numba's cache if it was compiled before; otherwise it is compiled now and cached.

``python -m service.server.warm`` compiles at set-up and at build, in two processes. A server calls ``load_kernels`` before it
forks its workers, so that no request waits for a compiler. The requests that do so were recorded, each because it loads a kernel
that those before it do not (``make warm-requests``). Tests look for what is missing.

The MISSION comes first, partitioners and Kafka's own assignors and placers, in the order in which people ask; with its kernels a
server is ready. The REST are this project's planners and other clients' assignors.
"""

import base64
import gc
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Lock
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from werkzeug.test import Client, TestResponse

from service.app import create_app
from service.config import Settings
from service.core.kernels import unsaved
from service.core.keys import columns
from service.core.partitioners.murmur2 import murmur2
from service.core.partitioners.side_by_side import TOGETHER
from service.http.json import arrays
from service.http.media_types import ARROW_STREAM
from service.planner.sizing.frequent_keys import FrequentKeys

Half: TypeAlias = Callable[[Client], None]
Part: TypeAlias = tuple[Half, Half]

MISSION_PATHS: Final = ("/v1/partitions", "/v1/coordinators", "/v1/group-assignments", "/v1/replica-placements")

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
    """Load all kernels from Numba's cache. Raises NotCompiled at the first that is not there, or DamagedCache."""
    with event.install_listener("numba:compile", _Refusal()):
        warm(settings)


def warm(settings: Settings | None = None) -> None:
    """Send the recorded requests, so small that only loading their kernels takes time, or compiling them where that is needed.

    They go to an app of their own, whose metrics are thrown away. A strategy that rejects its request has loaded what rejects it.
    Raises DamagedCache.
    """
    client = client_of(settings or Settings())
    for part in PARTS:
        for half in part:
            half(client)


def client_of(settings: Settings) -> Client:
    """A client of an app that raises unexpected errors, where a service answers 500."""

    def reraise(error: Exception) -> NoReturn:
        raise error

    app = create_app(replace(settings, auth="off", otlp_endpoint=""))
    app.register_error_handler(Exception, reraise)
    app.testing = True  # or Flask answers 500 for what its handler raises
    return Client(app)


def compile_kernels(part: Part) -> None:
    """Compile what is not cached, each half in a process. Exits if one of them does, which also happens if it cannot save."""
    fork = get_context("fork")
    client, lock = client_of(Settings()), fork.Lock()
    processes = [fork.Process(target=_compile_half, args=(half, client, lock)) for half in part]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


def _compile_half(half: Half, client: Client, lock: Lock) -> None:
    save: Callable[..., None] = IndexDataCacheFile.save

    def save_alone(*args: Any) -> None:
        with lock:  # Numba reads the index of a kernel's compilations, adds one and writes it back
            save(*args)

    IndexDataCacheFile.save = save_alone  # type: ignore[method-assign]
    gc.freeze()  # a compiler makes millions of objects and no garbage to speak of: looking for it takes a tenth of the time
    gc.set_threshold(100_000, 50, 50)
    half(client)
    if unsaved:
        sys.exit(1)


def _load_keys_and_placements(client: Client) -> None:
    _send_all(client, of_groups=False, of_mission=True)
    load_kernels_of_large_requests()


def _send_all(client: Client, *, of_groups: bool, of_mission: bool) -> None:
    for line in REQUESTS.read_text("utf-8").splitlines():
        request = json.loads(line)
        if _is_of_groups(request) == of_groups and is_mission(request) == of_mission:
            send(client, request)


def _is_of_groups(request: dict[str, Any]) -> bool:
    """Whether a request is of the first half of its part. Share groups are not, so that the halves are about as long."""
    return str(request["path"]).startswith("/v1/group") and request["json"].get("group_protocol", "") != "share"


def is_mission(request: dict[str, Any]) -> bool:
    """Whether one of the recorded requests asks for a partition, or for what an assignor or placer of Kafka's own decides."""
    strategies = {request.get("json", {}).get(name, "") for name in ("assignor", "placer")}
    return request["path"] in MISSION_PATHS and not any(":" in name or name == "balanced" for name in strategies)


def send(client: Client, request: dict[str, Any]) -> TestResponse:
    """Post one of the requests; the answer."""
    body = {"json": request["json"]} if "json" in request else {}
    if "arrow_base64" in request:
        body = {"data": base64.b64decode(request["arrow_base64"]), "content_type": ARROW_STREAM}
    return client.post(request["path"], query_string=request.get("query"), **body)


def load_kernels_of_large_requests() -> None:
    """Those of bodies above a megabyte, of a million different keys, and of keys enough to be hashed side by side."""
    murmur2(columns.byte_strings([b"key"] * TOGETHER))
    arrays.take_out(b"[0,1,2,3,4,5,6,7,8]")
    arrays.take_out_texts(b'{"keys":["a"]}', "keys")
    frequent, one = FrequentKeys(), np.ones(1, np.int64)
    frequent.add(one, one, np.zeros(1, np.bool_), 0)
    frequent.merged(frequent)


MISSION: Final[Part] = (partial(_send_all, of_groups=True, of_mission=True), _load_keys_and_placements)
REST: Final[Part] = (
    partial(_send_all, of_groups=True, of_mission=False),
    partial(_send_all, of_groups=False, of_mission=False),
)
PARTS: Final = (MISSION, REST)
"""The halves of each take about equally long to compile, and have few kernels in common."""


if __name__ == "__main__":
    for each in PARTS:
        compile_kernels(each)
