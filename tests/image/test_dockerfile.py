"""The image, as far as it can be had without an engine: the Dockerfile's own steps run in an overlay on this machine's root.

The overlay stands in for the base image (it brings a Python, and shows that nothing else is asked for); the steps are
executed to the letter, and what the last stage holds is then started as the image would be: read-only, with a tmpfs on
``/tmp``, by the user and with the environment that the Dockerfile names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from tests.support.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[2]
PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
BASE_PATH = f"{PYTHON.parent}:/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The base image's: its Python is this machine's."""


@dataclass
class Stage:
    """One FROM and what follows it, in order."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def environment(self, before: int | None = None) -> dict[str, str]:
        """The variables that ENV has set, before a step or at the end."""
        values = {"PATH": BASE_PATH}
        for instruction, text in self.steps[:before]:
            if instruction == "ENV":
                for pair in shlex.split(text):
                    name, _, value = pair.partition("=")
                    values[name] = re.sub(r"\$(\w+)", lambda found: values[found[1]], value)
        return values

    def last(self, instruction: str) -> str:
        """The text of the last such instruction."""
        return [text for found, text in self.steps if found == instruction][-1]


def stages() -> list[Stage]:
    """The Dockerfile, read."""
    text = re.sub(r"^\s*#.*\n", "", (PROJECT / "Dockerfile").read_text(), flags=re.MULTILINE)
    found: list[Stage] = []
    arguments: dict[str, str] = {}
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "ARG":
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(re.sub(r"\$\{(\w+)\}", lambda name: arguments[name[1]], base), name))
        elif instruction:
            found[-1].steps.append((instruction, rest.strip()))
    return found


def needed(target: Stage) -> list[Stage]:
    """The stages that an image is built from, itself last; the others are not built for it."""
    by_name = {stage.name: stage for stage in stages()}
    sources = [text.split()[0].removeprefix("--from=") for found, text in target.steps if found == "COPY" and "--from=" in text]
    names = dict.fromkeys(name for name in [target.base, *sources] if name in by_name)
    return [*{stage.name: stage for name in names for stage in needed(by_name[name])}.values(), target]


def pipeline() -> Stage:
    """The image of the pipeline."""
    return next(stage for stage in stages() if stage.name == "pipeline")


def test_every_base_image_is_pinned_by_a_tag():
    names = {stage.name for stage in stages()}
    for stage in stages():
        assert stage.base in names or re.fullmatch(r"python:3\.\d+-slim-\w+", stage.base), stage.base


def test_the_images_run_as_a_numbered_user_that_is_not_root():
    """Kubernetes' runAsNonRoot refuses an image whose user is a name; the chart names this one."""
    for stage in (stages()[-1], pipeline()):
        assert stage.last("USER") == "10001:10001"


def test_the_image_of_the_service_has_no_spark():
    assert [stage.name for stage in needed(stages()[-1])] == ["build", ""]
    assert [stage.name for stage in needed(pipeline())] == ["build", "pipeline-build", "pipeline"]


def test_the_pipeline_has_the_services_versions():
    """What both images hold is the same to the hash."""
    pins = [
        dict(re.findall(r"^(\S+==[^\\\n]*?) \\\n((?:    --hash\S+(?: \\)?\n)+)", (PROJECT / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "requirements-pipeline.lock")
    ]
    shared = {pin.split("==")[0] for pin in pins[0]} & {pin.split("==")[0] for pin in pins[1]}
    assert {"numpy", "flask", "pyarrow"} <= shared
    for name in shared:
        service, spark = ({pin: hashes for pin, hashes in lock.items() if pin.split("==")[0] == name} for lock in pins)
        assert service == spark


def test_what_spark_submit_is_given_is_the_pipelines_command():
    """The chart names the link."""
    (step,) = [text for stage in stages() for found, text in stage.steps if found == "RUN" and text.startswith("ln -s")]
    command, link = re.fullmatch(r'ln -s "\$\((.*)\)" (\S+)', step).groups()
    _, *arguments = shlex.split(command)
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, cwd="/")
    assert Path(ran.stdout.strip()) == PROJECT / "service" / "cli" / "pipeline.py"
    helpers = (PROJECT / "helm" / "partition-allocator" / "templates" / "_helpers.tpl").read_text()
    assert f"\n{link}\n" in helpers


def _entry(tmp_path: Path, variables: dict[str, str], *arguments: str) -> list[str]:
    """What the pipeline's entry point becomes, a line for each word."""
    kernels, programs = tmp_path / "kernels", tmp_path / "bin"
    for folder in (kernels, programs):
        folder.mkdir()
    (kernels / "kernel").touch()
    script = tmp_path / "entrypoint"
    script.write_text((PROJECT / "spark-entrypoint.sh").read_text().replace("/opt/kernels", str(kernels)))
    for name in ("java", "spark-submit"):
        (programs / name).write_text('#!/bin/sh\nprintf "%s\\n" "${0##*/}" "$@"\n')
        (programs / name).chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **variables}
    command = ["sh", str(script), *arguments]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (tmp_path / "cache" / "kernel").exists()
    return ran.stdout.splitlines()


