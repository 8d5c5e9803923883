"""Which changes of the status are worth an Event."""

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
COPYING = PoolStatus(conditions=[false("CloudStorageSynced", Reason.EXPORTING, "the export is under way")])
FAILED = PoolStatus(
    conditions=[false("CloudStorageSynced", Reason.EXPORT_FAILED, "let the service agent write")]
)
FAILED_SO = PoolStatus(conditions=[false("CloudStorageSynced", Reason.EXPORT_FAILED, "the bucket is gone")])
GROWING = PoolStatus(conditions=[true("StorageReady", Reason.RESIZING, "grows")])
STUCK = PoolStatus(conditions=[true("StorageReady", Reason.RESIZE_FAILED, "raise the quota")])
UNSEEN = PoolStatus(conditions=[unknown("CloudStorageSynced", Reason.LUSTRE_API_UNAVAILABLE, "no answer")])


@table(
    "old, new, event",
    {
        "becoming ready": (WAITING, READY, "Normal Ready: all tiers and models are ready"),
        "being ready at first sight": (NEVER, READY, "Normal Ready: all tiers and models are ready"),
        "becoming ready in another way": (READY, WITHOUT, "Normal Ready: engines serve without it"),
        "what blocks a pool": (NEVER, BLOCKED, "Warning AddonDisabled: enable the add-on"),
        "another reason": (BLOCKED, OTHER, "Warning WouldShrink: it only grows"),
        "what degrades a ready pool": (READY, DEGRADED, "Warning AddonDisabled: enable the add-on"),
        "a copy that fails": (COPYING, FAILED, "Warning ExportFailed: let the service agent write"),
        "a growth that fails, although the pool is ready": (
            GROWING,
            STUCK,
            "Warning ResizeFailed: raise the quota",
        ),
    },
)
def test_there_is_one_event_of(old: PoolStatus, new: PoolStatus, event: str) -> None:
    assert [f"{one.type} {one.reason}: {one.message}" for one in status_events(old, new)] == [event]


@table(
    "old, new",
    {
        "staying ready": (READY, READY),
        "what blocks a pool, once it was said": (BLOCKED, BLOCKED),
        "progress": (NEVER, WAITING),
        "progress after a block": (BLOCKED, WAITING),
        "a status without Ready": (READY, NEVER),
        "a copy that failed already, whatever it says now": (FAILED, FAILED_SO),
        "the progress of a copy": (SYNCED, COPYING),
        "a copy that is done": (COPYING, SYNCED),
        "a copy that cannot be seen": (SYNCED, UNSEEN),
        "a growth that failed already": (STUCK, STUCK),
        "the progress of a growth": (STUCK, GROWING),
    },
)
def test_there_is_no_event_of(old: PoolStatus, new: PoolStatus) -> None:
    assert status_events(old, new) == []
