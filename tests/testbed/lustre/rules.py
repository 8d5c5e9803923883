"""Which requests the simulated Managed Lustre API accepts."""

import re
import uuid
from dataclasses import dataclass
from typing import Any

from testbed.google_api import Object
from testbed.lustre.documents import invalid, number

_INSTANCE_ID = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]")
_FILESYSTEM = re.compile(r"[A-Za-z0-9]{1,8}")
_NETWORK = re.compile(r"projects/[^/]+/global/networks/[a-z]([-a-z0-9]*[a-z0-9])?")
_KMS_KEY = re.compile(r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+")
_PLACEMENT = re.compile(r"projects/[^/]+/locations/[^/]+/resourcePolicies/[^/]+")
_VERSION = re.compile(r"latest|Lustre_[0-9]{8}\.[0-9]{2}_p[0-9]{2}")
_LABEL_KEY, _LABEL_VALUE = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
_BUCKET = re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}(/|/.*/)?")
_WINDOWS = ("weeklyMaintenanceWindows", "maintenanceExclusionWindow")

MUTABLE = {
    "accessRulesOptions",
    "capacityGib",
    "description",
    "labels",
    "maintenancePolicy",
    "placementPolicy",
    "targetVersion",
}
IMMUTABLE = {"dynamicTierOptions", "filesystem", "gkeSupportEnabled", "kmsKey", "network"} | {
    "perUnitStorageThroughput"
}
OUTPUT = {
    "availableVersion",
    "createTime",
    "effectiveVersion",
    "mountPoint",
    "name",
    "state",
    "stateReason",
    "uid",
    "upcomingMaintenanceSchedule",
    "updateTime",
}
_DYNAMIC_MODES = ("DEFAULT_CACHE", 2)


def check_new(location: str, instance_id: str, document: Object) -> None:
    """Refuse a create request that is not valid."""
    _match(_ZONE, location, "location")
    _match(_INSTANCE_ID, instance_id, "instance_id")
    _known(document)
    _match(_FILESYSTEM, document.get("filesystem", ""), "filesystem")
    _match(_NETWORK, document.get("network", ""), "network")
    tier_of(document).check(number(document.get("capacityGib", 0), "capacity_gib"))
    if key := document.get("kmsKey"):
        _match(_KMS_KEY, key, "kms_key")
        if key.split("/")[3] != location.rpartition("-")[0]:
            raise invalid(f"invalid kms_key {key!r}: it must be in the region of the instance")
    check_mutable(document)


def check_mutable(document: Object) -> None:
    """Refuse invalid values of the mutable fields, except the capacity."""
    labels = document.get("labels") or {}
    if len(labels) > 64 or len(document.get("description") or "") > 2048:
        raise invalid("too many labels (64), or too long a description (2048)")
    for key, value in labels.items():
        _match(_LABEL_KEY, key, "label key")
        _match(_LABEL_VALUE, value, f"value of label {key}")
    if version := document.get("targetVersion"):
        _match(_VERSION, version, "target_version")
    if policy := document.get("placementPolicy"):
        _match(_PLACEMENT, policy, "placement_policy")
    _check_maintenance(document.get("maintenancePolicy") or {})
    _check_squash(document.get("accessRulesOptions") or {})


def _check_maintenance(policy: Object) -> None:
    windows, exclusions = (policy.get(name, []) for name in _WINDOWS)
    if policy and len(windows) != 1:
        raise invalid("maintenance_policy must have exactly one weekly_maintenance_windows")
    if len(exclusions) > 1:
        raise invalid("maintenance_policy may have one maintenance_exclusion_window at most")


def _check_squash(options: Object) -> None:
    if options.get("defaultSquashMode") in ("NO_SQUASH", 1) and (
        options.get("defaultSquashUid") or options.get("defaultSquashGid")
    ):
        raise invalid("default_squash_uid and default_squash_gid must not be set with NO_SQUASH")


def check_growth(document: Object, created_gib: int, wanted: Any) -> int:
    """The new capacity of an instance in GiB. Refuses an invalid one."""
    have, gib = int(document["capacityGib"]), number(wanted, "capacity_gib")
    if gib < have:
        raise invalid(f"invalid capacity_gib {gib}: the capacity can only be increased, from {have}")
    tier_of(document).check(gib, created_gib)
    return gib


def check_bucket(uri: str) -> None:
    """Refuse a path in a bucket that does not end with a slash."""
    _match(_BUCKET, uri, "gcs_path.uri")


def check_request_id(request_id: str) -> None:
    """Refuse a request id that is not a UUID of version 4. It may be empty."""
    try:
        if request_id and uuid.UUID(request_id).version != 4:
            raise ValueError
    except ValueError:
        raise invalid(f"invalid request_id {request_id!r}: must be a UUID of version 4") from None


def _known(document: Object) -> None:
    for name in document.keys() - MUTABLE - IMMUTABLE - OUTPUT:
        raise invalid(
            f"Invalid JSON payload received. Unknown name \"{name}\" at 'instance': Cannot find field."
        )


def _match(pattern: re.Pattern[str], value: Any, field: str) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise invalid(f"invalid {field} {value!r}")


@dataclass(frozen=True)
class Tier:
    """Capacities in GiB: ``least`` to ``most``, in steps of ``step`` up to ``threshold``, of ``stride`` above."""

    least: int
    most: int
    step: int
    threshold: int
    stride: int

    def check(self, gib: int, created: int = 0) -> None:
        """Refuse an invalid capacity. An instance ``created`` at or below the threshold (0: new) cannot outgrow it."""
        step = self.step if gib <= self.threshold else self.stride
        if not self.least <= gib <= self.most:
            raise invalid(f"invalid capacity_gib {gib}: must be between {self.least} and {self.most}")
        if gib % step:
            raise invalid(f"invalid capacity_gib {gib}: must be a multiple of {step}")
        if 0 < created <= self.threshold < gib:
            raise invalid(f"invalid capacity_gib {gib}: this instance cannot grow beyond {self.threshold}")


# MBps per TiB; 0 is the Dynamic tier.
TIERS = {
    1000: Tier(9_000, 10_008_000, 9_000, 1_530_000, 72_000),
    500: Tier(18_000, 20_016_000, 18_000, 3_060_000, 144_000),
    250: Tier(36_000, 40_032_000, 36_000, 6_120_000, 288_000),
    125: Tier(72_000, 12_240_000, 72_000, 12_240_000, 72_000),
    0: Tier(472_000, 84_016_000, 472_000, 84_016_000, 472_000),
}


def tier_of(document: Object) -> Tier:
    """The tier of an instance. Refuses one without throughput and without the Dynamic tier."""
    throughput = number(document.get("perUnitStorageThroughput", 0), "per_unit_storage_throughput")
    dynamic = (document.get("dynamicTierOptions") or {}).get("mode") in _DYNAMIC_MODES
    if dynamic and throughput:
        raise invalid("per_unit_storage_throughput must not be set when the Dynamic tier is enabled")
    if not dynamic and throughput not in {125, 250, 500, 1000}:
        raise invalid(f"invalid per_unit_storage_throughput {throughput}: must be 125, 250, 500 or 1000")
    return TIERS[throughput]
