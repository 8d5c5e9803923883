"""The instance that the Lustre API is asked for, read by Google's own client."""

import json
from typing import Any

import pytest
from google.cloud import lustre_v1

from kvtier.api.v1alpha1 import LustreTier
from kvtier.plan.lustre.instance import create_body, growth_body, label_value, ours, settings_body
from unit.builders import NETWORK, pool
from unit.instances import CLUSTER, KEY, POLICY, api, dynamic
from unit.plan.lustre.tiers import GIB, made
from unit.tables import table

ACCESS = {
    "defaultSquash": "RootSquash",
    "squashUID": 1000,
    "squashGID": 2000,
    "exceptions": [{"name": "admins", "addressRanges": ["10.0.0.0/24", "10.1.0.1"]}],
}
WINDOW = {"day": "Sunday", "hour": 3}


def _tier(of: Any) -> LustreTier:
    lustre = of.spec.tiers.lustre
    assert isinstance(lustre, LustreTier)
    return lustre


def _read(body: dict[str, Any]) -> Any:
    """Raises for a field or a value that the API does not know."""
    return lustre_v1.Instance.from_json(json.dumps(body), ignore_unknown_fields=False)


def _body(**lustre: Any) -> dict[str, Any]:
    of = pool(**api(**lustre))
    return create_body(of, _tier(of))


def test_an_instance_as_small_as_can_be() -> None:
    found = _read(_body())
    assert (found.capacity_gib, found.per_unit_storage_throughput) == (18000, 1000)
    assert (found.network, found.filesystem) == (NETWORK, "kvnen3bu")
    assert found.description == "KV cache of team-a/chat, made by kvtier"
    assert dict(found.labels) | {"kvtier-cluster": ""} == {
        "kvtier-pool": "chat",
        "kvtier-pool-namespace": "team-a",
        "kvtier-cluster": "",
    }
    left_out = {"kmsKey", "placementPolicy", "accessRulesOptions", "maintenancePolicy", "dynamicTierOptions"}
    assert not left_out & set(_body())


def test_an_instance_with_everything() -> None:
    settings = {"accessRules": ACCESS, "maintenanceWindow": WINDOW}
    found = _read(_body(kmsKey=KEY, placementPolicy=POLICY, filesystem="mine", **settings))
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
    of = pool(**dynamic())
    found = _read(create_body(of, _tier(of)))
    assert found.dynamic_tier_options.mode == lustre_v1.DynamicTierOptions.Mode.DEFAULT_CACHE
    assert (found.capacity_gib, found.per_unit_storage_throughput) == (472000, 0)


def test_a_growth_is_the_capacity_alone() -> None:
    assert growth_body(27000 * GIB) == {"capacityGib": "27000"}
    assert _read(growth_body(27000 * GIB)).capacity_gib == 27000


SETTLED = pool(**api(accessRules=ACCESS, maintenanceWindow=WINDOW))
PLAIN = pool(**api())
NIGHT = {"maintenanceWindow": WINDOW | {"hour": 4}}


@table(
    "before, after, fields",
    {
        "nothing": (SETTLED, SETTLED, set()),
        "nothing, where nothing was ever set": (PLAIN, PLAIN, set()),
        "nothing but the capacity": (PLAIN, pool(**api(capacity="27000Gi")), set()),
        "who may act as root": (
            PLAIN,
            pool(**api(accessRules=ACCESS)),
            {"accessRulesOptions"},
        ),
        "when it is maintained": (
            SETTLED,
            pool(**api(accessRules=ACCESS, **NIGHT)),
            {"maintenancePolicy"},
        ),
        "what is not set any more": (SETTLED, PLAIN, {"accessRulesOptions", "maintenancePolicy"}),
    },
)
def test_what_the_spec_says_otherwise_is_changed(before: Any, after: Any, fields: set[str]) -> None:
    body = settings_body(after, _tier(after), made(before))
    assert set(body) == (fields | {"labels"} if fields else set())
    _read(body)
    changed = made(before, labels={**made(before).labels, **body.get("labels", {})})
    if body:
        changed = made(before, labels=body["labels"])
    assert settings_body(after, _tier(after), changed) == {}, "once is enough"


def test_labels_of_others_stay() -> None:
    labels = {**made(PLAIN).labels, "storage_gke_io_managed-by": "lustre_csi_storage_gke_io"}
    body = settings_body(SETTLED, _tier(SETTLED), made(PLAIN, labels=labels))
    assert body["labels"]["storage_gke_io_managed-by"] == "lustre_csi_storage_gke_io"
    assert body["labels"]["kvtier-pool"] == "chat"


def test_settings_that_are_no_longer_set_are_put_back() -> None:
    body = settings_body(PLAIN, _tier(PLAIN), made(SETTLED))
    assert body["accessRulesOptions"] == {"defaultSquashMode": "NO_SQUASH"}
    assert body["maintenancePolicy"] == {}


@pytest.mark.parametrize("text", ["chat", "a" * 63, "a_b-c", "kv.cache", "Chat", "a" * 64, ""])
def test_labels_are_what_google_takes(text: str) -> None:
    value = label_value(text)
    assert len(value) <= 63
    assert not set(value) - set("abcdefghijklmnopqrstuvwxyz0123456789_-")


@table(
    "changes, mine",
    {
        "the same pool": ({}, True),
        "another name": ({"metadata": {"name": "other"}}, False),
        "another namespace": ({"metadata": {"namespace": "team-b"}}, False),
        "a namesake in another cluster of the project": ({"cluster": CLUSTER | {"name": "staging"}}, False),
        "a namesake in a cluster elsewhere": ({"cluster": CLUSTER | {"location": "us-east1"}}, False),
    },
)
def test_whose_an_instance_is(changes: dict[str, Any], mine: bool) -> None:
    assert ours(pool(**{**api(), **changes}), made(PLAIN)) is mine


def test_an_instance_without_labels_is_nobody_s() -> None:
    assert not ours(PLAIN, made(PLAIN, labels={}))
