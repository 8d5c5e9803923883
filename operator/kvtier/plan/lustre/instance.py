"""A Lustre instance: its state, and the requests that create and update it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kvtier.api import names
from kvtier.api.conditions import STORAGE_READY, Condition, false, unknown
from kvtier.api.identity import new_filesystem
from kvtier.api.quantities import GIB
from kvtier.api.reasons import Reason
from kvtier.api.sentences import sentences
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.api.v1alpha1.lustre import AccessRules, MaintenanceWindow
from kvtier.facts.model import Instance, OwnCluster
from kvtier.plan.lustre.ownership import identity_labels
from kvtier.plan.lustre.provisioning import NORMAL
from kvtier.plan.model import Part


@dataclass(frozen=True)
class Source:
    """The instance that the tier is mounted from: full name, address, file system name, and capacity in bytes."""

    instance: str
    address: str
    filesystem: str
    capacity: int

    @property
    def handle(self) -> str:
        """The volumeHandle PROJECT/ZONE/INSTANCE, in the form of the Lustre CSI driver."""
        return "/".join(self.instance.split("/")[1::2])

    @property
    def zone(self) -> str:
        return self.instance.split("/")[3]


class StorageState(NamedTuple):
    """The state of the tier to report: StorageReady, and the phase in the status."""

    condition: Condition
    phase: str


def nothing_created(refused: Iterable[Condition]) -> Condition:
    """StorageReady while prerequisites are not met and no PVC exists."""
    reasons = ", ".join(one.clause for one in refused)
    return false(STORAGE_READY, Reason.PREREQUISITES_NOT_MET, f"kvtier creates no storage while {reasons}.")


@dataclass(frozen=True)
class InstanceView:
    """The instance that the tier is mounted from, and what to do about it.

    `source` describes the instance for PersistentVolume and PVC. `problem` is the state to report if the instance does
    not exist yet or cannot be used. `change` is the state to report while an update of a tier in use is in progress or
    has failed. `part` has API calls, operations, and the time of the next reconciliation.
    """

    source: Source | None = None
    problem: StorageState | None = None
    change: StorageState | None = None
    part: Part = field(default_factory=Part)


def source(instance: Instance) -> Source | None:
    """The source for PersistentVolume and PVC; None while the instance has no address."""
    if not instance.address:
        return None
    return Source(instance.name, instance.address, instance.filesystem, instance.capacity)


USABLE = ("ACTIVE", "UPDATING")
"""States in which the instance serves reads and writes."""

_STATES: dict[str, tuple[Reason, str, str]] = {
    "CREATING": (
        Reason.PROVISIONING,
        "Lustre instance {} is being created",
        NORMAL,
    ),
    "UPGRADING": (
        Reason.INSTANCE_UPGRADING,
        "Lustre instance {} is under maintenance",
        "Reads and writes wait until the maintenance ends, then continue automatically",
    ),
    "REPAIRING": (
        Reason.INSTANCE_REPAIRING,
        "Lustre instance {} is being repaired by Google",
        "Reads and writes may wait until the repair ends. If it does not end, contact Google Cloud support",
    ),
    "STOPPED": (
        Reason.INSTANCE_STOPPED,
        "Lustre instance {} is stopped",
        "Reads and writes wait. Check the instance in the Cloud Console, and ask Google Cloud support to start it",
    ),
    "SUSPENDED": (
        Reason.INSTANCE_SUSPENDED,
        "Lustre instance {} is suspended because its encryption key cannot be used",
        "Enable the key version, and grant roles/cloudkms.cryptoKeyEncrypterDecrypter on the key to the service "
        "agent of Managed Lustre",
    ),
    "DELETING": (
        Reason.INSTANCE_DELETING,
        "Lustre instance {} is being deleted with its data",
        "The deletion cannot be cancelled. After it completes, delete the PVC and the PersistentVolume of the pool",
    ),
}
"""For each state: what it means, and what to expect or to do."""


def verdict(instance: Instance) -> Condition | None:
    """StorageReady of an instance that cannot be used in its present state; None if it can be used.

    A state that this version of kvtier does not know gives Unknown, which blocks nothing.
    """
    if instance.state in USABLE:
        return None
    why = f"Google reports: {instance.reason}" if instance.reason else ""
    if instance.state not in _STATES:
        text = sentences(
            f"Lustre instance {instance.name} is in state {instance.state}, which this version of kvtier does not know",
            why,
            "Check the instance in the Cloud Console",
        )
        return unknown(STORAGE_READY, Reason.INSTANCE_STATE_UNKNOWN, text)
    reason, meaning, advice = _STATES[instance.state]
    return false(STORAGE_READY, reason, sentences(meaning.format(instance.name), why, advice))


def problem(instance: Instance) -> StorageState | None:
    """The state to report for an instance that cannot be used in its present state; None if it can be used."""
    found = verdict(instance)
    phase = "Provisioning" if instance.state == "CREATING" else "Failed"
    return StorageState(found, phase) if found else None


_SETTINGS = {"accessRulesOptions": "kvtier-access-rules", "maintenancePolicy": "kvtier-maintenance"}
"""Fields that may change, each with the label that holds the digest of the requested value.

