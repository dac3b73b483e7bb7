"""What the chart makes, rendered by the real Helm."""

from __future__ import annotations

import kubernetes_validate
import pytest

from service.config import Settings
from tests.support.charts import CHART, CI_FILES, TOKENS, helm, loaded, pod_templates, render

VERSIONS = ("1.27", "1.31", "1.34", "1.37")
"""The oldest Kubernetes that the chart is for, the newest whose schemas there are, and two between them."""

OWN_KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}
"""Custom resources; the API server's test knows their schemas."""

EVERYTHING = loaded((CHART / "ci" / "everything-values.yaml").read_text())
ALONE = loaded((CHART / "ci" / "pipeline-values.yaml").read_text())


@pytest.fixture(scope="module")
def default():
    """What has to be said, and nothing else."""
    return render(TOKENS)


@pytest.fixture(scope="module")
def everything():
    return render(EVERYTHING)


@pytest.fixture(scope="module")
def alone():
    """A pipeline in one pod."""
    return render(ALONE)


@pytest.mark.parametrize("path", CI_FILES, ids=lambda path: path.name)
def test_helm_finds_no_fault(path):
    done = helm("lint", "--strict", str(CHART), "--values", str(path), "--kube-version", "1.34.0")
    assert done.returncode == 0, done.stdout
    assert "0 chart(s) failed" in done.stdout


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", CI_FILES, ids=lambda path: path.name)
def test_every_resource_is_what_that_kubernetes_knows(path, version):
    for name, resource in render(loaded(path.read_text()), kubernetes=f"{version}.0").items():
        if resource["kind"] not in OWN_KINDS:
            kubernetes_validate.validate(resource, version, strict=True)
        assert resource["metadata"]["namespace"] == "kafka", name
        assert resource["metadata"]["labels"]["app.kubernetes.io/instance"] == "allocator", name


def test_an_older_kubernetes_is_refused():
    done = helm("template", "x", str(CHART), "--kube-version", "1.26.0", "--set", "auth.mode=off")
    assert "chart requires kubeVersion: >=1.27.0-0" in done.stderr


def test_without_being_asked_it_makes_no_more_than_a_cluster_without_operators_can_take(default):
    assert sorted(default) == [
        "ConfigMap allocator-partition-allocator-dashboards",
        "Deployment allocator-partition-allocator",
        "NetworkPolicy allocator-partition-allocator",
        "PodDisruptionBudget allocator-partition-allocator",
        "Service allocator-partition-allocator",
        "ServiceAccount allocator-partition-allocator",
    ]


def test_everything_can_be_had_together(everything):
    assert {name.split()[0] for name in everything} >= OWN_KINDS | {"Ingress", "CronJob", "Role", "RoleBinding"}


@pytest.mark.parametrize("path", CI_FILES, ids=lambda path: path.name)
def test_every_container_is_restricted(path):
    """Of the Pod Security Standards: restricted; and its root file system is read-only, which they do not ask for."""
    for name, pod in pod_templates(render(loaded(path.read_text()))).items():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] == 10001, "the image's user"
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
            assert "/tmp" in writable, "the one writable folder that the image asks for"  # noqa: S108
        assert not {"hostPath", "nfs"} & {kind for volume in spec["volumes"] for kind in volume}, name


def test_no_pod_of_the_service_has_a_token_of_the_api_server(everything):
    spec = everything["Deployment allocator"]["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False


def test_the_drivers_alone_have_one(everything):
    mounted = {name: pod["spec"]["automountServiceAccountToken"] for name, pod in pod_templates(everything).items()}
    assert mounted == {
        "Deployment allocator": False,
        "Deployment allocator-watch": False,
        "CronJob allocator-pipeline": True,
        "ConfigMap allocator-pipeline": False,
    }


def test_a_pod_ends_only_after_its_requests_have_had_their_time():
    """preStop, then what a request may take, then ten seconds."""
    for settings, seconds in (({}, 5 + Settings().max_request_seconds + 10), ({"max_request_seconds": 300}, 315)):
        resources = render({**TOKENS, "settings": settings})
        spec = resources["Deployment allocator-partition-allocator"]["spec"]["template"]["spec"]
        assert spec["terminationGracePeriodSeconds"] == seconds
        assert spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "5"]


