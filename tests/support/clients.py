"""The assignors of other clients' own libraries, built from what the package registries have; once, in the user's cache.

Programs of ours ask them as a group's leader does. librdkafka's sources come in the crate ``rdkafka-sys``, those of the Go
clients from the module proxy; compiling them needs cargo, gcc and make, or go. kafkajs comes from npm, which needs node.
The Python libraries are installed for development, older releases of them from PyPI.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Final

from service.core.registry import reaches

if TYPE_CHECKING:
    from collections.abc import Iterator

CRATES: Final = {"1.6.0": "3.0.0", "1.9.2": "4.3.0", "2.12.1": "4.10.0"}
"""Releases of librdkafka, and of the crate that has their sources."""
WITH_JSON: Final = "1.9.2"
"""The first of them with cJSON, which our program needs."""

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

PLAIN: Final = ("ssl", "gssapi", "curl", "zstd", "lz4-ext", "zlib", "c11threads", "optimization", "debug-symbols")
"""What is left out of the library, for assignors need none of it; optimized it takes three times as long to compile."""

GO: Final = Path(__file__).parent / "go"
OF_GO: Final = ("franz-go", "sarama", "kafka-go")
UNOPTIMIZED: Final = "-gcflags=github.com/...=-N -l"
"""Without optimizations Go compiles the clients in two thirds of the time; the standard library stays as a cache has it."""

JAVASCRIPT: Final = Path(__file__).parent / "javascript"

Command = tuple[str, ...]
"""What runs a program that asks a library."""


class NotHere(Exception):
    """The library cannot be built on this machine; ``str()`` says why."""


@cache
def librdkafka(release: str, seconds: int) -> Command:
    """The assignors of a release of librdkafka, which may take so many seconds for an answer; raises NotHere."""
    if not reaches(release, WITH_JSON):
        librdkafka(WITH_JSON, seconds)
    with _folder(f"librdkafka-{release}", "cargo", "gcc", "make") as folder:
        return str(_built(folder, CRATES[release])), str(seconds)


@contextmanager
def _folder(name: str, *tools: str) -> Iterator[Path]:
    """A folder of the cache for this process alone; raises NotHere if a tool is missing or fails."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise NotHere(f"{', '.join(missing)} missing")
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines() or [f"status {error.returncode}"]
            said = next((line for line in lines if "error" in line.lower()), lines[-1])
            raise NotHere(f"{error.cmd[0]} failed: {said.removeprefix('error: ')}") from None


def _built(folder: Path, crate: str) -> Path:
    source, program = folder / "librdkafka", folder / "leader"
    if not (source / "src" / "librdkafka.a").exists():
        (folder / "Cargo.toml").write_text(MANIFEST.format(crate))
        (folder / "lib.rs").write_text("")
        _run(folder, "cargo", "vendor", "-q", "vendored")
        shutil.copytree(folder / "vendored" / "rdkafka-sys" / "librdkafka", source, dirs_exist_ok=True)
        shutil.rmtree(folder / "vendored")
        known = _run(source, "./configure", "--help")
        _run(source, "./configure", *(option for part in PLAIN if f"{(option := f'--disable-{part}')} " in known))
        _run(source, "make", "-C", "src", "-j2", "librdkafka.a")
    if not program.exists() or program.stat().st_mtime < PROGRAM.stat().st_mtime:
        include: tuple[str, ...] = (f"-I{source}/src", f"-I{source}")
        json: tuple[str, ...] = ()
        if not (source / "src" / "cJSON.h").exists():
            of_later = CACHE / f"librdkafka-{WITH_JSON}" / "librdkafka" / "src"
            include, json = (*include, f"-I{of_later}"), (f"{of_later}/cJSON.c",)
        library = (*json, f"{source}/src/librdkafka.a", "-lm", "-ldl", "-lpthread", "-lrt")
        _run(folder, "gcc", "-O2", "-w", *include, "-o", str(program), str(PROGRAM), *library)
    return program


def go() -> str:
    """The program of Go; raises NotHere."""
    program = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if program is None:
        raise NotHere("go missing")
    return program


