"""The chart, installed on a real Kubernetes API server."""

from __future__ import annotations

import os
import time

import pytest

from service.cli.pipeline import pipeline
from tests.support.charts import CHART, CI_FILES, KUBERNETES, helm, loaded, pod_templates, render
from tests.support.cluster import cluster
from tests.support.golden import PROJECT

pytestmark = pytest.mark.slow

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}
EVERYTHING = CHART / "ci" / "everything-values.yaml"


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """An API server, with a namespace for each file of values, where only restricted pods are let in."""
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        for path in CI_FILES:
            metadata = {"name": path.name.removesuffix("-values.yaml"), "labels": RESTRICTED}
            assert running.post("/api/v1/namespaces", {"metadata": metadata}).status_code == 201
        yield running


def install(api, path, *arguments):
    """``helm upgrade --install`` with a file of values, in its own namespace."""
    namespace = path.name.removesuffix("-values.yaml")
    return namespace, helm(
        *("upgrade", "--install", "allocator", str(CHART), "--namespace", namespace, "--values", str(path), *arguments),
        env={**os.environ, "KUBECONFIG": str(api.kubeconfig)},
    )


@pytest.mark.parametrize("path", CI_FILES, ids=lambda path: path.name)
def test_it_installs_without_a_warning_and_upgrades(api, path):
    """Every resource passes the server's schemas, custom resources included, and Pod Security has nothing to say."""
    for arguments, revision in (((), "REVISION: 1"), (("--set", "replicas=3"), "REVISION: 2")):
        _, done = install(api, path, *arguments)
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        assert revision in done.stdout


@pytest.mark.parametrize("path", CI_FILES, ids=lambda path: path.name)
def test_pod_security_admits_every_pod(api, path):
    """A Deployment is only warned of; the pods themselves are refused or let in."""
    namespace = path.name.removesuffix("-values.yaml")
    templates = pod_templates(render(loaded(path.read_text()), kubernetes=KUBERNETES))
    # No controller makes the accounts that every namespace has.
    for account in {"default"} | {template["spec"].get("serviceAccountName", "default") for template in templates.values()}:
        api.post(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": account}})
    for number, (name, template) in enumerate(templates.items()):
        spec = {
            **template["spec"],
            "containers": [{"image": "spark", **container} for container in template["spec"]["containers"]],
        }
        pod = {"metadata": {"name": f"pod-{number}", "labels": template["metadata"]["labels"]}, "spec": spec}
        made = api.post(f"/api/v1/namespaces/{namespace}/pods", pod, params={"dryRun": "All"})
        assert made.status_code == 201, f"{name}: {made.json()['message']}"


def test_pod_security_would_not_admit_others(api):
    """So the test before could have failed."""
    pod = {"metadata": {"name": "pod"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    namespace = CI_FILES[0].name.removesuffix("-values.yaml")
    made = api.post(f"/api/v1/namespaces/{namespace}/pods", pod, params={"dryRun": "All"})
    assert made.status_code == 403
    assert "violates PodSecurity" in made.json()["message"]


def test_the_pipeline_may_make_pods_and_the_service_nothing(api):
    namespace, done = install(api, EVERYTHING)
    assert done.returncode == 0, done.stderr
    deadline = time.monotonic() + 120
    while not api.may(f"{namespace}:allocator-pipeline", "create", "pods") and time.monotonic() < deadline:
        time.sleep(0.1)  # the authorizer hears of new roles a moment later
    for resource in ("pods", "services", "configmaps"):
        assert api.may(f"{namespace}:allocator-pipeline", "create", resource)
        assert not api.may(f"{namespace}:allocator", "get", resource)
    for resource in ("secrets", "deployments", "nodes"):
        assert not api.may(f"{namespace}:allocator-pipeline", "get", resource)


def test_the_spark_operators_schema_takes_the_example(api):
    """Each field of it; its file is in the image, and its arguments are a command's."""
    application = loaded((PROJECT / "examples" / "spark-application.yaml").read_text())
    path = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications"
    made = api.post(path, application, params={"fieldValidation": "Strict"})
    assert made.status_code == 201, made.json()["message"]
    job, *arguments = application["spec"]["arguments"]
    assert pipeline.get_command(None, job).make_context(job, arguments).params["append"]
    assert application["spec"]["mainApplicationFile"] == "local:///opt/allocator/pipeline.py"


def test_it_goes_without_a_trace(api):
    namespace, done = install(api, EVERYTHING)
    assert done.returncode == 0, done.stderr
    environment = {**os.environ, "KUBECONFIG": str(api.kubeconfig)}
    assert helm("uninstall", "allocator", "--namespace", namespace, env=environment).returncode == 0
    for kind in ("apps/v1", "networking.k8s.io/v1", "monitoring.coreos.com/v1"):
        listed = api.get(f"/apis/{kind}").json()["resources"]
        for resource in (entry["name"] for entry in listed if "list" in entry["verbs"] and entry["namespaced"]):
            items = api.get(f"/apis/{kind}/namespaces/{namespace}/{resource}").json()["items"]
            assert items == [], resource
