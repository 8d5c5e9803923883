"""Reads a cluster with the real client of the GKE API."""

from typing import Any

from kvtier.gcp import clients
from testbed.gke.container_api import GKEApi, cluster, node_pool

NAME = "projects/p/locations/us-central1/clusters/c"


async def get() -> Any:
    return await clients.get_cluster("p", "us-central1", "c")


async def test_all_fields_of_a_cluster_are_read(gke_api: GKEApi) -> None:
    pools = [node_pool("ssd", "a3-highgpu-8g", local_ssds=16)]
    gke_api.put(NAME, cluster("projects/p/global/networks/n", autopilot=True, node_pools=pools))
    found = await get()
    assert found.network_config.network == "projects/p/global/networks/n"
    assert found.current_master_version == "1.35.2-gke.1842000"
    assert found.addons_config.lustre_csi_driver_config.enabled
    assert (found.release_channel.channel.name, found.autopilot.enabled) == ("RAPID", True)
    (pool,) = found.node_pools
    assert (pool.name, pool.config.image_type) == ("ssd", "COS_CONTAINERD")
    assert pool.config.ephemeral_storage_local_ssd_config.local_ssd_count == 16


async def test_unknown_fields_and_values_are_ignored(gke_api: GKEApi) -> None:
    future: dict[str, Any] = {
        "status": "DREAMING",
        "quantum": {"qubits": 7},
        "releaseChannel": {"channel": "TURBO"},
    }
    gke_api.put(NAME, cluster("projects/p/global/networks/n", **future))
    assert (await get()).network_config.network == "projects/p/global/networks/n"


async def test_a_project_id_with_a_domain_is_not_changed(gke_api: GKEApi) -> None:
    name = "projects/example.com:p/locations/us-central1-a/clusters/c"
    gke_api.put(name, cluster())
    await clients.get_cluster("example.com:p", "us-central1-a", "c")
    assert gke_api.calls(name)
