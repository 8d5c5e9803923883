"""An existing instance: PersistentVolume and PVC are bound, found again, repaired, and not written without a change."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from integration.instances import (
    CLAIM,
    DEPLOYMENT,
    VOLUME,
    existing,
    recreate,
    tier,
    until,
    until_condition,
    until_ready,
)
from testbed.control_plane.cluster import Cluster
from testbed.google_api import Object
from testbed.kube import Kube, NotFoundError
from testbed.lustre.client import LustreProject
from testbed.lustre.csi_driver import LustreService
from testbed.lustre.documents import instance, refusal
from testbed.operator_process import USER
from testbed.pools import Pools
from testbed.waiting import eventually

pytestmark = [pytest.mark.usefixtures("operator"), pytest.mark.timeout(240)]

Unwritten = Callable[[], bool]
BY_HAND = {
    "tiers__lustre__address": "10.1.2.3",
    "tiers__lustre__filesystem": "byhand",
    "tiers__lustre__capacity": "18000Gi",
}


@pytest.fixture
def shared(lustre_project: LustreProject) -> str:
    """An instance that a user has created; its full name."""
    return lustre_project.put("shared", instance(filesystem="theirs"))


@pytest.fixture
def unwritten(pools: Pools, control_plane: Cluster) -> Callable[[], bool]:
    """Assert that several reconciliations write nothing."""

    def check() -> bool:
        time, looks = control_plane.audit.mark(), iter(range(6))
        until(pools, "chat", lambda: next(looks, None) is None)
        volumes = {pools.child(*CLAIM)["spec"]["volumeName"]}
        writes = control_plane.audit.writes(time, USER)
        assert [one for one in writes if one.namespace == pools.namespace or one.name in volumes] == []
        return True

    return lambda: eventually(check, 60.0)


def test_an_existing_instance_is_mounted_as_the_lustre_api_reports_it(
    pools: Pools, lustre_project: LustreProject, shared: str, unwritten: Unwritten
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    volume, claim = pools.child(*VOLUME), pools.child(*CLAIM)
    told = lustre_project.instances()[shared]["mountPoint"]
    attributes = volume["spec"]["csi"]["volumeAttributes"]
    assert f"{attributes['ip']}@tcp:/{attributes['filesystem']}" == told
    assert volume["spec"]["csi"]["volumeHandle"] == f"{lustre_project.name}/us-central1-a/shared"
    assert (volume["status"]["phase"], claim["status"]["phase"]) == ("Bound", "Bound")
    assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert (tier(pools, "chat")["phase"], tier(pools, "chat")["capacity"]) == ("Bound", "9000Gi")
    assert tier(pools, "chat")["instance"] == shared
    assert pools.children("storage.k8s.io/v1", "StorageClass") == []
    unwritten()
    assert lustre_project.calls("create", "update", "delete") == []


def test_an_instance_with_a_manual_address_needs_no_api(
    pools: Pools, lustre_project: LustreProject, unwritten: Unwritten
) -> None:
    lustre_project.fail(refusal("PERMISSION_DENIED"), times=-1)
    pools.create("chat", **existing(lustre_project, **BY_HAND))
    until_ready(pools, "chat")
    attributes = pools.child(*VOLUME)["spec"]["csi"]["volumeAttributes"]
    assert attributes == {"ip": "10.1.2.3", "filesystem": "byhand"}
    assert tier(pools, "chat")["capacity"] == "18000Gi"
    unwritten()


def test_an_instance_that_could_not_be_read_is_reported_with_both_remedies(
    pools: Pools, lustre_project: LustreProject, shared: str
) -> None:
    fault = lustre_project.fail(refusal("PERMISSION_DENIED"), times=-1)
    pools.create("chat", **existing(lustre_project))
    told = until_condition(pools, "chat", "False", "InstanceUnknown")
    assert "roles/lustre.viewer" in told["message"]
    assert "by hand" in told["message"]
    assert pools.children(*VOLUME) == []
    fault.release()
    until_ready(pools, "chat")


def test_a_manual_address_that_the_api_contradicts_is_not_used(
    pools: Pools, lustre_project: LustreProject, shared: str
) -> None:
    pools.create("chat", **existing(lustre_project, **BY_HAND))
    told = until_condition(pools, "chat", "False", "InstanceContradicted")
    assert "filesystem is theirs, not byhand" in told["message"]
    assert pools.children(*VOLUME) == pools.children(*CLAIM) == []


def test_the_volume_follows_an_instance_that_others_resize(
    pools: Pools, lustre_project: LustreProject, shared: str, unwritten: Unwritten
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    lustre_project.act("show", instance="shared", fields={"capacityGib": "18000"})
    until(pools, "chat", lambda: pools.child(*VOLUME)["spec"]["capacity"]["storage"] == "18000Gi")
    until(pools, "chat", lambda: tier(pools, "chat")["capacity"] == "18000Gi")
    assert pools.child(*CLAIM)["status"]["phase"] == "Bound"
    unwritten()


def test_a_volume_with_another_address_is_reported_and_not_changed(
    pools: Pools, lustre_project: LustreProject, shared: str, unwritten: Unwritten
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    lustre_project.act("show", instance="shared", fields={"mountPoint": "10.9.9.9@tcp:/theirs"})
    told = until_condition(pools, "chat", "False", "VolumeMismatch")
    assert "in ip," in told["message"]
    unwritten()
    assert pools.child(*DEPLOYMENT)["status"]["readyReplicas"] == 1


def test_a_failing_instance_is_reported_while_engines_run(
    pools: Pools, lustre_project: LustreProject, shared: str
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    generation = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    lustre_project.set_state("shared", "SUSPENDED", "key version destroyed")
    told = until_condition(pools, "chat", "False", "InstanceSuspended")
    assert "key version destroyed" in told["message"]
    lustre_project.set_state("shared", "")
    until_ready(pools, "chat")
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == generation


def _force_away(kube: Kube, kind: tuple[str, str], obj: Object) -> None:
    """Delete an object with its finalizers."""
    name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace")
    kube.delete(*kind, name, namespace)
    with suppress(NotFoundError):
        kube.patch(*kind, name, {"metadata": {"finalizers": None}}, namespace)


def _free(kube: Kube, volume: str) -> bool:
    """Whether a PersistentVolume has no PVC. A pool may have reserved it for the next PVC."""
    live = kube.get(*VOLUME, volume)
    assert live["status"]["phase"] in ("Released", "Available"), live["status"]
    return True


def _bound(pools: Pools, kind: tuple[str, str], before: Object | None = None) -> bool:
    """Whether the only object of a kind is bound, and is not the old one."""
    old = before["metadata"]["uid"] if before else ""
    found = [one for one in pools.children(*kind) if one["metadata"]["uid"] != old]
    return [one["status"].get("phase") for one in found] == ["Bound"]


def test_a_deleted_volume_is_recreated_and_bound_again(
    pools: Pools, kube: Kube, lustre_project: LustreProject, shared: str, unwritten: Unwritten
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    before = pools.child(*VOLUME)
    _force_away(kube, VOLUME, before)
    eventually(lambda: _bound(pools, VOLUME, before) and _bound(pools, CLAIM), 30.0)
    until_ready(pools, "chat")
    unwritten()
    assert pools.child(*VOLUME)["spec"]["claimRef"]["uid"] == pools.child(*CLAIM)["metadata"]["uid"]


def test_a_deleted_pvc_is_recreated_and_bound_again(
    pools: Pools, kube: Kube, lustre_project: LustreProject, shared: str, unwritten: Unwritten
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    before = pools.child(*CLAIM)
    _force_away(kube, CLAIM, before)
    eventually(lambda: _bound(pools, CLAIM, before), 30.0)
    until_ready(pools, "chat")
    assert pools.child(*VOLUME)["spec"]["claimRef"]["uid"] == pools.child(*CLAIM)["metadata"]["uid"]
    unwritten()


def test_a_pool_in_a_recreated_namespace_uses_its_existing_instance_again(
    pools: Pools, lustre_project: LustreProject, shared: str, unwritten: Unwritten
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    before = pools.child(*VOLUME)
    recreate(pools)
    eventually(lambda: _free(pools.kube, before["metadata"]["name"]))
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    after = pools.child(*VOLUME)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["csi"] == before["spec"]["csi"]
    assert after["spec"]["claimRef"]["uid"] == pools.child(*CLAIM)["metadata"]["uid"]
    unwritten()


def test_a_pool_in_a_recreated_namespace_uses_the_instance_of_the_driver_again(
    pools: Pools, kube: Kube, lustre: LustreService, unwritten: Unwritten
) -> None:
    pools.create("chat")
    pools.wait("chat")
    name = pools.child(*CLAIM)["spec"]["volumeName"]
    recreate(pools)
    eventually(lambda: _free(kube, name), what=f"{name} is released")
    pools.create("chat")
    pools.wait("chat")
    claim, volume = pools.child(*CLAIM), kube.get(*VOLUME, name)
    assert claim["spec"]["volumeName"] == name
    assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert volume["status"]["phase"] == "Bound"
    assert list(lustre.state().instances) == [name]
    unwritten()
    _grown(pools, kube, name)


def _grown(pools: Pools, kube: Kube, name: str) -> None:
    """Resize the recreated PVC like any other."""
    pools.patch("chat", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    eventually(lambda: kube.get(*VOLUME, name)["spec"]["capacity"]["storage"] == "18000Gi")
    eventually(lambda: tier(pools, "chat")["capacity"] == "18000Gi")
    pools.wait("chat")


def test_with_delete_the_instance_of_an_adopted_pvc_is_deleted(pools: Pools, lustre: LustreService) -> None:
    pools.create("chat")
    pools.wait("chat")
    recreate(pools)
    pools.create("chat", deletionPolicy="Delete")
    pools.wait("chat")
    assert len(lustre.state().instances) == 1
    pools.delete("chat")
    pools.wait_gone("chat")
    assert lustre.state().instances == {}


def test_a_volume_of_the_same_name_that_kvtier_did_not_create_is_never_changed(
    pools: Pools, kube: Kube, lustre_project: LustreProject, shared: str
) -> None:
    pools.create("chat", **existing(lustre_project))
    until_ready(pools, "chat")
    mine: Any = pools.child(*VOLUME)
    pools.delete("chat")
    pools.wait_gone("chat")
    _force_away(kube, CLAIM, pools.child(*CLAIM))
    _force_away(kube, VOLUME, mine)
    source = mine["spec"]["csi"] | {"volumeHandle": "somebody/us-central1-a/theirs"}
    kept = ("accessModes", "capacity", "persistentVolumeReclaimPolicy")
    spec = {key: mine["spec"][key] for key in kept} | {"csi": source}
    metadata = {"name": mine["metadata"]["name"], "labels": {"team": pools.namespace}}
    made = eventually(lambda: _create(kube, {"metadata": metadata, "spec": spec}))
    try:
        pools.create("chat", **existing(lustre_project))
        until_condition(pools, "chat", "False", "NotOwned")
        live = kube.get(*VOLUME, made["metadata"]["name"])
        assert live["spec"]["csi"] == source
        assert live["metadata"]["labels"] == {"team": pools.namespace}
    finally:
        _force_away(kube, VOLUME, made)


def _create(kube: Kube, manifest: Object) -> Object:
    """Create a volume after the deletion of one with the same name."""
    name = manifest["metadata"]["name"]
    assert kube.find(*VOLUME, name) is None
    return kube.create({"apiVersion": "v1", "kind": "PersistentVolume", **manifest})
