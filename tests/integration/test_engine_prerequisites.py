"""Faults with which engines cannot start, on a real control plane: none is created, and a running one stays."""

import base64
import json
from typing import Any

import pytest

from integration.own_nodes import Nodes
from testbed.kube import Kube
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

DEPLOYMENT = ("apps/v1", "Deployment")
CONFIDENTIAL = "cloud.google.com/gke-confidential-nodes-instance-type"
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "dtype": "bfloat16",
}


@pytest.fixture
def nodes(kube: Kube, namespace: str) -> Nodes:
    return Nodes(kube, namespace)


def _make(kube: Kube, namespace: str, kind: str, name: str, **content: Any) -> None:
    metadata = {"name": name, "namespace": namespace}
    kube.create({"apiVersion": "v1", "kind": kind, "metadata": metadata, **content})


def _generation(pools: Pools) -> int:
    generation: int = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    return generation


def test_too_large_a_cpu_tier_is_refused_with_the_numbers(pools: Pools) -> None:
    pools.create("memory", tiers__cpu__capacity="1500Gi")
    found = pools.wait("memory", "CPUTierFits", "False", "TooLarge")
    assert "a3-highgpu-8g allows 1434Gi" in found["message"]
    assert "for engines). Reduce tiers.cpu.capacity to 1434Gi or less." in found["message"]
    pools.wait("memory", "StorageReady")
    assert pools.children(*DEPLOYMENT) == []
    pools.patch("memory", {"tiers": {"cpu": {"capacity": "1434Gi"}}})
    pools.wait("memory")


def test_a_running_engine_is_not_changed_when_a_node_joins_that_is_too_small(
    pools: Pools, nodes: Nodes
) -> None:
    nodes.add("large")
    changes = {"tiers__cpu__capacity": "180Gi", "tiers__localSSD": None}
    pools.create("grown", models__0__tensorParallelSize=1, **changes, **nodes.pool())
    pools.wait("grown")
    before = _generation(pools)
    small = nodes.add("small", machine="a3-highgpu-1g")
    found = pools.wait("grown", "CPUTierFits", "False", "TooLarge")
    assert f"node {small} allows" in found["message"]
    assert _generation(pools) == before
    nodes.remove(small)
    pools.wait("grown")
    assert _generation(pools) == before


def test_confidential_nodes_are_refused(pools: Pools, nodes: Nodes) -> None:
    name = nodes.add("sealed", labels={**nodes.labels, CONFIDENTIAL: "TDX"})
    pools.create("sealed", **nodes.pool())
    found = pools.wait("sealed", "CPUTierFits", "False", "NotPinned")
    assert name in found["message"]
    assert pools.children(*DEPLOYMENT) == []


def test_conflicting_settings_are_refused_and_both_are_named(pools: Pools) -> None:
    pools.create("settings", models__0__extraArgs=["--pipeline_parallel_size", "2"])
    found = pools.wait("settings", "EngineSupported", "False", "ConflictingSettings")
    assert "--pipeline-parallel-size 2 in extraArgs conflicts with" in found["message"]
    assert "tensorParallelSize" in found["message"]
    assert pools.children(*DEPLOYMENT) == []
    pools.create("fine", models__0__extraArgs=["--pipeline_parallel_size", "1"])
    pools.wait("fine")


UNTESTED = {"type": "EngineSupported", "reason": "Untested"}


def test_an_engine_of_an_untested_version_is_created_once_the_user_vouches_for_it(pools: Pools) -> None:
    pools.create("next", models__0__engine={"image": "vllm/vllm-openai:v0.34.1"})
    found = pools.wait("next", "EngineSupported", "False", "Untested")
    assert "vLLM 0.34" in found["message"]
    assert "add {type: EngineSupported, reason: Untested} to spec.acknowledgedConditions" in found["message"]
    pools.wait("next", "StorageReady")
    assert pools.children(*DEPLOYMENT) == []
    pools.patch("next", {"acknowledgedConditions": [UNTESTED]})
    pools.wait("next")
    assert pools.condition("next", "EngineSupported")["status"] == "Unknown"
    assert "v0.34.1" in str(pools.child(*DEPLOYMENT))


