"""CapacityValid: the Lustre capacity is one that its tier can have, and can be reached from where it is."""

from kvtier.api import quantities
from kvtier.api.conditions import CAPACITY_VALID, Condition, false, true
from kvtier.api.quantities import gib
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool, LustreTier
from kvtier.checks.candidates import control_plane
from kvtier.data.lustre_limits import DYNAMIC, limits
from kvtier.facts import versions
from kvtier.facts.model import Facts


def check(pool: KVCachePool, facts: Facts) -> Condition:
    """Growth is judged against what is provisioned."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return true(CAPACITY_VALID, Reason.NOT_NEEDED, "the pool has no Lustre tier")
    if lustre.tier is None:
        return _existing(lustre, _seen(facts))
    limit, size = limits(lustre.tier), lustre.size
    if not limit.allows(size):
        message = f"{lustre.capacity} is not possible {_where(lustre)}: {limit.explain(size)}"
        return false(CAPACITY_VALID, Reason.NOT_A_SIZE, message)
    return _growth(lustre, provisioned(pool, facts), facts) or true(
        CAPACITY_VALID, Reason.VALID, f"{lustre.capacity} {_where(lustre)}"
    )


def provisioned(pool: KVCachePool, facts: Facts) -> int | None:
    """Bytes that the shared tier has, None before it exists; by its status, where the Lustre API tells nothing."""
    lustre = pool.spec.tiers.lustre
    seen = _seen(facts) if lustre and lustre.provisioner != "CSI" else None
    if seen is not None:
        return seen
    told = next((tier.capacity for tier in pool.status.tiers if tier.name == "lustre"), None)
    return quantities.parse(told) if told else None


def _seen(facts: Facts) -> int | None:
    return facts.lustre.instance.capacity if facts.lustre and facts.lustre.instance else None


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


def _growth(lustre: LustreTier, have: int | None, facts: Facts) -> Condition | None:
    """Why the capacity cannot be reached from the provisioned one, or None."""
    want = lustre.size
    assert lustre.tier is not None
    if have is None or want == have:
        return None
    if want < have:
        return false(
            CAPACITY_VALID,
            Reason.WOULD_SHRINK,
            f"{gib(have)} is provisioned, Lustre only grows: set it to {gib(have)}",
        )
    ceiling = limits(lustre.tier).threshold * quantities.GIB
    if have <= ceiling < want:
        return false(
            CAPACITY_VALID,
            Reason.ABOVE_GROWTH_LIMIT,
            f"an instance created at or below {gib(ceiling)} can only grow up to that: {gib(want)} needs a new pool",
        )
    return _driver_can_grow(want, facts) if lustre.provisioner == "CSI" else None


def _driver_can_grow(want: int, facts: Facts) -> Condition | None:
    """Only claims need the driver for it: of other instances, kvtier itself asks the Lustre API."""
    running, gate = control_plane(facts), versions.gate("lustreExpansion")
    if running is None or running >= gate:
        return None
    return false(
        CAPACITY_VALID,
        Reason.EXPANSION_UNSUPPORTED,
        f"control plane is {running}; growing a claim of the Lustre CSI driver needs {gate}: upgrade, or create a new "
        f"pool at {gib(want)}, or one with provisioner API or Existing, whose instance grows without the driver",
    )