def test_settings_become_variables_that_the_service_takes(monkeypatch):
    """Every value arrives, whole numbers as whole numbers, and the service accepts the lot."""
    settings = {"max_keys": 20_000_000, "max_assignment_cells": 8_000_000_000, "workers": 4, "access_log": "on"}
    done = render({**EVERYTHING, "settings": settings})
    (container,) = done["Deployment allocator"]["spec"]["template"]["spec"]["containers"]
    variables = {entry["name"]: entry["value"] for entry in container["env"]}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    taken = Settings.from_environment()
    assert {name: getattr(taken, name) for name in settings} == settings
    assert taken.auth == "required"
    assert taken.tokens_file == "/etc/partition-allocator/auth/tokens"
    assert taken.jwks == "https://login.example/jwks.json"
    assert (taken.jwt_audience, taken.jwt_issuer) == ("partition-allocator", "https://login.example/")
    assert taken.algorithms() == ("RS256", "ES256")
    assert (taken.tls_cert, taken.tls_key) == ("/etc/partition-allocator/tls/tls.crt", "/etc/partition-allocator/tls/tls.key")
    assert taken.otlp_endpoint == "http://collector.tracing:4318"
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts >= {variables["PROMETHEUS_MULTIPROC_DIR"], "/etc/partition-allocator/auth", "/etc/partition-allocator/tls"}


def test_with_tls_everything_that_asks_the_pods_asks_by_https(everything):
    (container,) = everything["Deployment allocator"]["spec"]["template"]["spec"]["containers"]
    assert {container[f"{kind}Probe"]["httpGet"]["scheme"] for kind in ("startup", "liveness", "readiness")} == {"HTTPS"}
    assert everything["ServiceMonitor allocator"]["spec"]["endpoints"][0]["scheme"] == "https"
    assert everything["Service allocator"]["spec"]["ports"][0]["appProtocol"] == "https"


def test_only_the_releases_own_namespace_is_let_in_unless_others_are_named(default, everything):
    for resources, name, namespaces in (
        (default, "allocator-partition-allocator", ["kafka"]),
        (everything, "allocator", ["streaming", "ingress-nginx", "monitoring"]),
    ):
        spec = resources[f"NetworkPolicy {name}"]["spec"]
        (rule,) = spec["ingress"]
        assert rule["from"] == [
            {
                "namespaceSelector": {
                    "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces}]
                }
            }
        ]
        assert rule["ports"] == [{"port": "http"}]


def test_nothing_is_let_out_unless_it_is_named(default, everything):
    spec = default["NetworkPolicy allocator-partition-allocator"]["spec"]
    assert (spec["policyTypes"], spec["egress"]) == (["Ingress", "Egress"], [])
    assert everything["NetworkPolicy allocator"]["spec"]["egress"] == EVERYTHING["networkPolicy"]["egress"]


def test_the_policies_select_the_pods_that_they_are_for(everything):
    """The policies of the service, of the pod that watches and of the pipeline leave each other's pods alone."""
    others = ["Deployment allocator", "Deployment allocator-watch"]
    for policy, pods in (("allocator", others[:1]), ("allocator-watch", others[1:]), ("allocator-pipeline", None)):
        labels = everything[f"NetworkPolicy {policy}"]["spec"]["podSelector"]["matchLabels"].items()
        selected = [name for name, pod in pod_templates(everything).items() if labels <= pod["metadata"]["labels"].items()]
        assert selected == (pods or [name for name in pod_templates(everything) if name not in others])


def test_service_budget_and_monitor_select_the_services_pods(everything):
    labels = everything["Deployment allocator"]["spec"]["template"]["metadata"]["labels"].items()
    assert everything["Service allocator"]["spec"]["selector"].items() <= labels
    assert everything["PodDisruptionBudget allocator"]["spec"]["selector"]["matchLabels"].items() <= labels
    service = everything["Service allocator"]["metadata"]["labels"].items()
    assert everything["ServiceMonitor allocator"]["spec"]["selector"]["matchLabels"].items() <= service


