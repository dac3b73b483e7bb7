"""The chart's pod, as rendered, with the image of the Dockerfile: its user, environment, volumes, memory limit and probes."""

from __future__ import annotations

import json
import re
from base64 import b64encode

import pytest

from service.http.auth import new_token
from tests.support import images, pods
from tests.support.charts import CHART, TOKENS, loaded, pod_templates, render
from tests.support.golden import PROJECT

pytestmark = pytest.mark.slow

TOKEN, LINE = new_token("caller", ("partitions", "groups", "placements"))
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
DECISION = "/v1/partitions?key=order-1&partitions_count=12"


@pytest.fixture(scope="module")
def template():
    """The Deployment's pod with the chart's defaults and a tokens file."""
    resources = render(TOKENS)
    resources["Secret tokens"] = {"kind": "Secret", "data": {"tokens": b64encode(LINE.encode()).decode()}}
    return resources, pod_templates(resources)["Deployment allocator-partition-allocator"]


@pytest.fixture(scope="module")
def pod(template):
    resources, of_pod = template
    with pods.running(images.build(), resources, of_pod) as started:
        started.wait_until_started()
        yield started


def test_its_probes_succeed(pod):
    for kind in ("startup", "readiness", "liveness"):
        assert pod.probe(kind), kind


def test_a_caller_with_a_token_is_answered_and_others_are_not(pod):
    answer = pod.request("GET", DECISION, headers=AUTHORIZED)
    assert (answer.status_code, answer.json()["partitions"]) == (200, [10])
    assert pod.request("GET", DECISION).status_code == 401
    group = {"topics": [{"topic_name": "t", "partitions_count": 2}], "members": [{"member_id": "a"}, {"member_id": "b"}]}
    assert pod.request("POST", "/v1/group-assignments", json=group, headers=AUTHORIZED).status_code == 200
    assert pod.request("POST", "/v1/decodings", json={}, headers=AUTHORIZED).status_code == 403


def test_its_metrics_count_what_its_workers_did(pod):
    pod.request("GET", DECISION, headers=AUTHORIZED)
    text = pod.request("GET", "/metrics").text
    assert 'partition_allocator_http_request_duration_seconds_count{method="GET",route="/v1/partitions",status="200"}' in text
    for name in ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "start_time_seconds"):
        assert text.count(f"process_{name}{{") == 2
    assert "partition_allocator_metrics_free_bytes 2." in text, "of the volume's 256 MiB"
    assert "histogram_" in pod.run("ls", "/run/metrics")


def test_it_writes_only_to_its_volumes(pod):
    for folder, writable in (("/", False), ("/opt", False), ("/tmp", True), ("/run/metrics", True)):  # noqa: S108
        ran = pod.run("sh", "-c", f"touch {folder}/x 2>/dev/null && echo yes || echo no")
        assert ran == ("yes" if writable else "no"), folder


def test_a_large_body_is_answered_within_the_memory_limit(pod):
    body = json.dumps({"partitions_count": 12, "keys": [f"key-{i}" for i in range(1_000_000)]})
    answer = pod.request("POST", "/v1/partitions", data=body, headers={**AUTHORIZED, "Content-Type": "application/json"})
    assert (answer.status_code, len(answer.json()["partitions"])) == (200, 1_000_000)
    assert pod.inspect(".State.OOMKilled") == "false"


def test_no_request_compiles_a_kernel(pod):
    """Whatever Numba compiles, it saves beside the kernels that were copied from the image."""
    for request in map(json.loads, images.few_requests()):
        answer = pod.request("POST", request["path"], params=request.get("query"), json=request["json"], headers=AUTHORIZED)
        assert answer.status_code == 200, answer.text
    folders = ("/opt/kernels", "/tmp/kernels")  # noqa: S108
    in_image, in_use = (pod.run("find", folder, "-type", "f", "-printf", "%P\n") for folder in folders)
    assert len(in_image.splitlines()) > 50
    assert sorted(in_use.splitlines()) == sorted(in_image.splitlines())


def test_it_runs_as_the_images_user(pod):
    (user,) = re.findall(r"^USER (\d+:\d+)$", (PROJECT / "Dockerfile").read_text().rpartition("FROM")[2], re.MULTILINE)
    assert pod.run("sh", "-c", "echo $(id -u):$(id -g)") == user


def test_the_images_health_check_tells_a_server_from_none(pod):
    """Kubernetes ignores it; other engines run it in the container."""
    command = json.loads(re.search(r"^HEALTHCHECK .*\n +CMD (.*)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)[1])
    pod.run(*command)
    with pytest.raises(AssertionError, match="Connection refused"):
        pod.run("env", "PORT=9", *command)


def test_it_logs_one_json_object_per_line(pod):
    assert [json.loads(line) for line in pod.log().splitlines()]


def test_it_ends_within_its_grace_period(pod, template):
    """The last test of this pod."""
    _, of_pod = template
    assert pod.stop(of_pod["spec"]["terminationGracePeriodSeconds"]) == 0


def test_a_pod_without_authentication_answers_everyone():
    resources = render(loaded((CHART / "ci" / "plain-values.yaml").read_text()))
    (of_pod,) = pod_templates(resources).values()
    with pods.running(images.build(), resources, of_pod) as started:
        started.wait_until_started()
        assert started.request("GET", DECISION).status_code == 200


def test_the_pipelines_image_runs_its_command():
    resources = render({**TOKENS, "pipeline": {"arguments": ["skew", "/x"], "cronJob": {"enabled": True}}})
    of_pod = pod_templates(resources)["CronJob allocator-partition-allocator-pipeline"]
    output = pods.run(images.build("pipeline"), of_pod, "partition-allocator", "pipeline", "--help")
    assert "skew" in output
    assert "Usage: partition-allocator pipeline" in output
