"""An instance: the requests that create and update it (read by Google's client), its pool, and its states."""

import json
from typing import Any

import pytest
from google.cloud import lustre_v1

from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.plan.lustre.instance import (
    create_body,
    growth_body,
    mismatch,
    problem,
    settings_body,
    verdict,
)
from unit.builders import NETWORK, OWN_CLUSTER, pool
from unit.instances import KEY, POLICY, api, dynamic
from unit.simulation import GIB, made
from unit.tables import table

ACCESS = {
    "defaultSquash": "RootSquash",
    "squashUID": 1000,
    "squashGID": 2000,
    "exceptions": [{"name": "admins", "addressRanges": ["10.0.0.0/24", "10.1.0.1"]}],
}
WINDOW = {"day": "Sunday", "hour": 3}
PLAIN, KEYED, DYNAMIC = pool(**api()), pool(**api(kmsKey=KEY)), pool(**dynamic())
SETTLED = pool(**api(accessRules=ACCESS, maintenanceWindow=WINDOW))
MOVED = pool(**api(accessRules=ACCESS, maintenanceWindow=WINDOW | {"hour": 4}))


def _spec(of: KVCachePool) -> LustreTier:
    assert of.spec.tiers.lustre is not None
    return of.spec.tiers.lustre


def _read(body: dict[str, Any]) -> Any:
    """The body as Google's client reads it. Raises for a field or a value that the API does not know."""
    return lustre_v1.Instance.from_json(json.dumps(body), ignore_unknown_fields=False)


def test_an_instance_without_optional_fields() -> None:
    body = create_body(PLAIN, _spec(PLAIN), OWN_CLUSTER)
    found = _read(body)
    assert (found.capacity_gib, found.per_unit_storage_throughput) == (18000, 1000)
    assert (found.network, found.filesystem) == (NETWORK, "kvnen3bu")
    assert found.description == "KV cache of team-a/chat, made by kvtier"
    assert dict(found.labels) | {"kvtier-cluster": ""} == {
        "kvtier-pool": "chat",
        "kvtier-pool-namespace": "team-a",
        "kvtier-pool-uid": "pool-uid",
        "kvtier-cluster": "",
        "kvtier-cluster-uid": "cluster-uid",
    }
    left_out = {"kmsKey", "placementPolicy", "accessRulesOptions", "maintenancePolicy", "dynamicTierOptions"}
    assert not left_out & set(body)


def test_an_instance_with_all_optional_fields() -> None:
    settings = {"accessRules": ACCESS, "maintenanceWindow": WINDOW}
    of = pool(**api(kmsKey=KEY, placementPolicy=POLICY, filesystem="mine", **settings))
    found = _read(create_body(of, _spec(of), OWN_CLUSTER))
    assert (found.kms_key, found.placement_policy, found.filesystem) == (KEY, POLICY, "mine")
    squash = lustre_v1.AccessRulesOptions.SquashMode
    access = found.access_rules_options
    assert access.default_squash_mode == squash.ROOT_SQUASH
    assert (access.default_squash_uid, access.default_squash_gid) == (1000, 2000)
    (rule,) = access.access_rules
    assert (rule.name, list(rule.ip_address_ranges)) == ("admins", ["10.0.0.0/24", "10.1.0.1"])
    assert rule.squash_mode == squash.NO_SQUASH
    (window,) = found.maintenance_policy.weekly_maintenance_windows
    assert (window.day_of_week, window.start_time.hours) == (7, 3)


def test_an_instance_of_the_dynamic_tier_has_no_throughput() -> None:
    found = _read(create_body(DYNAMIC, _spec(DYNAMIC), OWN_CLUSTER))
    assert found.dynamic_tier_options.mode == lustre_v1.DynamicTierOptions.Mode.DEFAULT_CACHE
    assert (found.capacity_gib, found.per_unit_storage_throughput) == (472000, 0)


def test_a_resize_has_only_the_capacity() -> None:
    assert growth_body(27000 * GIB) == {"capacityGib": "27000"}
    assert _read(growth_body(27000 * GIB)).capacity_gib == 27000


@table(
    "before, after, fields",
    {
        "nothing": (SETTLED, SETTLED, set()),
        "nothing, if nothing was ever set": (PLAIN, PLAIN, set()),
        "nothing but the capacity": (PLAIN, pool(**api(capacity="27000Gi")), set()),
        "the access rules": (PLAIN, pool(**api(accessRules=ACCESS)), {"accessRulesOptions"}),
        "the access rules without squashing": (
            PLAIN,
            pool(**api(accessRules={"defaultSquash": "NoSquash"})),
            {"accessRulesOptions"},
        ),
        "the maintenance window": (SETTLED, MOVED, {"maintenancePolicy"}),
        "settings that were removed": (SETTLED, PLAIN, {"accessRulesOptions", "maintenancePolicy"}),
    },
)
def test_settings_that_differ_from_the_spec_are_updated(
    before: KVCachePool, after: KVCachePool, fields: set[str]
) -> None:
    body = settings_body(after, _spec(after), OWN_CLUSTER, made(before))
    assert set(body) == (fields | {"labels"} if fields else set())
    _read(body)
    changed = made(before, labels=body.get("labels", made(before).labels))
    assert settings_body(after, _spec(after), OWN_CLUSTER, changed) == {}, "there is no second update"


