"""The Helm chart, rendered by Helm with five files of values, and compared with the schemas of Kubernetes.

No cluster is involved. The schemas of KEDA, the Prometheus operator, Strimzi and CloudNativePG are not checked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.release.test_helm_values import CHART, EXAMPLES
from tests.release.test_settings import SETTINGS, names_of

BUILT = Path(__file__).parents[2] / ".agent-feedback" / "helm" / "helm"
HELM = os.environ.get("HELM") or shutil.which("helm") or (str(BUILT) if BUILT.exists() else "")
VERSIONS = ("1.27", "1.31", "1.35")
FOREIGN = {"ScaledObject", "ServiceMonitor"}
PUBLIC = {"REPORTING_ARTIFACT_STORE_URL"}
SERVICES = {"chat_bridge", "feedback", "inference", "reporting"}
pytestmark = [
    pytest.mark.helm,
    pytest.mark.skipif(not HELM, reason="Helm is missing: `make test ONLY=helm` builds it with Go"),
]


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HELM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)


@cache
def rendered(name: str, *further: str, version: str = "1.31") -> list[dict[str, Any]]:
    """Return the manifests of the chart with an example's values."""
    file = CHART / "examples" / f"{name}.yaml"
    made = helm("template", "acme", CHART, "--kube-version", f"{version}.0", "-f", file, *further)
    assert made.returncode == 0, made.stderr
    return [manifest for manifest in yaml.safe_load_all(made.stdout) if manifest]


