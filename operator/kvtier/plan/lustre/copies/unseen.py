"""Cloud Storage while the instance cannot be seen: nothing is asked for, and engines do not wait for ever."""

from kvtier.api.conditions import CLOUD_STORAGE_SYNCED, Condition, false, unknown
from kvtier.api.v1alpha1 import CloudStorageTier, KVCachePool
from kvtier.facts.model import Observed
from kvtier.plan.lustre.copies import copies
from kvtier.plan.lustre.copies import report as copy_report
from kvtier.plan.lustre.identity import instance_name
from kvtier.plan.lustre.operations import elapsed, last


def unseen(
    pool: KVCachePool, tier: CloudStorageTier, observed: Observed, reached: bool, now: str
) -> tuple[Condition, float | None]:
    """The condition, and for how many seconds engines still wait for the import, None if they do not.

    `reached` is whether the tier has been usable before.
    """
    name, seen = instance_name(pool, observed), observed.facts.lustre
    if seen and seen.error:
        wanted = reached and tier.import_on_create and not _imported(pool, name)
        since = _unknown_since(pool) or now
        wait = copies.PATIENCE_SECONDS - elapsed(since, now) if not copies.overdue(since, now) else None
        return _blind(seen.error, wanted, wait), wait if wanted else None
    if not reached:
        return copy_report.waiting("nothing is copied before the shared tier can be written to"), None
    return (
        false(
            CLOUD_STORAGE_SYNCED,
            "InstanceMissing",
            f"the Lustre API knows no instance {name}: nothing can be copied",
        )
        if name
        else unknown(
            CLOUD_STORAGE_SYNCED, "InstanceUnknown", "it is not known yet which instance the tier is"
        )
    ), None


def _blind(error: str, wanted: bool, wait: float | None) -> Condition:
    note = ""
    if wanted:
        note = (
            "; engines wait for the import for half an hour" if wait else "; engines go on without the import"
        )
    return unknown(CLOUD_STORAGE_SYNCED, "LustreAPIUnavailable", f"{error}{note}")


def _imported(pool: KVCachePool, instance: str | None) -> bool:
    copy = last(pool, "Import")
    return bool(copy and instance and copies.is_about(copy, instance) and copies.settled(copy))


def _unknown_since(pool: KVCachePool) -> str | None:
    found = (c for c in pool.status.conditions if c.type == CLOUD_STORAGE_SYNCED and c.status == "Unknown")
    return next((c.last_transition_time for c in found), None)
