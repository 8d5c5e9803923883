"""Events for changes of the status."""

from kvtier.api.conditions import false, true, unknown
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import PoolStatus
from kvtier.plan.events import status_events
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
COPYING = PoolStatus(conditions=[false("CloudStorageSynced", Reason.EXPORTING, "the export is in progress")])
FAILED = PoolStatus(
    conditions=[false("CloudStorageSynced", Reason.EXPORT_FAILED, "let the service agent write")]
)
FAILED_SO = PoolStatus(
    conditions=[false("CloudStorageSynced", Reason.EXPORT_FAILED, "the bucket was deleted")]
)
GROWING = PoolStatus(conditions=[true("StorageReady", Reason.RESIZING, "grows")])
STUCK = PoolStatus(conditions=[true("StorageReady", Reason.RESIZE_FAILED, "raise the quota")])
UNSEEN = PoolStatus(conditions=[unknown("CloudStorageSynced", Reason.LUSTRE_API_UNAVAILABLE, "no answer")])


@table(
    "old, new, event",
    {
        "a pool that becomes ready": (WAITING, READY, "Normal Ready: All tiers and models are ready."),
        "a pool whose first status is ready": (NEVER, READY, "Normal Ready: All tiers and models are ready."),
        "a ready pool with another reason": (READY, WITHOUT, "Normal Ready: engines serve without it"),
        "a reason that blocks a pool": (NEVER, BLOCKED, "Warning AddonDisabled: enable the add-on"),
        "another reason": (BLOCKED, OTHER, "Warning WouldShrink: it only grows"),
        "a reason that degrades a ready pool": (READY, DEGRADED, "Warning AddonDisabled: enable the add-on"),
        "a copy that fails": (COPYING, FAILED, "Warning ExportFailed: let the service agent write"),
        "a resize that fails, although the pool is ready": (
            GROWING,
            STUCK,
            "Warning ResizeFailed: raise the quota",
        ),
    },
)
def test_there_is_one_event_for(old: PoolStatus, new: PoolStatus, event: str) -> None:
    assert [f"{one.type} {one.reason}: {one.message}" for one in status_events(old, new)] == [event]


@table(
    "old, new",
    {
        "a pool that stays ready": (READY, READY),
        "a pool that stays blocked": (BLOCKED, BLOCKED),
        "progress": (NEVER, WAITING),
        "progress after a block": (BLOCKED, WAITING),
        "a status without Ready": (READY, NEVER),
        "a copy that failed before, with another message": (FAILED, FAILED_SO),
        "the progress of a copy": (SYNCED, COPYING),
        "a copy that succeeds": (COPYING, SYNCED),
        "a copy whose progress is unknown": (SYNCED, UNSEEN),
        "a resize that failed before": (STUCK, STUCK),
        "the progress of a resize": (STUCK, GROWING),
    },
)
def test_there_is_no_event_for(old: PoolStatus, new: PoolStatus) -> None:
    assert status_events(old, new) == []
