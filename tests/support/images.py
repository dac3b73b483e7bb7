"""The Dockerfile's images, built without a daemon and without an image registry: as root, by Debian's own programs.

Debian's Python of the same version stands in for Docker Hub's ``python``. Later builds reuse the base image and every layer whose
files are the same. To compile every kernel takes minutes of two cores, so the tests' images have those of a few requests only.
``python -m tests.support.images`` builds both images with all of them, as CI does before the tests: the kernels must compile on
the image's Python, and the tests' images then have the layers of libraries already.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from service.server.warm import REQUESTS
from tests.support.golden import PROJECT
from tests.support.programs import program

PROGRAMS = ("buildah", "mmdebstrap", "podman", "runc")
"""Debian's packages of the same names."""

MIRROR = "http://deb.debian.org/debian"
"""Without its name, mmdebstrap would also ask the hosts of updates."""

FAMILIES = ("/v1/partitions", "/v1/group-assignments", "/v1/replica-placements")


def few_requests() -> list[str]:
    """The lines of the tests' images in place of ``service.server.warm.REQUESTS``: the first of each of these families."""
    lines = REQUESTS.read_text("utf-8").splitlines()
    return [next(line for line in lines if json.loads(line)["path"] == path) for path in FAMILIES]


def check_programs() -> None:
    """Skip the test where images cannot be built, but never in CI."""
    for name in PROGRAMS:
        program(name)
    if os.geteuid() != 0:
        pytest.skip("only root can build the image")


@cache
def build(target: str = "") -> str:
    """The id of the tests' image of a target, default: the last one."""
    with tempfile.TemporaryDirectory() as folder:
        _copy_context(Path(folder))
        tag = f"localhost/partition-allocator{target and '-'}{target}:test"
        return _build(Path(folder), "--tag", tag, *(("--target", target) if target else ()))


def _copy_context(folder: Path) -> None:
    """What the Dockerfile copies, but of the requests that load the kernels few."""
    for line in (PROJECT / ".dockerignore").read_text().splitlines():
        if line.startswith("!"):
            source, copy = PROJECT / line[1:], folder / line[1:]
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, copy)
    requests = folder / REQUESTS.relative_to(PROJECT)
    requests.write_text("".join(f"{line}\n" for line in few_requests()))
    shutil.copystat(REQUESTS, requests)  # for the cache of layers


def _build(context: Path, *options: str) -> str:
    """Build the Dockerfile with the files of a folder; return the image's id."""
    check_programs()
    base = re.search(r"^ARG PYTHON=(\S+)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)[1]
    with (
        Path(tempfile.gettempdir(), "partition-allocator-images.lock").open("w") as lock,
        tempfile.NamedTemporaryFile() as id_file,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        _import_base(f"localhost/python:{base}")
        _run(
            *("buildah", "bud", "--isolation", "chroot", "--layers", "--pull-never", "--iidfile", id_file.name),
            *("--file", str(PROJECT / "Dockerfile"), *_network(), *options, str(context)),
        )
        return Path(id_file.name).read_text().strip()


def _import_base(name: str) -> None:
    """Make the base image unless it exists."""
    if subprocess.run(["podman", "image", "exists", name], check=False).returncode == 0:
        return
    version, _, suite = name.rpartition(":")[2].split("-")
    with tempfile.TemporaryDirectory() as folder:
        hooks = (f'test -e "$1/usr/bin/python{version}"', 'ln -s python3 "$1/usr/bin/python"')
        options = [f"--customize-hook={hook}" for hook in hooks]
        packages = "--include=ca-certificates,python3,python3-venv"
        _run("mmdebstrap", "--variant=minbase", packages, *options, suite, f"{folder}/root.tar", MIRROR)
        _run("podman", "import", f"{folder}/root.tar", name)


def _network() -> list[str]:
    """What the build needs of this machine's settings to reach its package index: pip's, and the certificates it trusts."""
    files = [path for path in ("/etc/pip.conf", os.environ.get("PIP_CERT")) if path and Path(path).exists()]
    variables = [f"{name}={value}" for name, value in os.environ.items() if name in ("PIP_CERT", "PIP_INDEX_URL")]
    return [f"--volume={path}:{path}:ro" for path in files] + [f"--env={variable}" for variable in variables]


def _run(*command: str) -> None:
    """Run a command; its output is shown if it fails."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert ran.returncode == 0, f"{command}\n{ran.stdout[-5000:]}\n{ran.stderr[-5000:]}"


if __name__ == "__main__":
    print(_build(PROJECT), _build(PROJECT, "--target", "pipeline"))  # noqa: T201
