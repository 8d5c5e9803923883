"""Provisioner CSI: a StorageClass of the pool's own and one RWX claim, from which the driver makes the instance."""

from typing import Any

from kvtier.api import names
from kvtier.api.conditions import STORAGE_READY, Condition, false
from kvtier.api.identity import instance_id
from kvtier.api.quantities import canonical
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.facts.model import Observed
from kvtier.facts.objects import Object
from kvtier.plan.children import child, claim_name
from kvtier.plan.gates import STORAGE, blockers
from kvtier.plan.lustre.claim import claims
from kvtier.plan.lustre.claim import state as claim_state
from kvtier.plan.lustre.claim.adoption import Reservation, reservation
from kvtier.plan.lustre.claim.replacement import replaced_because
from kvtier.plan.lustre.identity import filesystem
from kvtier.plan.model import Checks, Manifest, Part

_IMMUTABLE = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")


def plan_csi(pool: KVCachePool, lustre: LustreTier, observed: Observed, checks: Checks, now: str) -> Part:
    """Class and claim of the Lustre tier.

    Nothing is made while a prerequisite does not hold, and a claim that exists is not touched while the
    wanted capacity cannot be reached, or while it is on its way out.
    """
    claim = observed.child("PersistentVolumeClaim", claim_name(pool))
    wanted_class = _storage_class(pool, lustre)
    refused = blockers(checks, STORAGE, pool.spec.strict)
    changed = _changed(wanted_class, observed)
    if claim and not changed and not refused:
        because = replaced_because(pool, wanted_class["metadata"]["name"], claim, observed, now)
        if because:
            return claim_state.replaced(pool, wanted_class, claim, observed, because)
    problem = changed or _mismatch(wanted_class, claim)
    if problem:
        return claim_state.failed(pool, claim, observed, problem)
    if claim is None and refused:
        return claim_state.failed(pool, claim, observed, _blocked(refused))
    kept = reservation(pool, wanted_class["metadata"]["name"], observed)
    wanted_claim = _claim(pool, wanted_class["metadata"]["name"], _request(lustre, claim, kept), kept)
    going = claim is not None and claims.going(claim)
    writes = (wanted_class,) if going else (*kept.writes, wanted_class, wanted_claim)
    return claim_state.reported(pool, lustre, () if refused else writes, observed, now)


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
        instance_labels=f"kvtier-pool={instance_id(pool)}",
        description=f"KV cache of {pool.namespace}/{pool.name}, made by kvtier",
    )


def _parameters(pool: KVCachePool, lustre: LustreTier) -> dict[str, Any]:
    return {
        "throughput": str(lustre.throughput_per_tib),
        "network": str(lustre.network),
        "filesystem": filesystem(pool),
        "zone": lustre.located,
    }


def _claim(pool: KVCachePool, class_name: str, request: int, kept: Reservation) -> Manifest:
    # No ownerReference: the claim is the data, and only deletionPolicy may decide about it.
    return child(
        "persistentvolumeclaim",
        pool,
        claim_name(pool),
        storage_class=class_name,
        volume=kept.volume,
        capacity=canonical(request),
    )


def _request(lustre: LustreTier, claim: Object | None, kept: Reservation) -> int:
    """Bytes to ask for.

    Kubernetes refuses every change of a claim that is not bound, and a request at or below what a bound
    one has. A growth that is taken back in the spec therefore stays requested until another size above
    the present one replaces it. A volume that is there already grows once it is bound.
    """
    if claim is None and kept.volume:
        return kept.capacity
    want, have = lustre.size, claims.capacity(claim)
    requested = claims.requested(claim)
    if requested and not have:
        return requested
    return want if want > have else max(want, requested)


def _changed(wanted: Manifest, observed: Observed) -> Condition | None:
    """Why the class cannot become the one that the spec describes, or None."""
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
    return None


def _mismatch(wanted: Manifest, claim: Object | None) -> Condition | None:
    """Why the claim is not the one that the spec describes, or None."""
    name = wanted["metadata"]["name"]
    if claim and not claims.going(claim) and claim["spec"].get("storageClassName") != name:
        return false(
            STORAGE_READY,
            "ClaimMismatch",
            f"claim {claim['metadata']['name']} was made for StorageClass {claim['spec'].get('storageClassName')}, "
            f"the spec describes {name} (another tier, zone, network or filesystem): restore the spec, or delete the "
            "claim if its data may go",
        )
    return None


def _blocked(refused: list[Condition]) -> Condition:
    reasons = ", ".join(f"{condition.type} is {condition.status}" for condition in refused)
    return false(STORAGE_READY, "PrerequisitesNotMet", f"nothing is created while {reasons}")
