"""The Lustre tier: its steps in order, and what engines may do with it."""

from dataclasses import dataclass, replace

from kvtier.api import quantities
from kvtier.api.conditions import ACCESS_GRANTED, TIER_WRITABLE
from kvtier.api.kinds import STORAGE_CLASS
from kvtier.api.v1alpha1 import TierStatus
from kvtier.checks import Checks, blockers
from kvtier.context import Context, LustreView
from kvtier.data.lustre_limits import DYNAMIC, tiers
from kvtier.plan.lustre.cloud_storage import plan_cloud_storage
from kvtier.plan.lustre.csi import plan_csi
from kvtier.plan.lustre.delete import plan_tier_deletion
from kvtier.plan.lustre.maintenance import plan_maintenance
from kvtier.plan.lustre.volume import plan_static
from kvtier.plan.lustre.write_probe import plan_write_probe
from kvtier.plan.model import Part, together
from kvtier.sizing.lustre_performance import rate, throughput


@dataclass(frozen=True)
class Access:
    """What engines may do with the Lustre tier now.

    `claim` is the name of the PVC that new engines mount, None while they wait; `waits` are the reasons, as clauses.
    `mounted` is the name of the PVC for updates of engines that already mount it, even while new engines wait.
    `importing`: an import from Cloud Storage comes first. `leave`: engines that mount the tier roll out without it.
    """

    claim: str | None = None
    waits: tuple[str, ...] = ()
    mounted: str | None = None
    importing: bool = False
    leave: bool = False


@dataclass(frozen=True)
class SharedTier:
    """The plan of all steps, and what engines may do with the tier."""

    part: Part
    access: Access


def plan_shared_tier(context: Context, checks: Checks, nodes_usable: bool) -> SharedTier:
    """Plan the steps of the Lustre tier in order."""
    # Storage: an instance, and a PVC that is bound to its PersistentVolume; or their deletion if the spec has no tier.
    storage = plan_storage(context, checks)
    claim = context.lustre.bound_claim

    # Write probe: a Job writes to the PVC as engines would. GKE may create a node for its Pod, so nodes must be usable.
    probe = plan_write_probe(context, checks, claim, nodes_usable)

    # What is not granted is not used anew: no copies, and no other engines. Engines that mount the tier keep it.
    refused = blockers(checks, (ACCESS_GRANTED,), context.pool.spec)

    # Copies: an import before engines use the tier, then exports. They need the directory that the probe creates.
    cloud_storage = plan_cloud_storage(context, usable=probe.proven, refused=refused)

    # Maintenance waits for none of these steps: it may remove the tier from engines at any time.
    maintenance = plan_maintenance(context)

    # Engines: new engines mount the PVC when no reason to wait is left. Engines that mount it keep it, unless they must
    # bypass maintenance.
    waits = [] if claim else ["the Lustre PVC is not bound"]
    waits += [f"{TIER_WRITABLE} is False"] if claim and not probe.proven else []
    waits += ["the import from Cloud Storage is in progress"] if cloud_storage.importing else []
    waits += ["engines bypass the maintenance of the Lustre instance"] if maintenance.bypass else []
    waits += [one.clause for one in refused]
    name = claim.name if claim else None
    access = Access(
        claim=None if waits else name,
        waits=tuple(waits),
        mounted=None if maintenance.bypass else name,
        importing=cloud_storage.importing,
        leave=maintenance.bypass,
    )
    return SharedTier(together(storage, probe.part, cloud_storage.part, maintenance.part), access)


def plan_storage(context: Context, checks: Checks) -> Part:
    """Plan PVC, PersistentVolume and instance, by provisioner, with their state in the status."""
    lustre = context.lustre
    if lustre.spec is None:
        part = plan_tier_deletion(context)
    elif lustre.spec.provisioner == "CSI":
        part = plan_csi(context, lustre.spec, checks)
    else:
        part = plan_static(context, lustre.spec, checks)
    level = _performance_tier(lustre)
    return replace(
        part,
        tiers=tuple(_with_throughput(one, level, lustre.status) for one in part.tiers),
        keeps=((STORAGE_CLASS.kind, lustre.class_name),) if lustre.class_name else (),
    )


def _performance_tier(lustre: LustreView) -> int | str | None:
    """MBps per TiB, or Dynamic, from the spec or from the instance; None if neither has it."""
    if lustre.spec is not None and lustre.spec.tier:
        return lustre.spec.tier
    if lustre.instance is None:
        return None
    level: int | str = lustre.instance.throughput or DYNAMIC
    return level if level in tiers() else None


def _with_throughput(tier: TierStatus, level: int | str | None, last: TierStatus | None) -> TierStatus:
    """The tier with the throughput of its capacity in this performance tier.

    If the performance tier is unknown now, the throughput of the `last` status stays, for the same capacity.
    """
    if tier.capacity is None:
        return tier
    before = last.throughput if last and last.capacity == tier.capacity else None
    now = rate(throughput(level, quantities.read(tier.capacity))) if level is not None else before
    return tier.model_copy(update={"throughput": now})
