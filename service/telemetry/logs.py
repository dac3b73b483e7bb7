"""The logs: a JSON object a line, errors on standard error and requests on standard output.

No line has a key, a token, a body or a query in it. So requests are named by their route and not by their path, and of an
exception its type and its place are told but not its words, which may quote what the caller sent.
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


def _written(event: Any, **_: Any) -> bytes:
    return orjson.dumps(event, default=str)


class _Places(ExceptionDictTransformer):
    """An exception's types and frames, without its words and its variables."""

    def __init__(self) -> None:
        super().__init__(show_locals=False, use_rich=False)

    def __call__(self, exc_info: ExcInfo) -> list[dict[str, Any]]:
        return [
            {"type": stack["exc_type"], "frames": [f"{f['filename']}:{f['lineno']} {f['name']}" for f in stack["frames"]]}
            for stack in super().__call__(exc_info)
        ]


def handler() -> logging.Handler:
    """A handler that writes what is logged to standard error, as JSON."""
    told = logging.StreamHandler(sys.stderr)
    told.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[
                add_log_level,
                add_logger_name,
                TimeStamper(fmt="iso"),
                ExtraAdder(),
                ExceptionRenderer(_Places()),
            ],
            processors=[ProcessorFormatter.remove_processors_meta, _as_text],
        )
    )
    return told


def _as_text(_: WrappedLogger, __: str, event: EventDict) -> str:
    return _written(event).decode()


def configure() -> None:
    """Let everything that logs in this process log as JSON, from warnings on."""
    logging.root.handlers = [handler()]
    logging.root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


class GunicornLogger(gunicorn.glogging.Logger):  # type: ignore[misc]
    """Gunicorn's own words, as JSON. What it would say of requests is said by the app."""

    def setup(self, cfg: Any) -> None:
        """See gunicorn.glogging.Logger."""
        super().setup(cfg)
        self.error_log.handlers = [handler()]
        self._access_log_enabled = False


def access_log() -> structlog.typing.FilteringBoundLogger:
    """What tells of requests: ``access_log().info("request", status=200, …)``."""
    log: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.BytesLogger(sys.stdout.buffer),
        processors=[TimeStamper(fmt="iso"), JSONRenderer(serializer=_written)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    ).bind()
    return log
