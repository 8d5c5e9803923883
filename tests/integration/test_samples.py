"""The sample pools, applied as a user does it, and what kubectl shows."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube
from testbed.pools import SAMPLES, Pools, create_dependencies, create_instances
from testbed.waiting import eventually

PATHS = {path.stem: path for path in SAMPLES}
NAMES = sorted(PATHS)

pytestmark = pytest.mark.usefixtures("operator")


def test_there_is_a_sample_for_every_use_case() -> None:
    assert set(NAMES) >= {"long-document-chat", "two-models", "opportunistic", "minimal"}
    assert set(NAMES) >= {"existing-instance", "existing-by-hand", "dynamic-tier", "cloud-storage"}
    assert set(NAMES) >= {"lmcache", "object-storage", "customised"}


@pytest.fixture
def google(control_plane: Cluster) -> None:
    create_instances(control_plane.lustre_api)


@pytest.mark.usefixtures("google")
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_applied_strictly_and_becomes_ready(
    control_plane: Cluster, kube: Kube, pools: Pools, name: str
) -> None:
    create_dependencies(kube, pools.namespace)
    path = str(PATHS[name])
    control_plane.kubectl("-n", pools.namespace, "apply", "--validate=strict", "-f", path)
    pools.wait(name)
    live, written = pools.get(name)["spec"], yaml.safe_load(Path(path).read_text())["spec"]
    assert _contains(live, written), "a field of the sample was pruned or changed"


def test_kubectl_get_shows_a_pool_in_one_line(control_plane: Cluster, pools: Pools) -> None:
    pools.create("shown")
    pools.wait("shown")
    table = control_plane.kubectl("-n", pools.namespace, "get", "kvpool").stdout.splitlines()
    assert table[0].split() == ["NAME", "READY", "PHASE", "LUSTRE", "USED", "MODELS", "AGE"]
    # Used is empty, because kvtier does not measure it yet.
    assert table[1].split()[:5] == ["shown", "True", "Ready", "9000Gi", "1/1"]


def test_the_status_shows_the_throughput_of_the_lustre_tier(pools: Pools) -> None:
    pools.create("fast")
    pools.wait("fast")
    (tier,) = (one for one in pools.get("fast")["status"]["tiers"] if one["name"] == "lustre")
    assert (tier["capacity"], tier["throughput"]) == ("9000Gi", "8.8 GB/s")


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("kvpool", "share a KV cache beyond GPU memory"),
        ("kvpool.spec.mode", "Opportunistic: without waiting for the Lustre tier"),
        ("kvpool.spec.tiers.lustre.capacity", "9000Gi at 1000"),
        ("kvpool.spec.models.extraArgs", "are refused"),
        ("kvpool.status.conditions.message", "what to do"),
    ],
)
def test_kubectl_explain_shows_descriptions(control_plane: Cluster, field: str, says: str) -> None:

    def explained() -> bool:
        # The API server publishes the documentation of a new type a moment after it serves the type.
        return says in " ".join(control_plane.kubectl("explain", field, check=False).stdout.split())

    eventually(explained)


def test_every_field_has_a_description(control_plane: Cluster) -> None:
    (definition,) = (
        one
        for one in control_plane.kube.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        if one["metadata"]["name"] == "kvcachepools.kvtier.dev"
    )
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    models = properties["spec"]["properties"]["models"]["items"]["properties"]
    for field in models["podTemplate"]["properties"].values():  # Kubernetes describes what is in them
        field.pop("properties", None)
        field.pop("items", None)
    assert _undescribed(properties["spec"], "spec") + _undescribed(properties["status"], "status") == []


def _undescribed(node: Any, path: str) -> list[str]:
    found = [] if node.get("description") else [path]
    for name, child in node.get("properties", {}).items():
        found += _undescribed(child, f"{path}.{name}")
    if node.get("items", {}).get("properties"):
        found += _undescribed(node["items"], f"{path}[]")
    return found


def _contains(live: Any, written: Any) -> bool:
    if isinstance(written, dict):
        return all(key in live and _contains(live[key], value) for key, value in written.items())
    if isinstance(written, list):
        return len(live) == len(written) and all(map(_contains, live, written))
    return bool(live == written)
