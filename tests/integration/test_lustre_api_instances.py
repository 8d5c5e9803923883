"""Instances that kvtier creates through the Lustre API: created once, updated, adopted, resized, never duplicated."""

from typing import Any

import pytest

from integration.instances import (
    CLAIM,
    DEPLOYMENT,
    VOLUME,
    through_api,
    tier,
    until,
    until_condition,
    until_gone,
    until_ready,
    until_status,
)
from testbed.gke import ZONE
from testbed.google_api import Drop, Object
from testbed.lustre.client import LustreProject
from testbed.lustre.documents import instance, refusal
from testbed.lustre.operations import HELD
from testbed.pools import Pools

pytestmark = [pytest.mark.usefixtures("operator"), pytest.mark.timeout(240)]

KEY = "projects/my-project/locations/us-central1/keyRings/ring/cryptoKeys/key"
POLICY = f"projects/my-project/locations/{ZONE}/resourcePolicies/near"


def _only(project: LustreProject) -> Object:
    (one,) = project.instances().values()
    return one


def _creations(project: LustreProject) -> int:
    return len([one for one in project.operations() if one["metadata"].get("verb") == "create"])


def test_an_instance_is_created_for_a_pool(pools: Pools, lustre_project: LustreProject) -> None:
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    made = _only(lustre_project)
    assert (made["capacityGib"], made["perUnitStorageThroughput"]) == ("9000", "1000")
    assert made["labels"]["kvtier-pool"] == "chat"
    assert made["labels"]["kvtier-pool-namespace"] == pools.namespace
    volume, claim = pools.child(*VOLUME), pools.child(*CLAIM)
    attributes = volume["spec"]["csi"]["volumeAttributes"]
    assert f"{attributes['ip']}@tcp:/{attributes['filesystem']}" == made["mountPoint"]
    assert (claim["status"]["phase"], claim["spec"]["volumeName"]) == ("Bound", volume["metadata"]["name"])
    assert (tier(pools, "chat")["instance"], tier(pools, "chat")["phase"]) == (made["name"], "Bound")
    assert len(lustre_project.calls("create")) == 1


def test_fields_that_only_the_api_supports_are_sent_to_it(
    pools: Pools, lustre_project: LustreProject
) -> None:
    changes: Any = {
        "tiers__lustre__throughputPerTiB": None,
        "tiers__lustre__dynamicTier": "DefaultCache",
        "tiers__lustre__capacity": "472000Gi",
        "tiers__lustre__kmsKey": KEY,
        "tiers__lustre__placementPolicy": POLICY,
        "tiers__lustre__accessRules": {"defaultSquash": "RootSquash", "squashUID": 1000},
        "tiers__lustre__maintenanceWindow": {"day": "Sunday", "hour": 3},
    }
    pools.create("chat", **through_api(lustre_project, **changes))
    until_ready(pools, "chat")
    made = _only(lustre_project)
    assert (made["kmsKey"], made["placementPolicy"], made["capacityGib"]) == (KEY, POLICY, "472000")
    assert made["accessRulesOptions"]["defaultSquashUid"] == 1000
    (window,) = made["maintenancePolicy"]["weeklyMaintenanceWindows"]
    assert window["startTime"] == {"hours": 3}


def test_nothing_else_is_created_while_the_instance_is_being_created(
    pools: Pools, lustre_project: LustreProject
) -> None:
    lustre_project.configure(create_seconds=HELD)
    pools.create("chat", **through_api(lustre_project))
    until_condition(pools, "chat", "False", "Provisioning")
    (running,) = until(pools, "chat", lustre_project.operations)
    assert tier(pools, "chat")["phase"] == "Provisioning"
    assert pools.children(*VOLUME) == pools.children(*CLAIM) == pools.children(*DEPLOYMENT) == []
    lustre_project.finish(running["name"])
    until_ready(pools, "chat")
    assert len(lustre_project.calls("create")) == 1


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_lost_response_creates_no_second_instance(
    pools: Pools, lustre_project: LustreProject, carried_out: bool
) -> None:
    lustre_project.fail(Drop(), "create", carried_out=carried_out)
    pools.create("chat", **through_api(lustre_project))
    until(pools, "chat", lustre_project.instances, "kvtier sends the request again")
    until_ready(pools, "chat")
    assert _creations(lustre_project) == 1


