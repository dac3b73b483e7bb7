"""Servers that several files use: a start takes seconds of the processors' time."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import trustme

from tests.support.serving import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Fresh:
    """A server of one worker with its default settings, and the processors' seconds until it was ready."""

    server: Server
    seconds: float


@pytest.fixture(scope="session")
def fresh(server: Server) -> Iterator[Fresh]:  # noqa: ARG001 (it has compiled the kernels, whatever was cached before)
    """It, one for the whole run: a test leaves it as it was."""
    with serving(ALLOCATOR_WORKERS="1") as running:
        yield Fresh(running, running.processor_seconds())


def children_seconds() -> float:
    """What the processors have spent on children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="session")
def imports() -> float:
    """The processors' seconds that one process takes to import what the service is built on: a measure of this machine."""
    before = children_seconds()
    subprocess.run([sys.executable, "-c", "import flask, marshmallow, numba, numpy, pyarrow, scipy.stats"], check=True)
    return children_seconds() - before


@dataclass(frozen=True)
class Tls:
    """A server of one worker that speaks TLS; whose certificate it has, and in which files."""

    server: Server
    authority: trustme.CA
    cert: Path
    key: Path
    trusted: str


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tls]:
    """It, one for the whole run."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    cert, key, trusted = folder / "cert.pem", folder / "key.pem", str(folder / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(trusted)
    files = {"ALLOCATOR_TLS_CERT": str(cert), "ALLOCATOR_TLS_KEY": str(key)}
    with serving(forked=True, **files, ALLOCATOR_WORKERS="1", verify=trusted) as running:
        yield Tls(running, authority, cert, key, trusted)
