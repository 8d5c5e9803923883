"""Lustre tiers by who makes the instance, as changes to a pool, and instances as the Lustre API tells them."""

from typing import Any

from kvtier.api.quantities import GIB
from kvtier.facts.model import Instance, LustreFacts
from unit.builders import NETWORK, joined

ZONE = "us-central1-a"
NAME = f"projects/my-project/locations/{ZONE}/instances/shared"
KEY = "projects/my-project/locations/us-central1/keyRings/ring/cryptoKeys/key"
POLICY = f"projects/my-project/locations/{ZONE}/resourcePolicies/near"
CLUSTER = {"project": "my-project", "location": "us-central1", "name": "prod"}

_API: dict[str, Any] = {"cluster": CLUSTER, "tiers": {"lustre": {"provisioner": "API"}}}
_NOT_MADE: dict[str, Any] = {"capacity": None, "throughputPerTiB": None, "zone": None, "network": None}
_EXISTING: dict[str, Any] = {
    "tiers": {"lustre": {**_NOT_MADE, "provisioner": "Existing", "instance": NAME}},
}


def api(**lustre: Any) -> dict[str, Any]:
    """Made through the Lustre API, with these fields of the tier."""
    return joined(_API, {"tiers": {"lustre": lustre}})


def dynamic(**lustre: Any) -> dict[str, Any]:
    """The same, in the Dynamic tier."""
    tier = {"throughputPerTiB": None, "dynamicTier": "DefaultCache", "capacity": "472000Gi"}
    return api(**{**tier, **lustre})


def existing(**lustre: Any) -> dict[str, Any]:
    """An existing instance that the Lustre API tells about."""
    return joined(_EXISTING, {"tiers": {"lustre": lustre}})


def by_hand(**lustre: Any) -> dict[str, Any]:
    """An existing instance whose particulars are given by hand."""
    return existing(**{"address": "10.0.0.4", "filesystem": "given", "capacity": "18000Gi", **lustre})


def instance(gib: int = 18_000, **changes: Any) -> LustreFacts:
    """An instance that can be used, but for `changes`."""
    fields: dict[str, Any] = {
        "name": NAME,
        "state": "ACTIVE",
        "capacity": gib * GIB,
        "throughput": 1000,
        "filesystem": "given",
        "network": NETWORK,
        "address": "10.0.0.4",
    }
    return LustreFacts(Instance(**{**fields, **changes}))


UNSEEN = LustreFacts(error="the Lustre API cannot be asked: give kvtier credentials")
