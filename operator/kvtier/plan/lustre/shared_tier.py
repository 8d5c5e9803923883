"""The shared tier: its steps in their order, and what engines may do with it meanwhile."""

from dataclasses import dataclass, replace

from kvtier.api import quantities
from kvtier.api.conditions import TIER_WRITABLE
from kvtier.api.kinds import STORAGE_CLASS
from kvtier.api.v1alpha1 import TierStatus
from kvtier.checks import Checks
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
    """What engines may do with the shared tier now.

    `claim` names the claim that new engines mount, None while they have to wait: `waits` says for what, as parts of a
    sentence. `mounted` names the one with which engines are updated that mount it already, whatever new ones wait for.
    `importing`: data of Cloud Storage is imported first. `leave`: engines that mount it are rolled to run without it.
    """

    claim: str | None = None
    waits: tuple[str, ...] = ()
    mounted: str | None = None
    importing: bool = False
    leave: bool = False


@dataclass(frozen=True)
class SharedTier:
    """What all steps plan, and what it means for engines."""

    part: Part
    access: Access


def plan_shared_tier(context: Context, checks: Checks, nodes_usable: bool) -> SharedTier:
    """The steps of the shared tier in their order."""
    # Storage: an instance, and a claim that is bound to its volume; or their deletion, once the spec has no tier.
    storage = plan_storage(context, checks)
    claim = context.lustre.bound_claim

    # Write probe: a Job tries the claim as engines would. Its Pod may make a node, so engines must be able to run.
    probe = plan_write_probe(context, checks, claim, nodes_usable)

    # Copies: an import before engines use the tier, then exports. They need the directory that the probe has made.
    cloud_storage = plan_cloud_storage(context, usable=probe.proven)

    # Maintenance waits for none of these: it may take the tier from engines at any time.
    maintenance = plan_maintenance(context)

    # Engines: new ones mount the claim when nothing is left to wait for. Those that mount it keep it meanwhile, unless
    # they are to bypass maintenance.
    waits = [] if claim else ["the Lustre claim is not bound"]
    waits += [f"{TIER_WRITABLE} is False"] if claim and not probe.proven else []
    waits += ["data is imported from Cloud Storage"] if cloud_storage.importing else []
    waits += ["maintenance of the instance is bypassed"] if maintenance.bypass else []
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
    """Claim, volume and instance, by who makes the instance, and the state that they are in."""
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
    """MBps per TiB, or Dynamic, from the spec or from the instance itself; None where neither says so."""
    if lustre.spec is not None and lustre.spec.tier:
        return lustre.spec.tier
    if lustre.instance is None:
        return None
    level: int | str = lustre.instance.throughput or DYNAMIC
    return level if level in tiers() else None


def _with_throughput(tier: TierStatus, level: int | str | None, last: TierStatus | None) -> TierStatus:
    """What the capacity brings in this performance tier.

    `last` is the status of before: an instance that is not seen for a while is as fast as it was at the same capacity.
    """
    if tier.capacity is None:
        return tier
    before = last.throughput if last and last.capacity == tier.capacity else None
    now = rate(throughput(level, quantities.parse(tier.capacity))) if level is not None else before
    return tier.model_copy(update={"throughput": now})
