"""An instance as kvtier asks the Lustre API for it, and by which labels it knows it again.

Bodies are google.cloud.lustre.v1.Instance in JSON.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from kvtier.api import names
from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.api.v1alpha1.instance import AccessRules, MaintenanceWindow
from kvtier.facts.model import Instance
from kvtier.plan.lustre.identity import filesystem

_LABEL_MAX = 63
_POOL, _NAMESPACE, _CLUSTER = "kvtier-pool", "kvtier-pool-namespace", "kvtier-cluster"
_SETTINGS = {"accessRulesOptions": "kvtier-access-rules", "maintenancePolicy": "kvtier-maintenance"}
"""Fields that may change, and the labels with the digests of what was asked for: the API spells it out its own way."""

_RESET: dict[str, Any] = {
    "accessRulesOptions": {"defaultSquashMode": "NO_SQUASH"},
    "maintenancePolicy": {},
}
_SQUASH = {"NoSquash": "NO_SQUASH", "RootSquash": "ROOT_SQUASH"}


def create_body(pool: KVCachePool, lustre: LustreTier) -> dict[str, Any]:
    """All that a new instance should be."""
    body = {
        **_capacity(lustre.size),
        "filesystem": filesystem(pool),
        "network": lustre.network,
        "description": f"KV cache of {pool.namespace}/{pool.name}, made by kvtier",
        "labels": {**identity_labels(pool), **_setting_labels(lustre)},
        "kmsKey": lustre.kms_key,
        "placementPolicy": lustre.placement_policy,
        **_settings(lustre),
    }
    if lustre.dynamic_tier:
        body["dynamicTierOptions"] = {"mode": "DEFAULT_CACHE"}
    else:
        body["perUnitStorageThroughput"] = str(lustre.throughput_per_tib)
    return {field: value for field, value in body.items() if value is not None}


def growth_body(size: int) -> dict[str, Any]:
    """The change to `size` bytes."""
    return _capacity(size)


def settings_body(pool: KVCachePool, lustre: LustreTier, instance: Instance) -> dict[str, Any]:
    """The change of what the spec says otherwise by now, labels included; empty if nothing differs."""
    wanted, mine = _setting_labels(lustre), set(_SETTINGS.values())
    stale = [field for field, key in _SETTINGS.items() if instance.labels.get(key) != wanted.get(key)]
    if not stale:
        return {}
    theirs = {key: value for key, value in instance.labels.items() if key not in mine}
    settings = {**_RESET, **_settings(lustre)}
    changed = {field: settings[field] for field in stale}
    return {"labels": {**theirs, **identity_labels(pool), **wanted}, **changed}


def identity_labels(pool: KVCachePool) -> dict[str, str]:
    """Whose an instance is. Pools of the same name in two clusters of a project would share one otherwise."""
    found = {_POOL: label_value(pool.name), _NAMESPACE: label_value(pool.namespace)}
    if pool.spec.cluster:
        cluster = names.derive(pool.spec.cluster.location, pool.spec.cluster.name, limit=_LABEL_MAX)
        found[_CLUSTER] = cluster
    return found


def ours(pool: KVCachePool, instance: Instance) -> bool:
    """Whether an instance is this pool's by its labels."""
    return all(instance.labels.get(key) == value for key, value in identity_labels(pool).items())


def label_value(text: str) -> str:
    """`text` where Google takes it as a label's value, else a derived name."""
    fits = re.fullmatch(r"[a-z0-9_-]{0,63}", text)
    return text if fits else names.derive(text, limit=_LABEL_MAX)


def digest(body: Mapping[str, Any]) -> str:
    """Tells one request from another."""
    return names.digest(json.dumps(body, sort_keys=True))


def _capacity(size: int) -> dict[str, Any]:
    return {"capacityGib": str(size // GIB)}


def _settings(lustre: LustreTier) -> dict[str, Any]:
    """The fields of `_SETTINGS` that the spec sets."""
    found: dict[str, Any] = {}
    if lustre.access_rules:
        found["accessRulesOptions"] = _access(lustre.access_rules)
    if lustre.maintenance_window:
        found["maintenancePolicy"] = _maintenance(lustre.maintenance_window)
    return found


def _setting_labels(lustre: LustreTier) -> dict[str, str]:
    return {_SETTINGS[field]: digest(value) for field, value in _settings(lustre).items()}


def _access(rules: AccessRules) -> dict[str, Any]:
    found: dict[str, Any] = {"defaultSquashMode": _SQUASH[rules.default_squash]}
    if rules.squash_uid is not None:
        found["defaultSquashUid"] = rules.squash_uid
    if rules.squash_gid is not None:
        found["defaultSquashGid"] = rules.squash_gid
    if rules.exceptions:
        found["accessRules"] = [
            {"name": one.name, "ipAddressRanges": list(one.address_ranges), "squashMode": "NO_SQUASH"}
            for one in rules.exceptions
        ]
    return found


def _maintenance(window: MaintenanceWindow) -> dict[str, Any]:
    weekly = {"dayOfWeek": window.day.upper(), "startTime": {"hours": window.hour}}
    return {"weeklyMaintenanceWindows": [weekly]}
