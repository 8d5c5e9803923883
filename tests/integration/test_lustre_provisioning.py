"""Every error of the driver about a PVC becomes a condition. The real external-provisioner reports the errors."""

import pytest

from testbed.control_plane.cluster import Cluster
from testbed.kube import Object
from testbed.lustre.csi_driver import LustreService
from testbed.operator_process import USER
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = pytest.mark.usefixtures("operator")

CLAIM = ("v1", "PersistentVolumeClaim")
STOCKOUT = "The zone 'us-central1-a' does not have enough resources available to fulfill the request."

# Name of the pool: code, words, reason.
ANSWERS = {
    "quota": ("ResourceExhausted", "Quota limit 'LustreCapacityGib' has been exceeded.", "QuotaExceeded"),
    "stockout": ("ResourceExhausted", STOCKOUT, "Stockout"),
    "rate": ("ResourceExhausted", "Quota exceeded for requests per minute.", "RateLimited"),
    "denied": ("PermissionDenied", "Permission 'lustre.instances.create' denied.", "PermissionDenied"),
    "invalid": ("InvalidArgument", "unsupported keys: [x]", "InvalidArgument"),
    "missing": ("NotFound", "network 'default' not found", "NotFound"),
    "existing": ("AlreadyExists", "already exists but doesn't match expected", "AlreadyExists"),
    "peering": ("FailedPrecondition", "no private services access", "FailedPrecondition"),
    "internal": ("Internal", "internal error", "Failed"),
    "late": ("DeadlineExceeded", "context deadline exceeded", "Provisioning"),
    "away": ("Unavailable", "the service is away", "Provisioning"),
    "busy": ("Aborted", "An operation with the given volume key x already exists", "Provisioning"),
    "cancelled": ("Canceled", "context canceled", "Provisioning"),
}
PASSING = ("late", "away", "busy", "cancelled")


def _only(name: str) -> str:
    """A pattern for requests about the PVC of a pool."""
    return f'"csi.storage.k8s.io/pvc/name":"{name}-lustre-'


def _uid(pools: Pools) -> str:
    return str(pools.child(*CLAIM)["metadata"]["uid"])


def test_each_error_of_the_driver_becomes_its_condition(pools: Pools, lustre: LustreService) -> None:
    for name, (code, words, _) in ANSWERS.items():
        lustre.fail("CreateVolume", code, words, times=-1, match=_only(name))
        pools.create(name)
    for name, (code, words, reason) in ANSWERS.items():
        told = pools.wait(name, "StorageReady", "False", reason)

        if name not in PASSING:
            assert f"The driver reports {code}: {words.rstrip('.')}." in told["message"]
    lustre.reset()
    for name in PASSING:
        pools.wait(name)


def test_an_error_that_repeats_is_written_once(
    pools: Pools, lustre: LustreService, control_plane: Cluster
) -> None:
    lustre.fail("CreateVolume", "PermissionDenied", "denied, request id: 1", times=-1)
    pools.create("pool")
    pools.wait("pool", "StorageReady", "False", "PermissionDenied")
    pools.events("pool", "PermissionDenied")
    mark, calls = control_plane.audit.mark(), len(lustre.state().calls)
    eventually(lambda: len(lustre.state().calls) >= calls + 3, what="the driver gets three more requests")
    written = control_plane.audit.writes(mark, USER)
    assert [one for one in written if one.namespace == pools.namespace] == []


def test_an_instance_that_is_being_created_is_progress_and_its_pvc_is_kept(
    pools: Pools, lustre: LustreService
) -> None:
    lustre.configure(create_seconds=3600)
    pools.create("pool")
    pools.wait("pool", "StorageReady", "False", "Provisioning")
    claim = pools.child(*CLAIM)
    eventually(lambda: _failed(pools, "current state: CREATING"), 60.0, "the driver waits for the instance")
    pools.patch("pool", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    told = pools.wait("pool", "StorageReady", "False", "Provisioning")
    assert "waits for its Lustre instance of 9000Gi" in told["message"]
    assert _uid(pools) == claim["metadata"]["uid"]
    lustre.configure(create_seconds=0)


def _failed(pools: Pools, words: str) -> list[Object]:
    events = pools.kube.events(pools.namespace, pools.child(*CLAIM)["metadata"]["name"], "ProvisioningFailed")
    return [event for event in events if words in event["message"]]


def test_a_creation_that_does_not_recover_is_retried_with_another_pvc(
    pools: Pools, lustre: LustreService, control_plane: Cluster
) -> None:
    mark = control_plane.audit.mark()
    lustre.fail("CreateInstance", "ResourceExhausted", STOCKOUT)
    pools.create("pool")
    told = pools.wait("pool", "StorageReady", "False", "Stockout")
    assert "kvtier recreates the PVC when it is 10 minutes old, because" in told["message"]
    assert pools.get("pool")["status"]["tiers"][2]["phase"] == "Failed"
    failed = _uid(pools)
    eventually(lambda: len(_refusals(lustre)) >= 4, what="the driver repeats the error")
    assert _uid(pools) == failed

    pools.patch("pool", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    pools.wait("pool")
    assert _uid(pools) != failed
    assert [one["capacityGib"] for one in lustre.state().instances.values()] == [18000]
    (event,) = pools.events("pool", "ClaimReplaced")
    assert "the spec now requests 18000Gi. The old PVC held no data." in event["message"]
    deletions = [one for one in control_plane.audit.writes(mark, USER) if one.verb == "delete"]
    mine = [one for one in deletions if one.namespace == pools.namespace]
    assert [one.resource for one in mine] == ["persistentvolumeclaims"]


def _refusals(lustre: LustreService) -> list[Object]:
    return [call for call in lustre.state().calls if call["code"] == "ResourceExhausted"]


def test_an_opportunistic_pool_serves_while_its_instance_cannot_be_created(
    pools: Pools, lustre: LustreService
) -> None:
    lustre.fail("CreateInstance", "ResourceExhausted", STOCKOUT)
    pools.create("pool", mode="Opportunistic")
    pools.wait("pool", reason="WithoutSharedTier")
    pools.wait("pool", "StorageReady", "False", "Stockout")
    pools.wait("pool", reason="WithoutSharedTier")