def test_a_running_engine_stays_until_the_user_vouches_for_its_new_version(pools: Pools) -> None:
    created = pools.create("moved")
    pools.wait("moved")
    before, model = _generation(pools), created["spec"]["models"][0]
    pools.patch("moved", {"models": [model | {"engine": {"version": "0.34"}}]})
    pools.wait("moved", "Ready", "False", "Untested")
    assert _generation(pools) == before
    old = pools.get("moved")["status"]["models"][0]["fingerprint"]
    pools.patch("moved", {"acknowledgedConditions": [UNTESTED]})
    pools.wait("moved")
    eventually(lambda: _generation(pools) == before + 1, what="engines have the new version")
    assert old in str(pools.child(*DEPLOYMENT))


def test_an_edit_with_which_engines_would_not_start_does_not_change_them(pools: Pools) -> None:
    created = pools.create("typed")
    pools.wait("typed")
    before, model = _generation(pools), created["spec"]["models"][0]
    pools.patch("typed", {"models": [model | {"kvCacheDtype": "fp8_inc"}]})
    found = pools.wait("typed", "KVCacheDtypeSupported", "False", "NotSupported")
    assert "is for Intel Gaudi" in found["message"]
    pools.wait("typed", "Ready", "False", "NotSupported")
    assert _generation(pools) == before
    pools.patch("typed", {"models": [model | {"kvCacheDtype": "fp8"}]})
    eventually(
        lambda: "--kv-cache-dtype=fp8" in str(pools.child(*DEPLOYMENT)), what="engines have the new type"
    )
    pools.wait("typed")
    assert _generation(pools) == before + 1


def test_a_missing_pull_secret_blocks_engines_until_it_is_created(pools: Pools, kube: Kube) -> None:
    pools.create("pulled", models__0__engine={"imagePullSecrets": [{"name": "registry"}]})
    found = pools.wait("pulled", "CredentialsPresent", "False", "SecretMissing")
    assert "create secret docker-registry registry" in found["message"]
    assert pools.children(*DEPLOYMENT) == []
    data = {".dockerconfigjson": base64.b64encode(b'{"auths": {}}').decode()}
    _make(kube, pools.namespace, "Secret", "registry", type="kubernetes.io/dockerconfigjson", data=data)
    pools.wait("pulled")


def test_a_missing_config_map_of_a_variable_blocks_engines_until_it_is_created(
    pools: Pools, kube: Kube
) -> None:
    reference = {"configMapKeyRef": {"name": "settings", "key": "level"}}
    pools.create("variables", models__0__env=[{"name": "VLLM_LOGGING_LEVEL", "valueFrom": reference}])
    found = pools.wait("variables", "CredentialsPresent", "False", "ConfigMapMissing")
    assert "create configmap settings --from-literal=level=VALUE" in found["message"]
    assert pools.children(*DEPLOYMENT) == []
    _make(kube, pools.namespace, "ConfigMap", "settings", data={"level": "INFO"})
    pools.wait("variables")


def test_a_missing_config_json_blocks_engines_until_it_is_created(pools: Pools, kube: Kube) -> None:
    pools.create("known", models__0__modelConfigFrom={"configMapKeyRef": {"name": "configs"}})
    found = pools.wait("known", "ModelConfigValid", "False", "NotUsable")
    assert f"kubectl -n {pools.namespace} create configmap configs" in found["message"]
    assert pools.children(*DEPLOYMENT) == []
    _make(kube, pools.namespace, "ConfigMap", "configs", data={"config.json": json.dumps(LLAMA)})
    pools.wait("known")
    assert "131072 bytes per token" in pools.condition("known", "ModelConfigValid")["message"]


def test_an_unknown_model_is_served(pools: Pools) -> None:
    pools.create("unknown", strict=False)
    pools.wait("unknown", "ModelConfigValid", "True", "NotKnown")
    pools.wait("unknown")
    eventually(lambda: pools.children(*DEPLOYMENT))
