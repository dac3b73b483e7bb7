"""The service under Gunicorn: workers forked from one process that has loaded every kernel."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication

from service.app import create_app
from service.metrics import SHARED_FOLDER, forget_worker, share_among_workers
from service.warm import warm

if TYPE_CHECKING:
    from flask import Flask

    from service.config import Settings

JSON_HEADER = "-H 'content-type: application/json'"
WELCOME = f"""\
partition-allocator serves on {{url}}   (reference: {{url}}/docs, metrics: {{url}}/metrics)

  curl '{{url}}/v1/partitions?key=order-1&partitions_count=12'

  curl {{url}}/v1/group-assignments {JSON_HEADER} -d '{{{{"assignor": "range",
    "topics": [{{{{"topic_name": "orders", "partitions_count": 6}}}}],
    "members": [{{{{"member_id": "c1"}}}}, {{{{"member_id": "c2"}}}}]}}}}'

  curl {{url}}/v1/replica-placements {JSON_HEADER} -d '{{{{"placer": "striped",
    "partitions_count": 3, "replication_factor": 2,
    "brokers": [{{{{"broker_id": 0, "rack_id": "a"}}}}, {{{{"broker_id": 1, "rack_id": "b"}}}}]}}}}'
"""


def serve(settings: Settings, host: str, port: int) -> None:
    """Serve until told to stop (SIGTERM lets the requests in flight finish)."""
    url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104 - compared, not bound
    _Server(
        settings,
        _metrics_folder(),
        bind=f"{host}:{port}",
        workers=settings.workers,
        threads=settings.threads,
        worker_class="gthread",
        preload_app=True,
        timeout=settings.max_request_seconds,
        worker_tmp_dir="/dev/shm" if Path("/dev/shm").is_dir() else None,  # noqa: S108 - heartbeats stay off the disk
        control_socket_disable=True,
        loglevel="warning",
        when_ready=lambda _: print(WELCOME.format(url=url), flush=True),  # noqa: T201 - this is the command's output
        child_exit=lambda _, worker: forget_worker(worker.pid),
    ).run()


class _Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn without its own command line and files."""

    def __init__(self, settings: Settings, metrics_folder: str, **options: Any) -> None:
        self._settings = settings
        self._metrics_folder = metrics_folder
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        warm(self._settings)
        share_among_workers(self._metrics_folder)
        app = create_app(self._settings)
        app.extensions["warm"].set()
        return app


def _metrics_folder() -> str:
    """An empty folder for the workers' metrics: the one that the environment names, or one of our own."""
    # Taken out of the environment, for it is to count from when the kernels are warm; share_among_workers puts it back.
    folder = os.environ.pop(SHARED_FOLDER, None)
    if folder is None:
        folder = tempfile.mkdtemp(prefix="allocator-metrics-")
        owner = os.getpid()
        atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for left_behind in (*Path(folder).glob("*.db"), Path(folder, "subjects")):
        left_behind.unlink(missing_ok=True)
    return folder
