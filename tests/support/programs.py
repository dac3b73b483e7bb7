"""Programs that tests drive for real. Without one its tests are skipped, but never in CI; the run ends with what installs it."""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

PACKAGES = {
    "buildah": "buildah",
    "chromium": "chromium-headless-shell libatomic1",  # the latter is for Playwright's driver
    "curl": "curl",
    "mmdebstrap": "mmdebstrap",
    "pg_virtualenv": "postgresql",
    "podman": "podman",
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "runc": "runc",
}
"""Debian's packages of each; every other program is built by ``make chart-tools``."""

HEEDS_CTRL_C = ("env", "--default-signal=INT")
"""Before the command of a process that is sent SIGINT. What a shell starts in the background ignores it, as do its children."""

PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def program(name: str) -> str:
    """The path of a program. Skips the test without it."""
    path = shutil.which(name, path=PATH)
    if path is None:
        assert "CI" not in os.environ, f"{name} is not installed"
        pytest.skip(f"{name} is not installed")
    return path


def chromium() -> str:
    """Chromium's path: that of its headless shell, which takes a fifth less CPU time, if it is installed."""
    return shutil.which("chromium-headless-shell", path=PATH) or program("chromium")


def commands(reasons: Iterable[str]) -> list[str]:
    """What installs the programs that tests were skipped for: at most one command of Debian's, and one of ours."""
    missing = {match[1] for reason in reasons if (match := re.search(r"(\S+) is not installed$", reason))}
    packages = sorted({PACKAGES[name] for name in missing if name in PACKAGES})
    lines = [f"apt-get install -y {' '.join(packages)}"] if packages else []
    return lines + ["make chart-tools"] * any(name not in PACKAGES for name in missing)
