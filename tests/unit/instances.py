"""Lustre tiers by provisioner, as changes to a pool, and instances as the Lustre API reports them."""

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
    """A Lustre tier with provisioner API and these fields."""
    return joined(_API, {"tiers": {"lustre": lustre}})


def dynamic(**lustre: Any) -> dict[str, Any]:
    """A Lustre tier with provisioner API in the Dynamic tier."""
    tier = {"throughputPerTiB": None, "dynamicTier": "DefaultCache", "capacity": "472000Gi"}
    return api(**{**tier, **lustre})


def existing(**lustre: Any) -> dict[str, Any]:
    """A Lustre tier with an existing instance that kvtier reads from the Lustre API."""
    return joined(_EXISTING, {"tiers": {"lustre": lustre}})


def by_hand(**lustre: Any) -> dict[str, Any]:
    """A Lustre tier with an existing instance whose address, file system and capacity are in the spec."""
    return existing(**{"address": "10.0.0.4", "filesystem": "given", "capacity": "18000Gi", **lustre})


def instance(gib: int = 18_000, **changes: Any) -> LustreFacts:
    """An ACTIVE instance, with `changes`."""
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


UNSEEN = LustreFacts(error="No valid credentials to read the instance from the Lustre API: no token.")
