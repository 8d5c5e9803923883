"""What the API server refuses at update: changes of immutable fields, and a smaller capacity."""

from collections.abc import Iterator
from typing import Any

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.kube import ApiError, Object
from testbed.pools import API, Pools, create_namespace, empty_namespace
from testbed.process import Component
from testbed.waiting import eventually

LUSTRE_CHANGES = {
    "the throughput tier": {"throughputPerTiB": 500, "capacity": "18000Gi"},
    "the network": {"network": "projects/other/global/networks/default"},
    "the zone": {"zone": "us-central1-b"},
    "a file system name that is added": {"filesystem": "other"},
}


pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture
def pool(pools: Pools) -> str:
    """A pool with a Lustre instance of 18000Gi in its status."""
    return _provisioned(pools)


@pytest.fixture(scope="module")
def unchanged(control_plane: Cluster, operator: Component) -> Iterator[Pools]:
    """A namespace with such a pool, for tests in which the API server refuses every change."""
    namespace = create_namespace(control_plane.kube, "unchanged")
    pools = Pools(control_plane.kube, namespace)
    _provisioned(pools)
    yield pools
    empty_namespace(control_plane.kube, namespace)


def _provisioned(pools: Pools) -> str:
    pools.create("stable", tiers__lustre__capacity="18000Gi")
    _wait_provisioned(pools, "18000Gi")
    return "stable"


@pytest.mark.parametrize("change", LUSTRE_CHANGES.values(), ids=LUSTRE_CHANGES)
def test_is_immutable(unchanged: Pools, change: Object) -> None:
    with pytest.raises(ApiError, match="immutable"):
        unchanged.patch("stable", {"tiers": {"lustre": change}})


def test_a_file_system_name_cannot_be_changed_or_removed(pools: Pools) -> None:
    pools.create("named", tiers__lustre__filesystem="mine")
    for name in ("yours", None):
        with pytest.raises(ApiError, match="immutable"):
            pools.patch("named", {"tiers": {"lustre": {"filesystem": name}}})


def test_the_shared_tier_cannot_shrink_below_what_is_provisioned(unchanged: Pools) -> None:
    with pytest.raises(ApiError, match="a Lustre instance cannot shrink"):
        unchanged.patch("stable", {"tiers": {"lustre": {"capacity": "9000Gi"}}})


def test_an_increase_of_the_capacity_can_be_cancelled_before_the_resize(pools: Pools, pool: str) -> None:
    pools.patch(pool, {"tiers": {"lustre": {"capacity": "36000Gi"}}})
    pools.patch(pool, {"tiers": {"lustre": {"capacity": "27000Gi"}}})
    pools.patch(pool, {"tiers": {"lustre": {"capacity": "18000Gi"}}})


def test_a_capacity_that_was_refused_stands_in_no_way_of_other_edits(pools: Pools, pool: str) -> None:
    # The PVC is resized manually: the capacity in the spec is now less than the provisioned capacity, and stays so.
    claim = pools.child("v1", "PersistentVolumeClaim")["metadata"]["name"]
    request = {"spec": {"resources": {"requests": {"storage": "36000Gi"}}}}
    pools.kube.patch("v1", "PersistentVolumeClaim", claim, request, pools.namespace)
    _wait_provisioned(pools, "36000Gi")
    pools.wait(pool, "CapacityValid", "False", "WouldShrink")
    model = pools.get(pool)["spec"]["models"][0]
    pools.patch(pool, {"models": [model | {"replicas": 2}]})
    eventually(lambda: [one["spec"]["replicas"] for one in pools.children("apps/v1", "Deployment")] == [2])


@pytest.mark.parametrize(
    "change",
    [
        {"tiers": {"cpu": None}},
        {"tiers": {"lustre": {"capacity": "19000Gi"}}},
        {"models": [{"name": "a", "model": "b", "extraArgs": ["--port=1"]}]},
        {"models": [{"name": "a", "model": "b", "replicas": 1, "autoscaling": {}}]},
        {"models": []},
        {"mode": "Sometimes"},
    ],
    ids=str,
)
def test_an_update_to_an_invalid_pool_is_refused(unchanged: Pools, change: Object) -> None:
    with pytest.raises(ApiError) as refusal:
        unchanged.patch("stable", change)
    assert refusal.value.code == 422


def test_an_invalid_status_is_refused(unchanged: Pools) -> None:
    status: dict[str, Any] = {"status": {"conditions": [{"type": "Ready", "status": "Maybe", "reason": "X"}]}}
    with pytest.raises(ApiError, match="status"):
        unchanged.kube.patch(*API, "stable", status, unchanged.namespace, subresource="status")


def _wait_provisioned(pools: Pools, capacity: str) -> None:
    def known() -> bool:
        tiers = pools.get("stable").get("status", {}).get("tiers", [])
        return any(tier["name"] == "lustre" and tier.get("capacity") == capacity for tier in tiers)

    eventually(known, 30.0, f"the status shows {capacity}")