def test_the_autoscaler_is_made_on_request_and_then_says_how_many_pods_there_are(default, everything):
    """It looks at the CPU; `replicas` is its smallest number."""
    scaler = everything["HorizontalPodAutoscaler allocator"]["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 12)
    assert [metric["resource"]["name"] for metric in scaler["metrics"]] == ["cpu"]
    assert "replicas" not in everything["Deployment allocator"]["spec"]
    assert default["Deployment allocator-partition-allocator"]["spec"]["replicas"] == 2


def test_more_variables_and_volumes_reach_the_pods(everything):
    deployment = everything["Deployment allocator"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": "team=streaming"} in container["env"]
    assert {"name": "authorities", "mountPath": "/etc/ssl/authorities", "readOnly": True} in container["volumeMounts"]
    assert {"name": "authorities", "configMap": {"name": "authorities"}} in deployment["spec"]["template"]["spec"]["volumes"]


def test_the_pipeline_is_run_by_spark_submit(everything, alone):
    """On executors of its own, or in one pod that needs no right to make any."""
    (container,) = everything["CronJob allocator-pipeline"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][0] == "spark-submit"
    assert "--master=k8s://https://kubernetes.default.svc" in container["args"]
    at = container["args"].index("/opt/allocator/pipeline.py")
    assert container["args"][at + 1 :] == EVERYTHING["pipeline"]["arguments"]
    assert container["resources"]["limits"]["memory"] == "1433Mi", "1 GiB, and Spark's 40 percent"
    pod = alone["CronJob allocator-partition-allocator-pipeline"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert "--master=local[1]" in pod["containers"][0]["args"]
    assert pod["automountServiceAccountToken"] is False


def test_the_cluster_is_watched_by_a_pod_of_its_own(everything, default):
    """With its options, its Secret, rules for its network and a monitor; the service's selectors do not choose it."""
    pod = everything["Deployment allocator-watch"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["args"] == [
        "watch",
        "--host=0.0.0.0",
        "--port=9464",
        "--bootstrap-server=kafka-0.kafka:9093,kafka-1.kafka:9093",
        "--command-config=/etc/partition-allocator/kafka/client.properties",
        *EVERYTHING["watch"]["arguments"],
    ]
    assert pod["spec"]["volumes"][1]["secret"]["secretName"] == "allocator-kafka"
    assert everything["NetworkPolicy allocator-watch"]["spec"]["egress"] == EVERYTHING["watch"]["egress"]
    selector = everything["PodMonitor allocator-watch"]["spec"]["selector"]["matchLabels"]
    assert selector.items() <= pod["metadata"]["labels"].items()
    assert selector != everything["Service allocator"]["spec"]["selector"]
    assert not any(name.endswith("-watch") for name in default)


def test_an_alert_links_to_where_the_guide_is_published(everything):
    groups = everything["PrometheusRule allocator"]["spec"]["groups"]
    links = {rule["annotations"]["runbook_url"] for group in groups for rule in group["rules"] if "alert" in rule}
    assert "https://git.example/partition-allocator/docs/operations.md#allocatoroverloaded" in links
    assert all(link.startswith("https://git.example/partition-allocator/docs/operations.md#allocator") for link in links)


def test_names_fit_however_long_the_releases_is():
    """A CronJob's name has 52 characters at most, a label 63."""
    values = {**EVERYTHING, "fullnameOverride": "x" * 63}
    resources = render(values)
    assert max(len(resource["metadata"]["name"]) for resource in resources.values() if resource["kind"] == "CronJob") <= 52
    assert max(len(resource["metadata"]["name"]) for resource in resources.values()) <= 63


def test_the_charts_version_is_the_services():
    from service import __version__  # noqa: PLC0415 - read where it is compared

    chart = loaded((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
