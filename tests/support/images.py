"""The Dockerfile's images, built without a daemon and without an image registry: as root, by Debian's own programs.

Debian's Python of the same version stands in for Docker Hub's ``python``. The first build takes minutes; later ones reuse the
base image and every layer whose files are the same.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.support.golden import PROJECT
from tests.support.programs import program

PROGRAMS = ("buildah", "mmdebstrap", "podman", "runc")
"""Debian's packages of the same names."""

MIRROR = "http://deb.debian.org/debian"
"""Without its name, mmdebstrap would also ask the hosts of updates."""


def check_programs() -> None:
    """Skip the test where images cannot be built, but never in CI."""
    for name in PROGRAMS:
        program(name)
    if os.geteuid() != 0:
        pytest.skip("only root can build the image")


@cache
def build(target: str = "") -> str:
    """The id of the image of a target, default: the last one."""
    check_programs()
    base = re.search(r"^ARG PYTHON=(\S+)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)[1]
    with (
        Path(tempfile.gettempdir(), "partition-allocator-images.lock").open("w") as lock,
        tempfile.TemporaryDirectory() as folder,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        _import_base(f"localhost/python:{base}")
        id_file = Path(folder, "id")
        _run(
            *("buildah", "bud", "--isolation", "chroot", "--layers", "--pull-never", "--iidfile", str(id_file)),
            *_network(),
            *(("--target", target) if target else ()),
            *("--tag", f"localhost/partition-allocator{target and '-'}{target}:test", str(PROJECT)),
        )
        return id_file.read_text().strip()


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
    print(build(*sys.argv[1:]))  # noqa: T201
