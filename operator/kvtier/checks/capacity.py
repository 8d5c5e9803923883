"""CapacityValid: the Lustre capacity is one that its tier can have, and can be reached from where it is."""

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
    """Growth is judged against what is provisioned."""
    lustre = context.lustre.spec
    if lustre is None:
        return true(CAPACITY_VALID, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    if lustre.tier is None:
        instance = context.lustre.instance
        return _existing(lustre, instance.capacity if instance else None)
    limit, size, have = limits(lustre.tier), lustre.size, _provisioned(context.lustre)
    if not limit.allows(size):
        message = f"{lustre.capacity} is not possible {_where(lustre)}: {limit.explain(size)}"
        return false(CAPACITY_VALID, Reason.NOT_A_SIZE, message)
    if have is not None and size != have:
        # Only claims need the driver for it: of other instances, kvtier itself asks the Lustre API.
        driver = context.control_plane if lustre.provisioner == "CSI" else None
        fault = _unreachable(have, size, limit) or _driver_too_old(size, driver)
        if fault:
            return fault
    return true(CAPACITY_VALID, Reason.VALID, f"{lustre.capacity} {_where(lustre)}")


def _provisioned(lustre: LustreView) -> int | None:
    """Bytes that the shared tier has, None before it exists: of a claim, and where the API is silent, by its status."""
    if lustre.instance and lustre.spec and lustre.spec.provisioner != "CSI":
        return lustre.instance.capacity
    recorded = lustre.status.capacity if lustre.status else None
    return quantities.parse(recorded) if recorded else None


def _where(lustre: LustreTier) -> str:
    dynamic = lustre.tier == DYNAMIC
    return "in the Dynamic tier" if dynamic else f"at {lustre.tier} MBps per TiB"


def _existing(lustre: LustreTier, has: int | None) -> Condition:
    """What was given by hand against what the instance has."""
    given = lustre.size
    if has is None:
        size = f"of {lustre.capacity}, as given by hand" if given else "that the instance has"
        return true(CAPACITY_VALID, Reason.EXISTING, f"the capacity {size}")
    if given > has:
        return false(
            CAPACITY_VALID,
            Reason.LARGER_THAN_INSTANCE,
            f"lustre.capacity is {lustre.capacity}, but {lustre.instance} has {gib(has)}: set it to {gib(has)}",
        )
    if 0 < given < has:
        return true(
            CAPACITY_VALID,
            Reason.SMALLER_THAN_INSTANCE,
            f"lustre.capacity is {lustre.capacity}, {lustre.instance} has {gib(has)}: set it to {gib(has)} to use all",
        )
    return true(CAPACITY_VALID, Reason.EXISTING, f"the instance has {gib(has)}")


def _unreachable(have: int, want: int, limit: Limits) -> Condition | None:
    """Why an instance of `have` bytes cannot become one of `want`, or None."""
    if want < have:
        return false(
            CAPACITY_VALID,
            Reason.WOULD_SHRINK,
            f"{gib(have)} is provisioned, Lustre only grows: set it to {gib(have)}",
        )
    ceiling = limit.threshold * quantities.GIB
    if have <= ceiling < want:
        return false(
            CAPACITY_VALID,
            Reason.ABOVE_GROWTH_LIMIT,
            f"an instance created at or below {gib(ceiling)} can only grow up to that: {gib(want)} needs a new pool",
        )
    return None


def _driver_too_old(want: int, control_plane: GKEVersion | None) -> Condition | None:
    """Why the driver cannot grow a claim to `want` bytes, or None, also for a version that is not known."""
    gate = versions.gate("lustreExpansion")
    if control_plane is None or control_plane >= gate:
        return None
    return false(
        CAPACITY_VALID,
        Reason.EXPANSION_UNSUPPORTED,
        f"control plane is {control_plane}; growing a claim of the Lustre CSI driver needs {gate}: upgrade, or create "
        f"a new pool at {gib(want)}, or one with provisioner API or Existing, whose instance grows without the driver",
    )