def of_kind(manifests: Iterable[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in manifests if one["kind"] == kind}


def pods(manifests: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the pod specifications of all deployments and jobs by name."""
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in manifests
        if one["kind"] in ("Deployment", "Job")
    }


def variables(pod: Mapping[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in pod["containers"][0].get("env", ())}


@pytest.mark.parametrize("name", EXAMPLES)
def test_helm_finds_no_fault(name: str) -> None:
    linted = helm("lint", "--strict", CHART, "-f", CHART / "examples" / f"{name}.yaml")
    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_manifests_have_the_form_that_kubernetes_accepts(name: str, version: str) -> None:
    manifests = rendered(name, version=version)
    own = [one for one in manifests if one["kind"] not in FOREIGN]
    assert len(own) >= 8
    for manifest in own:
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_variable_is_a_setting_and_every_service_has_its_addresses(name: str) -> None:
    known = set().union(*(names_of(one) for one in SETTINGS)) | {
        "AGENT_FEEDBACK_TOKEN",
        "AWS_REGION",
        "FORWARDED_ALLOW_IPS",
    }
    found = pods(rendered(name))
    for pod in found.values():
        names = [one["name"] for one in pod["containers"][0].get("env", ())]
        assert set(names) <= known
        assert len(names) == len(set(names)), "Kubernetes takes the last of equal names"
    for service in SERVICES:
        given = variables(found[f"acme-{service.replace('_', '-')}"])
        assert {f"{service.upper()}_BROKER", f"{service.upper()}_DATABASE_URL"} <= set(given)
        assert not {name for name in given if name.startswith(tuple(f"{o.upper()}_" for o in SERVICES - {service}))}
    assert "FEEDBACK_STORE_URL" in variables(found["acme-feedback"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_pods_run_without_privileges(name: str) -> None:
    for pod in pods(rendered(name)).values():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert container["resources"]["requests"]["cpu"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_secret_is_in_a_manifest(name: str) -> None:
    manifests = rendered(name)
    assert not of_kind(manifests, "Secret")
    for pod in pods(manifests).values():
        for variable, given in variables(pod).items():
            if variable.endswith(("_URL", "_TOKEN", "_PASSWORD", "_KEY", "_SECRET")) and variable not in PUBLIC:
                assert "secretKeyRef" in given.get("valueFrom", {}), variable


def test_topics_and_migrations_come_before_the_services() -> None:
    jobs = of_kind(rendered("production"), "Job")
    commands = {name: job["spec"]["template"]["spec"]["containers"][0]["args"] for name, job in jobs.items()}
    brokers = "kafka-0.data:9092,kafka-1.data:9092,kafka-2.data:9092"
    assert commands == {
        "acme-topics": ["topics", "--create", "--broker", brokers, "--replication", "3"],
        "acme-migrate": ["migrate"],
    }
    hooks = {name: job["metadata"]["annotations"] for name, job in jobs.items()}
    assert {one["helm.sh/hook"] for one in hooks.values()} == {"pre-install,pre-upgrade"}
    weights = {name: int(one["helm.sh/hook-weight"]) for name, one in hooks.items()}
    assert weights["acme-topics"] < weights["acme-migrate"]
    migrate = variables(jobs["acme-migrate"]["spec"]["template"]["spec"])
    assert {f"{service.upper()}_DATABASE_URL" for service in SERVICES} | {"FEEDBACK_STORE_URL"} <= set(migrate)


def test_the_gateway_finds_the_services_of_the_release() -> None:
    manifests = rendered("minimal")
    configuration = of_kind(manifests, "ConfigMap")["acme-gateway"]["data"]["default.conf"]
    services = of_kind(manifests, "Service")
    for service in SERVICES:
        address = f"acme-{service.replace('_', '-')}"
        assert f"upstream {service} {{ server {address}:8080;" in configuration
        assert services[address]["spec"]["ports"][0]["port"] == 8080


def test_the_gateway_trusts_named_proxies_and_the_services_the_gateway() -> None:
    manifests = rendered("production", "--set", "gateway.trustedProxies={10.1.0.0/16,10.2.0.0/16}")
    configuration = of_kind(manifests, "ConfigMap")["acme-gateway"]["data"]["default.conf"]
    [block] = re.findall(r"geo \$remote_addr \$is_proxy \{([^}]*)\}", configuration)
    assert sorted(block.split(";")) == sorted(["\n    default 0", "\n    10.1.0.0/16 1", "\n    10.2.0.0/16 1", "\n"])
    for service in SERVICES:
        pod = of_kind(manifests, "Deployment")[f"acme-{service.replace('_', '-')}"]["spec"]["template"]["spec"]
        assert variables(pod)["FORWARDED_ALLOW_IPS"]["value"] == "*"


def test_selectors_find_their_pods() -> None:
    manifests = rendered("production")
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in of_kind(manifests, "Deployment").values()]
    for manifest in manifests:
        spec = manifest.get("spec", {})
        if manifest["kind"] == "Service":
            selector = spec["selector"]
        elif manifest["kind"] in ("PodDisruptionBudget", "Deployment"):
            selector = spec["selector"]["matchLabels"]
        elif manifest["kind"] == "NetworkPolicy":
            selector = spec["podSelector"]["matchLabels"]
        else:
            continue
        assert sum(selector.items() <= one.items() for one in labels) == 1, manifest["metadata"]["name"]


def test_replicas_follow_the_lag_of_each_group() -> None:
    manifests = rendered("production")
    scaled = of_kind(manifests, "ScaledObject")
    groups = {t["metadata"]["consumerGroup"] for one in scaled.values() for t in one["spec"]["triggers"]}
    assert {"chat_bridge", "feedback", "inference", "reporting"} < groups
    targets = {one["spec"]["scaleTargetRef"]["name"] for one in scaled.values()}
    deployments = of_kind(manifests, "Deployment")
    assert targets < set(deployments)
    assert all("replicas" not in deployments[name]["spec"] for name in targets), "Helm would reset KEDA's number"


def test_calls_come_from_the_gateway_and_named_peers_only() -> None:
    for policy in of_kind(rendered("production"), "NetworkPolicy").values():
        [rule] = policy["spec"]["ingress"]
        [gateway, monitoring] = rule["from"]
        assert gateway["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "gateway"
        assert monitoring["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("kafka.brokers=", "kafka.brokers: HOST:PORT"),
        ("image.repository=", "image.repository: the image"),
        ("database.secret.name=", "database.secret: name the secret"),
        ("token.secret.name=", "token.secret.name or settings.AUTH_ISSUERS"),
        ("settings.HTTP_REQEST_SECONDS=9", "HTTP_REQEST_SECONDS"),
        ("ingress.enabled=true", "ingress.host"),
        ("replicas=3", "replicas"),
    ],
)
def test_an_incomplete_value_is_named(change: str, said: str) -> None:
    file = CHART / "examples" / "minimal.yaml"
    made = helm("template", "acme", CHART, "--kube-version", "1.31.0", "-f", file, "--set", change)
    assert made.returncode != 0
    assert said in made.stderr
