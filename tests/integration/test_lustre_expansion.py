"""Resizes of the Lustre tier with the real external-resizer. A failure does not affect Pods."""

import shlex

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.kube import Object
from testbed.lustre.csi_driver import LustreService
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

CLAIM = ("v1", "PersistentVolumeClaim")


@pytest.fixture
def pool(pools: Pools) -> str:
    """A pool of 9000Gi that is ready."""
    pools.create("pool")
    pools.wait("pool")
    return "pool"


def _grow(pools: Pools, size: str) -> None:
    pools.patch("pool", {"tiers": {"lustre": {"capacity": size}}})


def _has(pools: Pools, size: str) -> None:
    def has() -> bool:
        tier = pools.get("pool")["status"]["tiers"][2]
        assert (tier["phase"], tier["capacity"]) == ("Bound", size), pools.condition("pool", "StorageReady")
        return True

    eventually(has, 40.0, f"the tier has {size}")


@pytest.mark.parametrize("code", ["InvalidArgument", "Internal", "FailedPrecondition"])
def test_a_failed_resize_can_be_cancelled_and_another_one_succeeds(
    pools: Pools, lustre: LustreService, pool: str, code: str
) -> None:
    lustre.fail("ControllerExpandVolume", code, "no such size", times=-1)
    _grow(pools, "18000Gi")
    told = pools.wait(pool, "StorageReady", "True", "ResizeFailed")
    assert (
        f"to 18000Gi, and Pods keep using 9000Gi. The driver reports {code}: no such size." in told["message"]
    )
    pools.wait(pool, "Ready", "True")
    assert len(pools.events(pool, "ResizeFailed")) == 1
    _grow(pools, "9000Gi")
    pools.wait(pool, "StorageReady", "True", "GrowthAbandoned")
    lustre.reset()
    _grow(pools, "27000Gi")
    _has(pools, "27000Gi")
    assert len(pools.events(pool, "ResizeFailed")) == 1


def test_a_resize_beyond_the_quota_is_reported(pools: Pools, lustre: LustreService, pool: str) -> None:
    lustre.configure(quota_gib=9000)
    _grow(pools, "18000Gi")
    told = pools.wait(pool, "StorageReady", "True", "ResizeFailed")
    assert "Request more Managed Lustre quota" in told["message"]
    lustre.configure(quota_gib=18000)
    _has(pools, "18000Gi")


def test_a_resize_that_is_too_large_can_be_reduced_as_the_condition_says(
    pools: Pools, lustre: LustreService, control_plane: Cluster, pool: str
) -> None:
    lustre.configure(quota_gib=18000)
    _grow(pools, "27000Gi")
    pools.wait(pool, "StorageReady", "True", "ResizeFailed")
    _grow(pools, "18000Gi")
    told = pools.wait(pool, "StorageReady", "True", "ResizeFailed")["message"]
    assert "still retries 27000Gi" in told
    control_plane.kubectl(*shlex.split(told.rpartition(": kubectl ")[2]))
    _has(pools, "18000Gi")


@pytest.mark.parametrize("state", ["ACTIVE", "UPDATING"])
def test_a_slow_resize_is_not_a_failure(pools: Pools, lustre: LustreService, pool: str, state: str) -> None:
    lustre.configure(resize_seconds=3600, resize_state=state)
    _grow(pools, "18000Gi")
    eventually(lambda: len(_failures(pools)) >= 2 or _times(pools) >= 2, 60.0, "the resizer has tried twice")
    told = pools.wait(pool, "StorageReady", "True", "Resizing")
    assert "to 18000Gi, which may take 90 minutes" in told["message"]
    pools.wait(pool)


def _failures(pools: Pools) -> list[Object]:
    return pools.kube.events(pools.namespace, pools.child(*CLAIM)["metadata"]["name"], "VolumeResizeFailed")


def _times(pools: Pools) -> int:
    return sum(event.get("count", 1) for event in _failures(pools))


def test_replicas_follow_the_spec_while_a_resize_fails(
    pools: Pools, lustre: LustreService, pool: str
) -> None:
    lustre.fail("ControllerExpandVolume", "InvalidArgument", "no such size", times=-1)
    model = pools.get(pool)["spec"]["models"][0] | {"replicas": 2}
    pools.patch(pool, {"models": [model], "tiers": {"lustre": {"capacity": "18000Gi"}}})
    pools.wait(pool, "StorageReady", "True", "ResizeFailed")
    eventually(lambda: pools.child("apps/v1", "Deployment")["status"].get("readyReplicas") == 2)
