"""``GET /``: the planner page. Its files are served as they are written; nothing builds them.

They have the hash of all of them in their path, so that a browser keeps each for as long as it likes.
"""

import gzip
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

FOLDER: Final = Path(__file__).parent / "static"

MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""The media types of the files that are served; others, such as declarations of types, are not."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types worker"
)
"""Scripts and styles are files of this service. No text becomes code or markup: no eval, no WebAssembly, no innerHTML.
The only trusted URL is that of the worker that reads files."""

START: Final = "index.html"
IMMUTABLE: Final = "public, max-age=31536000, immutable"

blueprint = Blueprint("page", __name__)


class File(NamedTuple):
    """A file of the page, and the same compressed."""

    media_type: str
    content: bytes
    compressed: bytes


@cache
def files() -> dict[str, File]:
    """The files of the page by their path."""
    version = page_version()
    found = {}
    for path in _paths():
        content = path.read_bytes()
        if path.name == START:
            content = content.replace(b"{version}", version.encode())
        found[path.relative_to(FOLDER).as_posix()] = File(MEDIA_TYPES[path.suffix], content, gzip.compress(content, mtime=0))
    return found


@cache
def page_version() -> str:
    """The hash of all files, which is part of their path."""
    hashes = sha256()
    for path in _paths():
        hashes.update(f"{path.relative_to(FOLDER)}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return hashes.hexdigest()[:16]


def _paths() -> list[Path]:
    return sorted(path for path in FOLDER.rglob("*") if path.suffix in MEDIA_TYPES)


@blueprint.get("/")
def page() -> Response:
    """The page, which is asked for anew each time and names the version of all other files."""
    return _file(START, "no-cache")


@blueprint.get("/page/<version>/<path:path>")
def file(version: str, path: str) -> Response:
    """A file of the page. Raises NotFound, also for the files of another version."""
    if version != page_version() or path not in files():
        raise NotFound
    return _file(path, IMMUTABLE)


def _file(path: str, kept: str) -> Response:
    """The file, compressed if the browser takes that."""
    found = files()[path]
    headers = {
        "Content-Security-Policy": POLICY,
        "Cache-Control": kept,
        "Vary": "Accept-Encoding",
        "Referrer-Policy": "no-referrer",
    }
    if request.accept_encodings.quality("gzip"):
        return Response(found.compressed, headers={**headers, "Content-Encoding": "gzip"}, content_type=found.media_type)
    return Response(found.content, headers=headers, content_type=found.media_type)
