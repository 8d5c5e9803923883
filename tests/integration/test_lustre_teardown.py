"""Deletion of pools with a Lustre tier, at every step: Delete leaves nothing, Retain keeps everything."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from integration.instances import (
    CLAIM,
    DEPLOYMENT,
    VOLUME,
    existing,
    through_api,
    tier,
    until,
    until_condition,
    until_gone,
    until_ready,
)
from testbed.google_api import Hold, Object
from testbed.kube import Kube
from testbed.lustre.client import LustreProject
from testbed.lustre.csi_driver import LustreService
from testbed.lustre.documents import instance, refusal
from testbed.lustre.operations import HELD
from testbed.pools import API, Pools
from testbed.waiting import eventually

pytestmark = [pytest.mark.usefixtures("operator"), pytest.mark.timeout(240)]

DELETE = {"deletionPolicy": "Delete"}


def _ready(pools: Pools, changes: Object) -> None:
    pools.create("chat", **changes)
    until_ready(pools, "chat")


def _waiting(pools: Pools, words: str) -> None:
    """Wait until the message of Ready has these words."""
    until(pools, "chat", lambda: words in pools.condition("chat", "Ready").get("message", ""), words)


def _deletion(project: LustreProject) -> Object:
    """The deletion of the only instance, once it runs: kvtier sends the request after it wrote the status."""

    def found() -> list[Object]:
        return [one for one in project.operations() if one["metadata"].get("verb") == "delete"]

    (running,) = eventually(found, 60.0, "the instance is being deleted")
    return running


def _objects(pools: Pools) -> list[str]:
    return [one["metadata"]["uid"] for kind in (CLAIM, VOLUME) for one in pools.children(*kind)]


def test_an_instance_is_deleted_with_its_pool(pools: Pools, lustre_project: LustreProject) -> None:
    _ready(pools, through_api(lustre_project, **DELETE))
    lustre_project.configure(delete_seconds=HELD)
    pools.delete("chat")
    (name,) = lustre_project.instances()
    _waiting(pools, f"kvtier waits for the deletion of instance {name}.")
    running = _deletion(lustre_project)
    assert pools.children(*CLAIM) == []
    lustre_project.finish(running["name"])
    until_gone(pools, "chat")
    assert (_objects(pools), lustre_project.instances()) == ([], {})
    assert len(lustre_project.calls("delete")) == 1


def test_retain_keeps_pvc_volume_and_instance(pools: Pools, lustre_project: LustreProject) -> None:
    _ready(pools, through_api(lustre_project))
    before = _objects(pools)
    pools.delete("chat")
    until_gone(pools, "chat")
    assert _objects(pools) == before
    assert len(before) == 2
    assert len(lustre_project.instances()) == 1
    assert lustre_project.calls("delete") == []
    assert pools.children(*DEPLOYMENT) == []


def test_an_existing_instance_is_never_deleted(pools: Pools, lustre_project: LustreProject) -> None:
    name = lustre_project.put("shared", instance(filesystem="theirs"))
    _ready(pools, existing(lustre_project, **DELETE))
    assert pools.child(*VOLUME)["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    pools.delete("chat")
    until_gone(pools, "chat")
    assert _objects(pools) == []
    assert list(lustre_project.instances()) == [name]
    assert lustre_project.calls("create", "update", "delete") == []


def _asked(pools: Pools, project: LustreProject) -> None:
    project.fail(Hold(), "create", times=-1)
    pools.create("chat", **through_api(project, **DELETE))
    eventually(lambda: project.calls("create"))


def _creating(pools: Pools, project: LustreProject) -> None:
    project.configure(create_seconds=2.0)
    pools.create("chat", **through_api(project, **DELETE))
    until_condition(pools, "chat", "False", "Provisioning")
    eventually(project.instances)


def _operation(pools: Pools, kind: str) -> Object:
    return next(one for one in pools.get("chat")["status"]["operations"] if one["kind"] == kind)


def _failed(pools: Pools, project: LustreProject) -> None:
    project.stockout()
    pools.create("chat", **through_api(project, **DELETE))
    until_condition(pools, "chat", "False", "Stockout")


def _unbound(pools: Pools, project: LustreProject) -> None:
    pools.create("chat", **through_api(project, **DELETE))
    eventually(project.instances)


def _growing(pools: Pools, project: LustreProject) -> None:
    _ready(pools, through_api(project, **DELETE))
    project.configure(update_seconds=2.0)
    pools.patch("chat", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    until_condition(pools, "chat", "True", "Resizing")


@pytest.mark.parametrize("step", [_creating, _failed, _unbound, _growing])
def test_delete_leaves_nothing_at_any_step(
    pools: Pools, lustre_project: LustreProject, step: Callable[[Pools, LustreProject], None]
) -> None:
    step(pools, lustre_project)
    pools.delete("chat")
    until_gone(pools, "chat")
    assert (_objects(pools), lustre_project.instances()) == ([], {})


def _pass_a_minute(pools: Pools) -> None:
    """Move the lost creation to a minute ago. Until then, the API may still carry it out."""
    earlier = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    operations = [one | {"progressTime": earlier} for one in pools.get("chat")["status"]["operations"]]
    status = {"status": {"operations": operations}}
    pools.kube.patch(*API, "chat", status, pools.namespace, subresource="status")


@pytest.mark.parametrize("late", [False, True], ids=["in time", "after kvtier gave up waiting"])
def test_the_deletion_waits_for_a_creation_without_response_and_leaves_nothing(
    pools: Pools, lustre_project: LustreProject, late: bool
) -> None:
    _asked(pools, lustre_project)
    pools.delete("chat")
    _waiting(pools, "kvtier waits for the creation of instance")
    if late:
        until(pools, "chat", lambda: _operation(pools, "Create")["state"] == "Failed")
    lustre_project.heal()
    if late:
        eventually(lambda: lustre_project.calls("delete") and not lustre_project.instances(), 30.0)
        _pass_a_minute(pools)
    until_gone(pools, "chat")
    assert (_objects(pools), lustre_project.instances()) == ([], {})


def test_a_refused_deletion_is_reported(pools: Pools, lustre_project: LustreProject) -> None:
    _ready(pools, through_api(lustre_project, **DELETE))
    lustre_project.fail(refusal("PERMISSION_DENIED", "no lustre.instances.delete"), "delete", times=-1)
    pools.delete("chat")
    _waiting(pools, "no lustre.instances.delete. Grant roles/lustre.admin")
    assert len(lustre_project.instances()) == 1


def test_a_removed_tier_is_deleted_when_it_is_no_longer_mounted(
    pools: Pools, lustre_project: LustreProject
) -> None:
    _ready(pools, through_api(lustre_project, **DELETE))
    lustre_project.configure(delete_seconds=HELD)
    pools.patch("chat", {"tiers": {"lustre": None}})
    until(pools, "chat", lambda: tier(pools, "chat").get("phase") == "Deleting")
    lustre_project.finish(_deletion(lustre_project)["name"])
    until(pools, "chat", lambda: not _objects(pools) and not tier(pools, "chat"))
    assert lustre_project.instances() == {}
    until_ready(pools, "chat")


def test_a_removed_tier_is_kept_with_retain(pools: Pools, lustre_project: LustreProject) -> None:
    _ready(pools, through_api(lustre_project))
    before = _objects(pools)
    pools.patch("chat", {"tiers": {"lustre": None}})
    until(pools, "chat", lambda: tier(pools, "chat").get("phase") == "Retained")
    until_ready(pools, "chat")
    assert _objects(pools) == before
    assert lustre_project.calls("delete") == []


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_with_a_deleted_namespace_the_instance_is_deleted_or_kept(
    pools: Pools, kube: Kube, lustre_project: LustreProject, policy: str
) -> None:
    _ready(pools, through_api(lustre_project, deletionPolicy=policy))
    kube.delete("v1", "Namespace", pools.namespace)
    kube.wait_gone("v1", "Namespace", pools.namespace, timeout=120.0)
    kept = 1 if policy == "Retain" else 0
    assert len(lustre_project.instances()) == kept
    assert len(pools.children(*VOLUME)) == kept


def test_with_a_deleted_namespace_the_instance_of_the_driver_is_deleted(
    pools: Pools, kube: Kube, lustre: LustreService
) -> None:
    pools.create("chat", **DELETE)
    pools.wait("chat")
    kube.delete("v1", "Namespace", pools.namespace)
    kube.wait_gone("v1", "Namespace", pools.namespace, timeout=120.0)
    eventually(lambda: not lustre.state().instances, 30.0, "the instance was deleted")


def test_a_pool_waits_for_the_driver_to_delete_the_instance(pools: Pools, lustre: LustreService) -> None:
    pools.create("chat", **DELETE)
    pools.wait("chat")
    name = pools.child(*CLAIM)["spec"]["volumeName"]
    lustre.fail("DeleteVolume", "Internal", "the instance has snapshots", times=-1)
    pools.delete("chat")
    _waiting(pools, f"PersistentVolume {name} with instance")
    _waiting(pools, f"Details: kubectl describe pv {name}")
    assert pools.children(*CLAIM) == []
    assert len(pools.children("storage.k8s.io/v1", "StorageClass")) == 1
    lustre.reset()
    until_gone(pools, "chat")
    assert lustre.state().instances == {}


def test_a_volume_that_is_being_bound_again_is_deleted_too(
    pools: Pools, kube: Kube, lustre: LustreService
) -> None:
    pools.create("chat", **DELETE)
    pools.wait("chat")
    claim = pools.child(*CLAIM)
    name, volume = claim["metadata"]["name"], claim["spec"]["volumeName"]
    hold = {"metadata": {"finalizers": ["example.com/hold", *claim["metadata"]["finalizers"]]}}
    kube.patch(*CLAIM, name, hold, pools.namespace)
    pools.delete("chat")
    eventually(lambda: "deletionTimestamp" in pools.child(*CLAIM)["metadata"], 60.0)
    eventually(lambda: kube.get(*VOLUME, volume)["spec"]["persistentVolumeReclaimPolicy"] == "Delete")
    kube.patch(*VOLUME, volume, {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}})
    kube.patch(*CLAIM, name, {"metadata": {"finalizers": None}}, pools.namespace)
    until_gone(pools, "chat")
    assert lustre.state().instances == {}
