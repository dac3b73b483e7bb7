"""The logs: one JSON object per line, errors on standard error and requests on standard output.

No line contains a key, a token, a body or a query. So a request is named by its route and not by its path, and an exception by
its type and its frames and not by its message, which may quote what the caller sent.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import gunicorn.glogging
import orjson
import structlog
from structlog.processors import ExceptionRenderer, JSONRenderer, TimeStamper
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name
from structlog.tracebacks import ExceptionDictTransformer

if TYPE_CHECKING:
    from structlog.typing import EventDict, ExcInfo, WrappedLogger


def _serialize(event: Any, **_: Any) -> bytes:
    return orjson.dumps(event, default=str)


class _TypesAndFrames(ExceptionDictTransformer):
    """An exception without its message and its variables."""

    def __init__(self) -> None:
        super().__init__(show_locals=False, use_rich=False)

    def __call__(self, exc_info: ExcInfo) -> list[dict[str, Any]]:
        return [
            {"type": stack["exc_type"], "frames": [f"{f['filename']}:{f['lineno']} {f['name']}" for f in stack["frames"]]}
            for stack in super().__call__(exc_info)
        ]


def handler() -> logging.Handler:
    """A handler that writes JSON to standard error."""
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[
                add_log_level,
                add_logger_name,
                TimeStamper(fmt="iso"),
                ExtraAdder(),
                ExceptionRenderer(_TypesAndFrames()),
            ],
            processors=[ProcessorFormatter.remove_processors_meta, _as_text],
        )
    )
    return stderr


def _as_text(_: WrappedLogger, __: str, event: EventDict) -> str:
    return _serialize(event).decode()


def configure() -> None:
    """Write this process's warnings and errors as JSON, whichever library logs them."""
    logging.root.handlers = [handler()]
    logging.root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


class GunicornLogger(gunicorn.glogging.Logger):  # type: ignore[misc]
    """Gunicorn's messages as JSON, without its access log: the app writes its own."""

    def setup(self, cfg: Any) -> None:
        """See gunicorn.glogging.Logger."""
        super().setup(cfg)
        self.error_log.handlers = [handler()]
        self._access_log_enabled = False


def access_log() -> structlog.typing.FilteringBoundLogger:
    """The log of requests: ``access_log().info("request", status=200, …)``."""
    log: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.BytesLogger(sys.stdout.buffer),
        processors=[TimeStamper(fmt="iso"), JSONRenderer(serializer=_serialize)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    ).bind()
    return log