def test_a_stockout_is_reported_with_a_remedy_and_an_edit_is_tried_at_once(
    pools: Pools, lustre_project: LustreProject
) -> None:
    lustre_project.stockout(times=1)
    pools.create("chat", **through_api(lustre_project))
    told, status = until_status(pools, "chat", "False", "Stockout")
    assert [one["phase"] for one in status["tiers"] if one["name"] == "lustre"] == ["Failed"]
    assert "does not have enough resources" in told["message"]
    assert "another zone" in told["message"]
    pools.patch("chat", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    until_ready(pools, "chat")
    assert tier(pools, "chat")["capacity"] == "18000Gi"


@pytest.mark.parametrize(
    ("code", "reason"),
    [("PERMISSION_DENIED", "PermissionDenied"), ("INVALID_ARGUMENT", "InvalidArgument")],
)
def test_a_refused_creation_is_reported(
    pools: Pools, lustre_project: LustreProject, code: str, reason: str
) -> None:
    lustre_project.fail(refusal(code, "for some reason"), "create", times=-1)
    pools.create("chat", **through_api(lustre_project))
    told = until_condition(pools, "chat", "False", reason)
    assert "for some reason" in told["message"]
    assert pools.children(*VOLUME) == []


def _name(pools: Pools, project: LustreProject) -> str:
    """The id of the pool's instance."""
    project.configure(create_seconds=HELD)
    pools.create("chat", **through_api(project))
    until(pools, "chat", project.instances)
    (name,) = project.instances()
    return name.rpartition("/")[2]


def test_an_instance_of_the_same_name_without_our_labels_is_not_changed(
    pools: Pools, lustre_project: LustreProject
) -> None:
    name = _name(pools, lustre_project)
    pools.delete("chat")
    until_gone(pools, "chat")
    lustre_project.remove(name)
    lustre_project.reset()
    lustre_project.put(name, instance())
    pools.create("chat", **through_api(lustre_project))
    told = until_condition(pools, "chat", "False", "InstanceNotOurs")
    assert f"gcloud lustre instances update {name}" in told["message"]
    assert lustre_project.calls("create", "update", "delete") == []
    assert pools.children(*VOLUME) == []


def test_a_recreated_pool_uses_its_old_instance(pools: Pools, lustre_project: LustreProject) -> None:
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    made, volume = _only(lustre_project), pools.child(*VOLUME)
    assert made["labels"]["kvtier-pool-uid"] == pools.get("chat")["metadata"]["uid"]
    pools.delete("chat")
    pools.wait_gone("chat")
    again = pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    assert _only(lustre_project)["uid"] == made["uid"]
    assert pools.child(*VOLUME)["metadata"]["uid"] == volume["metadata"]["uid"]
    assert len(lustre_project.calls("create")) == 1
    taken = {**made["labels"], "kvtier-pool-uid": again["metadata"]["uid"]}
    until(pools, "chat", lambda: _only(lustre_project)["labels"] == taken)
    event, *_ = pools.events("chat", "InstanceTakenOver")
    assert made["name"] in event["message"]


def test_the_instance_is_resized_while_engines_run(pools: Pools, lustre_project: LustreProject) -> None:
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    generation = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    lustre_project.configure(update_seconds=HELD)
    pools.patch("chat", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    until_condition(pools, "chat", "True", "Resizing")
    assert (tier(pools, "chat")["phase"], tier(pools, "chat")["capacity"]) == ("Resizing", "9000Gi")
    running = until(pools, "chat", lambda: lustre_project.operations()[1:])[0]
    assert running["metadata"]["verb"] == "update"
    lustre_project.finish(running["name"])
    until_condition(pools, "chat", "True", "Bound")
    until(pools, "chat", lambda: pools.child(*VOLUME)["spec"]["capacity"]["storage"] == "18000Gi")
    assert (tier(pools, "chat")["phase"], tier(pools, "chat")["capacity"]) == ("Bound", "18000Gi")
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == generation
    assert len(lustre_project.calls("update")) == 1


def test_a_failed_resize_delays_nothing_else(pools: Pools, lustre_project: LustreProject) -> None:
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    lustre_project.end_operations("update", "RESOURCE_EXHAUSTED", "the zone is full", times=-1)
    pools.patch("chat", {"tiers": {"lustre": {"capacity": "18000Gi"}}})
    told = until_condition(pools, "chat", "True", "UpdateStockout")
    assert "the zone is full" in told["message"]
    until_ready(pools, "chat")
    assert tier(pools, "chat")["capacity"] == "9000Gi"


def test_settings_of_the_instance_follow_the_spec(pools: Pools, lustre_project: LustreProject) -> None:
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    pools.patch("chat", {"tiers": {"lustre": {"maintenanceWindow": {"day": "Monday", "hour": 5}}}})
    until(pools, "chat", lambda: "maintenancePolicy" in _only(lustre_project))
    until_condition(pools, "chat", "True", "Bound")
    pools.patch("chat", {"tiers": {"lustre": {"maintenanceWindow": None}}})
    until(pools, "chat", lambda: not _only(lustre_project).get("maintenancePolicy"))
    until_condition(pools, "chat", "True", "Bound")
    assert len(lustre_project.calls("update")) == 2
    assert _only(lustre_project)["labels"]["kvtier-pool"] == "chat"


def test_a_pool_keeps_working_without_the_api(pools: Pools, lustre_project: LustreProject) -> None:
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    generation = pools.child(*DEPLOYMENT)["metadata"]["generation"]
    fault = lustre_project.fail(refusal("PERMISSION_DENIED"), times=-1)

    def blind() -> bool:
        told = pools.condition("chat", "StorageReady")
        return told["status"] == "True" and "The state of its Lustre instance is unknown" in told["message"]

    until(pools, "chat", blind)
    until_ready(pools, "chat")
    assert tier(pools, "chat")["phase"] == "Bound"
    assert pools.child(*DEPLOYMENT)["metadata"]["generation"] == generation
    fault.release()
    until(pools, "chat", lambda: "is unknown" not in pools.condition("chat", "StorageReady")["message"])


def test_an_instance_that_others_delete_is_not_recreated_while_its_volume_exists(
    pools: Pools, lustre_project: LustreProject
) -> None:
    pools.create("chat", **through_api(lustre_project))
    until_ready(pools, "chat")
    lustre_project.remove(_only(lustre_project)["name"])
    told = until_condition(pools, "chat", "False", "InstanceGone")
    assert pools.child(*VOLUME)["metadata"]["name"] in told["message"]
    assert len(lustre_project.calls("create")) == 1
