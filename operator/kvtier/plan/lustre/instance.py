"""An instance: what is known of it, what its state means, the requests that make and change it, and whose it is."""

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
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.api.v1alpha1.lustre import AccessRules, MaintenanceWindow
from kvtier.facts.model import Instance
from kvtier.plan.model import Part


@dataclass(frozen=True)
class Source:
    """Where the tier is mounted from: the instance's full name, address, file system, and capacity in bytes."""

    instance: str
    address: str
    filesystem: str
    capacity: int

    @property
    def handle(self) -> str:
        """PROJECT/ZONE/INSTANCE, as the driver writes it."""
        return "/".join(self.instance.split("/")[1::2])

    @property
    def zone(self) -> str:
        return self.instance.split("/")[3]


class StorageState(NamedTuple):
    """What is reported of the tier: StorageReady, and the phase that goes with it."""

    condition: Condition
    phase: str


def nothing_created(refused: Iterable[Condition]) -> Condition:
    """StorageReady while prerequisites do not hold, and there is no claim yet."""
    reasons = ", ".join(one.clause for one in refused)
    return false(STORAGE_READY, Reason.PREREQUISITES_NOT_MET, f"nothing is created while {reasons}")


@dataclass(frozen=True)
class InstanceView:
    """What is known of the instance that the tier is mounted from, and what to do about it.

    `source` is what volume and claim may be made from. `problem` is reported where it is not there yet, or cannot be
    used; `change` of a tier in use, while the instance follows the spec, or fails to. `part` has calls, operations
    and when to look again.
    """

    source: Source | None = None
    problem: StorageState | None = None
    change: StorageState | None = None
    part: Part = field(default_factory=Part)


def source(instance: Instance) -> Source | None:
    """None while the instance has no address yet."""
    if not instance.address:
        return None
    return Source(instance.name, instance.address, instance.filesystem, instance.capacity)


USABLE = ("ACTIVE", "UPDATING")
"""States in which reads and writes are served."""

_STATES: dict[str, tuple[Reason, str]] = {
    "CREATING": (Reason.PROVISIONING, "is being created, which takes ten minutes to an hour"),
    "UPGRADING": (
        Reason.INSTANCE_UPGRADING,
        "is under maintenance: reads and writes hang meanwhile, and go on by themselves",
    ),
    "REPAIRING": (
        Reason.INSTANCE_REPAIRING,
        "is being repaired by Google: reads and writes may hang meanwhile; if it stays so, ask Google's support",
    ),
    "STOPPED": (
        Reason.INSTANCE_STOPPED,
        "is stopped, and reads and writes hang: see it in the Cloud Console, and ask Google's support to start it",
    ),
    "SUSPENDED": (
        Reason.INSTANCE_SUSPENDED,
        "is suspended, because its encryption key cannot be used: enable the key version, and let the service agent "
        "of Managed Lustre encrypt and decrypt with it",
    ),
    "DELETING": (
        Reason.INSTANCE_DELETING,
        "is being deleted, and its data with it: whoever asked for that cannot take it back. When it is gone, delete "
        "the pool's claim and volume",
    ),
}


def verdict(instance: Instance) -> Condition | None:
    """StorageReady of an instance that cannot be used as it is now; None while it can.

    A state that is newer than this version of kvtier is Unknown, and holds up nothing.
    """
    if instance.state in USABLE:
        return None
    seen = f"instance {instance.name}"
    why = f" ({instance.reason})" if instance.reason else ""
    if instance.state not in _STATES:
        return unknown(
            STORAGE_READY,
            Reason.INSTANCE_STATE_UNKNOWN,
            f"{seen} is in state {instance.state}{why}, which kvtier does not know: see it in the Cloud Console",
        )
    reason, text = _STATES[instance.state]
    state, colon, more = text.partition(":")
    return false(STORAGE_READY, reason, f"{seen} {state}{why}{colon}{more}")


def problem(instance: Instance) -> StorageState | None:
    """What is reported of an instance that cannot be used as it is now; None while it can."""
    found = verdict(instance)
    phase = "Provisioning" if instance.state == "CREATING" else "Failed"
    return StorageState(found, phase) if found else None


_LABEL_MAX = 63
_POOL, _NAMESPACE, _CLUSTER = "kvtier-pool", "kvtier-pool-namespace", "kvtier-cluster"
_SETTINGS = {"accessRulesOptions": "kvtier-access-rules", "maintenancePolicy": "kvtier-maintenance"}
"""Fields that may change, and the labels with the digests of what was asked for: the API returns it in another form."""

_RESET: dict[str, Any] = {
    "accessRulesOptions": {"defaultSquashMode": "NO_SQUASH"},
    "maintenancePolicy": {},
}
_SQUASH = {"NoSquash": "NO_SQUASH", "RootSquash": "ROOT_SQUASH"}


def create_body(pool: KVCachePool, spec: LustreTier) -> dict[str, Any]:
    """All that a new instance should be."""
    body = {
        **_capacity(spec.size),
        "filesystem": new_filesystem(pool),
        "network": spec.network,
        "description": f"KV cache of {pool.namespace}/{pool.name}, made by kvtier",
        "labels": {**identity_labels(pool), **_setting_labels(spec)},
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
    """The change to `size` bytes."""
    return _capacity(size)


def settings_body(pool: KVCachePool, spec: LustreTier, instance: Instance) -> dict[str, Any]:
    """The change of what the spec says otherwise by now, labels included; empty if nothing differs."""
    wanted, mine = _setting_labels(spec), set(_SETTINGS.values())
    stale = [field for field, key in _SETTINGS.items() if instance.labels.get(key) != wanted.get(key)]
    if not stale:
        return {}
    theirs = {key: value for key, value in instance.labels.items() if key not in mine}
    settings = {**_RESET, **_settings(spec)}
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
    """Short, and another one for another body."""
    return names.digest(json.dumps(body, sort_keys=True))


def _capacity(size: int) -> dict[str, Any]:
    return {"capacityGib": str(size // GIB)}


def _settings(spec: LustreTier) -> dict[str, Any]:
    """The fields of `_SETTINGS` that the spec sets."""
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
    """Why an instance is not taken over, or None. What can be changed later does not count."""
    if not ours(pool, instance):
        return _stranger(pool, instance)
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
        f"instance {instance.name} exists, and cannot become what the spec describes: {', '.join(differing)}; make "
        "the pool anew as the instance is, or delete the instance if its data may go",
    )


def _stranger(pool: KVCachePool, instance: Instance) -> Condition:
    labels = ",".join(f"{key}={value}" for key, value in identity_labels(pool).items())
    _, project, _, zone, _, name = instance.name.split("/")
    return false(
        STORAGE_READY,
        Reason.INSTANCE_NOT_OURS,
        f"instance {instance.name} exists, and its labels do not say that it is this pool's: delete it, or hand it "
        f"over with gcloud lustre instances update {name} --project={project} --location={zone} "
        f"--update-labels={labels}",
    )


def _tier(throughput: int) -> str:
    return str(throughput) if throughput else "the Dynamic tier"


def _same_network(wanted: str, has: str) -> bool:
    """A project may be given by its id or its number, which cannot be compared."""
    mine, theirs = wanted.split("/"), has.split("/")
    if len(theirs) < 5 or mine[-1] != theirs[-1]:
        return False
    projects = {mine[1], theirs[-4]}
    return len(projects) == 1 or any(re.fullmatch(r"[0-9]+", one) for one in projects)
