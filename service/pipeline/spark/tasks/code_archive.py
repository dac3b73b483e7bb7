"""How executors import this project: in the zip that they get, this file is ``service/__init__.py``, and loads the real one.

Numba caches compiled kernels by the path of their source. Spark puts the zip into a folder of each application, so every worker
of every application would compile them again: half a minute for all assignors. Therefore the first worker on a machine unpacks
the modules into a folder named by their digest. The zip also has the kernels that the driver has compiled, and each module keeps
its modification time, by which Numba judges them: a worker with the same CPU and the same minor release of Python compiles
nothing. If the same modules are installed, as in the pipeline's image, those are used, with the kernels compiled for the image.

Imports only the standard library.
"""

import hashlib
import importlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

MODULES = "modules/"
"""The folder of the modules in the zip; at its root Python would import them from the zip."""


def pack(package: Path, into: Path) -> Path:
    """Write the zip with the modules of the folder ``package``, and their kernels, as the file ``into``, and return it."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(__file__, f"{package.name}/__init__.py")
        for path in (*sorted(package.rglob("*.py")), *sorted(package.rglob("__pycache__/*.nb[ic]"))):
            member = zipfile.ZipInfo(f"{MODULES}{package.name}/{path.relative_to(package).as_posix()}")
            member.comment = str(path.stat().st_mtime_ns).encode()  # a zip's own times are exact to two seconds
            archive.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=1)
    return into


def find(archive: Path, package: str) -> Path:
    """The folder to import ``package`` from: where it is installed, or else unpacked."""
    with zipfile.ZipFile(archive) as file:
        members = [member for member in file.infolist() if member.filename.startswith(MODULES)]
        prefix = len(f"{MODULES}{package}/")
        texts = {name[prefix:]: file.read(name) for name in (member.filename for member in members) if name.endswith(".py")}
        digest = _digest(texts)
        for folder in map(Path, sys.path):
            found = folder / package
            if (found / "__init__.py").is_file():
                installed = {path.relative_to(found).as_posix(): path.read_bytes() for path in found.rglob("*.py")}
                if _digest(installed) == digest:
                    return folder
        for folder in _places():
            unpacked = folder / f"partition-allocator-{digest[:32]}"
            try:
                if not unpacked.is_dir():
                    _unpack(file, members, unpacked)
                if unpacked.stat().st_uid == os.getuid() and os.access(unpacked / package, os.W_OK):
                    return unpacked
            except OSError:
                continue
        unpacked = Path(tempfile.mkdtemp(prefix="partition-allocator-"))
        _unpack(file, members, unpacked)
        return unpacked


def _places() -> Iterator[Path]:
    """Folders that outlast an application, in order of preference; an executor's user often has no home."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen)
    # pathlib's way raises where there is no home.
    yield Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    yield Path(tempfile.gettempdir())


def _unpack(archive: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo], folder: Path) -> None:
    """Write the files in one step, as another worker may be doing the same."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".partition-allocator-", dir=folder.parent))
    try:
        for member in members:
            path = unfinished / member.filename.removeprefix(MODULES)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
            os.utime(path, ns=(int(member.comment), int(member.comment)))
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another worker was first
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _digest(texts: Mapping[str, bytes]) -> str:
    """A digest of the modules' names and texts."""
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\0{len(texts[name])}\0".encode() + texts[name])
    return digest.hexdigest()


if __name__ == "service":
    sys.path.insert(0, str(find(Path(__file__).parents[1], __name__)))
    del sys.modules[__name__]
    importlib.import_module(__name__)  # the importer gets this one
