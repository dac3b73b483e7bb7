"""The chart as the real Helm renders it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import yaml

from tests.support.golden import PROJECT
from tests.support.programs import program

CHART = PROJECT / "helm" / "partition-allocator"
CI_FILES = sorted((CHART / "ci").glob("*-values.yaml"))
KUBERNETES = "1.34.0"
"""The version that is rendered for where none is named."""

TOKENS = {"auth": {"existingSecret": "tokens"}}
"""What must be said."""


def loaded(text: str) -> Any:
    """A YAML document, read by libyaml: Python's own loader takes six times as long."""
    return yaml.load(text, yaml.CSafeLoader)


def helm(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Helm, run to its end; what it says of the failure is in ``stderr``."""
    return subprocess.run([program("helm"), *arguments], capture_output=True, text=True, check=False, **options)


def template(values: dict[str, Any], *arguments: str, kubernetes: str = KUBERNETES) -> subprocess.CompletedProcess[str]:
    """``helm template`` with these values."""
    return helm(
        *("template", "allocator", str(CHART), "--namespace", "kafka", "--kube-version", kubernetes, "--values", "-"),
        *arguments,
        input=json.dumps(values),
    )


def render(values: dict[str, Any], **options: Any) -> dict[str, dict[str, Any]]:
    """The resources that the chart makes of these values, as ``{"Kind name": resource}``."""
    done = template(values, **options)
    assert done.returncode == 0, done.stderr
    resources = [document for document in yaml.load_all(done.stdout, yaml.CSafeLoader) if document]
    return {f"{resource['kind']} {resource['metadata']['name']}": resource for resource in resources}


def refusal(values: dict[str, Any]) -> str:
    """What Helm says against these values."""
    done = template(values)
    assert done.returncode != 0, "the values were accepted"
    return done.stderr


def pod_templates(resources: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The pods that the resources would make, by what makes them."""
    pods = {}
    for name, resource in resources.items():
        spec = resource.get("spec", {})
        if resource["kind"] == "Deployment":
            pods[name] = spec["template"]
        elif resource["kind"] == "CronJob":
            pods[name] = spec["jobTemplate"]["spec"]["template"]
        elif resource["kind"] == "ConfigMap" and "executor.yaml" in resource["data"]:
            pods[name] = loaded(resource["data"]["executor.yaml"])
    return pods
