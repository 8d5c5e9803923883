"""Which changes roll the engines out: only those of their Pod template."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli.common import load
from kvtier.plan.offline import rendered
from testbed import operator_process
from testbed.control_plane.cluster import Cluster
from testbed.fault_injection import FaultyCluster
from testbed.kube import Object
from testbed.pools import API, SAMPLES, Pools, manifest

DEPLOYMENT = ("apps/v1", "Deployment")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_pool_from_the_api_server_renders_like_its_file(own_cluster: FaultyCluster, path: Path) -> None:
    """The API server sets the same defaults as `kvtier render`."""
    (pool,) = load(path.read_text(), "default")
    written: Any = yaml.safe_load(path.read_text())
    written["metadata"]["namespace"] = "default"
    address = own_cluster.kube.path(*API, "default")
    kept = own_cluster.kube.request("POST", address, json=written, params={"dryRun": "All"})
    nameless = KVCachePool.model_validate(
        {**kept, "metadata": written["metadata"]}
    )  # without uid, as in a file
    assert rendered(nameless).manifests == rendered(pool).manifests


def _template(pools: Pools) -> Object:
    made: Object = pools.child(*DEPLOYMENT)["spec"]["template"]
    return made


def _model(pools: Pools, **changes: Any) -> Object:
    return {"models": [pools.get("pool")["spec"]["models"][0] | changes]}


def _ready(faulty: FaultyCluster) -> Pools:
    pools = faulty.pools()
    pools.create("pool")
    faulty.until_ready(pools, "pool")
    return pools


def test_a_change_outside_the_pod_template_starts_no_rollout(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = _ready(faulty)
        before = _template(pools)
        labels = {"metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}}
        faulty.kube.patch(*API, "pool", labels, pools.namespace)
        for change in (
            _model(pools, replicas=3),
            {"deletionPolicy": "Delete"},
            {"tiers": {"lustre": {"capacity": "18000Gi"}}},
            {"mode": "Opportunistic"},
            {"strict": False},
        ):
            pools.patch("pool", change)
            faulty.until_ready(pools, "pool")
            assert _template(pools) == before, change
        assert pools.child(*DEPLOYMENT)["spec"]["replicas"] == 3


def test_a_change_of_the_kv_cache_dtype_starts_one_rollout(faulty: FaultyCluster) -> None:
    with faulty.operator("--resync-seconds", "1"):
        pools = _ready(faulty)
        generation = pools.child(*DEPLOYMENT)["metadata"]["generation"]
        directory = pools.get("pool")["status"]["models"][0]["fingerprint"]
        pools.patch("pool", _model(pools, kvCacheDtype="fp8"))
        faulty.until(lambda: "--kv-cache-dtype=fp8" in str(_template(pools)))
        faulty.until_ready(pools, "pool")
        assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == generation + 1
        assert pools.get("pool")["status"]["models"][0]["fingerprint"] != directory


def test_a_restart_of_the_operator_changes_no_deployment(faulty: FaultyCluster) -> None:
    with faulty.operator():
        pools = _ready(faulty)
    before = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    with faulty.operator("--resync-seconds", "1") as process:
        operator_process.await_log(process, "Verified all pools")
        operator_process.await_log(process, "Listed ", 3)
        assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == before


@pytest.mark.usefixtures("operator")
def test_applying_the_same_file_again_changes_no_deployment(control_plane: Cluster, pools: Pools) -> None:
    """With client-side and server-side kubectl apply: both change the metadata of the pool, but not its children."""
    text = yaml.safe_dump(manifest("pool", pools.namespace, tiers__lustre=None))
    apply = ("apply", "-n", pools.namespace, "--validate=strict", "-f", "-")
    control_plane.kubectl(*apply, input=text)
    pools.wait("pool")
    before = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    for how in ((), ("--server-side", "--force-conflicts"), ()):
        control_plane.kubectl(*apply, *how, input=text)
    pools.patch("pool", {"deletionPolicy": "Delete"})
    pools.wait("pool")
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == before