EXECUTOR = {
    "SPARK_JAVA_OPT_0": "-Dfirst=with a blank",
    "SPARK_JAVA_OPT_1": "-Dsecond=1",
    "SPARK_EXECUTOR_MEMORY": "2g",
    "SPARK_DRIVER_URL": "spark://driver:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "app",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "pod",
}


def test_the_pipelines_image_is_what_spark_expects_of_an_executor(tmp_path):
    words = _entry(tmp_path, EXECUTOR, "executor")
    assert words[:5] == ["java", "-Dfirst=with a blank", "-Dsecond=1", "-Xms2g", "-Xmx2g"]
    at = words.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    told = dict(zip(words[at + 1 :: 2], words[at + 2 :: 2], strict=True))
    assert told["--driver-url"] == "spark://driver:7078"
    assert (told["--executor-id"], told["--podName"]) == ("3", "pod")


def test_the_pipelines_image_is_what_spark_expects_of_a_driver(tmp_path):
    words = _entry(tmp_path, {"SPARK_DRIVER_BIND_ADDRESS": "10.0.0.2"}, "driver", "--class", "a b", "file.py")
    assert words[0] == "spark-submit"
    assert words[-3:] == ["--class", "a b", "file.py"]
    assert "spark.driver.bindAddress=10.0.0.2" in words


def test_the_pipelines_image_runs_any_other_command(tmp_path):
    assert _entry(tmp_path, {}, "echo", "a  b") == ["a  b"]