@cache
def of_go(client: str, flag: str = UNOPTIMIZED) -> Command:
    """The assignors of franz-go, sarama or kafka-go, of the release in go.mod; raises NotHere. flag : ``-gcflags=`` to time it"""
    compiler = go()
    with _folder(client) as folder:
        _run(GO, compiler, "build", flag, "-o", str(folder / "leader"), f"./{client.replace('-', '_')}")
        return (str(folder / "leader"),)


@cache
def older_of_go(client: str, release: str) -> Command:
    """The assignors of another release of sarama or kafka-go; raises NotHere."""
    compiler = go()
    module, program = f"github.com/{'IBM' if reaches(release, '1.40') else 'Shopify'}/sarama", "older_sarama"
    if client == "kafka-go":
        module, program = "github.com/segmentio/kafka-go", "kafka_go"
    with _folder(f"{client}-{release}") as folder:
        for name in ("leader/leader.go", f"{program}/main.go"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text((GO / name).read_text().replace("github.com/IBM/sarama", module))
        if not (folder / "go.mod").exists():
            (folder / "go.mod").write_text(f"module leaders\n\ngo 1.26.0\n\nrequire {module} v{release}\n")
            _run(folder, compiler, "mod", "tidy")
        _run(folder, compiler, "build", UNOPTIMIZED, "-o", "program", f"./{program}")
        return (str(folder / "program"),)


@cache
def kafkajs(release: str = "") -> Command:
    """The assignor of kafkajs; raises NotHere. release : another than that in package.json"""
    with _folder(f"kafkajs-{release}" if release else "kafkajs", "node", "npm") as folder:
        for name in ("kafkajs_leader.js",) if release else ("package.json", "package-lock.json", "kafkajs_leader.js"):
            shutil.copy(JAVASCRIPT / name, folder)
        if not (folder / "node_modules" / "kafkajs").exists():
            install = ("install", "--prefix", ".", f"kafkajs@{release}") if release else ("ci",)
            _run(folder, "npm", *install, "--silent")
        return "node", str(folder / "kafkajs_leader.js")


@cache
def of_python(library: str, hash_seed: int, release: str = "") -> Command:
    """The assignors of kafka-python or aiokafka, in a process whose sets have the order of this seed; raises NotHere.

    release : another than the one that is installed
    """
    command = sys.executable, "-m", "tests.support.python_leader", library
    if not release:
        return "env", f"PYTHONHASHSEED={hash_seed}", *command
    with _folder(f"{library}-{release}") as folder:
        if not (folder / "installed").exists():
            _run(folder, sys.executable, "-m", "pip", "install", "-q", "--no-deps", "-t", ".", f"{library}=={release}")
            (folder / "installed").touch()
        return "env", f"PYTHONHASHSEED={hash_seed}", f"PYTHONPATH={folder}", *command


def _run(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


class Library:
    """A running program with the assignors of a library. seconds : the most that it may take for an answer"""

    def __init__(self, command: Command, seconds: float = 300) -> None:
        self._command, self._seconds = command, seconds
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)

    def assign(self, assignor: str, body: dict[str, Any], runs: int = 1) -> dict[str, Any]:
        """librdkafka: ``{"assignments": {member_id: {topic_name: [partition_id]}}, "seconds"}``.

        The others: ``{"answers"}``, of so many runs, of which each may be another; those of Go ``"seconds"`` as well.
        ``{"error"}`` where the library throws, ends its process or is not in time.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"assignor": assignor, "request": body, "runs": runs}).encode() + b"\n")
        self._process.stdin.flush()
        late = Timer(self._seconds, self._process.kill)
        late.start()
        line = self._process.stdout.readline()
        late.cancel()
        if not line:
            self.close()
            self._process = self._start()
            return {"error": {"message": "no answer"}}
        answer: dict[str, Any] = json.loads(line.decode(errors="replace"))
        return answer

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()


def main() -> None:
    """Build all that can be built here, so that tests need not."""
    builds = [partial(librdkafka, release, seconds=1) for release in CRATES] + [partial(of_go, client) for client in OF_GO]
    for build in (*builds, kafkajs):
        try:
            build()
        except NotHere as reason:
            sys.stderr.write(f"{reason}\n")


if __name__ == "__main__":
    main()