def test_labels_of_others_are_kept() -> None:
    labels = {**made(PLAIN).labels, "storage_gke_io_managed-by": "lustre_csi_storage_gke_io"}
    body = settings_body(SETTLED, _spec(SETTLED), OWN_CLUSTER, made(PLAIN, labels=labels))
    assert body["labels"]["storage_gke_io_managed-by"] == "lustre_csi_storage_gke_io"
    assert body["labels"]["kvtier-pool"] == "chat"


def test_removed_settings_return_to_their_defaults() -> None:
    body = settings_body(PLAIN, _spec(PLAIN), OWN_CLUSTER, made(SETTLED))
    assert body["accessRulesOptions"] == {"defaultSquashMode": "NO_SQUASH"}
    assert body["maintenancePolicy"] == {}


@table(
    "of, changes",
    {
        "as it was created": (PLAIN, {}),
        "in the Dynamic tier": (DYNAMIC, {}),
        "resized by others": (PLAIN, {"gib": 27_000}),
        "with a version of the key": (KEYED, {"kms_key": f"{KEY}/cryptoKeyVersions/3"}),
        "with the project given by its number": (PLAIN, {"network": "projects/42/global/networks/default"}),
        "with the network in a longer form": (
            PLAIN,
            {"network": "https://compute/v1/projects/my-project/global/networks/default"},
        ),
    },
)
def test_an_instance_is_used_if_it_is(of: KVCachePool, changes: dict[str, Any]) -> None:
    assert mismatch(of, _spec(of), made(of, **changes)) is None


@table(
    "of, changes, words",
    {
        "another file system": (PLAIN, {"filesystem": "other"}, "filesystem is other, not kvnen3bu"),
        "another network": (
            PLAIN,
            {"network": "projects/my-project/global/networks/other"},
            "network is projects/my-project/global/networks/other",
        ),
        "the network of another project": (
            PLAIN,
            {"network": "projects/your-project/global/networks/default"},
            "network is projects/your-project",
        ),
        "no network": (PLAIN, {"network": ""}, "network is "),
        "another performance tier": (PLAIN, {"throughput": 500}, "throughputPerTiB is 500, not 1000"),
        "the Dynamic tier, not a fixed one": (PLAIN, {"throughput": 0}, "is the Dynamic tier, not 1000"),
        "no Dynamic tier": (DYNAMIC, {"throughput": 250}, "is 250, not the Dynamic tier"),
        "no key": (KEYED, {"kms_key": ""}, f"kmsKey is none, not {KEY}"),
        "a key": (PLAIN, {"kms_key": KEY}, f"kmsKey is {KEY}, not none"),
    },
)
def test_an_instance_that_differs_is_not_used(of: KVCachePool, changes: dict[str, Any], words: str) -> None:
    found = mismatch(of, _spec(of), made(of, **changes))
    assert found is not None
    assert (found.status, found.reason) == ("False", "InstanceMismatch")
    assert words in found.message


@pytest.mark.parametrize("state", ["ACTIVE", "UPDATING"])
def test_a_usable_instance_has_no_problem(state: str) -> None:
    assert (verdict(made(PLAIN, state=state)), problem(made(PLAIN, state=state))) == (None, None)


@table(
    "state, reported, words",
    {
        "being created": (
            "CREATING",
            ("False", "Provisioning", "Provisioning"),
            "This usually takes 10 to 30 minutes",
        ),
        "under maintenance": (
            "UPGRADING",
            ("False", "InstanceUpgrading", "Failed"),
            "continue automatically",
        ),
        "being repaired": (
            "REPAIRING",
            ("False", "InstanceRepairing", "Failed"),
            "contact Google Cloud support",
        ),
        "stopped": ("STOPPED", ("False", "InstanceStopped", "Failed"), "Cloud Console"),
        "without a usable key": (
            "SUSPENDED",
            ("False", "InstanceSuspended", "Failed"),
            "Enable the key version, and grant roles/cloudkms",
        ),
        "being deleted": (
            "DELETING",
            ("False", "InstanceDeleting", "Failed"),
            "delete the PVC and the PersistentVolume",
        ),
        "in a state that is newer than kvtier": (
            "9",
            ("Unknown", "InstanceStateUnknown", "Failed"),
            "state 9",
        ),
    },
)
def test_a_state_is_reported_with_its_meaning(state: str, reported: tuple[str, str, str], words: str) -> None:
    found = problem(made(PLAIN, state=state, reason="key version destroyed"))
    assert found is not None
    assert found.condition.type == "StorageReady"
    assert (found.condition.status, found.condition.reason, found.phase) == reported
    assert words in found.condition.message
    assert "Google reports: key version destroyed. " in found.condition.message