def test_what_is_copied_is_what_the_build_context_holds():
    """.dockerignore leaves out everything but the files that the Dockerfile copies."""
    copied = {
        source
        for stage in stages()
        for instruction, text in stage.steps
        if instruction == "COPY" and not text.startswith("--from")
        for source in text.split()[:-1]
    }
    lines = (PROJECT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == copied


def test_kernels_are_compiled_for_any_machine_of_the_architecture():
    """Numba keys its cache by the CPU's name and features; every stage fixes them, at the architecture's baseline."""
    build, spark, final = (
        {name: value for name, value in stage.environment().items() if name.startswith("NUMBA_CPU")}
        for stage in (stages()[0], pipeline(), stages()[-1])
    )
    assert build == spark == final
    key = "from numba.core.registry import cpu_target as t; print(*t.target_context.codegen().magic_tuple()[1:], sep=',')"
    ran = subprocess.run([sys.executable, "-c", key], env={**os.environ, **final}, capture_output=True, text=True, check=True)
    assert ran.stdout == "generic,\n"


def _script(folder: Path, variables: dict[str, str]) -> str:
    """A shell script that builds the image below ``folder`` and, as its last step, becomes the container's first process."""
    lines = ["set -e", f"mount -t tmpfs none {folder}"]
    network = {name: value for name, value in os.environ.items() if re.match(r"(?i)pip_|(https?|no)_proxy$|ssl_cert", name)}
    pip_cache = subprocess.run(
        [sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    roots: dict[str, Path] = {}
    for number, stage in enumerate(needed(stages()[-1])):
        layer = folder / str(number)
        root = roots[stage.name] = layer / "root"
        lines += [
            f"mkdir -p {layer}/upper {layer}/work {root}",
            f"mount -t overlay overlay -o lowerdir=/,upperdir={layer}/upper,workdir={layer}/work {root}",
            f"mount --rbind /dev {root}/dev",
            f"mount --rbind /proc {root}/proc",
            f"mount -t tmpfs -o mode=1777 none {root}/tmp",  # noqa: S108 - the container's
            f"test -e {root}{PYTHON.parent}/python || ln -s {PYTHON.name} {root}{PYTHON.parent}/python",
            *(f"chmod o+x {root}{parent}" for parent in PYTHON.parents),
        ]
        here = "/"
        for step, (instruction, text) in enumerate(stage.steps):
            if instruction == "WORKDIR":
                here = text
                lines.append(f"mkdir -p {root}{here}")
            elif instruction == "COPY":
                *sources, target = text.split()
                if sources[0].startswith("--from="):
                    lines.append(f"cp -a {roots[sources[0].removeprefix('--from=')]}{sources[1]} {root}{target}")
                else:
                    lines.append(f"tar -C {PROJECT} --exclude=__pycache__ -c {' '.join(sources)} | tar -C {root}{here} -x")
            elif instruction == "RUN":
                cache, command = re.fullmatch(r"(?:--mount=type=cache,target=(\S+) )?(.*)", text).groups()
                if cache:
                    lines += [f"mkdir -p {pip_cache} {root}{cache}", f"mount --bind {pip_cache} {root}{cache}"]
                environment = {**network, "HOME": "/root", **stage.environment(step)}
                lines.append(_inside(root, here, environment, [], ["/bin/sh", "-c", command]))
    user, _, group = stage.last("USER").partition(":")
    identity = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
    command = [*json.loads(stage.last("ENTRYPOINT")), *json.loads(stage.last("CMD"))]
    lines.append(f"mount -o remount,ro {root}")
    lines.append("exec " + _inside(root, here, {**stage.environment(), **variables}, identity, command))
    return "\n".join(lines)


def _inside(root: Path, folder: str, environment: dict[str, str], identity: list[str], command: list[str]) -> str:
    variables = [f"{name}={value}" for name, value in environment.items()]
    return shlex.join(
        [*("chroot", str(root), *identity, "/bin/sh", "-c", f'cd {folder} && exec "$@"', "sh"), "env", "-i", *variables, *command]
    )


@dataclass
class Container:
    """What ``docker run`` would have started."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path


@pytest.fixture(scope="module")
def container(tmp_path_factory) -> Iterator[Container]:
    """The image, built and running on a free port, with Numba telling what it loads and what it compiles."""
    folder = tmp_path_factory.mktemp("image")
    folder.chmod(0o755)
    probe = (
        f"mount -t tmpfs none {folder} && cd {folder} && mkdir upper work root && "
        f"mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root"
    )
    if subprocess.run(["unshare", "--mount", "sh", "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip("an overlay on / cannot be mounted here: that takes root")
    port = free_port()
    log = tmp_path_factory.mktemp("log") / "container.log"
    script = _script(folder, {"PORT": str(port), "HOST": "127.0.0.1", "NUMBA_DEBUG_CACHE": "1"})
    with log.open("wb") as output:
        process = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=output, stderr=subprocess.STDOUT)
    try:
        running = Container(process, f"http://127.0.0.1:{port}", log)
        _wait_until_ready(running)
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _wait_until_ready(container: Container, seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert container.process.poll() is None, container.log.read_text()
        try:
            if requests.get(f"{container.url}/readyz", timeout=5).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise TimeoutError(container.log.read_text())


@pytest.mark.slow
def test_no_kernel_is_compiled_when_the_image_runs(container):
    """Numba tells of each kernel that it loads from the image, and would tell of each that it has to compile and save."""
    topics = [{"topic_name": "t", "partitions_count": 3, "partition_racks": [["a"], ["b"], ["a", "b"]]}]
    members = [{"member_id": "c1", "rack_id": "a"}, {"member_id": "c2", "rack_id": "b"}]
    brokers = [{"broker_id": i, "rack_id": f"rack{i % 2}"} for i in range(4)]
    questions = {
        "partitioner": ("/v1/partitions", {"partitions_count": 12, "keys": ["order-1", "", "é"]}),
        "assignor": ("/v1/group-assignments", {"topics": topics, "members": members}),
        "placer": (
            "/v1/replica-placements",
            {"partitions_count": 6, "replication_factor": 3, "random_seed": 7, "brokers": brokers},
        ),
    }
    for kind, (path, question) in questions.items():
        for strategy in requests.get(f"{container.url}/v1/{kind}s", timeout=10).json()[f"{kind}s"]:
            chosen = {name: strategy[name] for name in (kind, "group_protocol") if name in strategy}
            answer = requests.post(container.url + path, json={**chosen, **question}, timeout=60)
            assert answer.status_code in {200, 422}, answer.text
    log = container.log.read_text()
    assert "[cache] data loaded from" in log
    assert "[cache] data saved to" not in log


@pytest.mark.slow
def test_the_first_answer_comes_at_once(container):
    start = time.perf_counter()
    answer = requests.get(f"{container.url}/v1/partitions?key=order-1&partitions_count=12", timeout=10)
    assert answer.status_code == 200
    assert time.perf_counter() - start < 0.25


@pytest.mark.slow
def test_the_server_runs_as_the_images_user(container):
    uids = re.findall(r"^Uid:\s+(\d+)\s+(\d+)", Path(f"/proc/{container.process.pid}/status").read_text(), re.MULTILINE)
    user = stages()[-1].last("USER").partition(":")[0]
    assert uids == [(user, user)]


@pytest.mark.slow
def test_the_root_file_system_is_read_only(container):
    mounts = [line.split() for line in Path(f"/proc/{container.process.pid}/mounts").read_text().splitlines()]
    options = {point: set(options.split(",")) for _, point, _, options, *_ in mounts}
    assert "ro" in options["/"]
    assert "rw" in options["/tmp"]  # noqa: S108 - the container's


@pytest.mark.slow
def test_the_health_check_says_that_the_server_is_ready(container):
    """Its command succeeds against the running server, and fails where nobody listens."""
    _, _, command = stages()[-1].last("HEALTHCHECK").partition(" CMD ")
    python, *arguments = json.loads(command)
    assert python == "python"
    for port, healthy in ((container.url.rpartition(":")[2], True), (str(free_port()), False)):
        ran = subprocess.run([sys.executable, *arguments], env={"PORT": port}, capture_output=True, check=False)
        assert (ran.returncode == 0) is healthy
