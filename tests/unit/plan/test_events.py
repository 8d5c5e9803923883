"""Which changes of the status are worth an Event."""

from kvtier.api.conditions import false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.plan.events import PoolEvent, status_events
from unit.tables import table

NEVER = PoolStatus()
READY = PoolStatus(phase="Ready", conditions=[true("Ready", Reason.ALL_READY)])
WITHOUT = PoolStatus(
    phase="Ready", conditions=[true("Ready", Reason.WITHOUT_SHARED_TIER, "engines serve without it")]
)
WAITING = PoolStatus(phase="Provisioning", conditions=[false("Ready", Reason.PROVISIONING, "claim waits")])
BLOCKED = PoolStatus(phase="Blocked", conditions=[false("Ready", Reason.ADDON_DISABLED, "enable the add-on")])
OTHER = PoolStatus(phase="Blocked", conditions=[false("Ready", Reason.WOULD_SHRINK, "it only grows")])
DEGRADED = PoolStatus(
    phase="Degraded", conditions=[false("Ready", Reason.ADDON_DISABLED, "enable the add-on")]
)

SYNCED = PoolStatus(conditions=[true("CloudStorageSynced", Reason.EXPORTED)])
COPYING = PoolStatus(conditions=[false("CloudStorageSynced", Reason.EXPORTING, "the export is under way")])
FAILED = PoolStatus(
    conditions=[false("CloudStorageSynced", Reason.EXPORT_FAILED, "let the service agent write")]
)
FAILED_SO = PoolStatus(conditions=[false("CloudStorageSynced", Reason.EXPORT_FAILED, "the bucket is gone")])
GROWING = PoolStatus(conditions=[true("StorageReady", Reason.RESIZING, "grows")])
STUCK = PoolStatus(conditions=[true("StorageReady", Reason.RESIZE_FAILED, "raise the quota")])
UNSEEN = PoolStatus(conditions=[unknown("CloudStorageSynced", Reason.LUSTRE_API_UNAVAILABLE, "no answer")])


@table(
    "old, new, expected",
    {
        "becoming ready is told": (
            WAITING,
            READY,
            [PoolEvent("Normal", "Ready", "all tiers and models are ready")],
        ),
        "being ready at first sight is told": (
            NEVER,
            READY,
            [PoolEvent("Normal", "Ready", "all tiers and models are ready")],
        ),
        "staying ready is not": (READY, READY, []),
        "ready in another way is told in its own words": (
            READY,
            WITHOUT,
            [PoolEvent("Normal", "Ready", "engines serve without it")],
        ),
        "what blocks a pool is told": (
            NEVER,
            BLOCKED,
            [PoolEvent("Warning", "AddonDisabled", "enable the add-on")],
        ),
        "it is told once": (BLOCKED, BLOCKED, []),
        "another reason is told again": (
            BLOCKED,
            OTHER,
            [PoolEvent("Warning", "WouldShrink", "it only grows")],
        ),
        "what degrades a ready pool is told": (
            READY,
            DEGRADED,
            [PoolEvent("Warning", "AddonDisabled", "enable the add-on")],
        ),
        "progress is not told": (NEVER, WAITING, []),
        "progress after a block is not told": (BLOCKED, WAITING, []),
        "a status without Ready tells nothing": (READY, NEVER, []),
        "a copy that fails is told": (
            COPYING,
            FAILED,
            [PoolEvent("Warning", "ExportFailed", "let the service agent write")],
        ),
        "it is told once, whatever it says": (FAILED, FAILED_SO, []),
        "the progress of a copy is not told": (SYNCED, COPYING, []),
        "a copy that is done is not told": (COPYING, SYNCED, []),
        "a copy that cannot be seen is not told": (SYNCED, UNSEEN, []),
        "a growth that fails is told, although the pool is ready": (
            GROWING,
            STUCK,
            [PoolEvent("Warning", "ResizeFailed", "raise the quota")],
        ),
        "it is told once like all else": (STUCK, STUCK, []),
        "the progress of a growth is not told": (STUCK, GROWING, []),
    },
)
def test_notices(old: PoolStatus, new: PoolStatus, expected: list[PoolEvent]) -> None:
    assert status_events(old, new) == expected
