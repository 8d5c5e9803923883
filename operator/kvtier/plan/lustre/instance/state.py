"""What the state of an instance means for those who want to use it."""

from kvtier.api.conditions import STORAGE_READY, Condition, false, unknown
from kvtier.facts.model import Instance

_USABLE = ("ACTIVE", "UPDATING")

_STATES: dict[str, tuple[str, str]] = {
    "CREATING": ("Provisioning", "is being created, which takes ten minutes to an hour"),
    "UPGRADING": (
        "InstanceUpgrading",
        "is under maintenance: reads and writes hang meanwhile, and go on by themselves",
    ),
    "REPAIRING": (
        "InstanceRepairing",
        "is being repaired by Google: reads and writes may hang meanwhile; if it stays so, ask Google's support",
    ),
    "STOPPED": (
        "InstanceStopped",
        "is stopped, and reads and writes hang: see it in the Cloud Console, and ask Google's support to start it",
    ),
    "SUSPENDED": (
        "InstanceSuspended",
        "is suspended, because its encryption key cannot be used: enable the key version, and let the service agent "
        "of Managed Lustre encrypt and decrypt with it",
    ),
    "DELETING": (
        "InstanceDeleting",
        "is being deleted, and its data with it: whoever asked for that cannot take it back. When it is gone, delete "
        "the pool's claim and volume",
    ),
}


def verdict(instance: Instance) -> Condition | None:
    """StorageReady of an instance that cannot be used as it is now; None while it can.

    A state that is newer than this version of kvtier is Unknown, and holds up nothing.
    """
    if instance.state in _USABLE:
        return None
    seen = f"instance {instance.name}"
    why = f" ({instance.reason})" if instance.reason else ""
    if instance.state not in _STATES:
        return unknown(
            STORAGE_READY,
            "InstanceStateUnknown",
            f"{seen} is in state {instance.state}{why}, which kvtier does not know: see it in the Cloud Console",
        )
    reason, text = _STATES[instance.state]
    state, colon, more = text.partition(":")
    return false(STORAGE_READY, reason, f"{seen} {state}{why}{colon}{more}")
