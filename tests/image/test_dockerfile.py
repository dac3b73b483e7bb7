"""The Dockerfile and the pipeline's entry point as texts; ``tests/chart/test_pod.py`` runs the images."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from service import __version__

PROJECT = Path(__file__).parents[2]
BASE_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The base image's."""


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
        return [text for name, text in self.steps if name == instruction][-1]


def stages() -> list[Stage]:
    """The Dockerfile, read."""
    text = re.sub(r"^\s*#.*\n", "", (PROJECT / "Dockerfile").read_text(), flags=re.MULTILINE)
    result: list[Stage] = []
    arguments: dict[str, str] = {}
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "ARG":
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            result.append(Stage(re.sub(r"\$\{(\w+)\}", lambda name: arguments[name[1]], base), name))
        elif instruction:
            result[-1].steps.append((instruction, rest.strip()))
    return result


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
    assert [stage.name for stage in needed(stages()[-1])] == ["dependencies", "build", ""]
    assert [stage.name for stage in needed(pipeline())] == ["dependencies", "build", "pipeline"]


def test_a_new_version_is_a_few_small_layers():
    """Nothing that takes much of an image depends on the project's own files."""
    for stage in (stages()[-1], pipeline()):
        of_project = [at for at, (name, text) in enumerate(stage.steps) if name == "COPY" and text.startswith("--from=build")]
        large = [at for at, (name, text) in enumerate(stage.steps) if name == "RUN" and "install" in text and "wheel" not in text]
        assert all(at < of_project[0] for at in large)
        assert stage.base == "dependencies"


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
    (step,) = [text for stage in stages() for name, text in stage.steps if name == "RUN" and "ln -s" in text]
    command, link = re.search(r'ln -s "\$\((.*)\)" (\S+)$', step).groups()
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
        for stage in (next(stage for stage in stages() if stage.name == "build"), pipeline(), stages()[-1])
    )
    assert build == spark == final
    key = "from numba.core.registry import cpu_target as t; print(*t.target_context.codegen().magic_tuple()[1:], sep=',')"
    ran = subprocess.run([sys.executable, "-c", key], env={**os.environ, **final}, capture_output=True, text=True, check=True)
    assert ran.stdout == "generic,\n"


def test_both_images_have_the_projects_version_and_licence():
    targets = [stage for stage in stages() if stage.name in {"pipeline", ""}]
    assert len(targets) == 2
    for stage in targets:
        labels = dict(pair.split("=", 1) for pair in shlex.split(stage.last("LABEL")))
        assert labels["org.opencontainers.image.version"] == __version__
        assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
