"""The least that Flask can do: views that return their input, with the service's Gunicorn settings."""

from __future__ import annotations

import os

from flask import Flask, Response, request

from service.config import Settings
from service.http.memory import MemoryBudget
from service.http.telemetry import metrics_files
from service.server import serving


class _Echo(Flask):
    credentials, memory, transit_bytes = None, MemoryBudget(0), Settings().transit_bytes  # for the worker


app = _Echo(__name__)
app.config["MAX_CONTENT_LENGTH"] = Settings().max_body_bytes


@app.get("/echo")
def echo_key() -> Response:
    """The parameter ``key``."""
    return Response(request.args["key"], mimetype="text/plain")


@app.post("/echo")
def echo_body() -> Response:
    """The same bytes."""
    return Response(request.get_data(), mimetype=request.mimetype)


class _EchoServer(serving._Server):  # noqa: SLF001 - both sides must have the same settings
    def load(self) -> Flask:
        metrics_files.use_files(self._metrics_folder)  # Gunicorn's hooks expect it
        return app


if __name__ == "__main__":
    serving._Server = _EchoServer  # type: ignore[misc]  # noqa: SLF001 - serve() then starts the echo, with no other difference
    serving.serve(Settings.from_environment(), "127.0.0.1", int(os.environ["PORT"]))
