"""A pod of the chart, run as the kubelet would: the container of a rendered pod template, by podman."""

from __future__ import annotations

import base64
import ctypes
import os
import re
import resource
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

CLONE_NEWNET = 0x40000000
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


RUN = (
    *("podman", "--runtime", "runc", "run", "--pull=never", "--network=none"),
    # By default podman asks for more than a root without every capability may give.
    f"--ulimit=nofile={min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 2**20)}",
    "--ulimit=nproc=4096",
)


class Pod:
    """A running pod, reached over its own loopback interface as by `kubectl port-forward`."""

    def __init__(self, container_id: str, container: dict[str, Any]) -> None:
        self._id, self.container = container_id, container
        self._network = f"/proc/{self.inspect('.State.Pid')}/ns/net"
        self._thread = ThreadPoolExecutor(1, initializer=self._enter)

    def _enter(self) -> None:
        """Move this thread into the pod's network."""
        with Path(self._network).open() as network:
            if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

    def close(self) -> None:
        """End the thread that makes the requests."""
        self._thread.shutdown()

    def inspect(self, field: str) -> str:
        """What podman knows of the container."""
        return _output("podman", "inspect", "--format", "{{" + field + "}}", self._id)

    def log(self) -> str:
        """Its standard output and error so far."""
        return subprocess.run(
            ["podman", "logs", self._id], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
        ).stdout

    def run(self, *command: str) -> str:
        """The output of a command in the container."""
        return _output("podman", "exec", self._id, *command)

    def request(self, method: str, path: str, **options: Any) -> requests.Response:
        """A request to its port ``http``."""
        (port,) = [port["containerPort"] for port in self.container["ports"] if port["name"] == "http"]
        return self._thread.submit(requests.request, method, f"http://127.0.0.1:{port}{path}", timeout=120, **options).result()

    def probe(self, kind: str) -> bool:
        """Whether the container's probe succeeds now."""
        probe = self.container[f"{kind}Probe"]
        try:
            return self.request("GET", probe["httpGet"]["path"]).ok
        except (requests.ConnectionError, requests.Timeout):
            return False

    def wait_until_started(self) -> None:
        """Repeat the startup probe as often as it says."""
        probe = self.container["startupProbe"]
        for _ in range(probe["failureThreshold"]):
            assert self.inspect(".State.Running") == "true", self.log()
            if self.probe("startup"):
                return
            time.sleep(probe["periodSeconds"])
        raise TimeoutError(self.log())

    def stop(self, seconds: int) -> int:
        """The exit status of the container after the preStop command and SIGTERM."""
        self.run(*self.container["lifecycle"]["preStop"]["exec"]["command"])
        _output("podman", "stop", "--time", str(seconds), self._id)
        return int(self.inspect(".State.ExitCode"))


@contextmanager
def running(image: str, resources: dict[str, dict[str, Any]], pod: dict[str, Any]) -> Iterator[Pod]:
    """The pod of a template, its Secrets taken from the resources."""
    (container,) = pod["spec"]["containers"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        arguments = [
            *_identity(pod["spec"]["securityContext"], container["securityContext"]),
            *_volumes(Path(folder), resources, pod["spec"], container),
            *(f"--env={entry['name']}={entry['value']}" for entry in container["env"]),
            *_memory(container),
        ]
        command = [*container.get("command", ()), *container.get("args", ())]
        started = _output(*RUN, "--detach", *arguments, image, *command)
        try:
            running_pod = Pod(started, container)
            yield running_pod
            running_pod.close()
        finally:
            _output("podman", "rm", "--force", "--time", "0", started)


def run(image: str, pod: dict[str, Any], *command: str) -> str:
    """The output of another command in the container of a pod's template, with an empty folder on ``/tmp``."""
    (container,) = pod["spec"]["containers"]
    identity = _identity(pod["spec"]["securityContext"], container["securityContext"])
    return _output(*RUN, "--rm", *identity, *_memory(container), "--tmpfs=/tmp", image, *command)


def _output(*command: str) -> str:
    """The output of a command that succeeds."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}\n{ran.stderr}"
    return ran.stdout.strip()


def _identity(of_pod: dict[str, Any], of_container: dict[str, Any]) -> list[str]:
    """The options for user, groups, capabilities and the root file system."""
    assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}, "which podman applies by default"
    return [
        f"--user={of_pod['runAsUser']}:{of_pod['runAsGroup']}",
        f"--group-add={of_pod['fsGroup']}",
        *(f"--cap-drop={name}" for name in of_container["capabilities"]["drop"]),
        *(["--security-opt=no-new-privileges"] if not of_container["allowPrivilegeEscalation"] else []),
        *(["--read-only", "--read-only-tmpfs=false"] if of_container["readOnlyRootFilesystem"] else []),
    ]


def _volumes(
    folder: Path, resources: dict[str, dict[str, Any]], spec: dict[str, Any], container: dict[str, Any]
) -> Iterator[str]:
    """The options for the container's mounts. Folders belong to root and the pod's group, as the kubelet makes them."""
    group = spec["securityContext"]["fsGroup"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    for mount in container["volumeMounts"]:
        volume = volumes[mount["name"]]
        source = folder / mount["name"]
        source.mkdir()
        options = ""
        if "secret" in volume:
            data = resources[f"Secret {volume['secret']['secretName']}"]
            version = source / "..2026"
            version.mkdir()
            (source / "..data").symlink_to(version.name)
            for name, text in {**data.get("stringData", {}), **_decoded(data.get("data", {}))}.items():
                (version / name).write_text(text)
                os.chown(version / name, 0, group)
                (version / name).chmod(volume["secret"]["defaultMode"])
                (source / name).symlink_to(f"..data/{name}")
            options = ":ro"
        elif volume["emptyDir"].get("medium") == "Memory":
            size = f"tmpfs-size={_bytes(volume['emptyDir']['sizeLimit'])}"
            yield f"--mount=type=tmpfs,destination={mount['mountPath']},{size},tmpfs-mode=1777"
            continue
        else:
            os.chown(source, 0, group)
            source.chmod(0o2777)
        yield f"--volume={source}:{mount['mountPath']}{options}"


def _decoded(data: dict[str, str]) -> dict[str, str]:
    return {name: base64.b64decode(text).decode() for name, text in data.items()}


def _bytes(quantity: str) -> int:
    """Kubernetes' way of writing a number of bytes."""
    number, unit = re.fullmatch(r"(\d+)([KMG]i)", quantity).groups()
    return int(number) * UNITS[unit]


def _memory(container: dict[str, Any]) -> list[str]:
    """The options for the memory limit, without swap as on a node."""
    limit = container["resources"].get("limits", {}).get("memory")
    return [f"--memory={_bytes(limit)}", f"--memory-swap={_bytes(limit)}"] if limit else []
