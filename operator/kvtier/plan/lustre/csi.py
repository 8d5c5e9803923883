"""The shared tier: a StorageClass of its own and one RWX claim."""

from typing import Any

from kvtier.api import names, quantities
from kvtier.api.conditions import STORAGE_READY, Condition, false, true
from kvtier.api.quantities import canonical, gib
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, TierStatus
from kvtier.facts.model import Object, Observed
from kvtier.plan.children import child, claim_name
from kvtier.plan.gates import STORAGE, blockers
from kvtier.plan.model import Checks, Manifest, Part

_IMMUTABLE = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")


def plan_storage(pool: KVCachePool, observed: Observed, checks: Checks) -> Part:
    """Class and claim of the Lustre tier.

    Nothing is made while a prerequisite does not hold, and a claim that exists is not touched while the
    wanted capacity cannot be reached.
    """
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return Part()
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    wanted_class = _storage_class(pool, lustre)
    problem = _mismatch(wanted_class, claim, observed)
    refused = blockers(checks, STORAGE, pool.spec.strict)
    if problem is None and not refused:
        wanted_claim = _claim(pool, wanted_class["metadata"]["name"], _request(lustre, claim))
        return Part((wanted_class, wanted_claim), (_condition(lustre, claim),), (_tier(lustre, claim),))
    condition = problem or (_condition(lustre, claim) if claim else _blocked(refused))
    return Part((), (condition,), (_tier(lustre, claim, failed=problem is not None),))


def bound(pool: KVCachePool, observed: Observed) -> str | None:
    """Name of the pool's claim once it is bound, and is the one that the spec describes; else None."""
    claim, lustre = observed.child("PersistentVolumeClaim", claim_name(pool)), pool.spec.tiers.lustre
    if lustre is None or claim is None or _phase(claim) != "Bound":
        return None
    going = "deletionTimestamp" in claim["metadata"]
    described = claim["spec"].get("storageClassName") == storage_class_name(pool, lustre)
    return claim_name(pool) if described and not going else None


def storage_class_name(pool: KVCachePool, lustre: LustreTier) -> str:
    """Tells the class's parameters apart, because Kubernetes lets none of them change."""
    return names.derive(
        pool.namespace, pool.name, names.digest(*_parameters(pool, lustre).values(), length=4)
    )


def _storage_class(pool: KVCachePool, lustre: LustreTier) -> Manifest:
    return child(
        "storageclass",
        pool,
        storage_class_name(pool, lustre),
        **_parameters(pool, lustre),
        instance_labels=f"kvtier-pool={names.derive(pool.namespace, pool.name)}",
        description=f"KV cache of {pool.namespace}/{pool.name}, made by kvtier",
    )


def _parameters(pool: KVCachePool, lustre: LustreTier) -> dict[str, str]:
    return {
        "throughput": str(lustre.throughput_per_tib),
        "network": lustre.network,
        "filesystem": lustre.filesystem or names.filesystem(pool.namespace, pool.name),
        "zone": lustre.zone,
    }


def _claim(pool: KVCachePool, class_name: str, request: int) -> Manifest:
    # No ownerReference: the claim is the data, and only deletionPolicy may decide about it.
    return child(
        "persistentvolumeclaim", pool, claim_name(pool), storage_class=class_name, capacity=canonical(request)
    )


def _request(lustre: LustreTier, claim: Object | None) -> int:
    """Bytes to ask for.

    Kubernetes refuses every change of a claim that is not bound, and a request at or below what a bound
    one has. A growth that is taken back in the spec therefore stays requested until another size above
    the present one replaces it.
    """
    want, have = lustre.capacity.bytes, _capacity(claim)
    requested = _requested(claim)
    if requested and not have:
        return requested
    return want if want > have else max(want, requested)


def _mismatch(wanted: Manifest, claim: Object | None, observed: Observed) -> Condition | None:
    """Why existing storage is not the one that the spec describes, or None."""
    name = wanted["metadata"]["name"]
    live = observed.child("StorageClass", name)
    changed = [key for key in _IMMUTABLE if live and live.get(key) != wanted.get(key)]
    if changed:
        return false(
            STORAGE_READY,
            "StorageClassImmutable",
            f"StorageClass {name} differs in {', '.join(changed)}, which Kubernetes does not let change: delete the "
            "class, and kvtier makes it again; claims that exist keep their volume",
        )
    if claim and claim["spec"].get("storageClassName") != name:
        return false(
            STORAGE_READY,
            "ClaimMismatch",
            f"claim {claim['metadata']['name']} was made for StorageClass {claim['spec'].get('storageClassName')}, "
            f"the spec describes {name} (another tier, zone, network or filesystem): restore the spec, or delete the "
            "claim if its data may go",
        )
    return None


def _condition(lustre: LustreTier, claim: Object | None) -> Condition:
    if claim is None:
        return false(STORAGE_READY, "Creating", "the claim is being made")
    name = claim["metadata"]["name"]
    if claim["metadata"].get("deletionTimestamp"):
        return false(
            STORAGE_READY, "ClaimDeleted", f"claim {name} was deleted and goes when no Pod uses it any more"
        )
    if _phase(claim) == "Lost":
        return false(
            STORAGE_READY, "VolumeLost", f"the volume of claim {name} is gone: restore it or delete the claim"
        )
    if _phase(claim) != "Bound":
        return false(
            STORAGE_READY,
            "Provisioning",
            f"claim {name} waits for its Lustre instance of {gib(_requested(claim))}; this takes tens of minutes. "
            f"Progress: kubectl -n {claim['metadata']['namespace']} describe pvc {name}",
        )
    return _bound_condition(lustre, claim)


def _bound_condition(lustre: LustreTier, claim: Object) -> Condition:
    name, have, want = claim["metadata"]["name"], _capacity(claim), lustre.capacity.bytes
    message = f"claim {name} is bound to {gib(have)}"
    if want > have:
        return true(
            STORAGE_READY, "Resizing", f"{message} and grows to {gib(want)}; Pods go on using it meanwhile"
        )
    if _requested(claim) > have:
        return true(
            STORAGE_READY,
            "GrowthAbandoned",
            f"{message}; it still asks for {gib(_requested(claim))}, because Kubernetes does not let a request go back "
            "to the present size",
        )
    return true(STORAGE_READY, "Bound", message)


def _tier(lustre: LustreTier, claim: Object | None, failed: bool = False) -> TierStatus:
    have = _capacity(claim)
    if failed or (claim and _phase(claim) == "Lost"):
        phase = "Failed"
    elif claim is None:
        phase = "Waiting"
    elif _phase(claim) != "Bound":
        phase = "Provisioning"
    else:
        phase = "Resizing" if lustre.capacity.bytes > have else "Bound"
    return TierStatus(name="lustre", phase=phase, capacity=gib(have) if have else None)


def _blocked(refused: list[Condition]) -> Condition:
    reasons = ", ".join(f"{condition.type} is {condition.status}" for condition in refused)
    return false(STORAGE_READY, "PrerequisitesNotMet", f"nothing is created while {reasons}")


def _phase(claim: Object) -> str:
    return str(claim.get("status", {}).get("phase", "Pending"))


def _capacity(claim: Object | None) -> int:
    capacity: Any = (claim or {}).get("status", {}).get("capacity", {}).get("storage")
    return quantities.parse(capacity) if capacity else 0


def _requested(claim: Object | None) -> int:
    requested: Any = (claim or {}).get("spec", {}).get("resources", {}).get("requests", {}).get("storage")
    return quantities.parse(requested) if requested else 0
