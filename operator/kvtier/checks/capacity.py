"""CapacityValid: the performance tier allows the Lustre capacity, and the instance can be resized to it."""

from kvtier.api import quantities
from kvtier.api.conditions import CAPACITY_VALID, Condition, false, true
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import LustreTier
from kvtier.context import Context, LustreView
from kvtier.data.lustre_limits import DYNAMIC, Limits, limits
from kvtier.facts import versions
from kvtier.facts.versions import GKEVersion


def check(context: Context) -> Condition:
    """Compares a resize with what is provisioned."""
    lustre = context.lustre.spec
    if lustre is None:
        return true(CAPACITY_VALID, Reason.NOT_NEEDED, "The pool has no Lustre tier.")
    if lustre.tier is None:
        instance = context.lustre.instance
        return _existing(lustre, instance.capacity if instance else None)
    limit, size, have = limits(lustre.tier), lustre.size, _provisioned(context.lustre)
    if not limit.allows(size):
        message = f"{lustre.capacity} is not a valid capacity {_where(lustre)}: {limit.explain(size)}."
        return false(CAPACITY_VALID, Reason.NOT_A_SIZE, message)
    valid = true(CAPACITY_VALID, Reason.VALID, f"{lustre.capacity} is a valid capacity {_where(lustre)}.")
    if have is None or size == have:
        return valid
    # Only a PVC needs the driver for a resize. kvtier resizes other instances through the Lustre API.
    driver = context.control_plane if lustre.provisioner == "CSI" else None
    faults = _unreachable(have, size, limit), _driver_too_old(size, driver)
    return context.pool.spec.decisive(*faults, valid)


def _provisioned(lustre: LustreView) -> int | None:
    """Bytes of the Lustre tier, None before it exists: from the Lustre API, or for a PVC from the pool's status."""
    if lustre.instance and lustre.spec and lustre.spec.provisioner != "CSI":
        return lustre.instance.capacity
    recorded = lustre.status.capacity if lustre.status else None
    return quantities.read(recorded) or None


def _where(lustre: LustreTier) -> str:
    dynamic = lustre.tier == DYNAMIC
    return "in the Dynamic tier" if dynamic else f"at {lustre.tier} MBps per TiB"


def _existing(lustre: LustreTier, has: int | None) -> Condition:
    """Compares spec.tiers.lustre.capacity with the instance, whose capacity (`has`) may be unknown."""
    given = lustre.size
    if has is None:
        seen = f"The capacity in the spec is {lustre.capacity}." if given else "The spec sets no capacity."
        return true(CAPACITY_VALID, Reason.EXISTING, f"{seen} The capacity of the instance is unknown.")
    if given > has:
        return false(
            CAPACITY_VALID,
            Reason.LARGER_THAN_INSTANCE,
            f"The capacity in the spec is {lustre.capacity}, but {lustre.instance} has {gib(has)}. Set "
            f"lustre.capacity to {gib(has)}.",
        )
    if 0 < given < has:
        return true(
            CAPACITY_VALID,
            Reason.SMALLER_THAN_INSTANCE,
            f"The capacity in the spec is {lustre.capacity}, but {lustre.instance} has {gib(has)}. Set "
            f"lustre.capacity to {gib(has)} to use all of it.",
        )
    return true(CAPACITY_VALID, Reason.EXISTING, f"The instance has {gib(has)}.")


def _unreachable(have: int, want: int, limit: Limits) -> Condition | None:
    """Why an instance of `have` bytes cannot be resized to `want` bytes, or None."""
    if want < have:
        return false(
            CAPACITY_VALID,
            Reason.WOULD_SHRINK,
            f"{gib(have)} is provisioned, and Lustre cannot shrink. Set lustre.capacity to {gib(have)}.",
        )
    ceiling = limit.threshold * quantities.GIB
    if have <= ceiling < want:
        return false(
            CAPACITY_VALID,
            Reason.ABOVE_GROWTH_LIMIT,
            f"An instance created with {gib(ceiling)} or less cannot grow beyond that size. Create a new pool for "
            f"{gib(want)}.",
        )
    return None


def _driver_too_old(want: int, control_plane: GKEVersion | None) -> Condition | None:
    """Why the driver cannot resize a PVC to `want` bytes, or None. An unknown version counts as new enough."""
    gate = versions.gate("lustreExpansion")
    if control_plane is None or control_plane >= gate:
        return None
    return false(
        CAPACITY_VALID,
        Reason.EXPANSION_UNSUPPORTED,
        f"The control plane runs {control_plane}, but the Lustre CSI driver needs {gate} to resize a PVC. Upgrade the "
        f"control plane, or create a new pool with {gib(want)} or with provisioner API or Existing.",
    )
