"""The assignors of other clients' own libraries, built from what the package registries have; once, in the user's cache.

librdkafka's sources come in the crate ``rdkafka-sys``, franz-go's from the module proxy. They are compiled with programs of ours
that ask them as a group's leader does, which needs cargo, gcc and make, or go.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

CRATES: Final = {"1.9.2": "4.3.0", "2.12.1": "4.10.0"}
"""Releases of librdkafka, and of the crate that has their sources."""

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "partition-allocator"
PROGRAM: Final = Path(__file__).parent / "c" / "librdkafka_leader.c"

MANIFEST: Final = """
[package]
name = "sources"
version = "0.1.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
rdkafka-sys = "={}"
"""

PLAIN: Final = ("ssl", "gssapi", "curl", "zstd", "lz4-ext", "zlib", "c11threads")
"""What is left out of the library, for assignors need none of it."""


GO: Final = Path(__file__).parent / "go"


class NotHere(Exception):
    """The library cannot be built on this machine; ``str()`` says why."""


@cache
def librdkafka(release: str) -> Path:
    """The program with the assignors of a release of librdkafka; raises NotHere."""
    missing = [tool for tool in ("cargo", "gcc", "make") if shutil.which(tool) is None]
    if missing:
        raise NotHere(f"{', '.join(missing)} missing")
    folder = CACHE / f"librdkafka-{release}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return _built(folder, CRATES[release])
        except subprocess.CalledProcessError as error:
            raise NotHere(f"{error.cmd[0]} failed: {error.stderr[-300:]}") from None


def _built(folder: Path, crate: str) -> Path:
    source, program = folder / "librdkafka", folder / "leader"
    if not (source / "src" / "librdkafka.a").exists():
        (folder / "Cargo.toml").write_text(MANIFEST.format(crate))
        (folder / "lib.rs").write_text("")
        _run(folder, "cargo", "vendor", "-q", "vendored")
        shutil.copytree(folder / "vendored" / "rdkafka-sys" / "librdkafka", source, dirs_exist_ok=True)
        shutil.rmtree(folder / "vendored")
        _run(source, "./configure", *(f"--disable-{part}" for part in PLAIN))
        _run(source, "make", "-C", "src", "-j2", "librdkafka.a")
    if not program.exists() or program.stat().st_mtime < PROGRAM.stat().st_mtime:
        include = (f"-I{source}/src", f"-I{source}")
        library = (f"{source}/src/librdkafka.a", "-lm", "-ldl", "-lpthread", "-lrt")
        _run(folder, "gcc", "-O2", "-w", *include, "-o", str(program), str(PROGRAM), *library)
    return program


def go() -> str:
    """The program of Go; raises NotHere."""
    program = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if program is None:
        raise NotHere("go missing")
    return program


@cache
def franz_go() -> Path:
    """The program with franz-go's assignors, of the release in go.mod; raises NotHere."""
    program = CACHE / "franz-go" / "leader"
    program.parent.mkdir(parents=True, exist_ok=True)
    try:
        _run(GO, go(), "build", "-o", str(program), ".")
    except subprocess.CalledProcessError as error:
        raise NotHere(f"go build failed: {error.stderr[-300:]}") from None
    return program


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


class Library:
    """A running program with the assignors of a library. seconds : the most that librdkafka may take for an answer"""

    def __init__(self, program: Path, seconds: int = 20) -> None:
        self._process = subprocess.Popen(
            [program, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def assign(self, assignor: str, body: dict[str, Any], runs: int = 1) -> dict[str, Any]:
        """``{"assignments": {member_id: {topic_name: [partition_id]}}, "seconds"}``; ``{"error"}`` where it ends its process.

        franz-go: ``{"answers", "seconds"}``, of so many runs, of which each may be another.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"assignor": assignor, "request": body, "runs": runs}).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline().decode(errors="replace"))
        return answer

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()
