"""A real Kubernetes API server with nothing behind it: etcd and kube-apiserver on loopback, no node and no controller.

It checks what any cluster checks when resources are made: their schemas, defaults, Pod Security, rights. Nothing runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.charts import loaded
from tests.support.programs import program
from tests.support.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

CUSTOM_RESOURCES = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
    "github.com/kubeflow/spark-operator/v2@v2.3.0": ("config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml",),
}
"""Go modules that hold the definitions of the custom resources of the chart and of ``examples/``, and where in them."""


class Cluster:
    """The API, spoken to by an administrator."""

    def __init__(self, url: str, certificate: Path, kubeconfig: Path) -> None:
        self.url, self.kubeconfig = url, kubeconfig
        self._session = requests.Session()
        self._session.trust_env = False  # a machine's own certificates and proxies are for elsewhere
        self._session.verify = str(certificate)
        self._session.headers["Authorization"] = "Bearer admin"

    def post(self, path: str, body: dict[str, Any], **options: Any) -> requests.Response:
        """Make a resource."""
        return self._session.post(self.url + path, json=body, timeout=120, **options)

    def get(self, path: str) -> requests.Response:
        """Read one."""
        return self._session.get(self.url + path, timeout=120)

    def may(self, account: str, verb: str, resource: str) -> bool:
        """May a service account (``namespace:name``) do this in its namespace?"""
        namespace = account.partition(":")[0]
        attributes = {"namespace": namespace, "verb": verb, "resource": resource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": f"system:serviceaccount:{account}", "resourceAttributes": attributes},
        }
        answer = self.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review).json()
        return bool(answer["status"]["allowed"])


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """An API server that knows the custom resources; it and its etcd end with the block."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    (folder / "accounts.key").write_bytes(key.private_bytes(*pem))
    (folder / "tokens").write_text('admin,admin,0,"system:masters"\n')
    port, etcd_port, peer_port = free_port(), free_port(), free_port()
    etcd = f"http://127.0.0.1:{etcd_port}"
    commands = [
        [
            program("etcd"),
            f"--data-dir={folder}/etcd",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
            "--unsafe-no-fsync",
        ],
        [
            program("kube-apiserver"),
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={folder}/certificates",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=RBAC",
            f"--token-auth-file={folder}/tokens",
            f"--service-account-key-file={folder}/accounts.key",
            f"--service-account-signing-key-file={folder}/accounts.key",
            f"--service-account-issuer=https://127.0.0.1:{port}",
        ],
    ]
    with (folder / "log").open("wb") as log:
        environment = os.environ | {"GOGC": "400"}  # less work for Go's garbage collector: they live a minute
        processes = [subprocess.Popen(command, stdout=log, stderr=log, env=environment) for command in commands]
    try:
        running = Cluster(f"https://127.0.0.1:{port}", folder / "certificates" / "apiserver.crt", folder / "kubeconfig")
        _wait(running, folder, processes)
        running.kubeconfig.write_text(_kubeconfig(running.url, folder))
        for path in _custom_resources():
            definition = loaded(path.read_text())
            made = running.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
            assert made.status_code == 201, made.text
            _wait_for_resource(running, definition["spec"])
        yield running
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(120)


def _wait(running: Cluster, folder: Path, processes: list[subprocess.Popen[bytes]], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for process in processes:
            assert process.poll() is None, (folder / "log").read_text()[-4000:]
        try:
            if running.get("/readyz").ok:
                return
        except OSError:  # not listening yet, or its certificate is not there yet
            time.sleep(0.1)
    raise TimeoutError((folder / "log").read_text()[-4000:])


def _wait_for_resource(running: Cluster, spec: dict[str, Any], seconds: float = 120) -> None:
    """A custom resource is served a moment after it has been made; Helm would not wait for it."""
    deadline = time.monotonic() + seconds
    for version in (entry["name"] for entry in spec["versions"] if entry["served"]):
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        while not running.get(path).ok:
            assert time.monotonic() < deadline, path
            time.sleep(0.1)


def _kubeconfig(url: str, folder: Path) -> str:
    authority = {"server": url, "certificate-authority": f"{folder}/certificates/apiserver.crt"}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "it", "cluster": authority}],
            "users": [{"name": "admin", "user": {"token": "admin"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "admin"}}],
            "current-context": "it",
        }
    )


def _custom_resources() -> Iterator[Path]:
    for module, paths in CUSTOM_RESOURCES.items():
        done = subprocess.run(
            [program("go"), "mod", "download", "-json", module], capture_output=True, text=True, check=True, cwd="/"
        )
        folder = Path(json.loads(done.stdout)["Dir"])
        yield from (folder / path for path in paths)