The API returns the values in another form, so they cannot be compared.
"""

_RESET: dict[str, Any] = {
    "accessRulesOptions": {"defaultSquashMode": "NO_SQUASH"},
    "maintenancePolicy": {},
}
_SQUASH = {"NoSquash": "NO_SQUASH", "RootSquash": "ROOT_SQUASH"}


def create_body(pool: KVCachePool, spec: LustreTier, cluster: OwnCluster) -> dict[str, Any]:
    """The body of the request that creates the instance."""
    body = {
        **_capacity(spec.size),
        "filesystem": new_filesystem(pool),
        "network": spec.network,
        "description": f"KV cache of {pool.namespace}/{pool.name}, made by kvtier",
        "labels": {**identity_labels(pool, cluster), **_setting_labels(spec)},
        "kmsKey": spec.kms_key,
        "placementPolicy": spec.placement_policy,
        **_settings(spec),
    }
    if spec.dynamic_tier:
        body["dynamicTierOptions"] = {"mode": "DEFAULT_CACHE"}
    else:
        body["perUnitStorageThroughput"] = str(spec.throughput_per_tib)
    return {field: value for field, value in body.items() if value is not None}


def growth_body(size: int) -> dict[str, Any]:
    """The body of an update to `size` bytes."""
    return _capacity(size)


def settings_body(
    pool: KVCachePool, spec: LustreTier, cluster: OwnCluster, instance: Instance
) -> dict[str, Any]:
    """The body of an update of the labels, and of the settings that differ from the spec; empty if none differs."""
    wanted, mine = _setting_labels(spec), set(_SETTINGS.values())
    stale = [field for field, key in _SETTINGS.items() if instance.labels.get(key) != wanted.get(key)]
    theirs = {key: value for key, value in instance.labels.items() if key not in mine}
    labels = {**theirs, **identity_labels(pool, cluster), **wanted}
    if labels == instance.labels:
        return {}
    settings = {**_RESET, **_settings(spec)}
    return {"labels": labels, **{field: settings[field] for field in stale}}


def digest(body: Mapping[str, Any]) -> str:
    """A short digest of a request body."""
    return names.digest(json.dumps(body, sort_keys=True))


def _capacity(size: int) -> dict[str, Any]:
    return {"capacityGib": str(size // GIB)}


def _settings(spec: LustreTier) -> dict[str, Any]:
    """The fields of `_SETTINGS` that are set in the spec, as the API expects them."""
    found: dict[str, Any] = {}
    if spec.access_rules:
        found["accessRulesOptions"] = _access(spec.access_rules)
    if spec.maintenance_window:
        found["maintenancePolicy"] = _maintenance(spec.maintenance_window)
    return found


def _setting_labels(spec: LustreTier) -> dict[str, str]:
    return {_SETTINGS[field]: digest(value) for field, value in _settings(spec).items()}


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


def mismatch(pool: KVCachePool, spec: LustreTier, instance: Instance) -> Condition | None:
    """StorageReady if an existing instance differs from the spec in immutable fields, else None."""
    wanted = {
        "filesystem": (new_filesystem(pool), instance.filesystem),
        "network": (spec.network, instance.network),
        "throughputPerTiB": (_tier(spec.throughput_per_tib or 0), _tier(instance.throughput)),
        "kmsKey": (spec.kms_key or "none", instance.kms_key.partition("/cryptoKeyVersions/")[0] or "none"),
    }
    differing = [
        f"{field} is {has}, not {want}"
        for field, (want, has) in wanted.items()
        if (not _same_network(str(want), has) if field == "network" else want != has)
    ]
    if not differing:
        return None
    return false(
        STORAGE_READY,
        Reason.INSTANCE_MISMATCH,
        sentences(
            f"Lustre instance {instance.name} exists and differs from the spec in immutable fields: "
            f"{', '.join(differing)}",
            "Recreate the pool with the values of the instance, or delete the instance if its data is not needed",
        ),
    )


def _tier(throughput: int) -> str:
    return str(throughput) if throughput else "the Dynamic tier"


def _same_network(wanted: str, has: str) -> bool:
    """Whether two network names may mean the same network. A project ID and a project number cannot be compared."""
    mine, theirs = wanted.split("/"), has.split("/")
    if len(theirs) < 5 or mine[-1] != theirs[-1]:
        return False
    projects = {mine[1], theirs[-4]}
    return len(projects) == 1 or any(re.fullmatch(r"[0-9]+", one) for one in projects)
